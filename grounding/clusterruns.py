"""Runs whose models are asked by workers on a Ray cluster: one run, or many side by side."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from grounding.attended import INTERRUPTED, attended
from grounding.atwork import RunAtWork, begin, heeding_sigterm
from grounding.board import Board
from grounding.budget import Budget
from grounding.display import Progress
from grounding.errors import UserError
from grounding.executors.pool import Pool
from grounding.executors.ray.link import RayLink
from grounding.executors.remote import RemoteGrounder
from grounding.gate import Gate
from grounding.manydisplay import ManyProgress, RunProgress
from grounding.options import EvalOptions
from grounding.payments import each_paid_call
from grounding.planned import PlannedRun, Ran, RunOutcome, broken_off, limited, run_folder
from grounding.records import Call, Dataset
from grounding.runqueue import distinct_names
from grounding.scorebook import Scored
from grounding.workforce import Workforce, options_of

MOST_BEGUN = 8
"""So many models' runs are begun at once: their data sets are in memory."""

T = TypeVar("T")


def evaluate_on_cluster(
    options: EvalOptions,
    progress: Progress,
    *,
    load: Callable[..., Dataset] | None = None,
    elsewhere: Iterable[Call] = (),
    begun: Callable[[], None] | None = None,
) -> Scored:
    """What :func:`grounding.evaluation.evaluate` does, with the models asked by workers on a cluster.

    Raises:
        UserError: something is missing or wrong, on this machine or on the cluster, or the disk failed in mid-run
            (what was answered is kept).
    """
    budget = Budget(options.cost_limit)
    budget.take_up(elsewhere)
    with begin(options, budget, progress, load=load) as run:
        budget.take_up(each_paid_call(run.folder))
        if begun is not None:
            begun()
        stopped = attended(lambda: heeding_sigterm(_alone(run, budget, progress)), run.folder.path)
        return run.finish(stopped)


async def _alone(run: RunAtWork, budget: Budget, progress: Progress) -> str:
    left = run.left()
    if not left.planner and not left.grounder:
        return await run.answer(progress)
    async with contextlib.AsyncExitStack() as stack:
        with progress.phase("connecting to Ray"):
            workforce = await stack.enter_async_context(Workforce(RayLink(run.options.ray_address), _say))
        return await run.answer(progress, workforce.hands(run, budget, progress.retried))


def _say(text: str) -> None:
    print(f"grounding: {text}", file=sys.stderr, flush=True)


# --- many runs ----------------------------------------------------------------------------------------------------


def run_on_cluster(runs: Sequence[PlannedRun], board: Board, load: Callable[..., Dataset]) -> Ran:
    """Run them all side by side, as far as the cluster has room: one connection, one cost limit, one plan store.

    Runs of one model follow one another, so that its servers are started once.
    """
    with ManyProgress.over(runs[0].options.display, board.state) as shown:
        queue = _Queue(runs, board, load, shown)
        if any(run.priced for run in runs):
            shown.pays(queue.paid_usd)
        try:
            attended(lambda: heeding_sigterm(queue.work()), board.folder)
        finally:
            queue.close()
    found = [queue.outcomes[run.run_id] for run in runs if run.run_id in queue.outcomes]
    if queue.is_through:
        return Ran(outcomes=tuple(found))
    board.interrupted()
    return broken_off(runs, found)


