from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from test_display import ITEM, prediction

from grounding.manybars import AllShown, Block, RunShown
from grounding.manydisplay import ManyProgress
from grounding.options import Display
from grounding.records import Failure, Plan, Prediction
from grounding.runner import Done
from grounding.runqueue import QueuedRun, QueueState

NAMES = [f"qwen3-vl-{at}b-instruct + ui-tars-1.5-7b · whisper" for at in range(40)]


def drawn(shown: AllShown, width: int, height: int) -> list[str]:
    console = Console(record=True, width=width, height=height, file=io.StringIO(), force_terminal=True)
    console.print(Block(shown))
    return console.export_text().splitlines()


def shown(running: int, starting: int = 0, *, errors: int = 0, stopped: bool = False) -> AllShown:
    runs = [
        RunShown(
            name=NAMES[at], done=123_456, total=1_000_000, hits=50_000, errors=errors * (at % 2), rate_per_s=1234.5
        )
        for at in range(running)
    ]
    runs += [RunShown(name=NAMES[running + at], doing="reading the data set") for at in range(starting)]
    return AllShown(
        running=tuple(runs), waiting={"ui-tars-1.5-7b": 8, "": 4}, ended={"complete": 5, "partial": 1, "failed": 2},
        runs=60, done=2_000_000, steps=40_000_000, elapsed_s=3600, rate_per_s=1234.5, spent_usd=1.5, limit_usd=5,
        stopped=stopped,
    )  # fmt: skip


@pytest.mark.parametrize("height", [4, 5, 6, 10, 24, 60])
@pytest.mark.parametrize("width", [80, 60, 200])
def test_the_block_never_outgrows_the_terminal(width: int, height: int) -> None:
    for running, starting in ((40, 0), (38, 2), (3, 10), (0, 2), (1, 0)):
        lines = drawn(shown(running, starting, errors=7), width, height)
        assert len(lines) <= height - 1
        assert max(map(cell_len, lines)) <= width
        said = sum("qwen" in line for line in lines)
        rest = [int(found[1]) for line in lines if (found := re.search(r"… and (\d+) more at work", line))]
        if height >= 6:
            assert said + sum(rest) == running + starting
        if height == 60:
            assert said == running + starting
        assert any(line.startswith("all ") for line in lines)


def test_eighty_columns_hold_every_figure_of_a_run_of_a_million_steps() -> None:
    lines = drawn(shown(2, 1, errors=7), 80, 24)
    assert lines[0].split() == ["run", "steps", "hits", "errors", "rate", "left"]
    assert lines[1].split()[-4:] == ["40.5", "%", "1,234/s", "0:11:50"]
    assert lines[2].split()[-5:] == ["40.5", "%", "7", "1,234/s", "0:11:50"]
    assert "123,456/1,000,000" in lines[1]
    assert lines[1].startswith("qwen3")
    assert "…" in lines[1]
    assert lines[3].split("  ")[1].strip() == "reading the data set …"
    assert lines[4] == "waiting  12: 8 for ui-tars-1.5-7b, 4 others"
    assert lines[5] == "ended    5 complete · 1 partial · 2 failed of 60 runs"
    assert lines[6].startswith("all      2,000,000/40,000,000 steps · 1,234/s · about 8:33:02 left · ")
    assert "errors" not in drawn(shown(2), 80, 24)[0]


def test_names_are_texts_and_move_no_cursor() -> None:
    run = RunShown(name="[red]x[/] \x1b[2J\ny", done=1, total=2)
    everything = AllShown(
        running=(run,), waiting={"[b]s": 1}, ended={}, runs=1, done=1, steps=2, elapsed_s=1, spent_usd=0.0
    )
    lines = drawn(everything, 80, 24)
    assert lines[1].startswith("[red]x[/] [2J y ")
    assert lines[2] == "waiting  1: 1 for [b]s"
    assert lines[3].endswith("1/2 steps · $0.00 spent")


def play(many: ManyProgress) -> None:
    one, two = many.run("a + b"), many.run("c + d")
    with one.phase("reading the data set"):
        assert many.shown().running[0].doing == "reading the data set"
    with one.steps(3):
        one.record(Done(stage="ground", source="stored", failed=False))
        one.item(ITEM, prediction(1))
        one.item(ITEM, prediction(9))
        one.retried()
        one.item(ITEM, Plan(step_id="1/1", key="k", text=None, failure=Failure(kind="error", message="down")))
    many.ended("a + b", "partial", "the cost limit\nis reached")
    many.say("grounding: warning: something")
    with two.steps(2):
        two.item(ITEM, prediction(1))
    many.ended("e + f", "failed", "no \x1b[2J server")


def progress(display: Display | None) -> ManyProgress:
    return ManyProgress(
        display, ["a + b", "c + d", "e + f", "g"], steps=[3, 2, 9, 9], spent_usd=lambda: 0.5, limit_usd=1
    )


@pytest.mark.parametrize("display", [None, "none"])
def test_without_a_terminal_or_a_wish_nothing_is_said(
    capsys: pytest.CaptureFixture[str], display: Display | None
) -> None:
    with progress(display) as many:
        play(many)
    assert capsys.readouterr() == ("", "")


