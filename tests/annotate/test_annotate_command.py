"""``grounding annotate`` as a newcomer meets it: help, wrong folders, no tkinter, no display."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import TinyDataset

from annotate.__main__ import COMMANDS

WITHOUT_TKINTER = """
import sys
sys.modules["tkinter"] = None
sys.argv[0] = "annotate"
from annotate.__main__ import main
main()
"""


def run(*arguments: str, code: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *(("-c", code) if code else ("-m", "annotate")), *arguments]
    variables = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    return subprocess.run(
        command, env={**variables, "COLUMNS": "120", **environment}, capture_output=True, text=True, timeout=120
    )


def refused(answer: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert answer.returncode == 2, answer
    assert "Traceback" not in answer.stderr
    lines = answer.stderr.strip().splitlines()
    assert len(lines) == 1, answer.stderr
    for part in parts:
        assert part in lines[0]


def test_help_names_every_command_and_shows_examples() -> None:
    answer = run("--help")
    assert answer.returncode == 0
    for command in COMMANDS:
        assert command in answer.stdout
    assert "grounding annotate DATA/3" in answer.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_there_and_has_help(command: str) -> None:
    # Nothing but a window needs tkinter.
    answer = run(command, "--help", code=WITHOUT_TKINTER)
    assert answer.returncode == 0, answer.stderr
    assert f"annotate {command}" in answer.stdout


def test_without_tkinter_the_package_is_named(tiny_dataset: TinyDataset) -> None:
    folder = tiny_dataset(participants=1) / "1"
    refused(run(str(folder), code=WITHOUT_TKINTER, DISPLAY=":0"), "tkinter", "python3-tk")


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="there is always a display")
def test_without_a_display_the_package_is_named(tiny_dataset: TinyDataset) -> None:
    pytest.importorskip("tkinter", reason="this Python has no tkinter")
    folder = tiny_dataset(participants=1) / "1"
    refused(run(str(folder)), "no display", "xvfb")
    refused(run(str(folder), DISPLAY=":2947"), "no display", "xvfb")


def test_wrong_folders_and_options(tmp_path: Path) -> None:
    refused(run(str(tmp_path / "nowhere")), "no such folder")
    refused(run("chekc"), "no such folder", "check")
    refused(run(str(tmp_path), "--scale", "9"), "--scale")
    refused(run(str(tmp_path), "--step", "0"), "--step")
