"""The workers of one stage: each item goes to whoever has room, and to another where its worker is lost.

The money, the keys and the journals are this process's. What a lost worker was at is asked again; an item that takes
three workers with it is given up, and so is the pool after five losses in a row without an answer in between.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from grounding.errors import UserError
from grounding.llm.budget import Budget, BudgetReached
from grounding.llm.client import ServerGone
from grounding.options import RunOptions
from grounding.records import Call, Failure
from grounding.run.display import Progress
from grounding.run.ray.cluster import ClusterLost, Node, connected, is_kept, left
from grounding.run.ray.staff import Staff
from grounding.run.ray.worker import Channel, StageWork

Staffed = Callable[[Sequence[Node]], Staff]
AHEAD = 2
"""So many times as much as a worker does at once is with it, where items are short: it need not wait for the next."""
LOSSES_OF_AN_ITEM, LOSSES_IN_A_ROW = 3, 5
LEAVE_S, LOOK_EVERY_S, BACKOFF_S = 15.0, 1.0, 1.0


class ItemLost(Exception):
    """Nobody could work on an item; says why."""


class WorkerLost(Exception):
    """A worker is gone, and what it was at is asked again."""


_ERRORS = {"limit": BudgetReached, "away": ServerGone, "useless": UserError, "broke": ItemLost}
"""What a worker says of an item without a record."""


class Worker:
    """One actor. ``bound`` is how many items it may have, 0 until it is ready; ``busy`` is how many it has.

    ``reserved`` is money for its open tries.
    """

    def __init__(self, pool: Pool, name: str, actor: Any) -> None:
        self.name, self.actor = name, actor
        self.bound = self.busy = 0
        self.reserved: list[float] = []
        self.line = Channel(partial(pool.answer, self), partial(pool.hear, self))


class Workers:
    """What all pools of a run have in common; :meth:`aclose` lets their workers go."""

    def __init__(self, options: RunOptions, folder: Path, budget: Budget, progress: Progress) -> None:
        self.options, self.folder, self.budget, self.progress = options, folder, budget, progress
        self.pools: list[Pool] = []

    async def stage(self, own: Any, work: StageWork, staffed: Staffed, **more: Any) -> RemoteStage:
        """A benchmark's stage with its work in workers, of which one is ready; arguments and errors as :class:`Pool`'s.

        Raises:
            ClusterLost: the cluster went away meanwhile.
        """
        made = Pool(self, work, staffed, record_type=own.record_type, keep=own.journal.append, **more)
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
    is how many times as much as it does at once is handed to a worker.

    Raises:
        UserError: there is no cluster.
    """

    def __init__(
        self,
        run: Workers,
        work: StageWork,
        staffed: Staffed,
        *,
        record_type: type[Any],
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
        self._decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(record_type)
        self._staff = Staff(workers=1)
        self._workers: list[Worker] = []
        self._numbers = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._moved = asyncio.Event()
        self._ended: Exception | None = None
        self._losses = self._useless = 0

    def room(self, own: int) -> int:
        """How many items a run should have under way; ``own`` is what one process takes.

        The connections to a server are shared out; what computes may get more workers as nodes come.
        """
        if self._staff.connections is not None or self._staff.workers == 1:
            return own * self._ahead
        most = max((worker.bound for worker in self._workers), default=own * self._ahead)
        return 2 * most * max(self._staff.workers, 4)

    async def start(self) -> None:
        """Hire, and wait for the first worker that is ready.

        Raises:
            UserError: the cluster has no room, or a worker can't be made ready.
            ClusterLost: the cluster went away.
        """
        if not self._tasks:
            self._staff = self._staffed(await self._cluster.nodes())
            idle, self._cluster.idle = self._cluster.idle, []
            for work, actor in idle:
                if work == self._work:
                    self._hire(actor)
                elif any(work == other._work for other in self._run.pools):
                    self._cluster.idle.append((work, actor))
                else:
                    self._cluster.end(actor)  # It may be in the place of one that is needed now.
            while len(self._workers) < self._staff.workers:
                self._hire()
            self._begin(self._watch())
        with self._run.progress.phase(f"waiting for a worker ({self._staff.cpus:g} CPUs, {self._staff.gpus:g} GPUs)"):
            await self._free()

    async def do(self, key: str, item: Any) -> Any:
        """The record of an item from whichever worker has room.

        Raises:
            ItemLost: it ended in an error, or three workers were lost with it.
            Halted: the cost limit leaves no room, or the model's servers or the cluster went away.
            UserError: no worker can work on it.
        """
        content = msgspec.msgpack.encode(item)
        for lost in range(LOSSES_OF_AN_ITEM):
            # What two workers were lost with takes up a whole one, so that it takes no other item with it.
            worker, places = await self._free(whole=lost == LOSSES_OF_AN_ITEM - 1)
            worker.busy += places
            try:
                kind, answer = await worker.line.ask("work", key, content)
                break
            except WorkerLost as error:
                problem = str(error)
            finally:
                worker.busy -= places
                self._moved.set()
        else:
            raise ItemLost(f"{LOSSES_OF_AN_ITEM} workers were lost while they worked on this: {problem}")
        self._losses = 0
        if kind in _ERRORS:
            raise _ERRORS[kind](answer)
        return self._decoder.decode(answer)

    async def _free(self, *, whole: bool = False) -> tuple[Worker, int]:
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
        leaving, self._workers = self._workers, []
        if stay:
            self._cluster.idle += [(self._work, worker.actor) for worker in leaving if worker.bound]
            leaving = [worker for worker in leaving if not worker.bound]
        await asyncio.gather(*(self._see_off(worker) for worker in leaving))
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _hire(self, actor: Any = None) -> None:
        worker = Worker(self, f"worker {next(self._numbers)}", actor)
        self._workers.append(worker)
        self._begin(self._live(worker))

    async def _live(self, worker: Worker) -> None:
        try:
            worker.actor = worker.actor or await self._cluster.hire(self._staff.cpus, self._staff.gpus)
            keys = {name: os.environ[name] for name in self._work.keys if name in os.environ}
            place, at_once = await worker.actor.open.remote(self._work, keys, self._staff.connections)
            worker.name += f" on {place}"
            worker.bound = at_once * self._ahead
            self._moved.set()
            self._begin(self._send(worker))
            while worker in self._workers:
                worker.line.hear(await worker.actor.news.remote())
        except Exception as error:  # noqa: BLE001 - whatever Ray raises of a worker, or a worker's own
            self._lose(worker, error)

    async def _send(self, worker: Worker) -> None:
        while worker in self._workers:
            batch = await worker.line.out()
            try:
                await worker.actor.take.remote(batch)
            except Exception as error:  # noqa: BLE001 - as in _live; what was in the batch would be waited for in vain
                self._lose(worker, error)

    async def _watch(self) -> None:
        """Look after the cluster: whether it is there, and whether it has become larger."""
        while self._ended is None:
            try:
                nodes = await self._cluster.nodes()
            except ClusterLost as lost:
                self._end(lost)
                return
            if self._staff.connections is None:
                with contextlib.suppress(UserError):  # Nodes went: no more are hired until others come.
                    self._staff = self._staffed(nodes)
            while 0 < len(self._workers) < self._staff.workers - self._useless and not self._losses:
                self._hire()
            await asyncio.sleep(LOOK_EVERY_S)

    def _lose(self, worker: Worker, error: Exception) -> None:
        """Ask what it was at again, and hire another, unless that would be of no more use."""
        if worker not in self._workers:
            return
        cause = getattr(error, "cause", None) or error  # What the actor itself raised.
        why = " ".join(str(cause).split())[:600] or type(cause).__name__
        self._workers.remove(worker)
        say(f"{worker.name} is lost: {why}; {worker.busy} items are asked again")
        if worker.actor is not None:
            self._cluster.end(worker.actor)
        self._settle(worker)
        worker.line.fail(WorkerLost(why))
        if isinstance(error, UserError):  # It could not open its stage.
            self._useless += 1
            if not any(other.bound for other in self._workers):
                self._end(UserError(f"{worker.name}: {why}"))
            return
        self._losses += 1
        if self._losses >= LOSSES_IN_A_ROW:
            self._end(UserError(f"{self._losses} workers were lost one after the other without an answer: {why}"))
        self._begin(self._replace())

    async def _replace(self) -> None:
        await asyncio.sleep(BACKOFF_S * self._losses)
        if self._ended is None and len(self._workers) < self._staff.workers - self._useless:
            self._hire()

    async def _see_off(self, worker: Worker) -> None:
        try:
            with contextlib.suppress(Exception):  # It may be dead already.
                if worker.bound and not self._cluster.lost:
                    worker.line.hear(await asyncio.wait_for(worker.actor.close.remote(), LEAVE_S))
        finally:
            if worker.actor is not None and not self._cluster.lost:
                self._cluster.end(worker.actor)
            self._settle(worker)

    def _end(self, error: Exception) -> None:
        """Nothing can be answered any more."""
        self._ended = self._ended or error
        self._moved.set()
        for worker in self._workers:
            worker.line.fail(self._ended)

    async def answer(self, worker: Worker, kind: str, what: Any) -> Any:
        """What a worker asks for: room under the cost limit for a try, or the bytes of a picture."""
        try:
            if kind == "picture":
                return await asyncio.to_thread(Path(what).read_bytes)
            granted = await self._run.budget.reserve(what)
        except OSError:
            return None
        except BudgetReached as reached:
            return str(reached)
        worker.reserved.append(granted)
        if worker not in self._workers:  # Lost while it waited: nothing was sent.
            worker.reserved.remove(granted)
            self._run.budget.settle(granted, None)
        return granted

    def hear(self, worker: Worker, kind: str, *what: Any) -> None:
        """What a worker tells."""
        match kind:
            case "retried":
                self._run.progress.retried()
            case "keep":
                self._keep(self._decoder.decode(what[0]))
            case "paid":
                self._run.budget.paid(what[0], msgspec.msgpack.decode(what[1], type=Call))
            case "settle" if what[0] in worker.reserved:
                worker.reserved.remove(what[0])
                self._run.budget.settle(*what)

    def _settle(self, worker: Worker) -> None:
        """A worker is gone: each open try may have been charged in full, and nobody will tell."""
        while worker.reserved:
            amount_usd = worker.reserved.pop()
            self._run.budget.settle(amount_usd, None, amount_usd)


class RemoteStage:
    """A stage whose records are made by a pool of workers. Keys, ids and the journal are the writer's own."""

    def __init__(self, own: Any, pool: Pool) -> None:
        self._own, self._pool = own, pool
        self.name, self.journal = own.name, own.journal
        self.item_id, self.key = own.item_id, own.key

    @property
    def max_concurrency(self) -> int:
        """How many items all workers together take at once."""
        return self._pool.room(self._own.max_concurrency)

    async def run(self, item: Any, earlier: Any, key: str) -> Any:  # noqa: ARG002
        """The record of whichever worker has room; raises as :meth:`Pool.do`, but for what could not be worked on."""
        try:
            return await self._pool.do(key, item)
        except ItemLost as error:
            return self._own.failed(item, key, Failure(kind="error", message=str(error)))


def say(text: str) -> None:
    """Show a line to the user."""
    print(f"grounding: {text}", file=sys.stderr, flush=True)


def key_variables(cards: Mapping[str, Any] | Sequence[Any]) -> tuple[str, ...]:
    """The environment variables that cards name for their keys."""
    found = cards.values() if isinstance(cards, Mapping) else cards
    return tuple(sorted({card.endpoint.key_variable for card in found if card and card.endpoint.key_variable}))
