"""A whole run: options in, a scored run folder out. The only place that knows every room."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from typing import Any

import msgspec

from grounding.attended import attended
from grounding.budget import Budget, charged_usd
from grounding.display import Progress
from grounding.grounders.base import KeepsFiles
from grounding.journal import Journal
from grounding.options import EvalOptions
from grounding.planners.replay import SavedPlans
from grounding.planstore import StoredPlanner
from grounding.preparation import Prepared, prepare
from grounding.probe.kept import probe_predictions
from grounding.records import Call, Dataset, Plan, Prediction, Record
from grounding.report.html.written import with_report
from grounding.runfolder import TRANSCRIPTS, RunFolder, RunInfo
from grounding.runner import Runner
from grounding.scorebook import Scored, score_run
from grounding.steps import GroundStage, PlanAheadStage, PlanStage, StepItem, plan_query, step_items

_UNHEARD = {
    "missing": "without a recording or an entry",
    "unparsed": "unreadable or with nothing to be heard",
    "error": "where the recogniser failed, which the same command tries again",
}
"""Why an instruction has no transcript, by the kind of failure."""


def evaluate(
    options: EvalOptions,
    progress: Progress,
    *,
    load: Callable[..., Dataset] | None = None,
    elsewhere: Iterable[Call] = (),
) -> Scored:
    """Run what the options ask for, or continue it where it stopped; score it and write the run folder.

    Args:
        options: What is asked for.
        progress: Who is told how far it is.
        load: Reads the data set, instead of ``load_dataset``; runs that follow one another may share what it reads.
        elsewhere: What other runs paid under the same cost limit.

    Raises:
        UserError: something is missing or wrong; nothing was asked of any model yet, or the disk failed in mid-run
            (what was answered is kept).
    """
    budget = Budget(options.cost_limit)
    budget.take_up(elsewhere)
    prepared = prepare(options, budget, progress, load=load)
    planner = prepared.planner.planner
    for warning in prepared.dataset.warnings:
        print(f"grounding: warning: {warning}", file=sys.stderr, flush=True)
    if isinstance(planner, SavedPlans) and (gaps := planner.gaps(prepared.selection.sessions)):
        print(f"grounding: warning: {gaps}", file=sys.stderr, flush=True)
    folder = RunFolder(options.log_dir / prepared.info.run_id)
    set_aside = folder.set_aside() if options.fresh else None
    folder.create()
    try:
        info = _continued(folder, prepared.info)
        _write_transcripts(prepared, folder)
        started = time.monotonic()
        stopped = _run(prepared, folder, budget, progress)
        info = msgspec.structs.replace(info, stopped=stopped, wall_s=info.wall_s + time.monotonic() - started)
        folder.write_info(info)
        scored = score_run(folder, prepared.selection.sessions)
        info = msgspec.structs.replace(info, status=scored.summary.status)
        folder.write_info(info)
    finally:
        folder.release()
    scored = msgspec.structs.replace(scored, info=info, set_aside=set_aside)
    return scored if options.no_report else with_report(scored)


def _write_transcripts(prepared: Prepared, folder: RunFolder) -> None:
    """Keep what the run is told instead of the true words, and say what could not be heard."""
    told = prepared.transcripts
    if told is None:
        return
    folder.replace(TRANSCRIPTS, msgspec.json.format(msgspec.json.encode(told), indent=1))
    lacking = told.failures()
    if lacking:
        kinds = ", ".join(f"{told.failures(kind)} {words}" for kind, words in _UNHEARD.items() if told.failures(kind))
        print(
            f"grounding: warning: {told.condition}: {lacking} of {len(told.spoken)} instructions have no transcript "
            f"({kinds}); they are not asked about and count as wrong",
            file=sys.stderr,
            flush=True,
        )


def _continued(folder: RunFolder, info: RunInfo) -> RunInfo:
    """The description of a run that starts or goes on: the first start's time and the wall time so far are kept."""
    if (folder.path / "run.json").exists():
        before = folder.read_info()
        info = msgspec.structs.replace(info, started_at=before.started_at, wall_s=before.wall_s)
    folder.write_info(info)
    return info


def _run(prepared: Prepared, folder: RunFolder, budget: Budget, progress: Progress) -> str:
    """Ask everything that has no answer yet; returns why it stopped early, or nothing."""
    folder.write_steps(prepared.selection.sessions)
    if isinstance(prepared.grounder.grounder, KeepsFiles):
        prepared.grounder.grounder.keep_in(folder.path)
    plans, predictions = folder.plans(), folder.predictions()
    ahead = folder.ahead() if prepared.asked.plan_ahead else None
    unanswered = predictions.settled_count < len(prepared.selection.step_ids)
    servers = prepared.servers.running(folder.path / "server.log") if prepared.servers and unanswered else nullcontext()
    budget.take_up(paid_calls(folder))
    try:
        return attended(lambda: _ask(prepared, plans, ahead, predictions, progress), folder.path, around=servers)
    finally:
        plans.close()
        predictions.close()
        if ahead is not None:
            ahead.close()


