"""Asks each replica of a model the probe's questions before the run, and sends away those that answer otherwise."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Protocol

import msgspec

from grounding.budget import BudgetReached
from grounding.cards import GrounderCard
from grounding.executors.agreement import Answers, judge
from grounding.executors.errors import ClusterLost, PoolClosed, WorkerGone
from grounding.executors.staff import WorkerState
from grounding.probe.replicas import Replica, ReplicaReport, add_replicas
from grounding.probe.targets import INSTRUCTION, Target, draw_targets
from grounding.records import Plan, Prediction, Query
from grounding.runfolder import utc_now

WAIT_S = 600.0
"""How long replicas that are still loading keep the others waiting; whoever comes later is asked then."""

MOST_ON_ONE_NODE = 2
"""So many replicas that answer otherwise on one machine, and it gets no other: the machine is what is wrong."""

MOST_REMEMBERED = 64
"""So many replicas' answers are kept for comparison; those of replicas that are gone are forgotten first."""

_LOOK_EVERY_S = 0.5
WHY = "it answers otherwise than the other replicas"


class AsksEach(Protocol):
    """What has several replicas that can be asked one by one: a :class:`grounding.executors.pool.Pool`."""

    @property
    def workers(self) -> tuple[WorkerState, ...]:
        """All of them, as they are now."""
        ...

    async def ask_worker(self, name: str, query: Query) -> Plan | Prediction:
        """The answer of this one alone."""
        ...

    async def drain(self, name: str, why: str, *, replace: bool = True) -> None:
        """Ask it nothing more, and send it away."""
        ...


class ReplicaCheck:
    """The comparison of a pool's replicas over the length of a run."""

    def __init__(self, pool: AsksEach, card: GrounderCard, folder: Path) -> None:
        """Nothing is asked yet.

        Args:
            pool: The replicas.
            card: Their card.
            folder: The run's, for ``replicas.json``.
        """
        self._pool = pool
        self._card = card
        self._folder = folder
        self._asked: set[str] = set()
        self._known: dict[str, Answers] = {}
        self._left_out_on: Counter[str] = Counter()
        # A pool may have answered for other runs before.
        self._answered_before: dict[str, int] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    async def start(self, *, wait_s: float = WAIT_S) -> ReplicaReport | None:
        """Ask every replica and send away those that differ; None where there is only one, which is asked nothing.

        Waits for those that are loading, up to ``wait_s`` seconds.

        Raises:
            ClusterLost, PoolClosed, UserError: nobody can be asked.
        """
        if len(self._pool.workers) < 2:
            return None
        if self._card.image.send == "file":
            _say("they are not compared: with --send file they see no pictures but those of the data set")
            return None
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                while any(worker.state == "opening" for worker in self._pool.workers):
                    await asyncio.sleep(_LOOK_EVERY_S)
        self._answered_before = {worker.name: worker.answered for worker in self._pool.workers}
        return await self._compare(run_has_begun=False)

    async def watch(self) -> None:
        """Ask replicas that come later as soon as they are there, for ever; ends when the pool does."""
        if not self._asked:
            return
        with suppress(ClusterLost, PoolClosed):
            while True:
                await asyncio.sleep(_LOOK_EVERY_S)
                await self._compare(run_has_begun=True)

    async def _compare(self, *, run_has_begun: bool) -> ReplicaReport | None:
        """Ask those that were not asked yet, and judge all that is known; None where nobody new answered."""
        fresh = [w for w in self._pool.workers if w.state == "ready" and w.name not in self._asked]
        if not fresh:
            return None
        self._asked.update(worker.name for worker in fresh)
        with tempfile.TemporaryDirectory(prefix="grounding-replicas-") as folder:
            targets = await asyncio.to_thread(draw_targets, Path(folder))
            came = await asyncio.gather(*(self._ask(worker, targets) for worker in fresh))
        new = {each.replica.name: each for each in came if each is not None}
        if not new:
            return None
        self._forget()
        self._known |= new
        living = {worker.name: worker for worker in self._pool.workers}
        if run_has_begun:
            self._known = {name: self._with_steps(each, living.get(name)) for name, each in self._known.items()}
        everybody = tuple(self._known.values())
        report = await asyncio.to_thread(judge, everybody, targets, self._card.answer.space, at=utc_now())
        # What was written with an earlier comparison isn't written again.
        shown = (e if e.replica.name in new else msgspec.structs.replace(e, replies=()) for e in report.replicas)
        add_replicas(self._folder, msgspec.structs.replace(report, replicas=tuple(shown)))
        for text in report.warnings:
            _say(text)
        await self._send_away(report, living)
        return report

    async def _ask(self, worker: WorkerState, targets: Sequence[Target]) -> Answers | None:
        """All answers of one replica; None where it was lost meanwhile, as the pool has told already."""

        async def one(target: Target) -> Prediction | None:
            query = Query(step_id=target.id, key="probe", screenshot=target.screenshot, instruction=INSTRUCTION)
            try:
                answer = await self._pool.ask_worker(worker.name, query)
            except BudgetReached:
                return None
            return answer if isinstance(answer, Prediction) else None

        replies = await asyncio.gather(*(one(target) for target in targets), return_exceptions=True)
        for reply in replies:
            if isinstance(reply, WorkerGone):
                return None
            if isinstance(reply, BaseException):
                raise reply
        replica = Replica(
            name=worker.name, node=worker.node, pid=worker.pid, base_url=worker.base_url, gpus=worker.gpus
        )
        return Answers(replica=replica, replies=tuple(each for each in replies if isinstance(each, Prediction)))

    def _with_steps(self, answers: Answers, worker: WorkerState | None) -> Answers:
        """Its answers, with how many questions of this run it has answered by now, as far as it is still there."""
        if worker is None:
            return answers
        before = self._answered_before.get(worker.name, 0) + len(answers.replies)
        return msgspec.structs.replace(answers, steps_before=max(0, worker.answered - before))

    async def _send_away(self, report: ReplicaReport, living: dict[str, WorkerState]) -> None:
        leaving = []
        for each in report.left_out:
            # Its answers must not outvote the others together with those of the next one on the same machine.
            del self._known[each.replica.name]
            if each.replica.name in living:
                node = each.replica.node
                self._left_out_on[node] += 1
                replace = self._left_out_on[node] < MOST_ON_ONE_NODE
                leaving.append(self._pool.drain(each.replica.name, WHY, replace=replace))
        # They are asked nothing more from the first moment; the run need not wait until they have closed everything.
        tasks = {asyncio.ensure_future(each) for each in leaving}
        self._leaving |= tasks
        if tasks:
            await asyncio.wait(tasks, timeout=_LOOK_EVERY_S)

    def _forget(self) -> None:
        living = {worker.name for worker in self._pool.workers}
        for name in [name for name in self._known if name not in living]:
            if len(self._known) <= MOST_REMEMBERED:
                break
            del self._known[name]


@asynccontextmanager
async def compared_replicas(
    pool: AsksEach, card: GrounderCard, folder: Path, *, wait_s: float = WAIT_S
) -> AsyncIterator[ReplicaReport | None]:
    """Replicas that were compared when the block begins; those that come during the block are compared, too.

    Yields:
        The comparison; None where there is only one replica.

    Raises:
        ClusterLost, PoolClosed, UserError: nobody can be asked.
    """
    check = ReplicaCheck(pool, card, folder)
    report = await check.start(wait_s=wait_s)
    watching = asyncio.create_task(check.watch())
    try:
        yield report
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


def _say(text: str) -> None:
    print(f"grounding: replicas: {text}", file=sys.stderr, flush=True)
