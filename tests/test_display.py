from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from grounding.display import Progress
from grounding.options import Display
from grounding.records import Box, Failure, Plan, Point, Prediction, Region, Screenshot, Size, Step
from grounding.runner import Done
from grounding.steps import StepItem

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


def play(progress: Progress, *lasts: Prediction | Plan) -> None:
    with progress.phase("reading the data set"):
        pass
    with progress.steps(len(lasts)):
        progress.retried()
        for last in lasts:
            stage = "plan" if isinstance(last, Plan) else "ground"
            progress.record(Done(stage="plan", source="stored", failed=False))
            progress.record(Done(stage=stage, source="stored", failed=last.failure is not None))
            progress.item(ITEM, last)


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


def test_a_terminal_is_left_alone_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    play(Progress("none"), *LASTS)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("display", ["rich", "plain", "none"])
def test_what_goes_wrong_inside_comes_out(display: Any) -> None:
    progress = Progress(display)
    with pytest.raises(KeyboardInterrupt), progress.steps(2):
        raise KeyboardInterrupt
    progress.retried()