async def _ask(
    prepared: Prepared,
    plans: Journal[Plan],
    ahead: Journal[Plan] | None,
    predictions: Journal[Prediction],
    progress: Progress,
) -> str:
    planner, grounder = prepared.planner.planner, prepared.grounder.grounder
    selection, history = prepared.selection, prepared.asked.history
    plan = PlanStage(planner, plans) if ahead is None else PlanAheadStage(planner, plans, ahead)
    ground = GroundStage(grounder, predictions, reads=prepared.grounder.reads)
    runner = Runner[StepItem]((plan, ground), on_record=progress.record, on_item=progress.item)
    _terminate_like_interrupt()
    left = _left(prepared, plans, predictions)
    try:
        if left.planner:
            await planner.check()
        if left.grounder:
            await grounder.check()
            if prepared.probe:
                await prepared.probe.run(predictions.path.parent, progress)
        with progress.steps(len(selection.step_ids)):
            items = step_items(prepared.dataset.sessions, selection.step_ids, history, prepared.asked.history_scope)
            stopped = await runner.run(items)
    finally:
        await planner.aclose()
        await grounder.aclose()
    return stopped.reason if stopped else ""


class _Left(Record, frozen=True, kw_only=True):
    """Whether a run still has something to ask of its planner and of its grounder."""

    planner: bool
    grounder: bool


def _left(prepared: Prepared, plans: Journal[Plan] | None, predictions: Journal[Prediction] | None) -> _Left:
    """What neither the run's journals nor the store of plans can answer; None stands for a journal not begun."""
    steps = len(prepared.selection.step_ids)
    ended_at_plan = sum(plan.failure is not None and plan.failure.kind != "error" for plan in plans or ())
    return _Left(
        planner=(plans is None or plans.settled_count < steps) and not _all_stored(prepared, plans),
        grounder=predictions is None or predictions.settled_count < steps - ended_at_plan,
    )


def _all_stored(prepared: Prepared, plans: Journal[Plan] | None) -> bool:
    """Whether every plan that the run has not got yet lies in the store."""
    planner, asked = prepared.planner.planner, prepared.asked
    if not isinstance(planner, StoredPlanner):
        return False
    items = step_items(prepared.dataset.sessions, prepared.selection.step_ids, asked.history, asked.history_scope)
    for item in items:
        query = plan_query((item.opening or item) if asked.plan_ahead else item, planner)
        mine = None if plans is None else plans.settled(item.step.id, query.key)
        if mine is None and not planner.store.holds(query.key):
            return False
    return True


async def check_endpoints(prepared: Prepared, options: EvalOptions) -> None:
    """Ask the servers of a run that is to come whether they can be asked: free of charge, and before any run is paid.

    Servers that the run starts itself, and models in this process, are left to the run.

    Raises:
        UserError: one of them can't answer what the run has to ask.
    """
    folder = RunFolder(options.log_dir / prepared.info.run_id)
    plans = predictions = None
    if not options.fresh:
        plans = folder.plans(read_only=True) if (folder.path / "plans.jsonl").exists() else None
        predictions = folder.predictions(read_only=True) if (folder.path / "predictions.jsonl").exists() else None
    try:
        left = _left(prepared, plans, predictions)
        if left.planner and prepared.planner.base_url:
            await prepared.planner.planner.check()
        if left.grounder and prepared.grounder.base_url and prepared.servers is None:
            await prepared.grounder.grounder.check()
    finally:
        for journal in (plans, predictions):
            if journal is not None:
                journal.close()
        await prepared.planner.planner.aclose()
        await prepared.grounder.grounder.aclose()


def paid_usd(folder: RunFolder) -> float:
    """What a run has paid so far, or may have, by the answers in its folder; 0 for one that never began.

    Raises:
        UserError: a file of the folder is damaged.
    """
    return sum(map(charged_usd, paid_calls(folder)))


def paid_calls(folder: RunFolder) -> tuple[Call, ...]:
    """All calls that a run made so far. A plan that another run made was paid by that run.

    Raises:
        UserError: a file of the folder is damaged.
    """
    # With --plan-ahead every plan's cost is that of a reply in ahead.jsonl, where it stands first.
    asked = "ahead.jsonl" if (folder.path / "ahead.jsonl").exists() else "plans.jsonl"
    kept: tuple[tuple[str, type[Plan] | type[Prediction]], ...] = ((asked, Plan), ("predictions.jsonl", Prediction))
    calls = [reply.call for reply in probe_predictions(folder.path)]
    for name, kind in kept:
        if (folder.path / name).exists():
            journal: Journal[Any] = Journal(folder.path / name, kind, read_only=True)
            try:
                records = journal.every()
                calls += [one.call for one in records if not (isinstance(one, Plan) and one.reused)]
            finally:
                journal.close()
    return tuple(call for call in calls if call is not None)


def _terminate_like_interrupt() -> None:
    """Let a polite kill (SIGTERM) end a run as Ctrl-C does: what was answered is scored and the summary is written."""
    task = asyncio.current_task()
    if task is not None:
        # Outside the main thread signals can't be handled.
        with suppress(ValueError, RuntimeError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
