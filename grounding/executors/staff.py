"""A pool's workers as the pool sees them, and the questions that it hands out."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from grounding.executors.ledger import Ledger
from grounding.executors.messages import Down
from grounding.records import Query, Record, Screenshot

State = Literal["hired", "opening", "ready", "draining", "lost"]
"""``hired``: waits for its place; ``opening``: its process runs and makes itself ready; ``draining``: answers what it
was asked, and leaves."""


class Patience(Record, frozen=True, kw_only=True):
    """How long a pool waits for what, and how often it tries.

    Attributes:
        cluster_s: How long the whole cluster may be out of reach.
        leave_s: How long a worker that was told to leave may take to close, before it is ended.
        backoff_s: The wait before a worker is replaced that had answered nothing; it doubles from loss to loss.
        longest_backoff_s: Its upper bound.
        tell_s: After how long without a first worker the user is told what is waited for.
        fruitless: How many workers in a row, each in the place of the one before, may be lost without an answer.
        losses: How many workers one query may cost, before it counts as the reason.
    """

    cluster_s: float = 300.0
    leave_s: float = 15.0
    backoff_s: float = 1.0
    longest_backoff_s: float = 60.0
    tell_s: float = 30.0
    fruitless: int = 5
    losses: int = 3


class Work(Record, frozen=True, kw_only=True):
    """An item of a stage as a pool asks about it: in MessagePack, under the key that the writer's stage has for it.

    ``screenshot`` is what a worker may need the picture of.
    """

    step_id: str
    key: str
    item: msgspec.Raw
    screenshot: Screenshot | None = None


@dataclass(frozen=True)
class StageRecords:
    """What a stage's workers answer with, and what becomes of a record of an item that was broken off."""

    answer: type[Any]
    kept: Callable[[Any], None]


class WorkerState(Record, frozen=True, kw_only=True):
    """A worker at a moment; ``node`` and ``pid`` are there once it runs, ``base_url`` with a server beside it.

    ``gpus`` are the names of those that it was given, known once it is ready.
    """

    name: str
    state: State
    node: str = ""
    pid: int = 0
    in_flight: int = 0
    answered: int = 0
    base_url: str = ""
    gpus: str = ""


class Ticket:
    """One question until it is answered. ``lost`` counts the workers that were lost with it; ``only`` may answer it."""

    __slots__ = ("done", "lost", "number", "only", "query")

    def __init__(self, number: int, query: Query | Work, done: asyncio.Future[Any], only: Hired | None = None) -> None:
        self.number = number
        self.query = query
        self.done = done
        self.only = only
        self.lost = 0


class Post:
    """A place for one worker, and how its holders fared.

    ``fruitless`` counts those in a row that answered nothing; ``answers_then`` is how many answers the whole pool had
    when the first of them was lost.
    """

    __slots__ = ("answers_then", "fruitless", "holder", "timer")

    def __init__(self) -> None:
        self.holder: Hired | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.fruitless = 0
        self.answers_then = 0


class Hired:
    """A worker. ``asked`` is what it is at, ``own`` what only it may answer and is not asked yet.

    ``bound`` is how much it may be asked at once, known once it is ready; ``accepts`` says whether it may be asked at
    all. ``suspect`` is the one query it is at that was lost with other workers before. ``left`` says that it was told
    to leave; ``idle`` is set once a worker that is drained has answered everything, ``gone`` once it is lost.
    """

    __slots__ = (
        "accepts",
        "answered",
        "asked",
        "base_url",
        "bound",
        "gone",
        "gpus",
        "idle",
        "ledger",
        "left",
        "name",
        "node",
        "outbox",
        "own",
        "pid",
        "post",
        "speaking",
        "state",
        "suspect",
        "tasks",
        "wake",
    )

    def __init__(self, name: str, post: Post | None, ledger: Callable[[Callable[[Down], None]], Ledger]) -> None:
        self.name = name
        self.post = post
        self.node = ""
        self.pid = 0
        self.base_url = ""
        self.gpus = ""
        self.state: State = "hired"
        self.bound = 0
        self.accepts = False
        self.answered = 0
        self.asked: dict[int, Ticket] = {}
        self.own: deque[Ticket] = deque()
        self.suspect: Ticket | None = None
        self.outbox: list[Down] = []
        self.wake = asyncio.Event()
        self.gone = asyncio.Event()
        self.idle = asyncio.Event()
        self.left = False
        self.ledger = ledger(self.say)
        self.speaking: asyncio.Task[None] | None = None
        self.tasks: set[asyncio.Task[None]] = set()

    def say(self, message: Down) -> None:
        """Have a message sent with the next batch."""
        self.outbox.append(message)
        self.wake.set()

    @property
    def place(self) -> str:
        """The worker and its node, for messages."""
        return f"worker {self.name} on {self.node}" if self.node else f"worker {self.name}"

    def shown(self) -> WorkerState:
        """It as others may see it."""
        return WorkerState(
            name=self.name,
            state=self.state,
            node=self.node,
            pid=self.pid,
            in_flight=len(self.asked),
            answered=self.answered,
            base_url=self.base_url,
            gpus=self.gpus,
        )
