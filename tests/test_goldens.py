"""What the samples score with everything that needs no model, held to the digit, and every command's help.

A golden file changes only where a fault is mended or a feature added, and then by::

    GROUNDING_UPDATE_GOLDENS=1 python -m pytest --slow tests/test_goldens.py
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import shell

GOLDENS = Path(__file__).parent / "goldens"
ROOT = Path(__file__).parent.parent
PLANS = "datasets/sample-web/plans/reference.json"
REFERENCE = "datasets/sample-mall/reference"

QUICK = {
    "web-center": ["--grounder", "center"],
    "web-random": ["--grounder", "random", "--seed", "3"],
    "web-oracle": ["--grounder", "oracle"],
    "desktop-center": ["--dataset", "sample-desktop", "--grounder", "always-click-center"],
    "desktop-repeat-last": ["--dataset", "sample-desktop", "--grounder", "repeat-last"],
    "desktop-oracle": ["--dataset", "sample-desktop", "--grounder", "oracle"],
}
# These read the screen, or need an extra (web, browser).
SLOW = {
    "web-ocr": ["--grounder", "ocr"],
    "web-ocr-plans": ["--grounder", "ocr", "--plans", PLANS],
    "desktop-ocr-agent": ["--dataset", "sample-desktop"],
    "desktop-ocr-agent-no-memory": ["--dataset", "sample-desktop", "--memory", "none"],
    "shop-rules": ["--dataset", "sample-shop"],
    "shop-rules-official": ["--dataset", "sample-shop", "--preset", "official", "--scoring", "official"],
    "shop-rules-conversation": ["--dataset", "sample-shop", "--track", "multi"],
    "shop-oracle": ["--dataset", "sample-shop", "--agent", "oracle"],
    "mall-replay": ["--dataset", "sample-mall", "--agent", "replay", "--curations", REFERENCE, "--limit", "4"],
}
VOLATILE = re.compile(r"^(time|report|run folder|rate|judging|opened|cost)\s.*\n?", re.MULTILINE)


def cases() -> list[Any]:
    both = {**QUICK, **SLOW}.items()
    return [pytest.param(name, what, id=name, marks=marks(name)) for name, what in both]


def marks(name: str) -> list[pytest.MarkDecorator]:
    web = [pytest.mark.needs("web")] if name.startswith(("shop", "mall")) else []
    return [*web, *([pytest.mark.slow] if name in SLOW else [])]


def hold(name: str, text: str) -> None:
    """Compare with the golden file, or write it where the user asks for that."""
    path = GOLDENS / name
    if os.environ.get("GROUNDING_UPDATE_GOLDENS"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def rounded(value: Any) -> Any:
    """Floats to six decimals: the likeness of two texts differs in the ninth from one processor to the next."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return round(value, 6) if isinstance(value, float) else value


@pytest.mark.parametrize(("name", "options"), cases())
def test_a_sample_scores_what_it_scored(
    name: str, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if name.startswith("mall"):
        request.getfixturevalue("chromium")
    monkeypatch.chdir(ROOT)
    done = shell.call(*options, "--log-dir", tmp_path, "--display", "none", "--no-report")
    assert done.returncode == 0, done.stderr
    folder = shell.run_folder(tmp_path)
    # Without the page, nor what differs from one installation or one second to the next.
    table = VOLATILE.sub("", done.stdout)
    hold(f"{name}.txt", "\n".join(line.rstrip() for line in table.splitlines()) + "\n")
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    hold(f"{name}.json", json.dumps(rounded(summary), indent=1, ensure_ascii=False) + "\n")


COMMANDS = (
    *("eval", "sweep", "score", "report", "compare", "export", "view", "list", "check", "caption", "transcribe"),
    *("serve", "probe", "audit", "blame", "board", "cache", "shop", "train", "curation"),
)


@pytest.mark.parametrize("command", [*COMMANDS, "eval --dataset sample-shop"])
def test_the_help_of_a_command(command: str, tmp_path: Path) -> None:
    done = shell.run(*command.split(), "--help", module="grounding", cwd=tmp_path, env={"COLUMNS": "100"})
    assert done.returncode == 0
    hold(
        f"help-{command.replace(' --dataset ', '-')}.txt",
        "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n",
    )
