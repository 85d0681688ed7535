"""What a person sees on a terminal of 60, 80 or 200 columns: nothing cut, no word broken, and what to do next."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import shell
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from grounding.cli import COMMANDS
from grounding.console import folded
from grounding.terminal import hanging


class Screen(NamedTuple):
    text: str
    code: int

    def too_wide(self, columns: int) -> list[str]:
        lines = [line.split("\r")[-1] for line in self.text.split("\n")]
        # Signatures and paths are words that are longer than a narrow line, behind a name or an indent.
        return [line for line in lines if cell_len(line) > columns and cell_len(line.split()[-1]) <= columns - 16]


def on_terminal(
    *arguments: str | Path, columns: int, cwd: Path, interrupt: Callable[[str], bool] | None = None
) -> Screen:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    env = {**shell.environment(), "TERM": "xterm", "GROUNDING_EVAL_DISPLAY": "rich"}
    process = subprocess.Popen(
        shell.command(*arguments, module="grounding"), stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, env=env
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # how a terminal ends on Linux
            break
        said += part
        if interrupt is not None and interrupt(said.decode(errors="replace")):
            interrupt = None
            process.send_signal(signal.SIGINT)
    os.close(ours)
    code = process.wait(shell.PATIENCE_S)
    return Screen(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode()).replace("\r\n", "\n"), code)


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize(
    "command",
    [
        "eval --limit 6 --grounder center random --fresh",
        "eval --dataset sample-desktop --limit 5",
        "eval --limit 3 --planner gpt-6.1-sol --grounder gta1 --dry-run",
        "list datasets",
        "list planners",
        "list agents",
    ],
)
def test_everything_fits(command: str, columns: int, tmp_path: Path) -> None:
    seen = on_terminal(*command.split(), columns=columns, cwd=tmp_path)
    assert seen.code == 0, seen.text
    assert seen.too_wide(columns) == []
    assert "…" not in seen.text.rpartition("\r")[2]
    for word in ("interval", "preference", "already", "RealWebAssist", "ANTHROPIC_API_KEY", "$0"):
        assert (word in seen.text) == (word in on_wide(command)), word


WIDE: dict[str, str] = {}


def on_wide(command: str) -> str:
    if command not in WIDE:
        WIDE[command] = shell.call(*command.split(), module="grounding").stdout
    return WIDE[command]


@pytest.mark.parametrize("command", [*COMMANDS, "curation construct", "train grounder"])
def test_help_fits_and_its_examples_can_be_copied(command: str, tmp_path: Path) -> None:
    shown = shell.run(*command.split(), "--help", module="grounding", cwd=tmp_path, env={"COLUMNS": "60"}).stdout
    assert Screen(shown, 0).too_wide(60) == []
    examples = shown.partition("\nExamples:\n")[2].partition("A file of keys")[0]
    assert not re.search(r"```| +$", examples, re.MULTILINE)
    for line in examples.replace("\\\n", "").splitlines():
        assert re.match(r"$|# |(grounding|python|annotate|vllm|ray|GROUNDING_\w+=\S+) ?", line), line


def test_what_to_do_next(tmp_path: Path) -> None:
    def next_of(*more: str) -> list[str]:
        seen = on_terminal("eval", "--limit", "4", *more, columns=200, cwd=tmp_path).text
        found = re.search(r"^next {7}.*", seen, re.MULTILINE | re.DOTALL)
        return [] if found is None else found[0].split()[1:]

    assert " ".join(next_of("--grounder", "center")).startswith("grounding view results/sample-web_none_center_")
    several = " ".join(next_of("--grounder", "center", "oracle"))
    assert re.search(r"grounding view (results/matrix_\w+) grounding compare \1 --flips", several)
    assert next_of("--grounder", "center", "--dry-run") == []
    (tmp_path / "mine.py").write_text("def breaks(image, instruction):\n    1 / 0\n")
    assert "the same command again asks only for what has no answer" in " ".join(
        next_of("--grounder", "./mine.py:breaks")
    )


@pytest.mark.slow
def test_ctrl_c_answers_at_once_whatever_a_function_does(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import time\ndef slow(image, instruction):\n    time.sleep(60)\n")
    began: list[float] = []

    def at_work(said: str) -> bool:
        if "0/4" in said:
            began.append(time.monotonic())
        return bool(began)

    seen = on_terminal(
        "eval", "--limit", "4", "--grounder", "./mine.py:slow", columns=80, cwd=tmp_path, interrupt=at_work
    )
    assert seen.code == 130
    assert "interrupted: ending what is in flight" in seen.text
    assert "the same command again goes on from here" in seen.text
    assert time.monotonic() - began[0] < 30


@given(st.text(st.sampled_from("ab  \u4e00"), max_size=200), st.integers(20, 90))
def test_broken_lines_keep_every_word(text: str, width: int) -> None:
    lines = hanging(Text(text), width).plain.split("\n")
    assert " ".join(lines).split() == text.split()
    assert all(len(line) <= width or len(line.split()) == 1 for line in lines)


@given(st.lists(st.text("ab-", min_size=1, max_size=12), min_size=1, max_size=20), st.integers(30, 90))
def test_folded_commands_are_the_same_commands(words: list[str], width: int) -> None:
    assert folded(" ".join(words), width).replace("\\\n", " ").split() == words
