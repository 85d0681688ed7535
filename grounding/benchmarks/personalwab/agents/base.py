"""What every agent takes and returns, and turns as the messages that a chat model reads.

An agent is a function of the task's view, of what it started with and of the turns so far. InteRecAgent alone carries
something from one task of a user to the next.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec

from grounding.benchmarks.personalwab.prompts import NOTHING, Memory, Recalled, opening_text, shop_prompts
from grounding.benchmarks.personalwab.records import Episode, FunctionCall, TaskType, TaskView, Track, Turn
from grounding.benchmarks.personalwab.web import TOOLS, WebFunctions, read_arguments
from grounding.llm.chat import Exchange
from grounding.llm.wire import Completion, Message, TextPart, ToolCall
from grounding.records import Call, Failure, FailureKind

if TYPE_CHECKING:
    from grounding.benchmarks.personalwab.agents.puma import LocalTextModel
    from grounding.benchmarks.personalwab.options import ShopOptions
    from grounding.llm.chat import ChatModel

OFFERED = tuple(name for name in TOOLS if name != "get_product_details_by_asin")
"""What every agent is offered; a plain message is ``respond``. RecMind is offered details of products, too."""

API_OUTPUT = "API output: "
"""What leads an observation in a conversation of text (release, ``chat_react_agent.py``)."""


@dataclass(kw_only=True)
class Play:
    """An episode that is being played: what may be known of the task, and what has happened so far.

    ``memory`` is what the prompt tells of the past, ``predicted`` the type that the agent takes the task for. ``calls``
    are no steps: in the paper's tables a review has 2.00, the review and the stop, also where functions are predicted.
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
    """The episode ends because no move, or no reply of the user, came."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(kind=kind, message=message)


def completion_of(asked: Exchange, calls: list[Call]) -> Completion:
    """The reply to a request, whose cost is added to ``calls``. Raises NoMove where there is none."""
    if asked.call is not None:
        calls.append(asked.call)
    if asked.completion is None:
        failure = asked.failure or Failure(kind="error", message="no reply")
        raise NoMove(failure.kind, failure.message)
    return asked.completion


class ShopAgent(ABC):
    """Acts for one user; what stands here is that of an agent without a model.

    ``identity`` is canonical text of everything that can change a move: model, prompts, memory, options.
    ``max_concurrency`` is how many episodes are worked on at once. One that ``carries_on`` what it has learnt works on
    one task of a user at a time, in their order.
    """

    identity = ""
    max_concurrency = 1
    carries_on = False

    @abstractmethod
    async def start(self, play: Play) -> None:
        """Look at a task and choose what is remembered."""

    @abstractmethod
    async def move(self, play: Play) -> Turn:
        """Make the next move. Raises NoMove where none comes."""

    async def reflect(self, play: Play) -> None:  # noqa: B027
        """Think about the user's reply in the last turn."""

    async def finish(self, play: Play) -> None:  # noqa: B027
        """Think about a whole episode."""

    def take_up(self, user: str, episode: Episode) -> None:  # noqa: B027
        """Know of what an earlier run of the same command did for a user; in the tasks' order."""


# --- messages ---------------------------------------------------------------------------------------------------------


def system_text(memory: str, track: Track, max_steps: int, *, paper: bool = False) -> str:
    """The system prompt of a chat agent with this memory, which stands for the agent.

    ``paper`` gives the paper's prompts (figures 16 and 17) to the agents with plain memories; else the release's.
    """
    named = {"task-specific": "task_specific", "recmind": "recmind"}.get(memory, "paper" if paper else "system")
    chosen: str = getattr(shop_prompts(), memory if memory == "interecagent" else f"{named}_{track}")
    return chosen.replace("<NUM>", str(max_steps if track == "multi" else -1))


def react_rules() -> str:
    """What stands between the rules and the memory of an agent that writes its calls as text."""
    return f"\n#Available tools\n{json.dumps([TOOLS[name] for name in OFFERED])}{shop_prompts().react}"


def text_message(role: Literal["system", "user", "assistant"], text: str) -> Message:
    """A message of plain text."""
    return Message(role=role, parts=(TextPart(text=text),))


def _opened(system: str, view: TaskView) -> list[Message]:
    asked = view.opening or opening_text(view.user_id, view.instruction, view.review_product)
    return [text_message("system", system), text_message("user", asked)]


def with_calls(system: str, view: TaskView, turns: Sequence[Turn]) -> list[Message]:
    """The conversation for a model that calls functions; calls of a message that were left out are not repeated."""
    messages = _opened(system, view)
    for number, turn in enumerate(turns):
        if turn.call.name == "respond":
            messages += [text_message("assistant", said(turn.call)), text_message("user", turn.user_reply or "")]
            continue
        call = ToolCall(id=turn.call_id or f"call_{number}", name=turn.call.name, arguments=turn.call.arguments)
        parts = (TextPart(text=turn.thought),) if turn.thought else ()
        seen = turn.observation.text if turn.observation else ""
        messages.append(Message(role="assistant", parts=parts, tool_calls=(call,)))
        messages.append(Message(role="tool", parts=(TextPart(text=seen),), answers=call.id, name=call.name))
    return messages


def with_text(system: str, view: TaskView, turns: Sequence[Turn]) -> list[Message]:
    """The conversation for a model that writes its calls as text, with its reflections."""
    messages = _opened(system, view)
    for turn in turns:
        answer = turn.user_reply if turn.call.name == "respond" else None
        seen = API_OUTPUT + (turn.observation.text if turn.observation else "") if answer is None else answer
        messages += [text_message("assistant", turn.raw), text_message("user", seen)]
        if turn.reflection:
            messages.append(text_message("assistant", turn.reflection))
    return messages


def plain(message: Message) -> str:
    """The words of a message; of one with a call the call, as the release's log has it."""
    if message.tool_calls:
        call = message.tool_calls[0]
        return f"Function(arguments={call.arguments!r}, name={call.name!r})"
    return "".join(part.text for part in message.parts if isinstance(part, TextPart))


def said(call: FunctionCall) -> str:
    """What a call of ``respond`` says to the user."""
    content = (read_arguments(call.arguments) or {}).get("content")
    return content if isinstance(content, str) else call.arguments


def function_call(name: str, **arguments: object) -> FunctionCall:
    """A call with these arguments; ``respond`` has ``content``, which is said to the user."""
    return FunctionCall(name=name, arguments=msgspec.json.encode(arguments).decode())


@dataclass(frozen=True)
class Given:
    """What an agent may be made of: options, the functions, a memory with its data set, and what was opened for it.

    ``predictions`` are the types by instruction of a file of --functions; ``local`` is the model of --model-path.
    """

    options: ShopOptions
    functions: WebFunctions
    memory: Memory
    model: ChatModel | None = None
    predictions: dict[str, TaskType] | None = None
    local: LocalTextModel | None = None
