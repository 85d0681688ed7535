"""A stage of a benchmark's run on a worker: opened by a function of the benchmark's own, and asked item by item.

The stage is the writer's own class, made from the same options. It has no journal: what it would write there beside
its answers goes to the writer, who alone writes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import msgspec

from grounding.budget import Budget
from grounding.display import OutcomeProgress
from grounding.errors import UserError
from grounding.executors.messages import Do
from grounding.executors.recipe import StageWork
from grounding.journal import Journal
from grounding.records import Screenshot


@dataclass(frozen=True)
class Surroundings:
    """What a worker has for the stage that it opens.

    ``keep`` hands a record to the writer that is no answer. ``locate`` finds a screenshot on this machine.
    ``base_url`` is the address of the server beside the worker, "" for the options' own; ``max_connections`` is how
    many requests it may have open, None for what options and card say.
    """

    budget: Budget
    on_retry: Callable[[], None]
    keep: Callable[[Any], None]
    locate: Callable[[Screenshot], Awaitable[Screenshot]]
    base_url: str = ""
    max_connections: int | None = None

    @property
    def progress(self) -> OutcomeProgress:
        """Progress that shows nothing here and counts tries at the writer's."""
        return _Unseen(self.on_retry)

    @property
    def journal(self) -> Journal[Any]:
        """What a stage appends to instead of its journal."""
        return cast("Journal[Any]", _HandedOver(self.keep))


class _Unseen(OutcomeProgress):
    def __init__(self, on_retry: Callable[[], None]) -> None:
        super().__init__("none", {}, ())
        self._on_retry = on_retry

    def retried(self) -> None:
        """Tell the writer."""
        self._on_retry()


class _HandedOver:
    """The one thing that stages do with a journal while they work."""

    def __init__(self, keep: Callable[[Any], None]) -> None:
        self._keep = keep

    def append(self, record: Any) -> None:
        """Hand it to the writer."""
        self._keep(record)


async def nothing() -> None:
    """Nothing to check, or nothing to close."""


async def as_it_is(item: Any) -> Any:
    """The item as the writer sent it."""
    return item


@dataclass(frozen=True)
class OpenedStage:
    """A stage ready to work.

    Attributes:
        stage: A :class:`grounding.runner.Stage` with the ``identity`` and ``item_type`` of what is handed out.
        check: Raises a UserError where no answer can come; opens what takes an event loop.
        aclose: Lets go of connections.
        here: An item as it is on this machine, where its files may lie elsewhere.
    """

    stage: Any
    check: Callable[[], Awaitable[None]] = nothing
    aclose: Callable[[], Awaitable[None]] = nothing
    here: Callable[[Any], Awaitable[Any]] = as_it_is

    @property
    def name(self) -> str:
        """The stage's."""
        return str(self.stage.name)

    @property
    def identity(self) -> str:
        """What answers hang on besides the item."""
        return str(self.stage.identity)

    @property
    def max_concurrency(self) -> int:
        """How many items are worked on at once."""
        return int(self.stage.max_concurrency)

    async def do(self, asked: Do) -> Any:
        """The record of an item.

        Raises:
            UserError: it is another question here than at the writer's.
            msgspec.DecodeError: it is no item of this stage.
            BudgetReached: the cost limit leaves no room.
        """
        item = await self.here(msgspec.msgpack.decode(asked.item, type=self.stage.item_type))
        key = self.stage.key(item, None)
        if key != asked.key:
            raise UserError(
                f"{asked.step_id} would be answered otherwise here than where the run is written: the version of this "
                "package, or the data, are others here; install the same on every node"
            )
        return await self.stage.run(item, None, key)


def open_stage(work: StageWork, around: Surroundings) -> OpenedStage:
    """Open a stage by the function that is named for it, which is this package's own.

    Raises:
        UserError: something that it needs is missing here; says what.
    """
    module, _, name = work.opener.partition(":")
    if not module.startswith("grounding."):
        raise ValueError(f"{work.opener} is no function of this package")
    opened: OpenedStage = getattr(import_module(module), name)(work, around)
    return opened


def mark_of(folder: Path) -> str:
    """What tells a run folder from all others while the run is at work: the hash of its ``run.json``.

    Raises:
        OSError: it can't be read.
    """
    return hashlib.sha256((folder / "run.json").read_bytes()).hexdigest()


def folder_here(work: StageWork) -> Path:
    """The run's folder, on a machine that sees it.

    Raises:
        UserError: this machine doesn't.
    """
    folder = Path(work.folder)
    try:
        seen = mark_of(folder)
    except OSError:
        seen = ""
    if seen != work.mark:
        raise UserError(
            f"{folder} is not on this machine, and what is kept of pages has to be written there: put --log-dir on a "
            "disk that all nodes of the cluster share"
        )
    return folder
