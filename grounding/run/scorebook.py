"""Stored answers to verdicts and a summary: everything after the last model call, for a new run and an old one."""

import gc
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from grounding.records import Call, Failure, Point, Record, Session, Verdict
from grounding.run.folder import RunFolder, RunInfo
from grounding.run.journal import scan
from grounding.run.lock import read_time, write_time
from grounding.run.probe.replies import probe_predictions, probe_warnings
from grounding.scoring.metrics import signed
from grounding.scoring.scored import ScoredTask, join, judge
from grounding.scoring.summary import RunSums, Summariser, Summary, TimeTotals


class ScoredClicks(Record, frozen=True, kw_only=True):
    """A scored run: its description as it stands now, its verdicts in step order and its figures. ``time`` is what
    differs each time. ``warnings`` are what the probe before the run found. ``set_aside`` is where an earlier run of
    the same command was moved, if one was, ``report`` the page that was written, if one was.
    """

    folder: Path
    info: RunInfo
    verdicts: tuple[Verdict, ...]
    summary: Summary
    time: TimeTotals = TimeTotals()
    warnings: tuple[str, ...] = ()
    set_aside: Path | None = None
    report: Path | None = None


class _PlanLine(msgspec.Struct, frozen=True):
    """The fields of :class:`~grounding.records.Plan` that count here, and the one that every plan has."""

    step_id: str
    text: str | None
    failure: Failure | None = None
    call: Call | None = None
    reused: bool = False


class _PredictionLine(msgspec.Struct, frozen=True):
    """The fields of :class:`~grounding.records.Prediction` that count here."""

    step_id: str
    point: Point | None
    failure: Failure | None = None
    call: Call | None = None
    declined: bool = False


class StepAnswer(msgspec.Struct, frozen=True):
    point: Point | None
    failure: Failure | None
    declined: bool


class RunAnswers(msgspec.Struct, frozen=True):
    """What came. ``ended`` and ``predictions`` hold the last word about each step that has one, by its id."""

    ended: dict[str, _PlanLine]
    predictions: dict[str, StepAnswer]
    sums: RunSums


def read_answers(path: Path) -> RunAnswers:
    """Read ``plans.jsonl`` and ``predictions.jsonl`` of a run folder; another process may be appending to them."""
    ended: dict[str, _PlanLine] = {}
    predictions: dict[str, StepAnswer] = {}
    sums = RunSums()
    for plan in scan(path / "plans.jsonl", _PlanLine):
        (sums.reused if plan.reused else sums.planner).add(plan.call)
        if plan.failure is not None:
            ended[plan.step_id] = plan
        elif ended:
            ended.pop(plan.step_id, None)
    for line in scan(path / "predictions.jsonl", _PredictionLine):
        sums.grounder.add(line.call)
        predictions[line.step_id] = StepAnswer(line.point, line.failure, line.declined)
    return RunAnswers(ended, predictions, sums)


def score_run(folder: RunFolder, sessions: Sequence[Session] | None = None) -> ScoredClicks:
    """Judge every stored answer of a run again and write what is derived from them. Asks no model. ``sessions`` are
    corrected steps to judge against; None for those stored with the run.
    """
    scored = weigh(folder, sessions)
    folder.replace_lines("verdicts.jsonl", scored.verdicts)
    write_time(folder, scored.time)
    folder.write_summary(scored.summary)
    return scored


def weigh(folder: RunFolder, sessions: Sequence[Session] | None = None) -> ScoredClicks:
    """Judge every stored answer of a run and write nothing, as for a run that another process is at work on.
    ``sessions`` as for :func:`score_run`.
    """
    info = folder.read_info()
    was_on = gc.isenabled()
    gc.disable()  # It would look for cycles through millions of records, which hold none.
    try:
        answers = read_answers(folder.path)
        for reply in probe_predictions(folder.path):
            answers.sums.grounder.add(reply.call)
        return _weigh(folder, info, answers, folder.stream_sessions() if sessions is None else sessions)
    finally:
        if was_on:
            gc.enable()


def _weigh(folder: RunFolder, info: RunInfo, answers: RunAnswers, sessions: Iterable[Session]) -> ScoredClicks:
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
    summary = summariser.summary(
        status="partial" if errors or unasked else "complete",
        signature=signed(info.signature, info.clusters),
        clusters=info.clusters,
        seed=info.asked.seed,
        cost=answers.sums.cost(),
    )
    return ScoredClicks(
        folder=folder.path,
        info=info,
        verdicts=tuple(verdicts),
        summary=summary,
        time=answers.sums.time(info.wall_s),
        warnings=tuple(probe_warnings(folder.path)),
    )


def scored_tasks(scored: ScoredClicks) -> tuple[ScoredTask, ...]:
    """The tasks of a run with what became of each of their steps: what runs are compared by."""
    sessions = join(RunFolder(scored.folder).read_sessions(), scored.verdicts)
    return tuple(task for session in sessions for task in session.tasks)


def read_run(path: Path) -> ScoredClicks:
    """A run as it was scored last, from its folder. Judges nothing and writes nothing."""
    folder = RunFolder(path)
    info = folder.read_info()
    return ScoredClicks(
        folder=path,
        info=info,
        verdicts=tuple(folder.stream_verdicts()),
        summary=folder.read_summary(),
        time=read_time(path, wall_s=info.wall_s),
        warnings=tuple(probe_warnings(path)),
    )
