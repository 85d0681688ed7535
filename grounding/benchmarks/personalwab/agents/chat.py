"""What every agent is, and those that are chat models: function calling, PUMA, RecMind, InteRecAgent, ReAct, Reflexion.

They ask what the release's agents ask (``agents/gpt_function_calling_agent.py``, ``agents/chat_react_agent.py``): a
reply whose arguments are no JSON is asked for again, ten times in all, and what a model only says goes to the user.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from grounding.benchmarks.calls import fill
from grounding.benchmarks.personalwab import prompts
from grounding.benchmarks.personalwab.prompts import FUNCTION_OF, NOTHING, Memory, behaviour_text, shop_prompts
from grounding.benchmarks.personalwab.records import Episode, FunctionCall, TaskType, TaskView, Track, Turn
from grounding.benchmarks.personalwab.web import TOOLS, WebFunctions, read_arguments
from grounding.llm.chat import NO_PICTURES, ChatModel, Exchange
from grounding.llm.wire import Completion, Message, TextPart, ToolCall
from grounding.records import Call, Failure, FailureKind, Record

if TYPE_CHECKING:
    from grounding.benchmarks.personalwab.agents.puma import LocalTextModel
    from grounding.benchmarks.personalwab.options import ShopOptions


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
    memory: prompts.Recalled = NOTHING
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


class ShopAgent(Protocol):
    """Acts for one user; ``identity`` is canonical text of everything that can change a move. One that ``carries_on``
    what it has learnt works on one task of a user at a time, in order.
    """

    identity: str = ""
    max_concurrency: int = 1
    carries_on: bool = False

    @abstractmethod
    async def start(self, play: Play) -> None: ...

    @abstractmethod
    async def move(self, play: Play) -> Turn:
        """Make the next move. Raises NoMove where none comes."""

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


# What every agent is offered; RecMind is offered details of products, too.
OFFERED = tuple(name for name in TOOLS if name != "get_product_details_by_asin")
MOST_ASKED, MAX_KEPT_CHARS = 10, 20_000
"""So often one move is asked for, where replies can't be read (release); so much is kept of a model's words."""


def system_text(memory: str, track: Track, max_steps: int, *, paper: bool = False) -> str:
    """The system prompt of a chat agent with this memory, which stands for the agent. ``paper`` gives the paper's
    prompts (figures 16 and 17) to the agents with plain memories; else the release's.
    """
    named = {"task-specific": "task_specific", "recmind": "recmind"}.get(memory, "paper" if paper else "system")
    chosen: str = getattr(shop_prompts(), memory if memory == "interecagent" else f"{named}_{track}")
    return chosen.replace("<NUM>", str(max_steps if track == "multi" else -1))


def react_rules() -> str:
    return f"\n#Available tools\n{json.dumps([TOOLS[name] for name in OFFERED])}{shop_prompts().react}"


def text_message(role: Literal["system", "user", "assistant"], text: str) -> Message:
    return Message(role=role, parts=(TextPart(text=text),))


def _opened(system: str, view: TaskView) -> list[Message]:
    asked = view.opening or prompts.opening_text(view.user_id, view.instruction, view.review_product)
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
    messages = _opened(system, view)
    for turn in turns:
        answer = turn.user_reply if turn.call.name == "respond" else None
        seen = "API output: " + (turn.observation.text if turn.observation else "") if answer is None else answer
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


def spoken(messages: Sequence[Message]) -> str:
    return "".join(f"{each.role}:{plain(each)}\n" for each in messages)


class ChatAgent(ShopAgent):
    """A chat model with a memory in its system prompt: the paper's prompts under the preset paper, or the release's."""

    def __init__(self, given: Given) -> None:
        assert given.model is not None, "options without one are refused"
        self.name = given.options.agent
        self._model, self._memory = given.model, given.memory
        self._paper = given.options.preset == "paper"
        self.max_concurrency = given.model.max_concurrency
        self.identity = (
            f"{self.name}:2|{given.model.identity}|{given.memory.identity}|{shop_prompts().label}|paper={self._paper}"
        )

    async def start(self, play: Play) -> None:
        # Beside other work: embeddings take long enough to keep requests waiting.
        play.memory = await asyncio.to_thread(self._memory.recall, play.view, predicted=play.predicted)

    def system(self, play: Play) -> str:
        return system_text(self._memory.kind, play.track, play.max_steps, paper=self._paper)

    async def say(self, play: Play, prompt: str, **parameters: int) -> str:
        """What it answers beside the conversation; as in the release, at the model's own temperature."""
        model = self._model.varied(**{"temperature": None, **parameters})
        asked = await model.send(lambda: [text_message("system", prompt)], NO_PICTURES)
        return completion_of(asked, play.calls).text

    async def ask(
        self, play: Play, messages: Callable[[], list[Message]], read: Callable[[Completion], Turn | str], **more: Any
    ) -> Turn:
        """Ask until ``read`` finds a turn, at most ten times; else it says why. A failure is not asked again. Raises
        NoMove where no reply came, it is empty, or the tenth can't be read.
        """
        found: Turn | str = ""
        for _ in range(MOST_ASKED):
            reply = completion_of(await self._model.send(messages, NO_PICTURES, **more), play.calls)
            if not (reply.tool_calls or reply.text.strip()):
                raise NoMove("unparsed", "the reply is empty: no call, no word")
            found = read(reply)
            if isinstance(found, Turn):
                return found
        raise NoMove("unparsed", f"{found}, {MOST_ASKED} times in a row")


