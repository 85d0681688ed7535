from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from grounding.options import ScoringName
from grounding.records import Box, Outcome, Region, Screenshot, Session, Size, Step, Verdict
from grounding.report.show import show_result
from grounding.report.table import print_summary
from grounding.runfolder import Asked, RunInfo
from grounding.scorebook import Scored
from grounding.scoring.costs import CostTotals, TimeTotals
from grounding.scoring.summary import Status, Summary, summarise

REGION = Region(boxes=(Box(left_px=0, top_px=0, right_px=9, bottom_px=9),))


def info(**changes: Any) -> RunInfo:
    asked = {name: changes.pop(name) for name in list(changes) if name in Asked.__struct_fields__}
    return msgspec.structs.replace(
        RunInfo(
            run_id="r",
            status="complete",
            signature="s",
            asked=Asked(
                **{
                    "dataset": "web",
                    "fingerprint": "f",
                    "questions": "",
                    "history": 0,
                    "history_file": "",
                    "select": "all",
                    "planner": "none",
                    "planner_identity": "none",
                    "planner_base_url": "",
                    "grounder": "ocr",
                    "grounder_identity": "ocr",
                    "base_url": "",
                    "seed": 7,
                    "version": "1",
                    **asked,
                }
            ),
            data_dir="",
            command="",
            versions={},
            started_at="",
        ),
        **changes,
    )


def summary(outcomes: Sequence[Outcome | None], *, status: Status = "complete", **more: Any) -> Summary:
    """One task of one participant; None is a step without a click."""
    steps = tuple(
        Step(
            id=f"1/{number}",
            participant="1",
            task="t",
            instruction_index=number,
            instruction="go",
            screenshot=Screenshot(path="a.png", size=Size(width=10, height=10), sha256="0"),
            region=REGION if outcome else None,
        )
        for number, outcome in enumerate(outcomes)
    )
    verdicts = [Verdict(step_id=f"1/{number}", outcome=outcome) for number, outcome in enumerate(outcomes) if outcome]
    sessions = [Session(participant="1", steps=steps)]
    return summarise(sessions, verdicts, status=status, signature="data:web|seed:7", **more)


def shown(
    found: Summary, about: RunInfo | None = None, *, scoring: ScoringName = "paper", width: int = 100, folder: str = "r"
) -> str:
    buffer = io.StringIO()
    print_summary(Console(file=buffer, width=width), found, about or info(), scoring=scoring, folder=folder)
    return buffer.getvalue()


def test_counts_stand_beside_percentages() -> None:
    text = shown(summary(["hit", "hit", "miss", None, "unparsed"]))
    for part in ("web · planner none · grounder ocr", "score (paper)", "50.0 %", "2/4 steps", "2/4 instructions"):
        assert part in text
    assert "0/1 tasks" in text
    assert "hit 2 · miss 1 · unparsed 1 · error 0  (of 4 scored; 1 without a click)" in text
    assert "signature  data:web|seed:7" in text
    assert "run folder r" in text
    assert "bootstrap over tasks, seed 7" in text
    assert "average distance" not in text
    assert "warning" not in text


def test_official_scores_have_a_distance_and_no_intervals() -> None:
    text = shown(summary(["hit", "miss"]), scoring="official")
    assert "score (official)" in text
    assert "interval" not in text
    assert "average distance" in text


@pytest.mark.parametrize("scoring", ["paper", "official"])
def test_nothing_scored_is_shown_as_nothing(scoring: ScoringName) -> None:
    text = shown(summary([None, None]), scoring=scoring)
    assert "0/0 steps" in text
    assert "(of 0 scored; 2 without a click)" in text
    assert ("-" in text) == (scoring == "paper") or "0.0 %" in text
    assert "nan" not in text.lower()


