"""One connection to a cluster for all runs of a command, and the pools of workers that those runs share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from grounding.atwork import Hands, RunAtWork
from grounding.budget import Budget
from grounding.cards import GrounderCard, PlannerCard
from grounding.executors.link import Cluster, Link
from grounding.executors.pool import Pool
from grounding.executors.recipe import DataPlace, Recipe, Room, pack
from grounding.executors.remote import RemoteGrounder, RemotePlanner
from grounding.executors.sharing import SharedLink
from grounding.executors.staffing import Staff, check_reach, grounder_staff, planner_staff
from grounding.grounders.base import Grounder, KeepsFiles
from grounding.options import EvalOptions
from grounding.planners.base import Planner
from grounding.planstore import StoredPlanner

_CHAT = ("temperature", "seed", "max_connections", "timeout", "max_retries", "cost_limit")
_OF_ROOM: dict[Room, tuple[str, ...]] = {
    "planner": ("planner", "planner_prompt", "planner_model", "plan_ahead", "planner_base_url", *_CHAT),
    "grounder": (
        *("grounder", "send", "backend", "model_path", "dtype", "device", "batch_size", "base_url", "server_command"),
        *_CHAT,
    ),
}
"""The options that a worker's planner or grounder is made from: runs that differ in others can share it."""


def options_of(room: Room, options: EvalOptions) -> EvalOptions:
    """The options of a run as far as its planner, or its grounder, hangs on them."""
    return EvalOptions(**{name: getattr(options, name) for name in _OF_ROOM[room]})


class Workforce:
    """Used by ``async with``, whose end sends all workers away and disconnects.

    Args:
        link: What the workers run on.
        told: Shows a line to the user.
    """

    def __init__(self, link: Link, told: Callable[[str], None]) -> None:
        self._link = SharedLink(link)
        self._told = told
        self._pools: dict[bytes, Pool] = {}
        self._cluster: Cluster | None = None

    async def __aenter__(self) -> Self:
        self._cluster = await self._link.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for pool in self._pools.values():
                await pool.aclose()
        finally:
            await self._link.aclose()

    def staff(self, run: RunAtWork) -> Staff | None:
        """Who works on a run's grounder; None where it stays in this process.

        Raises:
            UserError: the cluster has no room for them.
        """
        prepared = run.prepared
        return grounder_staff(run.options, prepared.grounder, self.there, beside=prepared.beside)

    def hands(self, run: RunAtWork, budget: Budget, on_retry: Callable[[], None]) -> Hands:
        """Who is asked for a run: pools of workers, and this process for what only looks things up.

        Raises:
            UserError: the cluster has no room for the workers, or they can't reach a server.
        """
        prepared = run.prepared
        planner, grounder = prepared.planner, prepared.grounder
        hands = Hands(planner=planner.planner, grounder=grounder.grounder)
        staff = planner_staff(run.options, planner, self.there)
        if staff is not None:
            check_reach("--planner-base-url", planner.base_url, self.there)
            stored = planner.planner if isinstance(planner.planner, StoredPlanner) else None
            own = stored.planner if stored is not None else planner.planner
            recipe = self._recipe("planner", run, own, staff, planner.base_url, planner.card)
            remote = RemotePlanner(own, self._pool(recipe, staff, budget, on_retry), owns_pool=False)
            hands = dataclasses.replace(hands, planner=remote if stored is None else stored.over(remote))
        staff = self.staff(run)
        if staff is not None:
            own_grounder = grounder.grounder
            address = "" if prepared.beside is not None else grounder.base_url
            check_reach("--base-url", address, self.there)
            recipe = self._recipe("grounder", run, own_grounder, staff, address, grounder.card)
            hands = dataclasses.replace(
                hands,
                grounder=RemoteGrounder(own_grounder, self._pool(recipe, staff, budget, on_retry), owns_pool=False),
            )
        return hands

    @property
    def there(self) -> Cluster:
        """The cluster as it was when the workforce connected.

        Raises:
            RuntimeError: it has not.
        """
        if self._cluster is None:
            raise RuntimeError("a workforce is used by `async with`")
        return self._cluster

    def _recipe(
        self,
        room: Room,
        run: RunAtWork,
        own: Planner | Grounder,
        staff: Staff,
        base_url: str,
        card: object,
    ) -> Recipe:
        options = run.options
        keeps = isinstance(own, KeepsFiles)
        return Recipe(
            room=room,
            options=options_of(room, options),
            identity=own.identity,
            base_url=base_url,
            max_connections=staff.max_connections,
            card=card if isinstance(card, GrounderCard | PlannerCard) else None,
            beside=run.prepared.beside if room == "grounder" else None,
            data=DataPlace(root=str(options.data_dir), url=options.data_url) if options.data_url else None,
            keep_in=str(run.folder.path.absolute()) if keeps else "",
        )

    def _pool(self, recipe: Recipe, staff: Staff, budget: Budget, on_retry: Callable[[], None]) -> Pool:
        """The pool that makes this, for whichever runs need it."""
        key = pack(recipe)
        pool = self._pools.get(key)
        if pool is None:
            pool = Pool(
                self._link.share(),
                recipe,
                workers=staff.workers,
                needs=staff.needs,
                budget=budget,
                on_retry=on_retry,
                told=self._told,
            )
            self._pools[key] = pool
        return pool

    async def dismiss(self, pools: Sequence[Pool]) -> None:
        """Send the workers of these pools away; runs that come later get new ones."""
        for key, pool in list(self._pools.items()):
            if pool in pools:
                del self._pools[key]
                await pool.aclose()