class FunctionAgent(ChatAgent):
    """A chat model with function calls; with ``task-specific`` it is PUMA. PUMA's function comes from a file (release);
    without one the model is asked first, which is our own method.
    """

    def __init__(self, given: Given) -> None:
        super().__init__(given)
        self._predictions = given.predictions
        if given.predictions is not None:
            self.identity += f"|{predictions_hash(given.predictions)}"
        self._tools = [tool for name, tool in TOOLS.items() if given.memory.kind == "recmind" or name in OFFERED]

    async def start(self, play: Play) -> None:
        if self._predictions is not None:
            play.predicted = self._predictions[play.view.instruction]
        elif self._memory.kind == "task-specific":
            bare = system_text("none", "single", play.max_steps, paper=self._paper)
            named = (await self._called(play, bare, ())).call.name
            # A model that only talks has not seen that anything is to be recommended or written.
            play.predicted = next((kind for kind, name in FUNCTION_OF.items() if name == named), "search")
        await super().start(play)

    async def move(self, play: Play) -> Turn:
        return await self._called(play, self.system(play) + play.memory.text, play.turns)

    async def _called(self, play: Play, system: str, turns: Sequence[Turn]) -> Turn:
        return await self.ask(play, lambda: with_calls(system, play.view, turns), read_call, tools=self._tools)


def predictions_hash(predictions: dict[str, TaskType]) -> str:
    return f"functions={hashlib.sha256(msgspec.json.encode(sorted(predictions.items()))).hexdigest()[:16]}"


def read_call(reply: Completion) -> Turn | str:
    text = reply.text[:MAX_KEPT_CHARS]
    if not reply.tool_calls:
        return Turn(call=function_call("respond", content=text))
    first = reply.tool_calls[0]
    if read_arguments(first.arguments) is None:
        return f"the arguments of {first.name[:100]} are no JSON object"
    call = FunctionCall(name=first.name, arguments=first.arguments)
    return Turn(call=call, call_id=first.id, thought=text, extra_calls=len(reply.tool_calls) - 1)


MOST_BEHAVIOURS, START_TOKENS, MOST_EXPECTED = 200, 5000, 30
"""The profile: from how many purchases it is made, in a reply of how many tokens, and how many expectations stay."""


class Likings(Record, frozen=True, kw_only=True, omit_defaults=False):
    like: tuple[str, ...] = ()
    dislike: tuple[str, ...] = ()
    expect: tuple[str, ...] = ()

    def updated(self, later: Likings) -> Likings:
        like = dict.fromkeys([*(one for one in self.like if one not in later.dislike), *later.like])
        dislike = dict.fromkeys([*(one for one in self.dislike if one not in later.like), *later.dislike])
        expect = tuple(dict.fromkeys([*self.expect, *later.expect]))[-MOST_EXPECTED:]
        return Likings(like=tuple(like), dislike=tuple(dislike), expect=expect)


