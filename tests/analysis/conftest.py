"""A run with every kind of miss: made once a test, with a grounder that really reads and really looks."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import shell
from fakes.chat_server import ChatServer, answering

from analysis.looking import FollowingGrounder

BLIND = 4  # The step that the grounder never finds, whatever it is told.
PLANS = {
    "1": {"1": "click thing 0", "2": "click thing 3", "3": "", "4": "the cheaper one", "5": "click thing 4"},
    "2": {"1": "click thing 1", "2": "click thing 1", "4": "click thing 9", "5": "push thing 4"},
}  # Of ten steps 1/1 and 2/2 are hits; 1/3 is an empty plan and 2/3 has none. The others are misses.
REFERENCE = {
    participant: {str(number + 1): f"click thing {number}" for number in range(5)} for participant in ("1", "2")
}

MISSES = {"1/2": "reasoning", "1/4": "reasoning", "1/5": "grounding", "2/1": "reasoning", "2/4": "reasoning"}
MISSES["2/5"] = "grounding"  # What is true of them: only thing 4 is not found although it is named.


class Setup:
    """A finished run and what is needed to ask about it."""

    def __init__(self, folder: Path, data_dir: Path, server: ChatServer) -> None:
        self.folder = folder
        self.data_dir = data_dir
        self.server = server
        self.card = shell.grounder_card(folder)
        self.log_dir = folder / "results"
        self.reference = folder / "reference.json"
        self.reference.write_text(json.dumps(REFERENCE))

    def eval(self, plans: Any, *more: str | Path, log_dir: Path | None = None) -> Path:
        """A run over plans, and its folder."""
        file = self.folder / "plans.json"
        file.write_text(json.dumps(plans))
        return self.eval_with("--plans", file, *more, log_dir=log_dir)

    def eval_with(self, *planner: str | Path, log_dir: Path | None = None) -> Path:
        """A run with any planner, and its folder."""
        log_dir = log_dir or self.log_dir
        done = shell.call(
            *("--dataset", "realwebassist", "--data-dir", self.data_dir, "--grounder", self.card),
            *("--base-url", self.server.base_url, "--log-dir", log_dir, "--display", "none", *planner),
        )
        assert done.returncode in (0, 1), done.stderr
        return shell.run_folder(log_dir)

    def blame(self, run: Path, *more: str | Path) -> subprocess.CompletedProcess[str]:
        return shell.call("blame", run, "--display", "none", *more, module="grounding")

    def split(self, run: Path, *more: str | Path, code: int = 0) -> dict[str, Any]:
        """What ``--json`` prints, which is what the file holds."""
        done = self.blame(run, "--json", *more)
        assert done.returncode == code, done.stderr + done.stdout
        found: dict[str, Any] = json.loads(done.stdout)
        assert found == json.loads((run / "error_split.json").read_text())
        return found


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(answering(FollowingGrounder(blind=(BLIND,)))) as running:
        yield running


@pytest.fixture
def setup(tmp_path: Path, tiny_dataset: Callable[..., Path], server: ChatServer) -> Setup:
    return Setup(tmp_path, tiny_dataset(size=(160, 120), steps=5, unscored=()), server)


def said(run: Path, source: str) -> dict[str, str]:
    """What a source says of each step, from ``error_split.jsonl``."""
    return {
        line["step_id"]: opinion["said"]
        for line in shell.records(run / "error_split.jsonl")
        for opinion in line.get("opinions", ())
        if opinion["source"] == source
    }
