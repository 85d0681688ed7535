"""Plans that were paid for, kept for every later run: one small file each, in a folder that all runs share.

A plan is found again by its key (the hash of everything that made it) together with the address that was asked. Any
number of processes may read and write at once: a file appears whole or not at all, and one that is damaged counts as
absent and is written anew. A file holds what users said, so it can be read by its owner only.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from pathlib import Path
from typing import Literal
from weakref import WeakValueDictionary

import msgspec

from grounding.cache import Cache
from grounding.cards.places import cache_dir
from grounding.errors import UserError
from grounding.planners.base import Planner, planner_reads
from grounding.records import Plan, Query, Record

MAX_BYTES = 4 << 20  # A larger file is none of ours, and a larger plan is not kept.
_BUSY: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()
"""What is being asked for right now, in any run of this process."""


class StoredPlan(Record, frozen=True, kw_only=True, omit_defaults=False):
    schema: Literal[1] = 1
    base_url: str
    plan: Plan


def plan_store_dir(chosen: Path | None, *, off: bool) -> Path | None:
    """Where plans are kept: the folder that was chosen, else ``plans`` in the user's cache; None for ``none``."""
    off, chosen = off or chosen == Path("none"), None if chosen == Path("none") else chosen
    if off and chosen is not None:
        raise UserError(f"--plan-store {chosen} and --no-plan-store contradict each other: give one of the two")
    if off or chosen is not None:
        return chosen
    base = cache_dir()
    return None if base is None else base / "plans"


class PlanStore:
    """The part of a store that belongs to one planner at one address."""

    def __init__(self, folder: Path, planner: str, base_url: str) -> None:
        self.folder = folder
        self._cache = Cache(folder, "plans", MAX_BYTES)
        self._planner, self._base_url = planner, base_url

    def _address(self, key: str) -> str:
        return hashlib.sha256(msgspec.json.encode((key, self._base_url))).hexdigest()

    def place(self, key: str) -> Path:
        path = self._cache.path(self._address(key), self._planner)
        assert path is not None  # There is a folder, and an address is a hash.
        return path

    def holds(self, key: str) -> bool:
        """Whether there is a plan under this key; one that turns out to be damaged is found so by ``get`` only."""
        return self.place(key).is_file()

    def get(self, key: str) -> Plan | None:
        kept = self._cache.read(self._address(key), self._planner, StoredPlan)
        if kept is None or kept.plan.key != key or kept.base_url != self._base_url or not _settled(kept.plan):
            return None
        return kept.plan

    def put(self, plan: Plan) -> None:
        if _settled(plan):
            self._cache.write(self._address(plan.key), self._planner, StoredPlan(base_url=self._base_url, plan=plan))

    def prepare(self) -> None:
        """Make the folder, and see that it can be written."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise UserError(
                f"the plan store {self.folder} can't be written: {error.strerror} (--plan-store)"
            ) from error


class StoredPlanner:
    """A planner that is asked only for what the store doesn't hold. What is found is marked ``reused``. Equal questions
    that come at once are asked once: the others wait. A plan is stored before the run writes it down, so that a process
    killed between the two has it paid only once; the run that goes on then finds it here, like one that another run
    paid.
    """

    def __init__(self, planner: Planner, store: PlanStore, *, epoch: int = 1) -> None:
        """A repeat of a run, from epoch 2 on, finds none of the plans of the others: its number is in the keys."""
        self.planner, self.store, self.name, self.reads = planner, store, planner.name, planner_reads(planner)
        self.identity = planner.identity if epoch == 1 else f"{planner.identity}\nepoch {epoch}"

    def over(self, planner: Planner) -> StoredPlanner:
        """The same store before another way to the same planner."""
        other = StoredPlanner(planner, self.store)
        other.identity = self.identity
        return other

    @property
    def max_concurrency(self) -> int:
        return self.planner.max_concurrency

    async def plan(self, query: Query) -> Plan:
        lock = _BUSY.setdefault(self.store.place(query.key), asyncio.Lock())
        async with lock:
            found = self.store.get(query.key)
            if found is not None:
                return msgspec.structs.replace(found, step_id=query.step_id, reused=True)
            made = await self.planner.plan(query)
            self.store.put(made)
            return made

    async def check(self) -> None:
        await self.planner.check()

    async def aclose(self) -> None:
        await self.planner.aclose()


def _settled(plan: Plan) -> bool:
    return plan.failure is None or plan.failure.kind != "error"
