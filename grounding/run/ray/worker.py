"""What runs on the nodes: an actor around one stage, which works through items and hands every record over at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from grounding.cards.schema import ChatCard
from grounding.errors import Halted, UserError
from grounding.llm.budget import Budget, BudgetReached
from grounding.records import Record
from grounding.run.display import Progress
from grounding.serving.process import ask_health
from grounding.serving.worker_server import REPLY_S, WorkerServer, start_worker_server

GATHER_S = 0.003  # What is said within it goes out in one message: a call of Ray costs more than an item.


class Lost(Exception):
    """A worker is gone, or nobody could work on an item; says why."""


class ModelAddress(NamedTuple):
    """A model that a stage asks over the network: its card, the user's own address ("" for the card's) and its flag."""

    card: ChatCard
    base_url: str
    flag: str


class StageWork(Record, frozen=True, kw_only=True):
    """A stage as a worker opens it, by ``opener``, a function of this package.

    It is called with this, the budget, and the run's progress. ``part`` says which of a benchmark's stages is meant,
    ``given`` is what else the opener needs, ``identity`` what the records hang on by the writer's own stage. ``models``
    are asked over the network; ``in_process``: one is in the worker's process; ``worker_server``: each worker starts a
    server for itself, at ``base_url``. ``connections`` is how many requests a worker may have open. ``folder`` is the
    run's; paths in the options are meant from ``here``.
    """

    opener: Callable[[StageWork, Budget, Any], OpenedStage]
    options: Any
    identity: str
    part: str = ""
    given: Any = None
    models: Sequence[ModelAddress] = ()
    in_process: bool = False
    worker_server: WorkerServer | None = None
    base_url: str = ""
    connections: int | None = None
    folder: str = ""
    here: str = ""


@dataclass(frozen=True)
class OpenedStage:
    """A stage ready to work: ``run`` is a :class:`grounding.run.runner.Stage`'s, without an earlier record."""

    identity: str
    max_concurrency: int
    run: Callable[[Any, Any, str], Awaitable[Any]]
    check: Callable[[], Awaitable[None]]
    aclose: Callable[[], Awaitable[None]]


def seen(path: str) -> Path:
    """A path of the process that writes the run, on a machine that sees it. Raises UserError: this one doesn't."""
    if not os.access(path, os.R_OK):
        raise UserError(
            f"{path} can't be read on {socket.gethostname()}, where a worker needs it: put --data-dir and --log-dir on "
            "a disk that all nodes of the cluster share, under the same paths"
        )
    return Path(path)


class _Packed(NamedTuple):
    """A record on its way. Not pickled as it is: what is left out of JSON hangs on the objects of defaults."""

    kind: type[Any]
    content: bytes


def packed(value: Any) -> Any:
    return _Packed(type(value), msgspec.msgpack.encode(value)) if isinstance(value, msgspec.Struct) else value


def unpacked(value: Any) -> Any:
    return msgspec.msgpack.decode(value.content, type=value.kind) if isinstance(value, _Packed) else value


class _Run(Progress):
    """The run's progress, as far as a stage tells it something while it works."""

    def __init__(self, tell: Callable[..., None]) -> None:
        super().__init__("none")
        self.retried = partial(tell, "retried")  # type: ignore[method-assign]


class _Budget(Budget):
    halted = ""

    async def reserve(self, most_usd: float | None = None) -> float:  # noqa: ARG002
        if self.halted:
            raise BudgetReached(self.halted)
        return 0.0


class StageWorker:
    def __init__(self) -> None:
        self.tasks: set[asyncio.Task[None]] = set()
        self._said: list[tuple[Any, ...]] = []
        self._any = asyncio.Event()
        self._budget = _Budget(None)
        self._budget.on_paid = partial(self._tell, "paid")
        self._stack = AsyncExitStack()

    def _tell(self, *words: Any) -> None:
        self._said.append(tuple(map(packed, words)))
        self._any.set()

    async def open(self, work: StageWork, keys: dict[str, str]) -> tuple[str, int]:
        """Gives where this process is, in words, and how many items it works on at once; raises UserError."""
        os.environ.update(keys)
        if work.in_process:
            os.environ.pop("OMP_NUM_THREADS", None)  # Ray says 1, as a worker takes up no processor.
        with contextlib.suppress(OSError):
            os.chdir(work.here)
        if work.worker_server is not None:
            logs = Path(tempfile.mkdtemp(prefix="grounding-worker-"))
            server = start_worker_server(work.worker_server, logs, partial(self._tell, "lost"))
            work = msgspec.structs.replace(work, base_url=await self._stack.enter_async_context(server))
        self._base_url = work.base_url
        stage = self._stage = work.opener(work, self._budget, _Run(self._tell))
        self._stack.push_async_callback(stage.aclose)
        await stage.check()
        if stage.identity != work.identity:
            differ = f"{stage.identity[:300]}, and the writer {work.identity[:300]}"
            raise UserError(f"has other versions than the process that writes the run, install the same: {differ}")
        self._room = asyncio.Semaphore(stage.max_concurrency)
        return f"{socket.gethostname()} (process {os.getpid()})", stage.max_concurrency

    async def exchange(self, items: list[tuple[int, str, Any]], wait_s: float, halted: str) -> list[tuple[Any, ...]]:
        """Begin to work on items, each with a number and its key; what there is to say within this time."""
        self._budget.halted = halted
        for number, key, item in items:
            task = asyncio.get_running_loop().create_task(self._work(number, key, unpacked(item)))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._any.wait(), wait_s)
            await asyncio.sleep(GATHER_S)
        self._any.clear()
        said, self._said = self._said, []
        return said

    async def close(self) -> list[tuple[Any, ...]]:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self._stack.aclose()
        return await self.exchange([], 0.0, "")

    async def _work(self, number: int, key: str, item: Any) -> None:
        found: Any
        try:
            async with self._room:
                found = await self._stage.run(item, None, key)
                failed = found.failure is not None and found.failure.kind == "error"
                while self._base_url and failed and await asyncio.to_thread(ask_health, self._base_url, REPLY_S):
                    # Perhaps no answer, but the server's end: then this worker is lost, and the item asked again.
                    await asyncio.sleep(1.0)
        except (Halted, UserError) as error:  # By their plain classes, which can be sent.
            found = (UserError if isinstance(error, UserError) else Halted)(str(error))
        except Exception as error:  # noqa: BLE001 - one item must not take the others of this worker with it
            found = Lost(f"{type(error).__name__}: {error}")
        self._tell("done", number, found)
