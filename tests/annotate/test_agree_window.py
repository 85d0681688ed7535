"""The disagreements of two annotators, gone through in the real window."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from person import QUESTIONS, boxes, display, need_programs, until, write_folder

pytestmark = pytest.mark.slow


def test_the_other_ones_answer_is_taken_with_one_key(tmp_path: Path) -> None:
    need_programs()
    mine = {"x": 10, "y": 20, "width": 30, "height": 40}
    a = write_folder(tmp_path / "a" / "1", 3, bounding_box=mine)
    b = write_folder(tmp_path / "b" / "1", 3, bounding_box=mine)
    theirs = json.loads((b / QUESTIONS).read_text())
    theirs[1]["bounding_box"] = {**mine, "x": 200}
    theirs[2]["bounding_box"] = None
    (b / QUESTIONS).write_text(json.dumps(theirs))

    def items() -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads((a / QUESTIONS).read_text())
        return found

    log = tmp_path / "log"
    with display(tmp_path / "xvfb.txt") as screen, log.open("wb") as out:
        environment = {**os.environ, "DISPLAY": screen}

        def does(*words: str) -> str:
            done = subprocess.run(["xdotool", *words], env=environment, capture_output=True, text=True, timeout=60)
            return done.stdout

        command = [sys.executable, "-m", "annotate", "agree", str(a), str(b), "--open", "--annotator", "ann"]
        program = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
        try:
            # It begins at the first disagreement, not at the first step.
            until(lambda: "2/3" in does("getactivewindow", "getwindowname"), lambda: log.read_text())
            does("key", "o")
            until(lambda: boxes(items()[1]) == [(200, 20, 30, 40)], lambda: log.read_text())
            does("key", "z")
            until(lambda: "3/3" in does("getactivewindow", "getwindowname"), lambda: log.read_text())
            does("key", "o")
            until(lambda: items()[2]["bounding_box"] is None, lambda: log.read_text())
            does("key", "ctrl+q")
            assert program.wait(timeout=60) == 1
        finally:
            if program.poll() is None:
                program.kill()
                program.wait()
    assert boxes(items()[0]) == [(10, 20, 30, 40)]
    again = subprocess.run([sys.executable, "-m", "annotate", "agree", str(a), str(b)], capture_output=True, timeout=60)
    assert again.returncode == 0