def test_plain_lines_name_their_run(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("plain") as many:
        play(many)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[:2] == ["a + b: starting", "c + d: starting"]
    assert lines[2] == "a + b: partial; 3/3 steps in 0:00:00, 33.3 % hits; the cost limit is reached"
    assert lines[3] == "grounding: warning: something"
    assert lines[4] == "e + f: failed; no [2J server"
    assert lines[5] == (
        "all: 1 partial · 1 failed · 1 broken off · 1 not begun · 4/23 steps · in 0:00:00 · $0.50 of $1.00 spent"
    )


def test_a_plain_line_comes_as_often_as_it_may(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("grounding.manydisplay.time.monotonic", lambda: now)
    with progress("plain") as many:
        one = many.run("a + b")
        with one.steps(100):
            for _ in range(50):
                now += 0.5
                one.count("hit")
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("a + b: ") and "steps" in line]
    assert lines[0] == "a + b: 10/100 steps, 5 s: hit 10 · miss 0"
    assert len(lines) == 5


def test_the_rate_leaves_out_what_was_there_from_before(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("grounding.manydisplay.time.monotonic", lambda: now)
    with progress("none") as many:
        one = many.run("a + b")
        with one.steps(10_000):
            for _ in range(5_000):
                one.kept()
                one.count("hit")
            assert one.rate_per_s is None
            for _ in range(200):
                now += 1
                one.count("miss")
            assert one.rate_per_s == pytest.approx(1.0)
            # An answer every ten seconds from here on: what was quick long ago no longer counts.
            for _ in range(30):
                now += 10
                one.count("miss")
            assert one.rate_per_s == pytest.approx(0.1, rel=0.2)


def test_what_goes_wrong_inside_comes_out() -> None:
    with pytest.raises(KeyboardInterrupt), progress("none") as many, many.run("g").steps(2):
        raise KeyboardInterrupt
    assert many.shown().broken_off == 1


def test_runs_that_can_not_be_told_apart_are_refused() -> None:
    with pytest.raises(ValueError, match="one name"):
        ManyProgress("none", ["a", "a"])
    many = progress("none")
    with pytest.raises(KeyError):
        many.run("nobody")
    with pytest.raises(KeyError):
        many.ended("nobody", "failed")
    with pytest.raises(ValueError, match="does not end"):
        many.ended("g", "running")


def test_a_queue_is_shown_as_it_is() -> None:
    run = QueuedRun(name="a", run_id="1", folder="1", steps=5, server="s")
    with ManyProgress.over("none", QueueState(command="c", started_at="", cost_limit_usd=3, runs=(run,))) as many:
        assert many.shown().spent_usd is None
        many.pays(lambda: 2.5)
        found = many.shown()
    assert (found.waiting, found.steps, found.limit_usd, found.spent_usd) == ({"s": 1}, 5, 3, 2.5)


def test_many_threads_tell_at_once() -> None:
    names = NAMES[:8]
    with ManyProgress("none", names, steps=[500] * 8) as many:

        def one(name: str) -> None:
            told = many.run(name)
            with told.steps(500):
                for _ in range(500):
                    told.item(ITEM, prediction(1))
            many.ended(name, "complete")

        threads = [threading.Thread(target=one, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = many.shown()
    assert (found.done, found.ended) == (4_000, {"complete": 8})


PROGRAM = """
import sys
from grounding.manydisplay import ManyProgress
names = [f"run number {at} of a long name, which is cut" for at in range(40)]
with ManyProgress(None, names, steps=[5] * 40) as many:
    runs = [many.run(name) for name in names[:30]]
    through = [run.steps(5) for run in runs]
    for each in through:
        each.__enter__()
    for run in runs[:29]:
        run.count("hit")
    many._live.refresh()
    print("grounding: warning: [b]said by somebody else[/b]", file=sys.stderr)
    print("a result")
    for name in names[:30]:
        many.ended(name, "complete")
    many._live.refresh()
"""


def test_on_a_real_terminal_everything_stays_in_its_place(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("COLUMNS", None)
    environment.pop("LINES", None)
    results = tmp_path / "results.txt"
    with results.open("wb") as out:
        running = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=out, stderr=theirs, env=environment)
    os.close(theirs)
    said = b""
    while True:
        try:
            piece = os.read(ours, 65_536)
        except OSError:  # Linux says so where the other end is closed.
            break
        if not piece:
            break
        said += piece
    os.close(ours)
    assert running.wait() == 0
    assert results.read_text() == "a result\n"
    text = said.decode()
    assert "\x1b[?25h" in text  # The cursor is back.
    plain = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]+", text)]
    assert "grounding: warning: [b]said by somebody else[/b]" in plain
    assert sum(": complete; " in line for line in plain) == 30
    assert [line for line in plain if line][-1].startswith("all      29/200 steps · in ")
    assert [line for line in plain if line][-3] == "waiting  10"
    # No line is wider than the terminal, or the block would not be taken back whole.
    assert max(cell_len(line) for line in plain if "━" in line) <= 80
    ups = [int(found) for found in re.findall(r"\x1b\[(\d+)A", text)]
    assert max([text.count("\x1b[1A"), *ups]) > 0


def test_a_prediction_that_came_is_judged() -> None:
    with progress("none") as many:
        one = many.run("a + b")
        with one.steps(1):
            one.item(ITEM, Prediction(step_id="1/1", key="k", point=None, declined=True))
        assert one.words() == "hit 0 · miss 0 · unparsed 1"
