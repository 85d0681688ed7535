"""Servers that stay up from one run to the next that needs the same ones, so that a model is loaded once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from grounding.serving.fleet import Fleet
from grounding.serving.managed import ManagedServers


class ServerShelf:
    """The servers of one model at a time. The end of its ``with`` block stops them.

    Runs that follow one another each look for their servers here; those of another model are stopped first, since the
    two might not fit on the GPUs together.
    """

    def __init__(self) -> None:
        self._up: ManagedServers | None = None
        self._fleet: Fleet | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def matching(self, wanted: ManagedServers) -> ManagedServers:
        """The servers that are up, if they are the ones that are wanted, else those that are wanted."""
        return self._up if self._up is not None and _alike(self._up, wanted) else wanted

    @contextmanager
    def running(self, managed: ManagedServers, log: Path) -> Iterator[None]:
        """Inside the block they are up, started where they were not; after it they stay.

        Raises:
            UserError: they can't be started, or one ended before it was healthy.
        """
        if self._up != managed or self._fleet is None or any(one.exit_code is not None for one in self._fleet.servers):
            self.clear()
            self._fleet = self._stack.enter_context(managed.running(log))
            self._up = managed
        yield

    def clear(self) -> None:
        """Stop what is up."""
        self._up = self._fleet = None
        self._stack.close()


def servers_for(managed: ManagedServers | None, log: Path, shelf: ServerShelf | None) -> AbstractContextManager[object]:
    """What has to be up around a run: its servers, from the shelf where there is one; nothing where it needs none."""
    if managed is None:
        return nullcontext()
    return managed.running(log) if shelf is None else shelf.running(managed, log)


def _alike(one: ManagedServers, other: ManagedServers) -> bool:
    """Whether they are the same but for their ports."""
    ports = msgspec.structs.replace(other.options, port=one.options.port)
    return msgspec.structs.replace(other, options=ports) == one