class InterecAgent(FunctionAgent):
    """A profile of likings beside the history, made once for each user (from the split ``history``, as in the release's
    ``init_interecagent_memory.py``) and updated after each of the user's tasks.
    """

    carries_on = True

    def __init__(self, given: Given) -> None:
        super().__init__(given)
        self.likings: dict[str, Likings] = {}

    def take_up(self, user: str, episode: Episode) -> None:
        if episode.likings:
            self.likings[user] = msgspec.json.decode(episode.likings, type=Likings)

    async def start(self, play: Play) -> None:
        await super().start(play)
        name = play.view.user_id
        if name not in self.likings:
            dataset, texts = self._memory.dataset, shop_prompts()
            user, found = dataset.users.get(name), None
            past = [one for one in (user.behaviours if user else ()) if one.split == "history"][-MOST_BEHAVIOURS:]
            if past:
                entry = texts.interecagent_start_entry
                history = "".join(behaviour_text(entry, 0, one, dataset.products[one.asin]) for one in past)
                prompt = fill(texts.interecagent_start, History=history)
                found = read_likings(await self.say(play, prompt, temperature=0, max_tokens=START_TOKENS))
            self.likings[name] = found or Likings()
        known = self.likings[name]
        told = f"\nLike:\n{list(known.like)}\nDislike:\n{list(known.dislike)}\nExpect:\n{list(known.expect)}"
        play.memory = msgspec.structs.replace(play.memory, text=play.memory.text + told)

    async def finish(self, play: Play) -> None:
        """Distil what the conversation shows; where no profile comes it stays as it was."""
        user, conversation = play.view.user_id, spoken(with_calls("", play.view, play.turns)[1:])
        prompt = fill(shop_prompts().interecagent_update, conversation=conversation)
        try:
            later = read_likings(await self.say(play, prompt))
        except NoMove:
            later = None
        if later is not None:
            self.likings[user] = self.likings[user].updated(later)
        play.likings = msgspec.json.encode(self.likings[user]).decode()


def read_likings(text: str) -> Likings | None:
    values = read_arguments(text[text.find("{") : text.rfind("}") + 1] or "?")
    if values is None:
        return None
    lists = {name: value for name, value in values.items() if isinstance(value, list)}
    names = Likings.__struct_fields__
    return Likings(**{name: tuple(one for one in lists.get(name, ()) if isinstance(one, str)) for name in names})


class ReactAgent(ChatAgent):
    """A chat model that writes thought, action and arguments; Reflexion also thinks about every reply of the user."""

    async def move(self, play: Play) -> Turn:
        system = self.system(play) + react_rules() + play.memory.text
        return await self.ask(play, lambda: with_text(system, play.view, play.turns), read_react)

    async def reflect(self, play: Play) -> None:
        if self.name == "reflexion":
            acted, last = spoken(with_text("", play.view, play.turns)[1:-1]), play.turns[-1]
            told = {"task": play.view.instruction, "actions": acted, "feedback": last.user_reply or ""}
            thought = (await self.say(play, fill(shop_prompts().reflexion, **told)))[:MAX_KEPT_CHARS]
            play.turns[-1] = msgspec.structs.replace(last, reflection=thought)


def read_react(reply: Completion) -> Turn | str:
    """The move that a reply in text makes: what follows the last ``Action:`` and the line after ``Arguments:``."""
    raw = reply.text[:MAX_KEPT_CHARS]
    name = raw.split("Action:")[-1].split("Arguments:")[0].strip()
    written = raw.split("Arguments:")[-1].strip().split("\n")[0]
    thought = raw.partition("Thought:")[2].partition("Action:")[0].strip()
    if name in ("", "respond"):
        return Turn(call=function_call("respond", content=written), thought=thought, raw=raw)
    if not written or read_arguments(written) is None:
        return "the reply has no arguments that are JSON"
    return Turn(call=FunctionCall(name=name, arguments=written), thought=thought, raw=raw)
