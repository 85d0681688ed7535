"""The table of several runs: its shape, its marks and its warnings."""

from __future__ import annotations

import io

import msgspec
from rich.console import Console
from scoring.builders import Played

from grounding.report.matrix import MatrixRow, print_matrix
from grounding.scoring.metrics import registered
from grounding.scoring.paired import compare
from grounding.scoring.summary import Summary

BEFORE, AFTER = {"1": {"a": "+- -+", "b": "+"}}, {"1": {"a": "++ -+", "b": "+"}}


def summary(outcomes: dict[str, dict[str, str]], status: str = "complete") -> Summary:
    return msgspec.structs.replace(Played(outcomes).summary(), status=status)  # type: ignore[arg-type]


def shown(*rows: MatrixRow, compared: bool = True) -> str:
    tasks = [[task for session in Played(one).joined() for task in session.tasks] for one in (BEFORE, AFTER)]
    differences = {1: compare(registered(), tasks[1], tasks[0], resamples=200)} if compared else None
    out = io.StringIO()
    print_matrix(
        Console(file=out, width=140, color_system=None),
        rows,
        title="a set",
        headings=("planner + grounder",),
        scoring="paper",
        compared=differences,
    )
    return out.getvalue()


def row(name: str, **more: object) -> MatrixRow:
    return MatrixRow(values=(name,), **more)  # type: ignore[arg-type]


def test_scores_differences_and_folders() -> None:
    said = shown(
        row("none + g", summary=summary(BEFORE), folder="r/1"), row("p + g", summary=summary(AFTER), folder="r/2")
    )
    (before, after, difference) = [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in said.splitlines()
        if line.startswith(("│ none", "│ p"))
    ]
    assert before[0] == "none + g"
    assert before[2] == "1/2"
    assert before[4].startswith("60.0 [")
    assert before[5] == "3/5"
    assert (after[0], after[5]) == ("p + g", "4/5")
    assert difference[3].startswith("+20.0 [")
    assert difference[4:] == ["1", "0"]
    assert "difference to none + g in points, paired" in said
    assert "run folder r/1  (none + g)\nrun folder r/2  (p + g)" in said
    assert "warning" not in said


def test_what_is_not_whole_is_marked_and_said() -> None:
    said = shown(
        row("a", summary=summary({"1": {"t": "+e"}}, "partial")),
        row("b", problem="nothing answers"),
        row("c", summary=summary({"1": {"t": "+m"}, "7": {"t": "mm"}})),
        row("d", summary=summary({"1": {"t": "+-?"}}, "partial")),
        compared=False,
    )
    assert "│ a (partial)" in said
    assert "│ b (not run)" in said
    assert "│ c (3 missing)" in said
    assert "a: 1 steps ended in an error and count as wrong" in said
    assert "│ d (partial, 2 of 3 steps)" in said
    assert "d: partial: its scores are over the 2 of 3 steps that were answered" in said
    (line,) = [line for line in said.splitlines() if line.startswith("│ d")]
    assert line.split("│")[-3].strip() == "50.0"  # of the steps that were answered; no task is through
    assert line.split("│")[2].strip() == "-"
    assert "b: not run: nothing answers" in said
    assert "c: steps without a recorded answer count as wrong: participant 1: 1, participant 7: 2" in said
    assert "run the same command again" in said
    assert "difference" not in said
