"""What a pool needs of whatever its workers run on: to start and end them, and to carry messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from grounding.records import Record


class Needs(Record, frozen=True, kw_only=True):
    """What one worker takes up on its machine."""

    cpus: float = 1.0
    gpus: float = 0.0


class Node(Record, frozen=True, kw_only=True):
    """A machine of the cluster, and all that it has, in use or not."""

    name: str
    address: str
    cpus: float
    gpus: float


class Cluster(Record, frozen=True, kw_only=True):
    """What a link is connected to."""

    address: str
    nodes: tuple[Node, ...]

    @property
    def cpus(self) -> float:
        """All processors."""
        return sum(node.cpus for node in self.nodes)

    @property
    def gpus(self) -> float:
        """All GPUs."""
        return sum(node.gpus for node in self.nodes)


class Arrived(Record, frozen=True, kw_only=True):
    """A worker's process runs, on this node; what it opens may take longer."""

    worker: str
    node: str
    pid: int


class Heard(Record, frozen=True, kw_only=True):
    """A batch of messages from a worker (:func:`grounding.executors.messages.unpacked_up`)."""

    worker: str
    content: bytes


class Lost(Record, frozen=True, kw_only=True):
    """A worker is gone, whatever the cause; nothing more is heard of it. Also told after ``dismiss``."""

    worker: str
    reason: str


class Cut(Record, frozen=True, kw_only=True):
    """The whole cluster is out of reach, and every worker lost with it. The link goes on trying to reach it again."""

    reason: str


class Joined(Record, frozen=True, kw_only=True):
    """The cluster is there again: workers can be hired anew."""

    cluster: Cluster


Event = Arrived | Heard | Lost | Cut | Joined


class Link(Protocol):
    """A connection to a cluster. All its methods and its events belong to one event loop."""

    async def open(self, on_event: Callable[[Event], None]) -> Cluster:
        """Connect.

        Raises:
            UserError: nothing is there, or it can't be used; says what to do.
        """
        ...

    async def hire(self, worker: str, recipe: bytes, needs: Needs) -> None:
        """Start a worker of this name; it waits for its place if the cluster is full. ``Arrived`` or ``Lost`` follow.

        Args:
            worker: A name that was never used on this link.
            recipe: What it opens (:func:`grounding.executors.recipe.pack`).
            needs: What it takes up.
        """
        ...

    async def tell(self, worker: str, content: bytes) -> None:
        """Hand a batch of messages to a worker. Nothing happens where it is lost."""
        ...

    async def dismiss(self, worker: str) -> None:
        """End a worker at once."""
        ...

    async def aclose(self) -> None:
        """End all workers and disconnect. A cluster that the link started itself is ended too."""
        ...
