"""A run at work: its folder locked, its journals open, its models asked; and the scored folder at its end."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from grounding.budget import Budget
from grounding.display import Progress
from grounding.errors import Halted
from grounding.executors.probing import probed
from grounding.grounders.base import Grounder, KeepsFiles
from grounding.journal import rows_for
from grounding.leftover import Left, left_to_ask
from grounding.options import EvalOptions
from grounding.parquet import keep_tables
from grounding.planners.base import Planner
from grounding.planners.replay import SavedPlans
from grounding.preparation import Prepared, prepare
from grounding.records import Dataset
from grounding.report.html.written import with_report
from grounding.runfolder import TRANSCRIPTS, RunFolder, RunInfo
from grounding.runner import Runner
from grounding.scorebook import Scored, score_run
from grounding.serving.shelf import ServerShelf, servers_for
from grounding.steps import GroundStage, PlanAheadStage, PlanStage, StepItem, step_items

T = TypeVar("T")

_UNHEARD = {
    "missing": "without a recording or an entry",
    "unparsed": "unreadable or with nothing to be heard",
    "error": "where the recogniser failed, which the same command tries again",
}
"""Why an instruction has no transcript, by the kind of failure."""


def begin(
    options: EvalOptions,
    budget: Budget,
    progress: Progress,
    *,
    load: Callable[..., Dataset] | None = None,
    shelf: ServerShelf | None = None,
) -> RunAtWork:
    """Prepare a run and open its folder, which no other process may write to from now on.

    Raises:
        UserError: something is missing or wrong; nothing was asked of any model.
    """
    prepared = prepare(options, budget, progress, load=load, shelf=shelf)
    planner = prepared.planner.planner
    for warning in prepared.dataset.warnings:
        print(f"grounding: warning: {warning}", file=sys.stderr, flush=True)
    if isinstance(planner, SavedPlans) and (gaps := planner.gaps(prepared.selection.sessions)):
        print(f"grounding: warning: {gaps}", file=sys.stderr, flush=True)
    folder = RunFolder(options.log_dir / prepared.info.run_id)
    set_aside = folder.set_aside() if options.fresh else None
    folder.create()
    with ExitStack() as undone:
        undone.callback(folder.release)
        run = RunAtWork(options, prepared, folder, set_aside)
        undone.pop_all()
    return run


@dataclass(frozen=True)
class Hands:
    """Who is asked."""

    planner: Planner
    grounder: Grounder


class RunAtWork:
    """A run whose folder is locked and whose journals are open, until the end of its ``with`` block."""

    def __init__(self, options: EvalOptions, prepared: Prepared, folder: RunFolder, set_aside: Path | None) -> None:
        self.prepared = prepared
        self.folder = folder
        self.options = options
        self._set_aside = set_aside
        self._info = _continued(folder, prepared.info)
        _write_transcripts(prepared, folder)
        self._started = time.monotonic()
        folder.write_steps(prepared.selection.sessions)
        if isinstance(prepared.grounder.grounder, KeepsFiles):
            prepared.grounder.grounder.keep_in(folder.path)
        with ExitStack() as opened:
            rows = rows_for(prepared.selection.step_ids)
            self._plans = folder.plans(rows=rows)
            opened.callback(self._plans.close)
            self._predictions = folder.predictions(rows=rows)
            opened.callback(self._predictions.close)
            self._ahead = folder.ahead() if prepared.asked.plan_ahead else None
            if self._ahead is not None:
                opened.callback(self._ahead.close)
            self._journals = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._journals.close()
        self.folder.release()

    def servers(self, shelf: ServerShelf | None) -> AbstractContextManager[object]:
        """The servers that the run needs, up inside the block; none where everything is answered."""
        unanswered = self._predictions.settled_count < len(self.prepared.selection.step_ids)
        return servers_for(self.prepared.servers if unanswered else None, self.folder.path / "server.log", shelf)

    def left(self) -> Left:
        """What there still is to ask."""
        return left_to_ask(self.prepared, self._plans, self._predictions)

    async def answer(self, progress: Progress, hands: Hands | None = None) -> str:
        """Ask everything that has no answer yet; returns why that stopped early, or nothing.

        Args:
            progress: Who is told how far it is.
            hands: Who is asked, where that is not the planner and the grounder of this process.

        Raises:
            OSError: a record could not be written.
            UserError: a model can't be asked, and the user can put it right.
        """
        prepared = self.prepared
        hands = hands or Hands(planner=prepared.planner.planner, grounder=prepared.grounder.grounder)
        planner, grounder = hands.planner, hands.grounder
        selection, asked = prepared.selection, prepared.asked
        left = self.left()
        try:
            async with AsyncExitStack() as beside:
                if left.planner:
                    await planner.check()
                if left.grounder:
                    await grounder.check()
                    await beside.enter_async_context(self._probed(grounder, progress))
                # Only now is it known how much workers elsewhere take at once.
                plan = self._plan_stage(planner)
                ground = GroundStage(grounder, self._predictions, reads=prepared.grounder.reads)
                runner = Runner[StepItem]((plan, ground), on_record=progress.record, on_item=progress.item)
                with progress.steps(len(selection.step_ids)):
                    sessions = prepared.dataset.sessions
                    items = step_items(sessions, selection.step_ids, asked.history, asked.history_scope)
                    stopped = await runner.run(items)
        except Halted as halted:
            return str(halted)
        finally:
            await planner.aclose()
            await grounder.aclose()
        return stopped.reason if stopped else ""

    def _probed(self, grounder: Grounder, progress: Progress) -> AbstractAsyncContextManager[None]:
        prepared = self.prepared
        in_workers = prepared.grounder.card is not None and not prepared.grounder.base_url
        return probed(
            prepared.probe,
            grounder,
            self.folder.path,
            progress,
            several=prepared.several,
            own_models=prepared.beside is not None or in_workers,
        )

    def _plan_stage(self, planner: Planner) -> PlanStage | PlanAheadStage:
        if self._ahead is None:
            return PlanStage(planner, self._plans)
        return PlanAheadStage(planner, self._plans, self._ahead)

    def finish(self, stopped: str) -> Scored:
        """Score what was answered and write the rest of the folder.

        Raises:
            UserError: a file can't be written.
        """
        self._journals.close()
        wall_s = self._info.wall_s + time.monotonic() - self._started
        info = msgspec.structs.replace(self._info, stopped=stopped, wall_s=wall_s)
        self.folder.write_info(info)
        scored = score_run(self.folder, self.prepared.selection.sessions)
        info = msgspec.structs.replace(info, status=scored.summary.status)
        self.folder.write_info(info)
        keep_tables(self.folder.path, scored.summary.counts.steps + scored.summary.counts.skipped)
        self.folder.release()
        scored = msgspec.structs.replace(scored, info=info, set_aside=self._set_aside)
        return scored if self.options.no_report else with_report(scored)


def _continued(folder: RunFolder, info: RunInfo) -> RunInfo:
    """The description of a run that starts or goes on: the first start's time and the wall time so far are kept."""
    if (folder.path / "run.json").exists():
        before = folder.read_info()
        info = msgspec.structs.replace(info, started_at=before.started_at, wall_s=before.wall_s)
    folder.write_info(info)
    return info


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


async def heeding_sigterm(answers: Awaitable[T]) -> T:
    """Let a polite kill (SIGTERM) end this task as Ctrl-C does: what was answered is scored and written down."""
    task = asyncio.current_task()
    if task is not None:
        # Outside the main thread signals can't be handled.
        with suppress(ValueError, RuntimeError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await answers
