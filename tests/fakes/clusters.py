"""Clusters in the test's own process for runs whose stages are handed out, whole or losing a worker in mid-run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import grounding.executors.handedout
from fakes.inprocess_link import InProcessLink


class LosesOne(InProcessLink):
    """Kills its first worker as soon as ``when`` is true, then calls ``after``."""

    def __init__(self, when: Callable[[], bool], after: Callable[[], None]) -> None:
        super().__init__()
        self._when, self._after = when, after
        self.killed: list[str] = []

    async def open(self, on_event: Callable[[Any], None]) -> Any:
        found = await super().open(on_event)
        self._killing = asyncio.create_task(self._kill_one())
        return found

    async def _kill_one(self) -> None:
        while not (self.alive and self._when()):
            await asyncio.sleep(0.002)
        self.killed.append(self.alive[0])
        self.kill(self.alive[0])
        self._after()


class Clusters:
    """What runs connect to: ``make`` gives each its link, ``links`` are all there were."""

    def __init__(self) -> None:
        self.links: list[InProcessLink] = []
        self.make: Callable[[], InProcessLink] = InProcessLink

    def link(self, _address: str | None) -> InProcessLink:
        self.links.append(self.make())
        return self.links[-1]

    @property
    def used(self) -> list[InProcessLink]:
        """Those that a run really connected to."""
        return [link for link in self.links if link.opened]


@contextmanager
def clusters(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clusters]:
    """Inside the block, runs with ``--executor ray`` work here; after it nobody may be left."""
    found = Clusters()
    monkeypatch.setattr(grounding.executors.handedout, "RayLink", found.link)
    yield found
    assert all(link.closed for link in found.used)
    assert not any(link.alive for link in found.links)
