"""A cluster of real processes on this machine, to be killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from fakes.process_worker import LENGTH
from grounding.executors.link import Arrived, Cluster, Event, Heard, Lost, Needs, Node


class ProcessLink:
    """A ``Link``. A worker is lost when its process ends, however that comes."""

    def __init__(self) -> None:
        self._on_event: Callable[[Event], None] = lambda _event: None
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._listening: set[asyncio.Task[None]] = set()
        self.hired: list[str] = []

    async def open(self, on_event: Callable[[Event], None]) -> Cluster:
        self._on_event = on_event
        return Cluster(address="processes", nodes=(Node(name="here", address="127.0.0.1", cpus=2.0, gpus=0.0),))

    async def hire(self, worker: str, recipe: bytes, needs: Needs) -> None:  # noqa: ARG002
        self.hired.append(worker)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(Path(__file__).with_name("process_worker.py")),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        self._processes[worker] = process
        self._on_event(Arrived(worker=worker, node="here", pid=process.pid))
        task = asyncio.create_task(self._listen(worker, process))
        self._listening.add(task)
        task.add_done_callback(self._listening.discard)
        await self.tell(worker, recipe)

    async def _listen(self, worker: str, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        try:
            while True:
                (length,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
                content = await process.stdout.readexactly(length)
                self._on_event(Heard(worker=worker, content=content))
        except asyncio.IncompleteReadError:
            code = await process.wait()
        self._processes.pop(worker, None)
        self._on_event(Lost(worker=worker, reason=f"its process ended with {code}"))

    async def tell(self, worker: str, content: bytes) -> None:
        process = self._processes.get(worker)
        if process is not None and process.stdin is not None:
            try:
                process.stdin.write(LENGTH.pack(len(content)) + content)
                await process.stdin.drain()
            except ConnectionError:
                return  # It is gone, and the end of its output says so.

    async def dismiss(self, worker: str) -> None:
        if worker in self._processes:
            self.kill(worker)

    def kill(self, worker: str) -> None:
        """kill -9."""
        os.kill(self._processes[worker].pid, signal.SIGKILL)

    async def aclose(self) -> None:
        for worker in list(self._processes):
            self.kill(worker)
        if self._listening:
            await asyncio.wait(self._listening)
