"""Stages of a run whose work is done by workers on a cluster; to the runner they are stages like any other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

import msgspec

from grounding.budget import Budget
from grounding.display import OutcomeProgress
from grounding.executors.errors import ItemBroke, WorkersLost
from grounding.executors.link import Cluster
from grounding.executors.pool import Pool
from grounding.executors.ray.link import RayLink
from grounding.executors.recipe import Beside, DataPlace, Recipe, StageWork
from grounding.executors.sharing import SharedLink
from grounding.executors.staff import StageRecords, Work
from grounding.executors.staffing import Staff
from grounding.options import EvalOptions
from grounding.records import Failure, Screenshot
from grounding.runner import Stage

ItemT = TypeVar("ItemT")


class HandedOut(Stage[ItemT], Protocol[ItemT]):
    """A stage that can be worked on elsewhere.

    ``identity`` is canonical text of what its records hang on besides the item; ``item_type`` and ``record_type`` are
    what goes there and what comes back.
    """

    @property
    def identity(self) -> str:
        """What its records hang on besides the item."""
        ...

    @property
    def item_type(self) -> type[ItemT]:
        """What it works on."""
        ...

    @property
    def record_type(self) -> type[Any]:
        """What it makes."""
        ...

    def failed(self, item: ItemT, key: str, failure: Failure) -> Any:
        """The record of an item that nobody could work on."""
        ...


class RemoteStage(Generic[ItemT]):
    """A stage whose records are made by a pool of workers. Keys, ids and the journal are the writer's own."""

    def __init__(
        self, own: HandedOut[ItemT], pool: Pool, *, shows: Callable[[ItemT], Screenshot | None] | None = None
    ) -> None:
        """Nothing is connected yet.

        Args:
            own: The writer's, made from the same options; it works on nothing.
            pool: Workers of the room ``stage``.
            shows: The screenshot of an item, where workers need one.
        """
        self._own = own
        self._shows = shows
        self.pool = pool
        self.name = own.name
        self.journal = own.journal

    @property
    def max_concurrency(self) -> int:
        """How many items all workers together take at once, as far as that is known by now."""
        return self.pool.expects(self._own.max_concurrency)

    def item_id(self, item: ItemT) -> str:
        """The id under which the item's record is kept."""
        return self._own.item_id(item)

    def key(self, item: ItemT, earlier: Any) -> str:
        """Hash of everything that can change the record."""
        return self._own.key(item, earlier)

    async def run(self, item: ItemT, earlier: Any, key: str) -> Any:  # noqa: ARG002
        """The record of whichever worker has room.

        Raises:
            BudgetReached: the cost limit leaves no room.
            UserError: no worker can work on it.
            ClusterLost: the cluster went away and did not come back.
        """
        work = Work(
            step_id=self._own.item_id(item),
            key=key,
            item=msgspec.Raw(msgspec.msgpack.encode(item)),
            screenshot=None if self._shows is None else self._shows(item),
        )
        try:
            return await self.pool.do(work)
        except (WorkersLost, ItemBroke) as error:
            return self._own.failed(item, key, Failure(kind="error", message=str(error)))


class Elsewhere(Protocol):
    """What a benchmark's options say of a cluster."""

    @property
    def ray_address(self) -> str | None:
        """Where it is."""
        ...

    @property
    def cost_limit(self) -> float | None:
        """What all workers together may spend."""
        ...


class ClusterHands:
    """The workers of one run's stages, by one connection, which is made when the first stage is handed out.

    Used by ``async with``, whose end sends all workers away and disconnects.
    """

    def __init__(self, options: Elsewhere, folder: Path, budget: Budget, progress: OutcomeProgress) -> None:
        """Nothing is connected yet.

        Args:
            options: The run's.
            folder: The run's.
            budget: The run's money.
            progress: Who is told of tries, and what is waited for.
        """
        self.folder = folder
        self._options = options
        self._budget = budget
        self._progress = progress
        self._link = SharedLink(RayLink(options.ray_address))
        self._pools: list[Pool] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for pool in self._pools:
                await pool.aclose()
        finally:
            await self._link.aclose()

    async def hand_out(
        self,
        own: HandedOut[ItemT],
        work: StageWork,
        staffed: Callable[[Cluster], Staff],
        *,
        shows: Callable[[ItemT], Screenshot | None] | None = None,
        data: DataPlace | None = None,
        beside: Beside | None = None,
    ) -> RemoteStage[ItemT]:
        """Hire workers for a stage, and wait for the first that is ready.

        Args:
            own: The writer's stage.
            work: What each worker opens.
            staffed: Says how many workers there are to be on a cluster.
            shows: The screenshot of an item, where workers need one.
            data: Where such screenshots are.
            beside: The server that each worker starts for itself.

        Raises:
            UserError: there is no cluster, it has no room, or a worker can't be made ready.
            ClusterLost: the cluster went away meanwhile and did not come back.
        """
        with self._progress.phase("connecting to Ray"):
            cluster = await self._link.open()
        staff = staffed(cluster)
        recipe = Recipe(
            room="stage",
            options=EvalOptions(cost_limit=self._options.cost_limit),
            identity=own.identity,
            max_connections=staff.max_connections,
            data=data,
            beside=beside,
            stage=work,
        )
        pool = Pool(
            self._link.share(),
            recipe,
            workers=staff.workers,
            needs=staff.needs,
            budget=self._budget,
            on_retry=self._progress.retried,
            told=_say,
            stage=StageRecords(answer=own.record_type, kept=own.journal.append),
        )
        self._pools.append(pool)
        with self._progress.phase("waiting for the first worker"):
            await pool.start()
        return RemoteStage(own, pool, shows=shows)

    async def send_away(self) -> None:
        """All workers leave; the connection stays for the next stage."""
        while self._pools:
            await self._pools.pop().aclose()


def _say(text: str) -> None:
    print(f"grounding: {text}", file=sys.stderr, flush=True)
