"""Puts measured figures into README.md: runs the commands it shows and replaces the blocks between the markers.

python tools/update_readme.py table scores bench matrix dryrun speech scale    # any of them; half an hour for all
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PICTURES = ROOT / "docs"
REFERENCE = ROOT / "datasets" / "sample-web" / "plans" / "reference.json"
METRICS = ("step_accuracy", "instruction_accuracy", "average_progress", "task_success")


def evaluate(*options: str) -> str:
    """Standard output of one evaluation into a folder of its own."""
    with tempfile.TemporaryDirectory() as logs:
        command = [sys.executable, "-m", "grounding.eval", "--display", "none", "--log-dir", logs, *options]
        output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        return output.replace(logs, "results")


def table() -> str:
    """What the first command prints."""
    return f"```\n{evaluate().rstrip()}\n```"


def scores() -> str:
    """Every built-in grounder, with the spoken words and with the sample's reference plans."""
    lines = [
        "| grounder | instructions | step accuracy | instruction accuracy | progress | task success |",
        "|---|---|---|---|---|---|",
    ]
    for grounder in ("random", "center", "ocr", "oracle"):
        for words, plans in (("as spoken", ()), ("explicit", ("--plans", str(REFERENCE)))):
            if plans and grounder != "ocr":
                continue
            summary = json.loads(evaluate("--grounder", grounder, "--json", *plans))
            cells = [_cell(summary["scores"]["paper"][metric]) for metric in METRICS]
            lines.append(f"| `{grounder}` | {words if grounder == 'ocr' else 'not used'} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(estimate: dict[str, float]) -> str:
    return f"{estimate['value']:.1f} [{estimate['low']:.1f}, {estimate['high']:.1f}]"


def bench() -> str:
    """The benchmark's table at its full size, and memory at ten times the steps."""
    harness = [sys.executable, str(ROOT / "tools" / "bench" / "harness.py")]
    full = subprocess.run([*harness, "--repeats", "3"], check=True, capture_output=True, text=True).stdout
    ten = [*harness, "--steps", "17140", "--latency", "0"]
    more = subprocess.run(ten, check=True, capture_output=True, text=True).stdout
    return f"```\n{full.rstrip()}\n\n{more.rstrip()}\n```"


def scale() -> str:
    """The table of sizes, from the figures in docs/scale.json: those take hours and are measured on their own."""
    command = [sys.executable, str(ROOT / "tools" / "bench" / "scale.py"), "readme"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.rstrip()


def matrix() -> str:
    """The sweep that the README names: its table here, its plot as a picture beside."""
    with tempfile.TemporaryDirectory() as logs:
        command = [sys.executable, "-m", "grounding.cli", "sweep", "--plans", "none", str(REFERENCE.relative_to(ROOT))]
        command += ["--display", "none", "--log-dir", logs]
        output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        (drawn,) = Path(logs).glob("sweep_*/sweep.png")
        PICTURES.mkdir(exist_ok=True)
        shutil.copy(drawn, PICTURES / "sweep-plans.png")
        return f"```\n{output.replace(logs, 'results').rstrip()}\n```"


def dryrun() -> str:
    """What a planner would cost on the sample, with nothing paid for before."""
    return f"```\n{evaluate('--planner', 'gpt-4o', '--dry-run', '--no-plan-store').rstrip()}\n```"


def speech() -> str:
    """What recognition errors do to the offline grounder: the table here, the curve and the scatter as pictures."""
    heard = ["truth", "pocketsphinx"]
    with tempfile.TemporaryDirectory() as logs:
        output = _sweep(logs, [*heard, "pocketsphinx@babble:10dB", "pocketsphinx@typing:0dB"])
        (drawn,) = Path(logs).glob("sweep_*/speech-errors.png")
        PICTURES.mkdir(exist_ok=True)
        shutil.copy(drawn, PICTURES / "speech-errors.png")
    with tempfile.TemporaryDirectory() as logs:
        # One person's recordings: noise makes this recogniser several times slower.
        levels = [f"pocketsphinx@babble:{level}dB" for level in range(20, -10, -5)]
        _sweep(logs, [*heard, *levels], "--participant", "3")
        (drawn,) = Path(logs).glob("sweep_*/speech-snr.png")
        shutil.copy(drawn, PICTURES / "speech-snr.png")
    return f"```\n{output.rstrip()}\n```"


def _sweep(logs: str, transcripts: list[str], *more: str) -> str:
    command = [sys.executable, "-m", "grounding.cli", "sweep", "--display", "none", "--log-dir", logs]
    command += ["--transcript", *transcripts, *more]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return output.replace(logs, "results")


def main() -> None:
    """Make the named blocks anew."""
    blocks = {"table": table, "scores": scores, "bench": bench, "matrix": matrix, "dryrun": dryrun}
    blocks |= {"speech": speech, "scale": scale}
    for name in sys.argv[1:] or list(blocks):
        content = f"<!-- {name}:start -->\n{blocks[name]()}\n<!-- {name}:end -->"
        text = README.read_text()
        pattern = re.compile(rf"<!-- {name}:start -->.*<!-- {name}:end -->", re.DOTALL)
        README.write_text(pattern.sub(lambda _match, new=content: new, text))


if __name__ == "__main__":
    main()
