from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from rich.cells import cell_len

from grounding.options import Display
from grounding.records import Box, Failure, Plan, Point, Prediction, Region, Screenshot, Size, Step
from grounding.run.display import LatestStep, ManyProgress, Progress, QueuedRun, QueueState
from grounding.run.steps import StepItem
from grounding.scoring.scored import judge

ITEM = StepItem(
    step=Step(
        id="1/1",
        participant="1",
        task="t",
        instruction_index=0,
        instruction="go",
        screenshot=Screenshot(path="a.png", size=Size(width=10, height=10), sha256="0"),
        region=Region(boxes=(Box(left_px=0, top_px=0, right_px=5, bottom_px=5),)),
    )
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def prediction(x: float | None = None, failure: Failure | None = None) -> Prediction:
    return Prediction(step_id="1/1", key="k", point=None if x is None else Point(x_px=x, y_px=1), failure=failure)


def error(message: str = "down") -> Failure:
    return Failure(kind="error", message=message)


def through(progress: Progress, last: Prediction | Plan) -> None:
    plan, found = (last, None) if isinstance(last, Plan) else (None, last)
    outcome = judge(ITEM.step, plan, found).outcome
    step = ITEM.step
    progress.count(
        outcome, LatestStep(id=step.id, instruction=step.instruction, screenshot=step.screenshot, outcome=outcome)
    )


def begun(shown: ManyProgress, name: str) -> Progress:
    progress = Progress("none")
    shown.begins(name, progress)
    return progress


def play(progress: Progress, *lasts: Prediction | Plan) -> None:
    with progress.phase("reading the data set"):
        pass
    with progress.steps(len(lasts)):
        progress.retried()
        for last in lasts:
            if isinstance(last, Prediction):
                progress.kept()
            through(progress, last)


LASTS = (
    prediction(1),
    prediction(2),
    prediction(9),
    prediction(failure=Failure(kind="unparsed", message="?")),
    prediction(failure=error()),
    Plan(step_id="1/1", key="k", text=None, failure=Failure(kind="missing", message="no plan")),
)


@pytest.mark.parametrize("display", [None, "none"])
def test_without_a_terminal_or_a_wish_nothing_is_said(
    capsys: pytest.CaptureFixture[str], display: Display | None
) -> None:
    play(Progress(display), *LASTS)
    assert capsys.readouterr() == ("", "")


def test_on_a_pipe_a_run_that_takes_longer_says_how_to_see_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("grounding.run.display.QUIET_S", 0.01)
    with Progress(None).steps(1):
        time.sleep(0.3)
    assert "--display plain" in capsys.readouterr().err


def test_plain_lines_count_every_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    play(Progress("plain"), *LASTS)
    out, err = capsys.readouterr()
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith("6/6 steps, ")
    words = last.split(": ", 1)[1].split(" · ")
    assert words == ["hit 2", "miss 1", "unparsed 1", "error 1", "missing 1", "retries 1", "kept from before 5"]


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    play(Progress(None), *LASTS)
    shown = terminal.getvalue()
    assert "6/6" in shown
    for word in ("hit 2", "miss 1", "unparsed 1", "error 1", "missing 1", "retries 1"):
        assert word in shown, word
    assert capsys.readouterr().out == ""


# --- several runs -------------------------------------------------------------------------------------------------

NAMES = ["a + b", "[red]x[/] \x1b[2J\ny", "e + f", "g"]


def many(display: Display | None) -> ManyProgress:
    runs = tuple(
        QueuedRun(name=name, run_id=f"r{at}", folder="", steps=steps)
        for at, (name, steps) in enumerate(zip(NAMES, (3, 2, 9, 9), strict=True))
    )
    return ManyProgress(display, QueueState(command="c", started_at="", cost_limit_usd=1, runs=runs))


def play_many(shown: ManyProgress) -> None:
    one, two = begun(shown, NAMES[0]), begun(shown, NAMES[1])
    one.money = lambda: (0.25, 0.25)
    with one.phase("reading the data set"):
        assert one.state().doing == "reading the data set"
    with one.steps(3):
        one.kept()
        for last in (prediction(1), prediction(9), prediction(failure=error())):
            through(one, last)
        one.retried()
    shown.ended(NAMES[0], "partial", "the cost limit\nis reached")
    with two.steps(2):
        through(two, prediction(1))
    shown.ended("e + f", "failed", "no \x1b[2J server")
    state = one.state()
    assert (state.done, state.steps, state.kept, state.retries, state.spent_usd) == (3, 3, 1, 1, 0.25)
    assert [step.outcome for step in state.latest] == ["error", "miss", "hit"]


def test_plain_lines_name_their_run_and_move_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.closing(many("plain")) as shown:
        play_many(shown)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "a + b: starting",
        r"[red]x[/] \x1b[2J y: starting",
        "a + b: partial; 3/3 steps in 0:00:00, 33.3 % hits · 1 error; the cost limit is reached",
        r"e + f: failed; no \x1b[2J server",
        "all: 4 steps in 0:00:00 · 1 partial · 1 failed of 4 · $0.50 of $1.00 spent",
    ]


def test_the_rate_leaves_out_what_was_there_from_before(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("grounding.run.display.time.monotonic", lambda: now)
    one = Progress("none")
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


PROGRAM = """
import sys
import time
from grounding.run.display import Progress
one = Progress(None)
with one.steps(3):
    one.count("hit")
    one._bar.refresh()
    print("grounding: warning: [b]said by somebody else[/b]", file=sys.stderr)
    print("a result")
"""


def test_on_a_real_terminal_everything_stays_in_its_place(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for name in ("COLUMNS", "LINES"):
        environment.pop(name, None)
    results, said = tmp_path / "results.txt", b""
    with results.open("wb") as out:
        running = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=out, stderr=theirs, env=environment)
    os.close(theirs)
    # Linux raises where the other end is closed.
    with contextlib.suppress(OSError):
        while piece := os.read(ours, 65_536):
            said += piece
    os.close(ours)
    assert running.wait() == 0
    assert results.read_text() == "a result\n"
    text = said.decode()
    assert "\x1b[?25h" in text  # The cursor is back.
    plain = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).rstrip() for line in re.split(r"[\r\n]+", text)]
    assert "grounding: warning: [b]said by somebody else[/b]" in plain
    # No line is wider than the terminal, or the bar would not be taken back whole.
    assert max(cell_len(line) for line in plain if "1/3" in line) <= 80
