from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.make import asked
from rich.console import Console
from scoring.builders import Played, summarise
from scoring.test_grouping import scored as grouped

from grounding.options import ScoringName
from grounding.report.table import print_summary
from grounding.run.folder import RunInfo, RunSettings
from grounding.run.scorebook import ScoredClicks
from grounding.scoring.summary import CallTotals, CostTotals, Status, Summary, TimeTotals


def info(**changes: Any) -> RunInfo:
    given = {name: changes.pop(name) for name in list(changes) if name in RunSettings.__struct_fields__}
    about = asked(**{"dataset": "web", "grounder": "ocr", "grounder_identity": "ocr", "seed": 7, **given})
    made = RunInfo(
        run_id="r", status="complete", signature="s", asked=about, data_dir="", command="", versions={}, started_at=""
    )
    return msgspec.structs.replace(made, **changes)


def summary(marks: str, *, status: Status = "complete", **more: Any) -> Summary:
    """One task of one participant; a dot is a step without a click."""
    played = Played({"1": {"t": " ".join(marks)}})
    return summarise(played.sessions, played.verdicts, status=status, signature="data:web|seed:7", **more)


def shown(
    found: Summary,
    about: RunInfo | None = None,
    *,
    scoring: ScoringName = "paper",
    width: int = 100,
    folder: str = "r",
    warnings: tuple[str, ...] = (),
    time: TimeTotals | None = None,
) -> str:
    buffer = io.StringIO()
    result = ScoredClicks(
        folder=Path(folder),
        info=about or info(),
        verdicts=(),
        summary=found,
        time=time or TimeTotals(),
        warnings=warnings,
    )
    print_summary(Console(file=buffer, width=width), result, scoring=scoring)
    return buffer.getvalue()


def test_counts_stand_beside_percentages() -> None:
    text = shown(summary("++-.u"), warnings=("probe: 3 of 12 requests failed",))
    for part in ("web · planner none · grounder ocr", "score (paper)", "50.0 %", "2/4 steps", "2/4 instructions"):
        assert part in text
    assert "0/1 tasks" in text
    assert "hit 2 · miss 1 · unparsed 1 · error 0  (of 4 scored; 1 without a click)" in text
    assert "signature  data:web|seed:7" in text
    assert "run folder r" in text
    assert "bootstrap over tasks, seed 7" in text
    assert "average distance" not in text
    assert text.count("warning") == text.count("warning    probe: 3 of 12 requests failed\n") == 1
    text = shown(summary("+-"), scoring="official")
    assert "score (official)" in text
    assert "interval" not in text
    assert "average distance" in text


def test_groups_stand_below_both_averages() -> None:
    found = summarise(*grouped(("text", 2, 3), ("icon", 0, 1)), status="complete", signature="s", resamples=50)
    lines = [line.split("│")[1:-1] for line in shown(found).splitlines() if "│" in line]
    cells = {line[1].strip(): (line[2].strip(), line[3].strip()) for line in lines if len(line) == 5}
    assert cells == {
        "micro: every step once": ("50.0 %", "2/4"),
        "macro: every group once": ("33.3 %", "n = 2"),
        "text": ("66.7 %", "2/3"),
        "icon": ("0.0 %", "0/1"),
    }
    assert "step accuracy by" not in shown(found, scoring="official")


@pytest.mark.parametrize("scoring", ["paper", "official"])
def test_nothing_scored_is_shown_as_nothing(scoring: ScoringName) -> None:
    text = shown(summary(".."), scoring=scoring)
    assert "0/0 steps" in text
    assert "(of 0 scored; 2 without a click)" in text
    assert ("-" in text) == (scoring == "paper") or "0.0 %" in text
    assert "nan" not in text.lower()


def test_what_is_wrong_with_a_run_is_said_in_words() -> None:
    text = shown(summary("+e", status="partial"), info(stopped="the cost limit of $1 is reached"))
    assert "stopped before the end: the cost limit of $1 is reached" in text
    assert "1 steps ended in an error and count as wrong; run the same command again to ask only those" in text
    assert "the run is partial: its scores are not final" in text
    missing = shown(summary("+m"))
    assert "1 steps have no recorded answer and count as wrong" in missing
    assert "partial" not in missing


def test_time_money_and_retries() -> None:
    time = TimeTotals(wall_s=12.34, retries=3)
    text = shown(
        summary(
            "+-",
            cost=CostTotals(
                usd=0.12345,
                planner_usd=0.1,
                grounder_usd=0.02345,
                input_tokens=12_345,
                output_tokens=6,
                planner=CallTotals(calls=2, usd=0.1, input_tokens=12_000, output_tokens=5, reasoning_tokens=3),
                grounder=CallTotals(calls=2, usd=0.02345, input_tokens=345, output_tokens=1, failed_tokens=20),
                reused=CallTotals(calls=7, usd=1.5),
            ),
        ),
        time=time,
    )
    assert "time       12.3 s (6.17 s a step), 3 retries\n" in text
    assert "cost       $0.12 (planner $0.10, grounder $0.0234)\n" in text
    planner, grounder = "12,000 in, 5 out (3 reasoning)", "345 in, 1 out, 20 of them in tries without an answer"
    assert f"tokens     planner {planner} · grounder {grounder}\n" in text
    assert "reused     7 plans worth $1.50, paid for by earlier runs (the plan store)\n" in text
    text = shown(summary("+", cost=CostTotals(reused=CallTotals(calls=1, usd=0.5))))
    assert "cost: nothing: all plans were there\n" in text
    assert "reused     1 plan worth $0.50" in text
    # One that has no price does not look free.
    part = CallTotals(calls=2, usd=0.5, input_tokens=10, output_tokens=1, unreported_usd=0.25)
    text = shown(summary("+", cost=CostTotals(usd=0.5, planner_usd=0.5, planner=part, grounder=CallTotals(calls=2))))
    assert "cost       $0.50 (planner $0.50, grounder not priced)\n" in text
    assert "up to $0.25 more may be charged for tries without a reported usage\n" in text
    assert "cost: none known" in shown(summary("+"))


MARKUP = "[red]x[/red] [/] :smile: [link=http://a]b[/link]"


def test_brackets_in_names_are_shown_as_they_are() -> None:
    about = info(dataset=f"d{MARKUP}", planner=f"p{MARKUP}", grounder=f"g{MARKUP}", stopped=f"w{MARKUP}")
    found = msgspec.structs.replace(summary("+"), signature=f"s{MARKUP}")
    text = shown(found, about, width=250, folder="f[red]x[/red]")
    assert "run folder f[red]x[/red]" in text
    for letter in "dpgws":
        assert f"{letter}{MARKUP}" in text


@pytest.mark.parametrize("width", [20, 60])
def test_a_narrow_terminal_loses_no_digit(width: int) -> None:
    text = shown(summary("+" * 617 + "-" * 383), width=width)
    rows = [line.split("│") for line in text.splitlines() if line.startswith("│")]
    columns = ["".join(row[index].strip() for row in rows) for index in range(1, 5)]
    assert "61.7%" in columns[1].replace(" ", "")
    assert "617/1000" in columns[2]
    assert "…" not in text.split("signature")[0]
    # What is no table is for copying and stays on its line.
    assert "signature  data:web|seed:7\n" in text
    assert "hit 617 · miss 383 · unparsed 0 · error 0  (of 1000 scored; 0 without a click)\n" in text
