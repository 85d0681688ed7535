from __future__ import annotations

import io

import pytest
from rich.console import Console

from grounding.training.loop.progress import StageProgress, figures, printable
from grounding.training.records import MetricsLine, SampleLine

LINE = MetricsLine(step=3, epoch=0.5, loss=0.25, reward=0.5, kl=0.0123, clipped_fraction=0.1)


def test_the_figures_are_those_that_a_person_looks_for() -> None:
    assert figures(LINE) == "loss 0.25 · reward 0.5 · KL 0.0123 · clipped 0.1"
    assert figures(MetricsLine(step=1, epoch=0.0, preference_accuracy=1.0)) == "preferences right 1"


def test_lines_say_how_far_it_is_and_how_long_it_takes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr("grounding.training.loop.progress.time.monotonic", lambda: clock[0])
    progress = StageProgress("plain", "grpo")
    with progress.shown():
        progress.metrics(MetricsLine(step=0, epoch=0.0, kind="held_out", reward=0.125), 10)
        clock[0] += 20
        progress.metrics(MetricsLine(step=4, epoch=0.4, loss=0.5, reward=0.25), 10)
        clock[0] += 1
        progress.metrics(MetricsLine(step=5, epoch=0.5, loss=0.4), 10)
        progress.metrics(MetricsLine(step=10, epoch=1.0, loss=0.1), 10)
    assert capsys.readouterr().err.splitlines() == [
        "grpo 0/10: held out: reward 0.125",
        "grpo 4/10, 30 s left: loss 0.5 · reward 0.25 · held out: reward 0.125",
        "grpo 10/10: loss 0.1 · reward 0.25 · held out: reward 0.125",
    ]


def test_what_a_model_wrote_is_shown_now_and_then_on_one_harmless_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("grounding.training.loop.progress.time.monotonic", lambda: clock[0])
    progress = StageProgress("plain", "grpo")
    sample = SampleLine(step=2, example="1/3", text="\x1b[31mred\n(12, 7)\r" + "x" * 500, reward=0.5)
    for _ in range(3):
        progress.sample(sample)
        clock[0] += 20
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("grpo 2, 1/3: [31mred (12, 7) xxx")
    assert lines[0].endswith("x… (reward 0.5)")
    assert "\x1b" not in lines[0]


def test_nothing_is_shown_where_nothing_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    progress = StageProgress("none", "sft")
    with progress.shown():
        progress.metrics(LINE, 10)
        progress.sample(SampleLine(step=1, example="1", text="a"))
    assert capsys.readouterr() == ("", "")


def test_a_bar_has_the_figures_and_takes_no_markup_from_a_model() -> None:
    progress = StageProgress("rich", "grpo")
    shown = io.StringIO()
    progress._console = Console(file=shown, force_terminal=True, width=200)
    with progress.shown():
        progress.metrics(LINE, 10)
        progress.sample(SampleLine(step=3, example="1/3", text="[bold]a[/bold] [/]", reward=1.0))
    text = shown.getvalue()
    assert "3/10" in text
    assert "reward 0.5 · KL 0.0123 · clipped 0.1" in text
    assert "[bold]a[/bold] [/]" in text


def test_printable_text_is_one_line() -> None:
    assert printable("a\tb\n c", 10) == "a b c"
    assert printable("abcdef", 4) == "abc…"
