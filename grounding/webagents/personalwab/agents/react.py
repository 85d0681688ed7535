"""ReAct and Reflexion: a chat model that writes Thought, Action and Arguments as text.

As in the release (``chat_react_agent.py``): what stands after the last ``Action:`` names the function, the first line
after the last ``Arguments:`` holds its arguments; an action ``respond``, or none, says that line to the user, and a
reply without either all that it is. Arguments that are no JSON reach the web as they are, which answers with what is
wrong with them; the release asks ten times more and then gives the task up.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from grounding.chat import NO_PICTURES, Asked, ChatModel
from grounding.records import Failure
from grounding.webagents.filling import fill
from grounding.webagents.personalwab.agents.base import (
    MAX_KEPT_CHARS,
    TASK_FUNCTIONS,
    Move,
    Reflection,
    Started,
)
from grounding.webagents.personalwab.agents.conversation import respond, text_message, with_text
from grounding.webagents.personalwab.functions import schemas
from grounding.webagents.personalwab.memory import Memory, remember
from grounding.webagents.personalwab.prompts import ShopPrompts
from grounding.webagents.personalwab.records import FunctionCall, FunctionName, TaskView, Track, Turn


class ReactAgent:
    """A chat model that reasons in text; ``reflects`` makes it think about every reply of the user (Reflexion)."""

    functions: tuple[FunctionName, ...] = TASK_FUNCTIONS

    def __init__(self, model: ChatModel, memory: Memory, prompts: ShopPrompts, *, reflects: bool = False) -> None:
        self._model = model
        self._memory = memory
        self._prompts = prompts
        self._reflects = reflects
        self.name = "reflexion" if reflects else "react"
        tools = msgspec.json.encode([schema.tool() for schema in schemas(self.functions)]).decode()
        self._instructions = f"\n#Available tools\n{tools}{prompts.react}"
        self.identity = f"{self.name}:1|{model.identity}|{memory.identity}|{prompts.label}"

    @property
    def max_concurrency(self) -> int:
        """How many episodes are worked on at once."""
        return self._model.max_concurrency

    async def start(self, view: TaskView, *, track: Track, max_steps: int) -> Started:
        """Choose what is remembered."""
        recalled = await remember(self._memory, view)
        return Started(track=track, max_steps=max_steps, memory=recalled, opening=recalled.text)

    async def move(self, started: Started, view: TaskView, turns: Sequence[Turn]) -> Move:
        """Ask for the next thought and action."""
        rules = self._prompts.system_multi if started.track == "multi" else self._prompts.system_single
        system = rules + self._instructions + started.opening
        asked = await self._model.send(lambda: with_text(system, view, turns), NO_PICTURES)
        return read_react(asked)

    async def reflect(self, started: Started, view: TaskView, turns: Sequence[Turn]) -> Reflection:  # noqa: ARG002
        """Ask what went wrong, from the conversation and the user's last reply."""
        if not self._reflects:
            return Reflection()
        spoken = with_text("", view, turns)[1:]
        acted = "".join(f"{message.role}:{_text(message.parts)}\n" for message in spoken[:-1])
        prompt = fill(
            self._prompts.reflexion, task=view.instruction, actions=acted, feedback=turns[-1].user_reply or ""
        )
        asked = await self._model.send(lambda: [text_message("system", prompt)], NO_PICTURES)
        calls = () if asked.call is None else (asked.call,)
        if asked.completion is None:
            return Reflection(calls=calls, failure=asked.failure or Failure(kind="error", message="no reply"))
        return Reflection(text=asked.completion.text[:MAX_KEPT_CHARS], calls=calls)

    async def check(self) -> None:
        """Fail early when the endpoint is not there."""
        await self._model.check()

    async def aclose(self) -> None:
        """Close connections."""
        await self._model.aclose()


def read_react(asked: Asked) -> Move:
    """The move that a reply in text makes."""
    calls = () if asked.call is None else (asked.call,)
    if asked.completion is None:
        failure = asked.failure or Failure(kind="error", message="no reply")
        return Move(calls=calls, completions=0, failure=failure)
    raw = asked.completion.text[:MAX_KEPT_CHARS]
    if not raw.strip():
        return Move(calls=calls, failure=Failure(kind="unparsed", message="the reply is empty: no action and no word"))
    if "Action:" not in raw and "Arguments:" not in raw:
        return Move(call=respond(raw.strip()), raw=raw, calls=calls)
    name = raw.rpartition("Action:")[2].partition("Arguments:")[0].strip() if "Action:" in raw else ""
    written = raw.rpartition("Arguments:")[2].strip().partition("\n")[0]
    thought = raw.partition("Thought:")[2].partition("Action:")[0].strip()
    if name in ("", "respond"):
        return Move(call=respond(_content(written)), thought=thought, raw=raw, calls=calls)
    return Move(call=FunctionCall(name=name, arguments=written), thought=thought, raw=raw, calls=calls)


def _content(written: str) -> str:
    """What is said to the user: the line itself, or the content where a model wrote it as JSON all the same."""
    try:
        values = msgspec.json.decode(written)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return written
    content = values.get("content") if isinstance(values, dict) else values
    return content if isinstance(content, str) else written


def _text(parts: Sequence[object]) -> str:
    return "".join(getattr(part, "text", "") for part in parts)
