"""Stored answers to verdicts and a summary: everything after the last model call, for a new run and an old one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from grounding.probe.kept import probe_predictions, probe_warnings
from grounding.records import Plan, Record, Session, Verdict
from grounding.runfolder import RunFolder, RunInfo
from grounding.scoring.clusters import ClusterName
from grounding.scoring.costs import TimeTotals, totals
from grounding.scoring.definition import signed
from grounding.scoring.scored import ScoredTask, join
from grounding.scoring.summary import Summary, summarise
from grounding.scoring.verdicts import judge
from grounding.timefile import read_time, write_time


class Scored(Record, frozen=True, kw_only=True):
    """A scored run: its description as it stands now, its verdicts in step order and its figures.

    ``time`` is what differs each time. ``warnings`` are what the probe before the run found. ``set_aside`` is where an earlier run of the same command was
    moved, if one was, ``report`` the page that was written, if one was.
    """

    folder: Path
    info: RunInfo
    verdicts: tuple[Verdict, ...]
    summary: Summary
    time: TimeTotals = TimeTotals()
    warnings: tuple[str, ...] = ()
    set_aside: Path | None = None
    report: Path | None = None


def score_run(folder: RunFolder, sessions: Sequence[Session] | None = None) -> Scored:
    """Judge every stored answer of a run again and write what is derived from them. Asks no model.

    Args:
        folder: The run.
        sessions: Corrected steps to judge against; None for those stored with the run.

    Raises:
        UserError: the folder holds no run, or a file in it is damaged.
    """
    scored = weigh(folder, sessions)
    folder.write_verdicts(scored.verdicts)
    write_time(folder, scored.time)
    folder.write_summary(scored.summary)
    return scored


def weigh(folder: RunFolder, sessions: Sequence[Session] | None = None) -> Scored:
    """Judge every stored answer of a run and write nothing, as for a run that another process is at work on.

    Args:
        folder: The run.
        sessions: Corrected steps to judge against; None for those stored with the run.

    Raises:
        UserError: the folder holds no run, or a file in it is damaged.
    """
    info = folder.read_info()
    steps = tuple(sessions) if sessions is not None else folder.read_sessions()
    plans, predictions = folder.plans(read_only=True), folder.predictions(read_only=True)
    try:
        verdicts = tuple(
            judge(step, plans.last(step.id), predictions.last(step.id))
            for session in steps
            for step in session.steps
            if step.region is not None
        )
        sums = totals(plans.every(), (*predictions.every(), *probe_predictions(folder.path)), wall_s=info.wall_s)
        unasked = any(
            step.region is not None and step.id not in predictions and not _ended_at_plan(plans.last(step.id))
            for session in steps
            for step in session.steps
        )
    finally:
        plans.close()
        predictions.close()
    errors = any(verdict.outcome == "error" for verdict in verdicts)
    summary = summarise(
        steps,
        verdicts,
        status="partial" if errors or unasked else "complete",
        signature=signed(info.signature, info.clusters),
        clusters=info.clusters,
        seed=info.asked.seed,
        cost=sums.cost,
    )
    return Scored(
        folder=folder.path,
        info=info,
        verdicts=verdicts,
        summary=summary,
        time=sums.time,
        warnings=tuple(probe_warnings(folder.path)),
    )


def _ended_at_plan(plan: Plan | None) -> bool:
    return plan is not None and plan.failure is not None


def scored_tasks(scored: Scored) -> tuple[ScoredTask, ...]:
    """The tasks of a run with what became of each of their steps: what runs are compared by.

    Raises:
        UserError: the stored steps are missing or damaged.
    """
    sessions = join(RunFolder(scored.folder).read_sessions(), scored.verdicts)
    return tuple(task for session in sessions for task in session.tasks)


def read_run(path: Path) -> Scored:
    """A run as it was scored last, from its folder. Judges nothing and writes nothing.

    Raises:
        UserError: there is no run in the folder, it was never scored, or a file is damaged.
    """
    folder = RunFolder(path)
    info = folder.read_info()
    return Scored(
        folder=path,
        info=info,
        verdicts=folder.read_verdicts(),
        summary=folder.read_summary(),
        time=read_time(path, wall_s=info.wall_s),
        warnings=tuple(probe_warnings(path)),
    )


def rescore(path: Path, clusters: ClusterName | None = None) -> Scored:
    """Score a finished or stopped run again from its folder alone.

    Args:
        path: The folder.
        clusters: What the intervals are to be drawn over, from now on; None for what they were drawn over before.

    Raises:
        UserError: there is no run in the folder, it is damaged, or a run is at work in it.
    """
    folder = RunFolder(path)
    folder.read_info()
    folder.lock()
    try:
        info = folder.read_info()
        if clusters not in (None, info.clusters):
            folder.write_info(msgspec.structs.replace(info, clusters=clusters))
        return score_run(folder)
    finally:
        folder.release()
