"""A cluster in this process: actors live in a thread of their own, and a killed one answers nothing any more."""

from __future__ import annotations

import asyncio
import concurrent.futures
import pickle
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import shell

from grounding.errors import Halted
from grounding.run.ray import cluster
from grounding.run.ray.worker import StageWorker


class FakeActor:
    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster, self._worker = cluster, StageWorker()
        self._dead = asyncio.Event()
        self.alive = True

    def __getattr__(self, method: str) -> Any:
        def remote(*arguments: Any) -> asyncio.Future[Any]:
            arguments = pickle.loads(pickle.dumps(arguments))  # noqa: S301 - as between processes
            return asyncio.wrap_future(self._cluster.run(self._call(method, *arguments)))

        return SimpleNamespace(remote=remote)

    async def _call(self, method: str, *arguments: Any) -> Any:
        call = asyncio.ensure_future(getattr(self._worker, method)(*arguments))
        dead = asyncio.ensure_future(self._dead.wait())
        await asyncio.wait({call, dead}, return_when=asyncio.FIRST_COMPLETED)
        dead.cancel()
        if self.alive:
            return call.result()
        call.cancel()
        raise RuntimeError("killed")

    def kill(self) -> None:
        if self.alive:
            self.alive = False
            self._cluster.run(self._die()).result(10)
            self._cluster.run(self._worker.close())

    async def _die(self) -> None:
        self._dead.set()
        for task in self._worker.tasks:
            task.cancel()
        await asyncio.gather(*self._worker.tasks, return_exceptions=True)


class FakeCluster:
    """In the place of :class:`grounding.run.ray.cluster.Cluster`."""

    def __init__(self) -> None:
        self.lost = ""
        self.there: tuple[tuple[float, float], ...] = ((4.0, 0.0),)
        self.actors: list[FakeActor] = []
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def run(self, work: Coroutine[Any, Any, Any]) -> concurrent.futures.Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def nodes(self) -> Sequence[tuple[float, float]]:
        if self.lost:
            raise Halted(self.lost)
        return self.there

    async def hire(self, gpus: int) -> FakeActor:  # noqa: ARG002
        self.actors.append(FakeActor(self))
        return self.actors[-1]

    def end(self, actor: FakeActor) -> None:
        actor.kill()

    def leave(self) -> None:
        for actor in self.actors:
            actor.kill()

    @property
    def alive(self) -> list[FakeActor]:
        return [actor for actor in self.actors if actor.alive]


@contextmanager
def fake_cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    """Inside the block, runs with ``--executor ray`` work here; after it nobody may be left."""
    made = FakeCluster()
    monkeypatch.setattr(cluster, "Cluster", lambda _: made)
    yield made
    assert not made.alive


def when(true: Callable[[], bool], do: Callable[[], object]) -> None:
    """Do something as soon as something is true, beside the command that this thread is about to run."""

    def wait() -> None:
        shell.wait_until(true)
        do()

    threading.Thread(target=wait, daemon=True).start()
