"""What every agent takes and returns: a function of the task, of what it started with and of the turns so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from grounding.benchmarks.personalwab.prompts import NOTHING, Memory, Recalled
from grounding.benchmarks.personalwab.records import Episode, FunctionCall, TaskType, TaskView, Track, Turn
from grounding.benchmarks.personalwab.web import WebFunctions, read_arguments
from grounding.llm.chat import Exchange
from grounding.llm.wire import Completion
from grounding.records import Call, Failure, FailureKind

if TYPE_CHECKING:
    from grounding.benchmarks.personalwab.agents.puma import LocalTextModel
    from grounding.benchmarks.personalwab.options import ShopOptions
    from grounding.llm.chat import ChatModel


@dataclass(kw_only=True)
class Play:
    """An episode that is being played: what may be known of the task, and what has happened so far.

    ``predicted`` is the type that the agent takes the task for. ``calls`` are no steps: in the paper's tables a review
    has 2.00, the review and the stop, also where functions are predicted.
    """

    view: TaskView
    track: Track = "single"
    max_steps: int = 10
    turns: list[Turn] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    user_calls: list[Call] = field(default_factory=list)
    memory: Recalled = NOTHING
    predicted: TaskType | None = None
    likings: str = ""


class NoMove(Exception):
    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(kind=kind, message=message)


def completion_of(asked: Exchange, calls: list[Call]) -> Completion:
    if asked.call is not None:
        calls.append(asked.call)
    if asked.completion is None:
        failure = asked.failure or Failure(kind="error", message="no reply")
        raise NoMove(failure.kind, failure.message)
    return asked.completion


class ShopAgent:
    """Acts for one user.

    ``identity`` is canonical text of everything that can change a move. ``max_concurrency`` is how many episodes are
    worked on at once. One that ``carries_on`` what it has learnt works on one task of a user at a time, in order.
    """

    identity = ""
    max_concurrency = 1
    carries_on = False

    async def start(self, play: Play) -> None:
        raise NotImplementedError

    async def move(self, play: Play) -> Turn:
        """Make the next move. Raises NoMove where none comes."""
        raise NotImplementedError

    async def reflect(self, play: Play) -> None:
        """Think about the user's reply in the last turn."""

    async def finish(self, play: Play) -> None:
        """Think about a whole episode."""

    def take_up(self, user: str, episode: Episode) -> None:
        """Know of what an earlier run of the same command did for a user; in the tasks' order."""


@dataclass(frozen=True)
class Given:
    """What an agent may be made of; ``predictions`` are the types by instruction of a file of --functions."""

    options: ShopOptions
    functions: WebFunctions
    memory: Memory
    model: ChatModel | None = None
    predictions: dict[str, TaskType] | None = None
    local: LocalTextModel | None = None


def said(call: FunctionCall) -> str:
    content = (read_arguments(call.arguments) or {}).get("content")
    return content if isinstance(content, str) else call.arguments


def function_call(name: str, **arguments: object) -> FunctionCall:
    return FunctionCall(name=name, arguments=msgspec.json.encode(arguments).decode())
