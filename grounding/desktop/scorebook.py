"""Stored answers of a desktop run to verdicts and a summary: everything after the last model call."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec

from grounding.desktop.runfiles import DesktopFolder, DesktopRunInfo
from grounding.desktop.signature import desktop_signature
from grounding.desktop_records import DesktopPrediction, DesktopTask
from grounding.journal import Journal
from grounding.records import Record
from grounding.scoring.costs import CostTotals, TimeTotals, call_totals
from grounding.scoring.desktop import (
    DesktopSummary,
    DesktopVerdict,
    JudgedTask,
    join_desktop,
    judge_all_desktop,
    summarise_desktop,
)
from grounding.timefile import write_time


class DesktopScored(Record, frozen=True, kw_only=True):
    """A scored run: its description as it stands now, its verdicts in step order and its figures.

    ``time`` is what differs each time. ``set_aside`` is where an earlier run of the same command was moved, if one was.
    """

    folder: Path
    info: DesktopRunInfo
    tasks: tuple[DesktopTask, ...]
    verdicts: tuple[DesktopVerdict, ...]
    summary: DesktopSummary
    time: TimeTotals = TimeTotals()
    set_aside: Path | None = None

    @property
    def judged(self) -> tuple[JudgedTask, ...]:
        """The tasks with what became of their steps: what runs are compared by."""
        return join_desktop(self.tasks, self.verdicts)


def score_desktop(folder: DesktopFolder, *, tolerance_px: float | None = None) -> DesktopScored:
    """Judge every stored answer of a run again and write what is derived from them. Asks no model.

    Args:
        folder: The run.
        tolerance_px: How far a point may be off; None for what the run was judged with before.

    Raises:
        UserError: the folder holds no run, or a file in it is damaged.
    """
    info = folder.read_info()
    tolerance = info.tolerance_px if tolerance_px is None else tolerance_px
    info = msgspec.structs.replace(info, tolerance_px=tolerance)
    info = msgspec.structs.replace(info, signature=desktop_signature(info))
    tasks = folder.read_tasks()
    journal = folder.predictions(read_only=True)
    try:
        answers = [answer for task in tasks for step in task.steps if (answer := journal.last(step.id)) is not None]
        time, cost = _totals(journal, info)
    finally:
        journal.close()
    verdicts = judge_all_desktop(tasks, answers, tolerance)
    asked = {answer.step_id for answer in answers}
    unasked = any(step.id not in asked for task in tasks for step in task.steps)
    errors = any(verdict.failure == "error" for verdict in verdicts)
    summary = summarise_desktop(
        tasks,
        answers,
        verdicts,
        status="partial" if errors or unasked else "complete",
        signature=info.signature,
        tolerance_px=tolerance,
        seed=info.asked.seed,
        cost=cost,
    )
    folder.write_info(info)
    folder.write_verdicts(verdicts)
    write_time(folder, time)
    folder.write_summary(summary)
    return DesktopScored(folder=folder.path, info=info, tasks=tasks, verdicts=verdicts, summary=summary, time=time)


def rescore_desktop(path: Path, *, tolerance_px: float | None = None) -> DesktopScored:
    """Score a finished or stopped run again from its folder alone.

    Raises:
        UserError: there is no run in the folder, it is damaged, or a run is at work in it.
    """
    folder = DesktopFolder(path)
    folder.read_info()
    folder.lock()
    try:
        return score_desktop(folder, tolerance_px=tolerance_px)
    finally:
        folder.release()


def _totals(journal: Journal[DesktopPrediction], info: DesktopRunInfo) -> tuple[TimeTotals, CostTotals]:
    """Time and money over every answer ever written, also those that a later one took the place of."""
    calls = [answer.call for answer in journal.every() if answer.call is not None]
    spent = call_totals(calls)
    time = TimeTotals(
        wall_s=info.wall_s,
        grounder_s=math.fsum(call.seconds for call in calls),
        retries=sum(call.attempts - 1 for call in calls),
    )
    cost = CostTotals(
        usd=spent.usd,
        grounder_usd=spent.usd,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        grounder=spent,
    )
    return time, cost
