"""Moves items through named stages, many at once, and writes every answer down as it comes.

The runner knows stages, never screenshots: a stage is an asynchronous function from an item (and the record of the
stage before) to a record, with a journal and a key of its own. An answer that the journal holds under the same key is
used again and not asked for. An item whose record is a failure goes no further.
"""

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import Any, Generic, Protocol, TypeVar

from grounding.errors import Halted, UserError
from grounding.run.journal import Journal, Keyed


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Inside the block a polite kill (SIGTERM) ends the program as Ctrl-C does: by KeyboardInterrupt, tidily."""

    def stop() -> None:
        raise KeyboardInterrupt

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # As in a script's background jobs.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            with suppress(RuntimeError):
                # asyncio took no care of an ignored signal: raised right here it could end any task, not the loop.
                asyncio.get_running_loop().call_soon_threadsafe(stop)
                return
        signal.raise_signal(signal.SIGINT)

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # Not in the main thread, where signals can't be set.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


INTERRUPTED = "interrupted"  # Why a run stopped that the user broke off.


def run_interruptible(
    ask: Callable[[], Coroutine[Any, Any, str]], folder: Path, *, around: AbstractContextManager[object] | None = None
) -> str:
    """Ask everything there is to ask; returns why that stopped early, or nothing. ``around`` is what has to be there
    meanwhile, such as servers.
    """
    try:
        with terminated_like_interrupted(), around or nullcontext():
            return asyncio.run(ask())
    except (KeyboardInterrupt, asyncio.CancelledError):
        return INTERRUPTED
    except OSError as error:
        raise UserError(
            f"{folder}: writing failed: {error.strerror}. What was answered is kept; make room and run the same "
            "command again."
        ) from error


ItemT = TypeVar("ItemT")
ItemT_contra = TypeVar("ItemT_contra", contravariant=True)
MIN_ERRORS_IN_A_ROW = 100


class Stage(Protocol[ItemT_contra]):
    @property
    def name(self) -> str: ...

    @property
    def journal(self) -> Journal[Any]: ...

    @property
    def max_concurrency(self) -> int: ...

    def item_id(self, item: ItemT_contra) -> str: ...

    def key(self, item: ItemT_contra, earlier: Any) -> str:
        """Hash of everything that can change the record."""

    async def run(self, item: ItemT_contra, earlier: Any, key: str) -> Any:
        """Make the record. ``earlier`` is the record of the stage before, None in the first."""


class Runner(Generic[ItemT]):
    def __init__(
        self,
        stages: tuple[Stage[ItemT], ...],
        *,
        on_record: Callable[[str, bool], None] = lambda _stage, _stored: None,
        on_item: Callable[[ItemT, Any], None] = lambda _item, _record: None,
    ) -> None:
        """``on_record`` is told of each record its stage's name, and whether it was stored before."""
        self._stages, self._on_record, self._on_item = stages, on_record, on_item
        self._errors_in_a_row: Counter[str] = Counter()
        self._error_limit = max(MIN_ERRORS_IN_A_ROW, 2 * max(stage.max_concurrency for stage in stages))
        self._halted = ""

    def halt(self, reason: str) -> None:
        """Start nothing new; what is in flight is waited for."""
        self._halted = self._halted or reason

    async def run(self, items: Iterable[ItemT] | AsyncIterable[ItemT]) -> str:
        """Take every item through the stages; "" when all went through, or why not. Items are drawn only as fast as
        they are worked off, so memory doesn't grow with their number. At a halt (the cost limit, a cluster out of
        reach, too many errors in a row) nothing new is started and what is in flight is waited for. Raises OSError: a
        record could not be written.
        """
        slots = {stage.name: asyncio.Semaphore(stage.max_concurrency) for stage in self._stages}
        in_flight = asyncio.Semaphore(sum(stage.max_concurrency for stage in self._stages))
        try:
            async with asyncio.TaskGroup() as group:
                async for item in _each(items):
                    await in_flight.acquire()
                    if self._halted:
                        break
                    group.create_task(self._through(item, slots, in_flight))
        except* (OSError, UserError) as errors:
            first: BaseException = errors
            while isinstance(first, BaseExceptionGroup):  # One plain error; the others are its consequences.
                first = first.exceptions[0]
            raise first from None
        return self._halted

    async def _through(self, item: ItemT, slots: dict[str, asyncio.Semaphore], in_flight: asyncio.Semaphore) -> None:
        try:
            earlier: Keyed | None = None
            for stage in self._stages:
                key = stage.key(item, earlier)
                record = stage.journal.settled(stage.item_id(item), key)
                stored = record is not None
                if record is None:
                    async with slots[stage.name]:
                        if self._halted:
                            return
                        record = await stage.run(item, earlier, key)
                    stage.journal.append(record)
                    self._watch(stage, record)
                self._on_record(stage.name, stored)
                earlier = record
                if record.failure is not None:
                    break
            self._on_item(item, earlier)
        except Halted as halted:
            self._halted = str(halted)
        finally:
            in_flight.release()

    def _watch(self, stage: Stage[ItemT], record: Keyed) -> None:
        if record.failure is None or record.failure.kind != "error":
            self._errors_in_a_row[stage.name] = 0
            return
        self._errors_in_a_row[stage.name] += 1
        in_a_row = self._errors_in_a_row[stage.name]
        if in_a_row >= self._error_limit:
            self._halted = f"{in_a_row} errors in a row, the last from {stage.name}: {record.failure.message}"


async def _each(items: Iterable[ItemT] | AsyncIterable[ItemT]) -> AsyncIterator[ItemT]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
