"""A whole run: options in, a scored run folder out. The only place that knows every room."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import nullcontext, suppress

import msgspec

from grounding.budget import Budget
from grounding.display import Progress
from grounding.errors import UserError
from grounding.grounders.base import KeepsFiles
from grounding.interrupts import terminated_like_interrupted
from grounding.journal import Journal
from grounding.options import EvalOptions
from grounding.preparation import Prepared, prepare
from grounding.probe.kept import probe_cost_usd
from grounding.records import Plan, Prediction
from grounding.runfolder import RunFolder, RunInfo
from grounding.runner import Runner
from grounding.scorebook import Scored, score_run
from grounding.steps import GroundStage, PlanStage, StepItem, step_items

INTERRUPTED = "interrupted"


def evaluate(options: EvalOptions, progress: Progress) -> Scored:
    """Run what the options ask for, or continue it where it stopped; score it and write the run folder.

    Raises:
        UserError: something is missing or wrong; nothing was asked of any model yet, or the disk failed in mid-run
            (what was answered is kept).
    """
    budget = Budget(options.cost_limit)
    prepared = prepare(options, budget, progress)
    folder = RunFolder(options.log_dir / prepared.info.run_id)
    set_aside = folder.set_aside() if options.fresh else None
    folder.create()
    try:
        info = _continued(folder, prepared.info)
        started = time.monotonic()
        stopped = _run(prepared, folder, budget, progress)
        info = msgspec.structs.replace(info, stopped=stopped, wall_s=info.wall_s + time.monotonic() - started)
        folder.write_info(info)
        scored = score_run(folder, prepared.selection.sessions)
        info = msgspec.structs.replace(info, status=scored.summary.status)
        folder.write_info(info)
    finally:
        folder.release()
    return msgspec.structs.replace(scored, info=info, set_aside=set_aside)


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
    unanswered = predictions.settled_count < len(prepared.selection.step_ids)
    servers = prepared.servers.running(folder.path / "server.log") if prepared.servers and unanswered else nullcontext()
    budget.spent_usd = _spent_usd(plans) + _spent_usd(predictions) + probe_cost_usd(folder.path)
    try:
        with terminated_like_interrupted(), servers:
            return asyncio.run(_ask(prepared, plans, predictions, progress))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return INTERRUPTED
    except OSError as error:
        raise UserError(
            f"{folder.path}: writing failed: {error.strerror}. What was answered is kept; make room and run the same "
            "command again."
        ) from error
    finally:
        plans.close()
        predictions.close()


async def _ask(prepared: Prepared, plans: Journal[Plan], predictions: Journal[Prediction], progress: Progress) -> str:
    planner, grounder = prepared.planner.planner, prepared.grounder.grounder
    selection, history = prepared.selection, prepared.asked.history
    uses_history = prepared.grounder.uses_history
    ground = GroundStage(grounder, predictions, uses_history=uses_history)
    runner = Runner[StepItem]((PlanStage(planner, plans), ground), on_record=progress.record, on_item=progress.item)
    _terminate_like_interrupt()
    ended_at_plan = sum(plan.failure is not None and plan.failure.kind != "error" for plan in plans)
    try:
        if plans.settled_count < len(selection.step_ids):
            await planner.check()
        if predictions.settled_count < len(selection.step_ids) - ended_at_plan:
            await grounder.check()
            if prepared.probe:
                await prepared.probe.run(predictions.path.parent, progress)
        with progress.steps(len(selection.step_ids)):
            stopped = await runner.run(step_items(prepared.dataset.sessions, selection.step_ids, history))
    finally:
        await planner.aclose()
        await grounder.aclose()
    return stopped.reason if stopped else ""


def _spent_usd(journal: Journal[Plan] | Journal[Prediction]) -> float:
    return sum(record.call.cost_usd or 0.0 for record in journal if record.call is not None)


def _terminate_like_interrupt() -> None:
    """Let a polite kill (SIGTERM) end a run as Ctrl-C does: what was answered is scored and the summary is written."""
    task = asyncio.current_task()
    if task is not None:
        # Outside the main thread signals can't be handled.
        with suppress(ValueError, RuntimeError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
