"""What runs on the nodes: an actor around one stage, which works through items and hands every record over at once."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import itertools
import os
import socket
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from grounding.atomic import atomic_write
from grounding.cards.places import cache_dir
from grounding.errors import Halted, UserError
from grounding.llm.budget import Budget, BudgetReached
from grounding.records import Record, Screenshot
from grounding.run.display import Progress
from grounding.serving.beside import REPLY_S, Beside, server_beside
from grounding.serving.process import ask_health

GATHER_S = 0.003
"""What is said within this time of a first message goes out with it: a call of Ray costs more than an item."""


class ItemLost(Exception):
    """Nobody could work on an item; says why."""


class StageWork(Record, frozen=True, kw_only=True):
    """A stage as a worker opens it, by ``opener``, a function of this package.

    ``options`` are the run's, ``part`` says which of a benchmark's stages is meant, and ``given`` what else the opener
    needs. ``identity`` is what the stage's records hang on, by the writer's own stage: a worker whose stage says
    otherwise has another version or another card. ``keys`` are the environment variables with the keys of its models,
    ``beside`` a server that each worker starts for itself. ``folder`` is the run's, for what keeps files there. Without
    a ``cost_limit`` nobody asks for money. ``here`` are the writer's node and working folder: paths in the options are
    meant from there.
    """

    opener: Callable[[StageWork, Services], OpenedStage]
    options: Any
    identity: str
    part: str = ""
    given: Any = None
    keys: tuple[str, ...] = ()
    beside: Beside | None = None
    folder: str = ""
    cost_limit: float | None = None
    here: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Services:
    """What a worker has for the stage that it opens.

    ``journal`` takes what a stage writes beside its answers. ``locate`` finds a picture on this machine. ``base_url``
    is the address of the server beside the worker, "" for the options' own; ``connections`` is how many requests it
    may have open, None for what options and card say.
    """

    budget: Budget
    progress: Progress
    journal: Any
    locate: Callable[[Screenshot], Awaitable[Screenshot]]
    base_url: str
    connections: int | None


@dataclass(frozen=True)
class OpenedStage:
    """A stage ready to work: ``run`` is a :class:`grounding.run.runner.Stage`'s, of one that needs only its items."""

    identity: str
    max_concurrency: int
    run: Callable[[Any, None, str], Awaitable[Any]]
    check: Callable[[], Awaitable[None]]
    aclose: Callable[[], Awaitable[None]]


def folder_here(work: StageWork) -> Path:
    """The run's folder, on a machine that sees it. Raises UserError: this machine doesn't."""
    folder = Path(work.folder)
    if not (folder / "run.json").exists():
        raise UserError(
            f"{folder} is not on this machine, and what is kept of pages has to be written there: put --log-dir on a "
            "disk that all nodes of the cluster share"
        )
    return folder


class _Packed(NamedTuple):
    """A record on its way. Not pickled as it is: what is left out of JSON hangs on the objects of defaults."""

    kind: type[Any]
    content: bytes


def _packed(value: Any) -> Any:
    return _Packed(type(value), msgspec.msgpack.encode(value)) if isinstance(value, msgspec.Struct) else value


def _unpacked(value: Any) -> Any:
    return msgspec.msgpack.decode(value.content, type=value.kind) if isinstance(value, _Packed) else value


class Channel:
    """Calls of methods between writer and worker, in batches. Each end has one; ``host`` has the methods of its end.

    What :meth:`out` gives has to be brought to the other's :meth:`hear`.
    """

    def __init__(self, host: Any) -> None:
        self._host = host
        self._said: list[tuple[int, str, tuple[Any, ...]]] = []
        self._any = asyncio.Event()
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    def tell(self, method: str, *what: Any, number: int = 0) -> None:
        """Call what gives nothing back: in the order of these calls, and before later ones are asked."""
        self._said.append((number, method, tuple(map(_packed, what))))
        self._any.set()

    async def ask(self, method: str, *what: Any) -> Any:
        """Call what gives something back."""
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self.tell(method, *what, number=number)
        return await answer

    async def out(self) -> list[Any]:
        """What there is to bring to the other end; waits for the first."""
        await self._any.wait()
        await asyncio.sleep(GATHER_S)
        return self.left()

    def left(self) -> list[Any]:
        """The same at once, if it is nothing."""
        self._any.clear()
        said, self._said = self._said, []
        return said

    def hear(self, batch: list[Any]) -> None:
        """Take in what the other end said."""
        for number, method, packed in batch:
            what = tuple(map(_unpacked, packed))
            if not method:
                answer = self._asked.pop(number, None)
                if answer is not None and not answer.done():
                    answer.set_result(what[0])
            elif not number:
                getattr(self._host, method)(*what)
            else:
                task = asyncio.get_running_loop().create_task(self._answer(number, method, what))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)

    async def _answer(self, number: int, method: str, what: tuple[Any, ...]) -> None:
        self.tell("", await getattr(self._host, method)(*what), number=number)

    def fail(self, error: Exception) -> None:
        """There is no other end any more."""
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(error)
        self._asked.clear()


class _WritersBudget(Budget):
    """The run's money, which lies with the writer: it is asked before each try, and told what each came to."""

    def __init__(self, limit_usd: float | None, worker: StageWorker) -> None:
        super().__init__(limit_usd)
        self.on_paid = lambda role, call: worker.line.tell("paid", role, call)
        self._worker = worker

    async def reserve(self, most_usd: float | None = None) -> float:
        if self.limit_usd is None:
            return 0.0
        granted = await self._worker.line.ask("reserve", most_usd)
        if isinstance(granted, BudgetReached):
            raise granted
        return float(granted)

    def settle(self, reserved_usd: float, cost_usd: float | None, unreported_usd: float = 0.0) -> None:
        if self.limit_usd is not None:
            self._worker.line.tell("settle", reserved_usd, cost_usd, unreported_usd)


