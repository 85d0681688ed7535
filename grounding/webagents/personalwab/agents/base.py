"""What every agent takes and returns.

An agent is a function of the task's view, of what it started with and of the turns so far: nothing else is kept between
its moves, so an episode can be read, and made again, from its record alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from grounding.records import Call, Failure, Record
from grounding.webagents.personalwab.memory import Recalled
from grounding.webagents.personalwab.records import FunctionCall, FunctionName, TaskType, TaskView, Track, Turn

TASK_FUNCTIONS: tuple[FunctionName, ...] = (
    "search_product_by_query",
    "get_recommendations_by_history",
    "add_product_review",
    "stop",
)
"""What every agent is offered; a plain message is ``respond``."""

MAX_KEPT_CHARS = 20_000
"""Of what a model says beside its calls, so much is kept."""


class Started(Record, frozen=True, kw_only=True):
    """What an agent begins a task with: the memory, the type it takes the task for, and what finding out took.

    ``opening`` is the text of the memory that is put into its prompt; ``profile`` what an agent distilled of the user's
    likings, as JSON text, where it does so. ``calls`` cost time and money but are no steps: the paper's tables have
    2.00 steps for a review, which is the review and the stop, also for agents that predict or distil first.
    """

    track: Track
    max_steps: int
    memory: Recalled = Recalled()
    opening: str = ""
    profile: str = ""
    predicted: TaskType | None = None
    calls: tuple[Call, ...] = ()
    failure: Failure | None = None


class Move(Record, frozen=True, kw_only=True):
    """One move: a call, or a failure. ``calls`` are the requests that it took, ``completions`` the replies."""

    call: FunctionCall | None = None
    thought: str = ""
    raw: str = ""
    extra_calls: int = 0
    calls: tuple[Call, ...] = ()
    completions: int = 1
    failure: Failure | None = None


class Reflection(Record, frozen=True, kw_only=True):
    """What an agent makes of a user's reply; empty for agents that don't reflect."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    failure: Failure | None = None


class ShopAgent(Protocol):
    """Acts for one user.

    ``identity`` is canonical text of everything that can change a move (model, prompts, memory, options).
    ``functions`` are what it is offered. ``max_concurrency`` is how many episodes it can usefully work on at once.
    """

    @property
    def name(self) -> str:
        """The short name for tables."""
        ...

    @property
    def identity(self) -> str:
        """Canonical text of everything that can change a move."""
        ...

    @property
    def functions(self) -> tuple[FunctionName, ...]:
        """The functions that it is offered."""
        ...

    @property
    def max_concurrency(self) -> int:
        """How many episodes are worked on at once."""
        ...

    async def start(self, view: TaskView, *, track: Track, max_steps: int) -> Started:
        """Look at a task and choose what is remembered."""
        ...

    async def move(self, started: Started, view: TaskView, turns: Sequence[Turn]) -> Move:
        """Make the next move. Failures are recorded in it, not raised."""
        ...

    async def reflect(self, started: Started, view: TaskView, turns: Sequence[Turn]) -> Reflection:
        """Think about the user's reply in the last turn, where the agent does so."""
        ...

    async def check(self) -> None:
        """Raise a UserError when no answer can come."""
        ...

    async def aclose(self) -> None:
        """Let go of connections and workers."""
        ...


class Offline:
    """The part of an agent that needs no model: nothing to check, to reflect on or to close."""

    functions: tuple[FunctionName, ...] = TASK_FUNCTIONS
    max_concurrency = 1

    async def reflect(self, started: Started, view: TaskView, turns: Sequence[Turn]) -> Reflection:  # noqa: ARG002
        """Nothing."""
        return Reflection()

    async def check(self) -> None:
        """Nothing can be missing."""

    async def aclose(self) -> None:
        """Nothing to close."""
