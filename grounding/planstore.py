"""Plans that were paid for, kept for every later run: one small file each, in a folder that all runs share.

A plan is found again by its key (the hash of everything that made it) together with the address that was asked. Any
number of processes may read and write at once: a file appears whole or not at all, and one that is damaged counts as
absent and is written anew. A file holds what users said, so it can be read by its owner only.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from weakref import WeakValueDictionary

import msgspec

from grounding.errors import UserError
from grounding.places import cache_dir
from grounding.planners.base import Context, Planner, planner_reads
from grounding.records import Plan, Query, Record

MAX_BYTES = 4 << 20
"""A larger file is none of ours, and a larger plan is not kept."""

_NAME = re.compile(r"[0-9a-f]{64}\.json")


_BUSY: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()
"""What is being asked for right now, in any run of this process."""


class StoredPlan(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of a file: the plan as it was made, and what it is found by."""

    schema: Literal[1] = 1
    base_url: str
    plan: Plan


def plan_store_dir(chosen: Path | None, *, off: bool) -> Path | None:
    """Where plans are kept: the folder that was chosen, else ``plans`` in the user's cache; None for nowhere.

    Raises:
        UserError: it was both chosen and switched off.
    """
    if off and chosen is not None:
        raise UserError(f"--plan-store {chosen} and --no-plan-store contradict each other: give one of the two")
    if off or chosen is not None:
        return chosen
    base = cache_dir()
    return None if base is None else base / "plans"


class PlanStore:
    """The part of a store that belongs to one planner at one address."""

    def __init__(self, folder: Path, planner: str, base_url: str) -> None:
        """Nothing is made on disk yet.

        Args:
            folder: The store.
            planner: The planner's name: its plans get a folder of that name, for people to look at.
            base_url: The address it is asked at.
        """
        self.folder = folder
        self._own = folder / _folder_name(planner)
        self._base_url = base_url
        self._warned = False

    def _path(self, key: str) -> Path:
        address = hashlib.sha256(msgspec.json.encode((key, self._base_url))).hexdigest()
        return self._own / address[:2] / f"{address}.json"

    def place(self, key: str) -> Path:
        """Where the plan under this key lies, or would."""
        return self._path(key)

    def holds(self, key: str) -> bool:
        """Whether there is a plan under this key; one that turns out to be damaged is found so by ``get`` only."""
        return self._path(key).is_file()

    def get(self, key: str) -> Plan | None:
        """The plan under this key; None where there is none that can be read."""
        content = _read(self._path(key))
        if content is None:
            return None
        try:
            kept = msgspec.json.decode(content, type=StoredPlan)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if kept.plan.key != key or kept.base_url != self._base_url or not _settled(kept.plan):
            return None
        return kept.plan

    def put(self, plan: Plan) -> None:
        """Keep a plan, unless it is an infrastructure error.

        A store that can't be written costs a warning, not the run.
        """
        if not _settled(plan):
            return
        content = msgspec.json.encode(StoredPlan(base_url=self._base_url, plan=plan)) + b"\n"
        if len(content) > MAX_BYTES:
            return
        try:
            _write(self.folder, self._path(plan.key), content)
        except OSError as error:
            if not self._warned:
                self._warned = True
                print(
                    f"grounding: the plan store {self.folder} can't be written ({error.strerror}): new plans are kept "
                    "in this run's folder only",
                    file=sys.stderr,
                    flush=True,
                )

    def prepare(self) -> None:
        """Make the folder, and see that it can be written.

        Raises:
            UserError: it can't.
        """
        try:
            _make_folder(self.folder, self._own)
            with tempfile.TemporaryFile(dir=self._own):
                pass
        except OSError as error:
            raise UserError(
                f"the plan store {self.folder} can't be written: {error.strerror} (--plan-store)"
            ) from error