class _WritersRun(Progress):
    """The run's progress and journal, as far as a stage tells them something while it works."""

    def __init__(self, worker: StageWorker) -> None:
        super().__init__("none")
        self._worker = worker

    def retried(self) -> None:
        self._worker.line.tell("retried")

    def append(self, record: Any) -> None:
        self._worker.line.tell("keep", record)


class StageWorker:
    """The actor. All its methods run in one event loop. ``node`` is where it is, by default as Ray calls it."""

    def __init__(self, node: str = "") -> None:
        if not node:
            import ray

            node = ray.get_runtime_context().get_node_id()
        self._node, self.line = node, Channel(self)
        self._stack = AsyncExitStack()
        self._stage: OpenedStage | None = None
        self._base_url = self._gone = ""

    async def open(self, work: StageWork, keys: dict[str, str], connections: int | None) -> tuple[str, int]:
        """Open a stage; nothing more to do where the worker was kept from the run before.

        Returns where this process is, in words, and how many items it works on at once. Raises UserError: it can't be
        opened here, or would answer otherwise than the writer's own.
        """
        self.line.tell("")  # Ends a call for news that the run before left open, which gets none of this one's.
        self.line = Channel(self)
        if self._gone:
            raise RuntimeError(self._gone)
        if self._stage is None:
            os.environ.update(keys)
            with contextlib.suppress(OSError):
                os.chdir(work.here[1])
            self._stage = await self._open(work, connections)
            self._room = asyncio.Semaphore(self._stage.max_concurrency)
        return f"{socket.gethostname()} (process {os.getpid()})", self._stage.max_concurrency

    async def _open(self, work: StageWork, connections: int | None) -> OpenedStage:
        if work.beside is not None:
            logs = Path(tempfile.mkdtemp(prefix="grounding-worker-"))
            self._base_url = await self._stack.enter_async_context(server_beside(work.beside, logs, self._lost))

        async def locate(screenshot: Screenshot) -> Screenshot:
            if self._node == work.here[0]:
                return screenshot
            return await picture_here(screenshot, partial(self.line.ask, "picture"))

        told = _WritersRun(self)
        budget = _WritersBudget(work.cost_limit, self)
        stage = work.opener(work, Services(budget, told, told, locate, self._base_url, connections))
        self._stack.push_async_callback(stage.aclose)
        await stage.check()
        if stage.identity != work.identity:
            raise UserError(
                "it would answer otherwise than this machine: the version of this package, of a library or a model, or "
                f"the card, is another. Here: {work.identity[:300]}. There: {stage.identity[:300]}. Install the same"
            )
        return stage

    def _lost(self, reason: str) -> None:
        self._gone = reason
        self.line.tell("lost", reason)

    async def take(self, batch: list[Any]) -> None:
        """What the writer says."""
        self.line.hear(batch)

    async def news(self) -> list[Any]:
        """What there is to say to the writer; waits for the first."""
        return await self.line.out()

    async def close(self) -> list[Any]:
        """Break off what is under way and let go of everything; gives what there is left to say."""
        for task in self.line.tasks:
            task.cancel()
        await asyncio.gather(*self.line.tasks, return_exceptions=True)
        await self._stack.aclose()
        left = self.line.left()
        self.line.tell("")
        return left

    async def work(self, key: str, item: Any) -> Any:
        """The record of an item, or what kept it from being made."""
        assert self._stage is not None
        try:
            async with self._room:
                record = await self._stage.run(item, None, key)
                failed = record.failure is not None and record.failure.kind == "error"
                while self._base_url and failed and await asyncio.to_thread(ask_health, self._base_url, REPLY_S):
                    # Perhaps no answer, but the server's end: then this worker is lost, and the item asked again.
                    await asyncio.sleep(1.0)
        except (Halted, UserError) as error:  # By their plain classes, which can be sent.
            return (UserError if isinstance(error, UserError) else Halted)(str(error))
        except Exception as error:  # noqa: BLE001 - one item must not take the others of this worker with it
            return ItemLost(f"{type(error).__name__}: {error}")
        return record


async def picture_here(screenshot: Screenshot, want: Callable[[str], Awaitable[bytes | None]]) -> Screenshot:
    """The same screenshot with a path that can be read on this machine; its bytes have the screenshot's hash.

    It may lie at the same path here. Else ``want``, given that path, asks the process that writes the run for the
    bytes, which are kept in ``pictures`` of the cache folder for all workers of this machine. Raises OSError: it can't
    be read; says why.
    """
    sha256, path = screenshot.sha256, Path(screenshot.path)
    kept = _store() / sha256[:2] / f"{sha256}{path.suffix}"
    for found in (path, kept):
        if await asyncio.to_thread(_holds, found, sha256):
            return msgspec.structs.replace(screenshot, path=str(found))
    content = await want(screenshot.path)
    if content is None or hashlib.sha256(content).hexdigest() != sha256:
        why = "can't read it" if content is None else "has another picture there by now"
        raise OSError(f"{path} is not on this machine, and the process that writes the run {why}")
    kept.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(kept, content, mode=0o600, shared=True, flush=False)
    return msgspec.structs.replace(screenshot, path=str(kept))


@functools.cache
def _store() -> Path:
    folder = cache_dir()
    return Path(tempfile.mkdtemp(prefix="grounding-pictures-")) if folder is None else folder / "pictures"


def _holds(path: Path, sha256: str) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except OSError:
        return False
