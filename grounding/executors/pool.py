"""Workers on a cluster that answer as one: routed, replaced when lost, under one cost limit.

A question is asked again only if its worker was lost before it had answered. Everything here runs on one event loop,
in the process that writes the run.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Callable
from typing import Any

from grounding.budget import Budget
from grounding.executors.crew import Crew
from grounding.executors.errors import PoolClosed, WorkerGone
from grounding.executors.hearing import Hearing
from grounding.executors.link import Link, Needs
from grounding.executors.recipe import Recipe, pack
from grounding.executors.recovery import Recovery, fail
from grounding.executors.staff import Patience, StageRecords, Ticket, Work, WorkerState
from grounding.records import Plan, Prediction, Query

__all__ = ["Patience", "Pool", "WorkerState"]


class Pool:
    """So many workers of one recipe.

    What a lost worker was asked and had not answered is asked of others; a query that was lost with several workers
    counts as the reason and fails. A worker that is lost is replaced. Without the whole cluster, questions wait.
    """

    def __init__(
        self,
        link: Link,
        recipe: Recipe,
        *,
        workers: int,
        needs: Needs,
        budget: Budget,
        on_retry: Callable[[], None],
        told: Callable[[str], None],
        patience: Patience | None = None,
        stage: StageRecords | None = None,
    ) -> None:
        """Nothing is connected yet.

        Args:
            link: What workers run on. The pool closes it at its end; pools that share one get their own part of it
                (:class:`grounding.executors.sharing.SharedLink`).
            recipe: What each worker opens.
            workers: How many there are to be.
            needs: What each takes up on its machine.
            budget: The run's money.
            on_retry: Called when a worker tries a request again.
            told: Shows a line to the user.
            patience: How long to wait for what.
            stage: What workers of the room ``stage`` answer with.
        """
        self.recipe = recipe
        self._link = link
        self._told = told
        self._patience = patience or Patience()
        self._wanted = workers
        self._recovery = Recovery(recipe.room, patience=self._patience, told=told)
        self._routing = self._recovery.routing
        self._crew = Crew(
            link,
            pack(recipe),
            needs,
            workers,
            name=f"{recipe.room}-{secrets.token_hex(3)}",
            budget=budget,
            patience=self._patience,
            broke=self._recovery.broke,
        )
        self._recovery.lead(self._crew)
        self._hearing = Hearing(recipe, self._recovery, on_retry=on_retry, told=told, stage=stage)
        self._numbers = itertools.count(1)
        self._starting = asyncio.Lock()
        self._started = False
        self._closed = False

    @property
    def max_concurrency(self) -> int:
        """How many questions the workers that are ready take at once; 1 where none is."""
        return max(1, sum(worker.bound for worker in self._crew.hired.values() if worker.state == "ready"))

    def expects(self, own: int) -> int:
        """How many questions all workers that are to be will take at once.

        Args:
            own: How many the writer's own planner or grounder takes, where no worker has said yet.
        """
        ready = [worker.bound for worker in self._crew.hired.values() if worker.state == "ready"]
        if self.recipe.max_connections is not None:  # Each worker has a share of the same connections.
            return max(own, self.max_concurrency)
        return max(self._wanted * max(ready, default=own), self.max_concurrency)

    @property
    def workers(self) -> tuple[WorkerState, ...]:
        """Everybody who is hired, as they are now."""
        return tuple(worker.shown() for worker in self._crew.hired.values())

    async def start(self) -> None:
        """Connect, hire, and wait for the first worker that is ready. Nothing happens where that was done.

        Raises:
            UserError: a worker can't be made ready, or would answer otherwise than the writer's own would.
            ClusterLost: the cluster went away meanwhile and did not come back.
        """
        async with self._starting:
            if not self._started:
                await self._link.open(self._hearing.on_event)
                self._started = True
                self._recovery.hire()
            try:
                await asyncio.wait_for(self._recovery.opened.wait(), self._patience.tell_s)
            except TimeoutError:
                self._told(self._waited_for())
                await self._recovery.opened.wait()
        self._recovery.check()

    async def ask(self, query: Query) -> Plan | Prediction:
        """The answer of whichever worker has room; waits for one.

        Raises:
            BudgetReached: the cost limit leaves no room; nothing was sent.
            UserError: no worker can answer.
            ClusterLost: the cluster went away and did not come back.
            PoolClosed: the pool was closed first.
        """
        answer: Plan | Prediction = await self._put(query)
        return answer

    async def do(self, work: Work) -> Any:
        """The record of whichever worker of a stage has room for an item; waits for one.

        Raises:
            WorkersLost: it was lost with several workers.
            ItemBroke: it ended in an error of the infrastructure.
            BudgetReached, UserError, ClusterLost, PoolClosed: as for ``ask``.
        """
        return await self._put(work)

    async def _put(self, query: Query | Work) -> Any:
        if not self._started:
            await self.start()
        self._recovery.check()
        ticket = Ticket(next(self._numbers), query, asyncio.get_running_loop().create_future())
        self._routing.put(ticket)
        return await ticket.done

    async def ask_worker(self, name: str, query: Query) -> Plan | Prediction:
        """The answer of this worker alone, as soon as it has room.

        Raises:
            WorkerGone: it is not there, is being drained, or is lost before it has answered.
            BudgetReached, UserError, ClusterLost, PoolClosed: as for ``ask``.
        """
        self._recovery.check()
        worker = self._crew.hired.get(name)
        if worker is None or not worker.accepts:
            raise WorkerGone(f"there is no worker {name} that could be asked")
        ticket = Ticket(next(self._numbers), query, asyncio.get_running_loop().create_future(), worker)
        self._routing.put(ticket)
        answer: Plan | Prediction = await ticket.done
        return answer

    async def drain(self, name: str, why: str, *, replace: bool = True) -> None:
        """Let a worker answer what it was asked, then send it away; another takes its place at once.

        Args:
            name: The worker.
            why: The reason, for the user.
            replace: Whether another is hired.
        """
        worker = self._crew.hired.get(name)
        if worker is None or worker.state == "draining":
            return
        self._told(f"{worker.place} is drained: {why}")
        ready, worker.state = worker.state == "ready", "draining"
        for ticket in self._routing.close(worker):
            fail(ticket, WorkerGone(f"{worker.place} is drained: {why}"))
        post = self._crew.free_post(worker)
        if post is not None and replace:
            self._recovery.replace(post)
        elif post is not None:
            self._crew.close_post(post)
        if worker.asked:
            await worker.idle.wait()
        if not worker.gone.is_set():
            await self._crew.see_off((worker,), politely=ready)

    async def aclose(self) -> None:
        """Send all workers away and disconnect. Whoever still waits for an answer is told that there will be none.

        What a stage's worker is at is broken off, and it may still say what there is of it.
        """
        if self._closed:
            return
        self._closed = True
        self._recovery.end(PoolClosed("the pool of workers is closed"))
        try:
            if self._started:
                await self._crew.aclose(break_off=self.recipe.room == "stage")
        finally:
            await self._link.aclose()

    def _waited_for(self) -> str:
        """What the first worker is held up by, as far as is known."""
        opening = [worker for worker in self._crew.hired.values() if worker.state == "opening"]
        if opening:
            return f"still waiting for {opening[0].place} to make itself ready"
        needs = self._crew.needs
        return (
            f"still waiting for the cluster to have room for the first {self.recipe.room} worker ({needs.cpus:g} CPUs, "
            f"{needs.gpus:g} GPUs)"
        )