class _Queue:
    """The runs of one command on their way."""

    def __init__(
        self, runs: Sequence[PlannedRun], board: Board, load: Callable[..., Dataset], shown: ManyProgress
    ) -> None:
        self.outcomes: dict[str, RunOutcome] = {}
        self.is_through = False
        self._runs, self._board, self._load, self._shown = runs, board, load, shown
        self._budget = Budget(runs[0].options.cost_limit)
        for run in runs:
            if not run.options.fresh:
                self._budget.take_up(each_paid_call(run_folder(run)))
        # Reading, scoring and drawing take turns: neither the plots nor the memory are for several at once.
        self._desk = ThreadPoolExecutor(1, thread_name_prefix="desk")
        self._begun = asyncio.Semaphore(MOST_BEGUN)

    def paid_usd(self) -> float:
        """What all runs together have spent so far, or may have."""
        return self._budget.spent_usd + self._budget.unreported_usd

    def close(self) -> None:
        self._desk.shutdown(cancel_futures=True)

    async def work(self) -> str:
        """Run everything; returns nothing, as every run has its own reason to stop."""
        options = self._runs[0].options
        async with Workforce(RayLink(options.ray_address), self._shown.say) as workforce:
            cluster = workforce.there
            gate = Gate(cluster.gpus or cluster.cpus)
            async with asyncio.TaskGroup() as group:
                for members in self._by_model():
                    group.create_task(self._one_model(members, workforce, gate))
        self.is_through = True
        return ""

    def _by_model(self) -> list[list[PlannedRun]]:
        groups: dict[EvalOptions, list[PlannedRun]] = {}
        for run in self._runs:
            groups.setdefault(options_of("grounder", limited(run)), []).append(run)
        return list(groups.values())

    async def _one_model(self, members: Sequence[PlannedRun], workforce: Workforce, gate: Gate) -> None:
        """The runs of one grounder, one after the other; its workers go when the last is through."""
        async with self._begun, contextlib.AsyncExitStack() as held:
            pools: list[Pool] = []
            for run in members:
                await self._one(run, workforce, gate, held, pools)
            await workforce.dismiss(pools)

    async def _one(
        self,
        planned: PlannedRun,
        workforce: Workforce,
        gate: Gate,
        held: contextlib.AsyncExitStack,
        pools: list[Pool],
    ) -> None:
        options = limited(planned)
        progress = self._shown.run(self._shown_name(planned))
        self._board.starting(planned)
        try:
            budget = self._budget if planned.priced else Budget(None)
            run = await self._at_the_desk(partial(begin, options, budget, progress, load=self._load))
        except UserError as error:
            self._ended(RunOutcome(run=planned, problem=str(error)))
            return
        with run:
            try:
                stopped = await self._answered(run, budget, progress, workforce, gate, held, pools)
            except asyncio.CancelledError:
                # What was answered is scored before everything ends.
                self._ended(RunOutcome(run=planned, scored=run.finish(INTERRUPTED)))
                raise
            except (UserError, OSError) as error:
                self._ended(RunOutcome(run=planned, problem=str(error)))
                return
            try:
                scored = await self._at_the_desk(partial(run.finish, stopped))
            except UserError as error:
                self._ended(RunOutcome(run=planned, problem=str(error)))
                return
            self._ended(RunOutcome(run=planned, scored=scored))

    async def _answered(
        self,
        run: RunAtWork,
        budget: Budget,
        progress: RunProgress,
        workforce: Workforce,
        gate: Gate,
        held: contextlib.AsyncExitStack,
        pools: list[Pool],
    ) -> str:
        left = run.left()
        if not left.planner and not left.grounder:
            return await run.answer(progress)
        staff = workforce.staff(run)
        if staff is not None and not pools:
            needs = staff.needs.gpus if workforce.there.gpus else staff.needs.cpus
            await held.enter_async_context(gate.room(staff.workers * needs))
        hands = workforce.hands(run, budget, progress.retried)
        if isinstance(hands.grounder, RemoteGrounder) and hands.grounder.pool not in pools:
            pools.append(hands.grounder.pool)
        return await run.answer(progress, hands)

    async def _at_the_desk(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._desk, work)

    def _shown_name(self, run: PlannedRun) -> str:
        return distinct_names(self._board.state)[run.run_id]

    def _ended(self, outcome: RunOutcome) -> None:
        self.outcomes[outcome.run.run_id] = outcome
        self._board.ended(outcome)
        found = next(each for each in self._board.state.runs if each.run_id == outcome.run.run_id)
        self._shown.ended(self._shown_name(outcome.run), found.state, found.problem)
