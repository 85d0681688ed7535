"""The workers of one stage: each item goes to whoever has room, and to another where its worker is lost.

The money, the keys and the journals are this process's. What a lost worker was at is asked again; an item that takes
three workers with it is given up, and so is a worker's place after five losses in a row without an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import sys
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from grounding.errors import UserError
from grounding.llm.budget import Budget, BudgetReached
from grounding.options import RunOptions
from grounding.records import Failure
from grounding.run.display import Progress
from grounding.run.ray.cluster import ClusterLost, Node, Staff, connected, is_kept, left
from grounding.run.ray.worker import Channel, ItemLost, StageWork

Staffed = Callable[[Sequence[Node]], Staff]
AHEAD = 2
"""So many times as much as a worker does at once is with it, where items are short: it need not wait for the next."""
LOSSES_OF_AN_ITEM, LOSSES_IN_A_ROW = 3, 5
LEAVE_S, LOOK_EVERY_S, BACKOFF_S = 15.0, 1.0, 1.0


class WorkerLost(Exception):
    """A worker is gone, and what it was at is asked again."""


class _Worker:
    """The writer's end of an actor, which calls its methods.

    ``bound`` is how many items it may have, 0 until it is ready; ``busy`` is how many it has.
    """

    def __init__(self, run: Workers, keep: Callable[[Any], None], actor: Any) -> None:
        self.name, self.actor, self.line = f"worker {next(run.numbers)}", actor, Channel(self)
        self.bound = self.busy = 0
        self.answered = self.gone = False
        self.keep, self.paid, self.retried, self._budget = keep, run.budget.paid, run.progress.retried, run.budget
        self._reserved: list[float] = []

    async def reserve(self, most_usd: float | None) -> float | BudgetReached:
        try:
            granted = await self._budget.reserve(most_usd)
        except BudgetReached as reached:
            return reached
        self._reserved.append(granted)
        if self.gone:  # Lost while it waited: nothing was sent.
            self.settle(granted, None)
        return granted

    def settle(self, reserved_usd: float, cost_usd: float | None, unreported_usd: float = 0.0) -> None:
        if reserved_usd in self._reserved:
            self._reserved.remove(reserved_usd)
            self._budget.settle(reserved_usd, cost_usd, unreported_usd)

    async def picture(self, path: str) -> bytes | None:
        try:
            return await asyncio.to_thread(Path(path).read_bytes)
        except OSError:
            return None

    def lost(self, reason: str) -> None:
        raise WorkerLost(reason)

    def leave(self, error: Exception) -> None:
        """It is gone: each open try may have been charged in full, and nobody will tell."""
        self.gone = True
        self.line.fail(error)
        for amount_usd in tuple(self._reserved):
            self.settle(amount_usd, None, amount_usd)


class Workers:
    """What all pools of a run have in common; :meth:`aclose` lets their workers go."""

    def __init__(self, options: RunOptions, folder: Path, budget: Budget, progress: Progress) -> None:
        self.options, self.folder, self.budget, self.progress = options, folder, budget, progress
        self.numbers = itertools.count(1)
        self.pools: list[Pool] = []

    async def stage(self, own: Any, work: StageWork, staffed: Staffed, **more: Any) -> RemoteStage:
        """A benchmark's stage with its work in workers; arguments and errors as :class:`Pool`'s and its ``start``'s."""
        made = Pool(self, work, staffed, keep=own.journal.append, **more)
        await made.start()
        return RemoteStage(own, made)

    async def send_away(self) -> None:
        """All workers leave; the connection stays for the next stage."""
        while self.pools:
            await self.pools.pop().aclose()

    async def aclose(self) -> None:
        """The workers leave, and the connection ends unless several runs share it."""
        await self.send_away()
        left()


