"""One link for several pools: each hears of its own workers, and all hear of the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from grounding.executors.link import Cluster, Cut, Event, Joined, Link, Lost, Needs


class SharedLink:
    """A link that is lent to pools, one :meth:`share` each, and stays open until it is closed itself."""

    def __init__(self, link: Link) -> None:
        """Nothing is connected yet."""
        self._link = link
        self._opening = asyncio.Lock()
        self._cluster: Cluster | None = None
        self._cut: Cut | None = None
        self._shares: set[_Share] = set()
        self._of_worker: dict[str, _Share] = {}

    def share(self) -> Link:
        """A link for one pool, which may close it: that sends away its own workers only."""
        return _Share(self)

    async def open(self) -> Cluster:
        """Connect, unless that is done; what the cluster was when it was last reached.

        Raises:
            UserError: nothing is there, or it can't be used.
        """
        async with self._opening:
            if self._cluster is None:
                self._cluster = await self._link.open(self._on_event)
            return self._cluster

    async def aclose(self) -> None:
        """End all workers of all pools and disconnect."""
        if self._cluster is not None:
            self._cluster = None
            await self._link.aclose()

    @property
    def cut(self) -> Cut | None:
        """The news that the cluster is out of reach, while it is."""
        return self._cut

    def enter(self, share: _Share) -> None:
        """Tell a share of what happens from now on."""
        self._shares.add(share)

    def leave(self, share: _Share) -> None:
        """Tell a share of nothing any more."""
        self._shares.discard(share)
        self._of_worker = {name: owner for name, owner in self._of_worker.items() if owner is not share}

    async def hire(self, share: _Share, worker: str, recipe: bytes, needs: Needs) -> None:
        """Start a worker whose events are one share's."""
        self._of_worker[worker] = share
        await self._link.hire(worker, recipe, needs)

    async def tell(self, worker: str, content: bytes) -> None:
        """Hand a batch of messages to a worker."""
        await self._link.tell(worker, content)

    async def dismiss(self, worker: str) -> None:
        """End a worker at once."""
        await self._link.dismiss(worker)

    def workers_of(self, share: _Share) -> list[str]:
        """The workers that a share has hired and that are not lost."""
        return [name for name, owner in self._of_worker.items() if owner is share]

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Cut | Joined):
            if isinstance(event, Joined):
                self._cut, self._cluster = None, event.cluster
            else:
                self._cut = event
                self._of_worker.clear()
            for share in list(self._shares):
                share.pass_on(event)
            return
        owner = self._of_worker.get(event.worker)
        if owner is not None:
            if isinstance(event, Lost):
                del self._of_worker[event.worker]
            owner.pass_on(event)


class _Share:
    """One pool's part of a link."""

    def __init__(self, whole: SharedLink) -> None:
        self._whole = whole
        self._on_event: Callable[[Event], None] | None = None

    async def open(self, on_event: Callable[[Event], None]) -> Cluster:
        """Connect, if nobody has yet; a pool that comes while the cluster is out of reach is told so."""
        self._on_event = on_event
        cluster = await self._whole.open()
        self._whole.enter(self)
        if self._whole.cut is not None:
            asyncio.get_running_loop().call_soon(self.pass_on, self._whole.cut)
        return cluster

    async def hire(self, worker: str, recipe: bytes, needs: Needs) -> None:
        """Start a worker of this name."""
        await self._whole.hire(self, worker, recipe, needs)

    async def tell(self, worker: str, content: bytes) -> None:
        """Hand a batch of messages to a worker."""
        await self._whole.tell(worker, content)

    async def dismiss(self, worker: str) -> None:
        """End a worker at once."""
        await self._whole.dismiss(worker)

    async def aclose(self) -> None:
        """End this pool's workers; the link stays."""
        for worker in self._whole.workers_of(self):
            await self._whole.dismiss(worker)
        self._whole.leave(self)
        self._on_event = None

    def pass_on(self, event: Event) -> None:
        """Tell the pool what happened."""
        if self._on_event is not None:
            self._on_event(event)
