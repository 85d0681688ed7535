"""An agent that calls functions by the API, with a memory in its system prompt: PersonalWAB's baselines and PUMA.

The memories none, random, last, relevant are the paper's baselines; ``recmind`` and ``interecagent`` bring prompts of
their own, RecMind a function more. With ``task-specific`` (PUMA) the function is predicted first, by a question without
memory or in a file, and the memory is worded for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from grounding.chat import NO_PICTURES, Asked, ChatModel
from grounding.records import Call, Failure
from grounding.webagents.filling import fill
from grounding.webagents.personalwab.agents.base import (
    MAX_KEPT_CHARS,
    TASK_FUNCTIONS,
    Move,
    Reflection,
    Started,
)
from grounding.webagents.personalwab.agents.conversation import respond, with_calls
from grounding.webagents.personalwab.agents.predictions import Predictions
from grounding.webagents.personalwab.functions import schemas
from grounding.webagents.personalwab.memory import Memory, Recalled, remember
from grounding.webagents.personalwab.prompts import ShopPrompts
from grounding.webagents.personalwab.records import FunctionCall, FunctionName, TaskType, TaskView, Track, Turn
from grounding.webagents.personalwab.verdicts import FUNCTION_OF

TYPE_OF: dict[str, TaskType] = {function: kind for kind, function in FUNCTION_OF.items()}


class FunctionAgent:
    """A chat model with function calls."""

    def __init__(
        self, model: ChatModel, memory: Memory, prompts: ShopPrompts, *, predictions: Predictions | None = None
    ) -> None:
        self._model = model
        self._predictions = predictions
        self._memory = memory
        self._prompts = prompts
        self.name = "puma" if memory.kind == "task-specific" else "function-calling"
        details = ("get_product_details_by_asin",) if memory.kind == "recmind" else ()
        self.functions: tuple[FunctionName, ...] = (*TASK_FUNCTIONS, *details)
        self._tools = [schema.tool() for schema in schemas(self.functions)]
        elsewhere = "" if predictions is None else f"|{predictions.identity}"
        self.identity = f"{self.name}:1|{model.identity}|{memory.identity}|{prompts.label}{elsewhere}"

    @property
    def max_concurrency(self) -> int:
        """How many episodes are worked on at once."""
        return self._model.max_concurrency

    async def start(self, view: TaskView, *, track: Track, max_steps: int) -> Started:
        """Choose what is remembered; PUMA asks which function it will be first."""
        if self._memory.kind != "task-specific":
            recalled = await self._recalled(view, None)
            return Started(track=track, max_steps=max_steps, memory=recalled, opening=recalled.text)
        if self._predictions is not None:
            return await self._for_type(self._predictions.of(view), view, track, max_steps, ())
        asked = await self._ask(self._prompts.system_single, view, ())
        calls = _calls(asked)
        if asked.completion is None:
            return Started(track=track, max_steps=max_steps, calls=calls, failure=_missed(asked))
        named = asked.completion.tool_calls
        # A model that only talks has not seen that anything is to be recommended or written.
        predicted = TYPE_OF.get(named[0].name, "search") if named else "search"
        return await self._for_type(predicted, view, track, max_steps, calls)

    async def _for_type(
        self, predicted: TaskType, view: TaskView, track: Track, max_steps: int, calls: tuple[Call, ...]
    ) -> Started:
        recalled = await self._recalled(view, predicted)
        return Started(
            track=track,
            max_steps=max_steps,
            memory=recalled,
            opening=recalled.text,
            predicted=predicted,
            calls=calls,
        )

    async def _recalled(self, view: TaskView, predicted: TaskType | None) -> Recalled:
        return await remember(self._memory, view, predicted)

    async def move(self, started: Started, view: TaskView, turns: Sequence[Turn]) -> Move:
        """Ask for the next call. A message without one is said to the user; of several calls the first counts."""
        return read_move(await self._ask(self._system(started) + started.opening, view, turns))

    def _system(self, started: Started) -> str:
        prompts, multi = self._prompts, started.track == "multi"
        match self._memory.kind:
            case "task-specific":
                chosen = prompts.task_specific_multi if multi else prompts.task_specific_single
            case "recmind":
                chosen = prompts.recmind_multi if multi else prompts.recmind_single
            case "interecagent":
                chosen = prompts.interecagent
            case _:
                chosen = prompts.system_multi if multi else prompts.system_single
        return fill(chosen, num=str(started.max_steps))

    async def _ask(self, system: str, view: TaskView, turns: Sequence[Turn]) -> Asked:
        return await self._model.send(lambda: with_calls(system, view, turns), NO_PICTURES, tools=self._tools)

    async def reflect(self, started: Started, view: TaskView, turns: Sequence[Turn]) -> Reflection:  # noqa: ARG002
        """Nothing: this agent doesn't."""
        return Reflection()

    async def check(self) -> None:
        """Fail early when the endpoint is not there."""
        await self._model.check()

    async def aclose(self) -> None:
        """Close connections."""
        await self._model.aclose()


def read_move(asked: Asked) -> Move:
    """The move that a reply with function calls makes."""
    calls = _calls(asked)
    if asked.completion is None:
        return Move(calls=calls, completions=0, failure=_missed(asked))
    said = asked.completion
    if not said.tool_calls and not said.text.strip():
        return Move(calls=calls, failure=Failure(kind="unparsed", message="the reply is empty: no call and no word"))
    if not said.tool_calls:
        return Move(call=respond(said.text[:MAX_KEPT_CHARS]), calls=calls)
    first = said.tool_calls[0]
    return Move(
        call=FunctionCall(name=first.name, arguments=first.arguments),
        thought=said.text[:MAX_KEPT_CHARS],
        extra_calls=len(said.tool_calls) - 1,
        calls=calls,
    )


def _calls(asked: Asked) -> tuple[Call, ...]:
    return () if asked.call is None else (asked.call,)


def _missed(asked: Asked) -> Failure:
    return asked.failure or Failure(kind="error", message="no reply")