class Pool:
    """Workers of a run that all opened the same work.

    ``staffed`` says how many there are to be on the nodes of the cluster; it is asked again as nodes come. ``keep``
    takes a record that a stage writes beside its answers. ``in_folder``: workers write into the run's folder. ``ahead``
    is how many times as much as it does at once is handed to a worker. Raises UserError: there is no cluster.
    """

    def __init__(
        self,
        run: Workers,
        work: StageWork,
        staffed: Staffed,
        *,
        keep: Callable[[Any], None] = lambda _: None,
        in_folder: bool = False,
        ahead: int = 1,
    ) -> None:
        with run.progress.phase("connecting to Ray"):
            self._cluster = connected(run.options.ray_address)
        self._work = msgspec.structs.replace(
            work,
            cost_limit=run.options.cost_limit,
            folder=str(run.folder.absolute()) if in_folder else "",
            here=(self._cluster.node, str(Path.cwd())),
        )
        run.pools.append(self)
        self._run, self._staffed, self._keep, self._ahead = run, staffed, keep, ahead
        self._staff, self._places = Staff(workers=1), 0
        self._workers: list[_Worker] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._moved = asyncio.Event()
        self._ended: Exception | None = None

    def room(self, own: int) -> int:
        """How many items a run should have under way; ``own`` is what one process takes.

        The connections to a server are shared out; what computes may get more workers as nodes come.
        """
        shared = self._staff.connections is not None or self._staff.workers == 1
        return own * self._ahead * (1 if shared else 2 * max(self._staff.workers, 4))

    async def start(self) -> None:
        """Hire, and wait for the first worker that is ready.

        Raises UserError: the cluster has no room, or a worker can't be made ready; ClusterLost: the cluster went away.
        """
        if not self._tasks:
            self._staff = self._staffed(await self._cluster.nodes())
            wanted = [pool._work for pool in self._run.pools]
            idle, self._cluster.idle = self._cluster.idle, []
            for work, actor in idle:
                if work == self._work:
                    self._hire(actor)
                elif work in wanted:
                    self._cluster.idle.append((work, actor))
                else:
                    self._cluster.end(actor)  # It may be in the place of one that is needed now.
            self._begin(self._watch())
        with self._run.progress.phase(f"waiting for a worker ({self._staff.cpus:g} CPUs, {self._staff.gpus:g} GPUs)"):
            await self._free()

    async def do(self, key: str, item: Any) -> Any:
        """The record of an item from whichever worker has room.

        Raises ItemLost: it ended in an error, or three workers were lost with it; Halted: the cost limit leaves no
        room, or the model's servers or the cluster went away; UserError: no worker can work on it.
        """
        for lost in range(LOSSES_OF_AN_ITEM):
            # What two workers were lost with takes up a whole one, so that it takes no other item with it.
            worker, places = await self._free(whole=lost == LOSSES_OF_AN_ITEM - 1)
            worker.busy += places
            try:
                answer = await worker.line.ask("work", key, item)
                break
            except WorkerLost as error:
                problem = str(error)
            finally:
                worker.busy -= places
                self._moved.set()
        else:
            raise ItemLost(f"{LOSSES_OF_AN_ITEM} workers were lost while they worked on this: {problem}")
        worker.answered = True
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _free(self, *, whole: bool = False) -> tuple[_Worker, int]:
        """The least busy worker, as soon as one has room, and how many places the item takes there."""
        while self._ended is None:
            free = [each for each in self._workers if each.busy < each.bound and not (whole and each.busy)]
            if free:
                worker = min(free, key=lambda worker: worker.busy / worker.bound)
                return worker, worker.bound if whole else 1
            self._moved.clear()
            await self._moved.wait()
        raise self._ended

    async def aclose(self) -> None:
        """Let the workers go; they stay for the next run where several share them. What is under way is broken off."""
        stay = is_kept() and self._ended is None and not any(worker.busy for worker in self._workers)
        self._end(WorkerLost("the run ends"))
        if stay:
            self._cluster.idle += [(self._work, worker.actor) for worker in self._workers if worker.bound]
        await asyncio.gather(*(self._see_off(each) for each in self._workers if not (stay and each.bound)))
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _watch(self) -> None:
        """Look after the cluster: whether it is there, and whether it has become larger."""
        while self._ended is None:
            while self._places < self._staff.workers:
                self._hire()
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                nodes = await self._cluster.nodes()
            except ClusterLost as lost:
                self._end(lost)
                return
            if self._staff.connections is None:
                with contextlib.suppress(UserError):  # Nodes went: no more are hired until others come.
                    self._staff = self._staffed(nodes)

    def _hire(self, actor: Any = None) -> None:
        self._places += 1
        self._begin(self._place(actor))

    async def _place(self, actor: Any) -> None:
        """One worker after the other, until that is of no use; ``actor`` is one that the run before left."""
        losses = 0
        while self._ended is None:
            worker = _Worker(self._run, self._keep, actor)
            self._workers.append(worker)
            try:
                await self._employ(worker)
            except Exception as raised:  # noqa: BLE001 - whatever Ray raises of a worker, or a worker's own
                error = raised.exceptions[0] if isinstance(raised, ExceptionGroup) else raised
            if self._ended is not None:
                return
            cause = getattr(error, "cause", None) or error  # What the actor itself raised.
            why = " ".join(str(cause).split())[:600] or type(cause).__name__
            self._workers.remove(worker)
            text = f"{worker.name} is lost: {why}; {worker.busy} items are asked again"
            print(f"grounding: {text}", file=sys.stderr, flush=True)
            if worker.actor is not None:
                self._cluster.end(worker.actor)
            worker.leave(WorkerLost(why))
            actor, losses = None, 1 if worker.answered else losses + 1
            # The first: it could not open its stage.
            if isinstance(error, UserError) or losses == LOSSES_IN_A_ROW:
                if not any(other.bound for other in self._workers):
                    self._end(UserError(f"{worker.name}: {why}"))
                return
            await asyncio.sleep(BACKOFF_S * losses)

    async def _employ(self, worker: _Worker) -> None:
        worker.actor = worker.actor or await self._cluster.hire(self._staff.cpus, self._staff.gpus)
        keys = {name: os.environ[name] for name in self._work.keys if name in os.environ}
        place, at_once = await worker.actor.open.remote(self._work, keys, self._staff.connections)
        worker.name += f" on {place}"
        worker.bound = at_once * self._ahead
        self._moved.set()

        async def send() -> None:
            while True:
                await worker.actor.take.remote(await worker.line.out())

        async with asyncio.TaskGroup() as group:  # What can't be sent would be waited for in vain.
            group.create_task(send())
            while True:
                worker.line.hear(await worker.actor.news.remote())

    async def _see_off(self, worker: _Worker) -> None:
        try:
            with contextlib.suppress(Exception):  # It may be dead already.
                if worker.bound and not self._cluster.lost:
                    worker.line.hear(await asyncio.wait_for(worker.actor.close.remote(), LEAVE_S))
        finally:
            if worker.actor is not None and not self._cluster.lost:
                self._cluster.end(worker.actor)
            worker.leave(WorkerLost("the run ends"))

    def _end(self, error: Exception) -> None:
        """Nothing can be answered any more."""
        self._ended = self._ended or error
        self._moved.set()
        for worker in self._workers:
            worker.line.fail(self._ended)


class RemoteStage:
    """A stage whose records are made by a pool of workers. Keys, ids and the journal are the writer's own."""

    def __init__(self, own: Any, pool: Pool) -> None:
        self._own, self._pool = own, pool
        self.name, self.journal, self.item_id, self.key = own.name, own.journal, own.item_id, own.key
        self.max_concurrency = pool.room(own.max_concurrency)

    async def run(self, item: Any, earlier: Any, key: str) -> Any:  # noqa: ARG002
        """The record of whichever worker has room; raises as :meth:`Pool.do`, but for what could not be worked on."""
        try:
            return await self._pool.do(key, item)
        except ItemLost as error:
            return self._own.failed(item, key, Failure(kind="error", message=str(error)))


def key_variables(cards: Iterable[Any]) -> tuple[str, ...]:
    """The environment variables that cards name for their keys."""
    return tuple(sorted({card.endpoint.key_variable for card in cards if card and card.endpoint.key_variable}))
