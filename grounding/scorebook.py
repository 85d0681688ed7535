"""Stored answers to verdicts and a summary: everything after the last model call, for a new run and an old one."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from grounding.answers import Answers, read_answers
from grounding.parquet import write_tables
from grounding.probe.kept import probe_predictions, probe_warnings
from grounding.records import Record, Session, Verdict
from grounding.runfolder import RunFolder, RunInfo, ScatteredSessions
from grounding.scoring.clusters import ClusterName
from grounding.scoring.costs import TimeTotals
from grounding.scoring.definition import signed
from grounding.scoring.scored import ScoredTask, join
from grounding.scoring.summary import Summariser, Summary
from grounding.scoring.verdicts import judge
from grounding.timefile import read_time, write_time


class Scored(Record, frozen=True, kw_only=True):
    """A scored run: its description as it stands now, its verdicts in step order and its figures.

    ``time`` is what differs each time. ``warnings`` are what the probe before the run found. ``set_aside`` is where an
    earlier run of the same command was moved, if one was, ``report`` the page that was written, if one was.
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
    with no_cycles():
        answers = read_answers(folder.path)
        for reply in probe_predictions(folder.path):
            answers.sums.add_prediction(reply)
        if sessions is not None:
            return _weigh(folder, info, answers, sessions)
        try:
            return _weigh(folder, info, answers, folder.stream_sessions())
        except ScatteredSessions:
            return _weigh(folder, info, answers, folder.read_sessions())


def _weigh(folder: RunFolder, info: RunInfo, answers: Answers, sessions: Iterable[Session]) -> Scored:
    predictions, ended = answers.predictions, answers.ended
    summariser, verdicts = Summariser(), list[Verdict]()
    unasked, seen = False, set[str]()
    for session in sessions:
        steps = [step for step in session.steps if step.region is not None]
        found = [judge(step, ended.get(step.id), predictions.get(step.id)) for step in steps]
        unasked = unasked or any(step.id not in predictions and step.id not in ended for step in steps)
        if not seen.isdisjoint(ids := {step.id for step in session.steps}):
            raise ValueError(f"two steps carry the id {min(seen & ids)}, expected one")
        seen |= ids
        (joined,) = join([session], found)
        summariser.add(joined)
        verdicts += found
    errors = any(verdict.outcome == "error" for verdict in verdicts)
    sums = answers.sums.totals(wall_s=info.wall_s)
    summary = summariser.summary(
        status="partial" if errors or unasked else "complete",
        signature=signed(info.signature, info.clusters),
        clusters=info.clusters,
        seed=info.asked.seed,
        cost=sums.cost,
    )
    return Scored(
        folder=folder.path,
        info=info,
        verdicts=tuple(verdicts),
        summary=summary,
        time=sums.time,
        warnings=tuple(probe_warnings(folder.path)),
    )


@contextlib.contextmanager
def no_cycles() -> Iterator[None]:
    """Keep the collector of cyclic garbage from looking through millions of records, which hold no cycle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


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


def rescore(path: Path, clusters: ClusterName | None = None, *, tables: bool = False) -> Scored:
    """Score a finished or stopped run again from its folder alone.

    Args:
        path: The folder.
        clusters: What the intervals are to be drawn over, from now on; None for what they were drawn over before.
        tables: Write the Parquet files, too.

    Raises:
        UserError: there is no run in the folder, it is damaged, a run is at work in it, or Parquet files can't be
            written.
    """
    folder = RunFolder(path)
    folder.read_info()
    folder.lock()
    try:
        info = folder.read_info()
        if clusters not in (None, info.clusters):
            folder.write_info(msgspec.structs.replace(info, clusters=clusters))
        scored = score_run(folder)
        if tables:
            write_tables(path)
        return scored
    finally:
        folder.release()