@pytest.mark.parametrize("scoring", ["paper", "official"])
def test_no_answer_that_can_be_scored(scoring: ScoringName) -> None:
    text = shown(summary(["error", "missing", "unparsed"], status="partial"), scoring=scoring)
    assert "0/3 steps" in text
    assert "hit 0 · miss 0 · unparsed 1 · error 1 · missing 1" in text


def test_what_is_wrong_with_a_run_is_said_in_words() -> None:
    text = shown(summary(["hit", "error"], status="partial"), info(stopped="the cost limit of $1 is reached"))
    assert "stopped before the end: the cost limit of $1 is reached" in text
    assert "1 steps ended in an error and count as wrong; run the same command again to ask only those" in text
    assert "the run is partial: its scores are not final" in text
    missing = shown(summary(["hit", "missing"]))
    assert "1 steps have no recorded answer and count as wrong" in missing
    assert "partial" not in missing


def test_time_money_and_retries() -> None:
    time = TimeTotals(wall_s=12.34, retries=3)
    text = shown(
        summary(["hit", "miss"], time=time, cost=CostTotals(usd=0.12345, input_tokens=12_345, output_tokens=6))
    )
    assert "time       12.3 s (6.17 s a step), 3 retries · cost $0.1235 (12,345 tokens in, 6 out)" in text
    assert "retries" not in shown(summary(["hit"]))
    assert "cost: none known" in shown(summary(["hit"]))


MARKUP = "[red]x[/red] [/] :smile: [link=http://a]b[/link]"


def test_brackets_in_names_are_shown_as_they_are() -> None:
    about = info(dataset=f"d{MARKUP}", planner=f"p{MARKUP}", grounder=f"g{MARKUP}", stopped=f"w{MARKUP}")
    found = msgspec.structs.replace(summary(["hit"]), signature=f"s{MARKUP}")
    text = shown(found, about, width=250, folder=f"f{MARKUP}")
    for letter in "dpgwsf":
        assert f"{letter}{MARKUP}" in text


@pytest.mark.parametrize("width", [20, 30, 40, 60])
def test_a_narrow_terminal_loses_no_digit(width: int) -> None:
    outcomes: list[Outcome | None] = [*["hit"] * 617, *["miss"] * 383]  # type: ignore[list-item]
    text = shown(summary(outcomes), width=width)
    rows = [line.split("│") for line in text.splitlines() if line.startswith("│")]
    columns = ["".join(row[index].strip() for row in rows) for index in range(1, 5)]
    assert "61.7%" in columns[1].replace(" ", "")
    assert "617/1000" in columns[2]
    assert "…" not in text.split("signature")[0]
    # What is no table is for copying and stays on its line.
    assert "signature  data:web|seed:7\n" in text
    assert "hit 617 · miss 383 · unparsed 0 · error 0  (of 1000 scored; 0 without a click)\n" in text


@pytest.mark.parametrize(
    ("status", "interrupted", "code"),
    [("complete", False, 0), ("partial", False, 1), ("partial", True, 130), ("complete", True, 130)],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_the_exit_code_and_the_streams(
    capsys: pytest.CaptureFixture[str], status: Status, interrupted: bool, code: int, as_json: bool
) -> None:
    found = summary(["hit"], status=status)
    result = Scored(folder=Path("run"), info=info(), verdicts=(), summary=found)
    assert show_result(result, scoring="paper", as_json=as_json, interrupted=interrupted) == code
    out, err = capsys.readouterr()
    assert ("the same command again goes on from here" in err) == interrupted
    if as_json:
        assert msgspec.json.decode(out, type=Summary) == found
    else:
        assert "run folder run" in out


def test_where_an_earlier_run_went_is_said_beside_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    result = Scored(folder=Path("run"), info=info(), verdicts=(), summary=summary(["hit"]), set_aside=Path("run.old1"))
    show_result(result, scoring="paper", as_json=True)
    out, err = capsys.readouterr()
    assert "run.old1" in err
    assert "run.old1" not in out