class StoredPlanner:
    """A planner that is asked only for what the store doesn't hold.

    What is found is marked ``reused``. Equal questions that come at once are asked once: the others wait. A plan is
    stored before the run writes it down, so that a process killed between the two has it paid only once; the run that
    goes on then finds it here, like one that another run paid.
    """

    def __init__(self, planner: Planner, store: PlanStore, *, epoch: int = 1) -> None:
        """A repeat of a run, from epoch 2 on, finds none of the plans of the others: its number is in the keys."""
        self._planner = planner
        self._identity = planner.identity if epoch == 1 else f"{planner.identity}\nepoch {epoch}"
        self.store = store

    def over(self, planner: Planner) -> StoredPlanner:
        """The same store before another way to the same planner."""
        other = StoredPlanner(planner, self.store)
        other._identity = self._identity
        return other

    @property
    def planner(self) -> Planner:
        """Who is asked for what the store doesn't hold."""
        return self._planner

    @property
    def name(self) -> str:
        """The planner's name."""
        return self._planner.name

    @property
    def identity(self) -> str:
        """The planner's identity with the epoch: where a plan comes from doesn't change it."""
        return self._identity

    @property
    def reads(self) -> frozenset[Context]:
        """What the planner reads."""
        return planner_reads(self._planner)

    @property
    def max_concurrency(self) -> int:
        """The planner's."""
        return self._planner.max_concurrency

    async def plan(self, query: Query) -> Plan:
        """The stored plan for this step, or the planner's, which is stored."""
        lock = _BUSY.setdefault(self.store.place(query.key), asyncio.Lock())
        async with lock:
            found = self.store.get(query.key)
            if found is not None:
                return msgspec.structs.replace(found, step_id=query.step_id, reused=True)
            made = await self._planner.plan(query)
            self.store.put(made)
            return made

    async def check(self) -> None:
        """Ask whether the planner can be asked."""
        await self._planner.check()

    async def aclose(self) -> None:
        """Let go of the planner's connections."""
        await self._planner.aclose()


class Shelf(Record, frozen=True, kw_only=True):
    """The plans of one planner in a store: how many, and their size in bytes. ``oldest`` is seconds since the epoch."""

    planner: str
    files: tuple[Path, ...]
    size_bytes: int


def shelves(folder: Path, *, before: float | None = None) -> tuple[Shelf, ...]:
    """What lies in a store, by planner; only our own files, and with ``before`` only those written earlier.

    Args:
        folder: The store; it may not be there.
        before: Seconds since the epoch.
    """
    found = []
    for own in sorted(_folders(folder)):
        files = [
            (path, about.st_size)
            for inner in _folders(own)
            for path, about in _files(inner)
            if _NAME.fullmatch(path.name) and (before is None or about.st_mtime < before)
        ]
        if files:
            paths, sizes = zip(*files, strict=True)
            found.append(Shelf(planner=own.name, files=paths, size_bytes=sum(sizes)))
    return tuple(found)


def _folders(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from (path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            about = path.lstat()
            if stat.S_ISREG(about.st_mode):
                yield path, about


def _settled(plan: Plan) -> bool:
    return plan.failure is None or plan.failure.kind != "error"


def _folder_name(planner: str) -> str:
    """A planner's name as a name of a folder: it comes from a card, which may be anybody's."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", planner)[:80].lstrip(".") or "_"


def _read(path: Path) -> bytes | None:
    """A file's content; None where it can't be read, is no plain file or is too large."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_BYTES:
            return None
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(MAX_BYTES + 1)
    except OSError:
        return None
    finally:
        os.close(handle)


def _make_folder(store: Path, inner: Path) -> None:
    """The store and a folder in it, for the owner only; what is there keeps its permissions."""
    store.parent.mkdir(parents=True, exist_ok=True)
    for folder in (store, *reversed([one for one in inner.parents if store in one.parents]), inner):
        folder.mkdir(mode=0o700, exist_ok=True)


def _write(store: Path, path: Path, content: bytes) -> None:
    """Put a file in its place in one step; ``mkstemp`` makes it readable by its owner only."""
    _make_folder(store, path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
