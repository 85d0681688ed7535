"""What runs on the nodes: a process around one worker. It knows nothing of the driver except that somebody calls.

Calls may fail before or after they took effect (``ActorUnavailableError`` says no more than that), so all of them can
be made again: messages have numbers in both directions (:mod:`grounding.executors.ray.sequence`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import socket
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

import grounding
from grounding.executors import recipe as recipes
from grounding.executors.ray.sequence import Inbox, Outbox
from grounding.records import Record

WORKER = "grounding.executors.worker:Worker"
POLL_S = 10.0
"""The longest that a ``hear`` stays open when there is nothing to say."""
GATHER_S = 0.004
"""What is said within this time of a first message goes out with it: calls cost more than messages."""
LEASE_S = 120.0
"""A worker that nobody asked for news in this time belongs to nobody any more, and ends. Longer than Ray needs to
declare a node dead that it can't reach (five checks of 10 s, 3 s apart): a network that heals earlier costs nothing."""
_LOOKS = 12
_CLOSING_S = 30.0


class Variables:
    """Environment variables on their way into a worker's process; their values are in no ``repr``."""

    def __init__(self, values: dict[str, str]) -> None:
        self._values = values

    def __repr__(self) -> str:
        return f"Variables({sorted(self._values)})"

    def set(self) -> None:
        """Put them into this process's environment."""
        os.environ.update(self._values)


class Arrival(Record, frozen=True, kw_only=True):
    """Who a worker's process is."""

    node: str
    pid: int
    grounding_version: str
    python_version: str


class News(Record, frozen=True, kw_only=True):
    """What a worker said: numbered messages, and once it has ended and all was said, why it ended."""

    first: int
    contents: tuple[bytes, ...]
    ended: str | None = None


class Working(Protocol):
    """A worker without Ray (:class:`grounding.executors.worker.Worker`)."""

    async def hear(self, content: bytes) -> None:
        """A batch of messages for it."""
        ...

    async def run(self) -> None:
        """Work until it is told to leave."""
        ...


def this_process() -> Arrival:
    """Who this process is."""
    return Arrival(
        node=socket.gethostname(),
        pid=os.getpid(),
        grounding_version=grounding.__version__,
        python_version=platform.python_version(),
    )


class RayWorker:
    """The actor class. All its methods run in one event loop."""

    def __init__(self) -> None:
        self._inbox = Inbox()
        self._outbox = Outbox()
        self._news = asyncio.Event()
        self._for_worker: asyncio.Queue[bytes] = asyncio.Queue()
        self._running: asyncio.Task[None] | None = None
        self._lease: asyncio.Task[None] | None = None
        self._ended: str | None = None
        self._looks = 0

    async def begin(self, recipe: bytes, variables: Variables, worker: str) -> Arrival:
        """Start the worker, the first time that this is called.

        Args:
            recipe: What it opens.
            variables: For its environment.
            worker: Its class, as ``module:name``.
        """
        self._looks = 0
        if self._running is None:
            variables.set()
            self._running = asyncio.create_task(self._work(recipe, worker))
            self._lease = asyncio.create_task(self._end_when_forgotten())
        return this_process()

    async def tell(self, first: int, contents: Sequence[bytes]) -> int:
        """Messages for the worker, numbered from ``first``; gives the number up to which all have arrived."""
        for content in self._inbox.take(first, contents):
            self._for_worker.put_nowait(content)
        return self._inbox.taken

    async def hear(self, acknowledged: int) -> News:
        """What the worker said after the message with this number; waits a while for the first."""
        self._looks = 0
        self._outbox.acknowledged(acknowledged)
        if not self._outbox and self._ended is None:
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), POLL_S)
            await asyncio.sleep(GATHER_S)
        batch = self._outbox.batch()
        return News(first=batch.first, contents=batch.contents, ended=None if batch.contents else self._ended)

    def _say(self, content: bytes) -> None:
        self._outbox.add(content)
        self._news.set()

    async def _work(self, recipe: bytes, worker: str) -> None:
        """Run the worker to its end, and say how it came."""
        try:
            module, _, name = worker.partition(":")
            # In a thread: what it imports may take seconds, in which calls have to be answered.
            make = getattr(await asyncio.to_thread(import_module, module), name)
            await self._serve(make(recipes.unpack(recipe), self._send))
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it was, the writer has to hear of it.
            self._ended = f"{type(error).__name__}: {error}"
        else:
            self._ended = "it has left"
        finally:
            self._news.set()

    async def _send(self, content: bytes) -> None:
        self._say(content)

    async def _serve(self, worker: Working) -> None:
        running = asyncio.create_task(worker.run())
        hearing = asyncio.create_task(self._pass_on(worker))
        try:
            done, _ = await asyncio.wait((running, hearing), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in (running, hearing):
                task.cancel()
            await asyncio.gather(running, hearing, return_exceptions=True)

    async def _pass_on(self, worker: Working) -> None:
        while True:
            await worker.hear(await self._for_worker.get())

    async def _end_when_forgotten(self) -> None:
        """End this process where the driver is gone and Ray did not notice, or can't tell this node."""
        # Counted, not read from a clock: while a model is loaded the loop may stand still for minutes, and the calls of
        # that time wait behind it.
        while self._looks < _LOOKS:
            await asyncio.sleep(LEASE_S / _LOOKS)
            self._looks += 1
        print(f"nobody has asked for {LEASE_S:.0f} s: this worker ends", file=sys.stderr, flush=True)
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait({self._running}, timeout=_CLOSING_S)
        os._exit(1)
