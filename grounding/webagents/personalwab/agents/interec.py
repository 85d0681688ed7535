"""InteRecAgent: a profile of what the user likes, dislikes and expects, distilled by the model, beside the history.

The profile is made from the purchases before the task (release, ``init_interecagent_memory.py``: at most 200, which is
asked for once a task) and updated from the conversation after each reply of the user (``INTEREC_UPDATE_MEM_PROMPT``).
The release carries updates over into whatever task of the user comes next, so that its results depend on the order of
tasks; here an update lasts to the end of its episode. A reply that holds no profile leaves it as it was.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from grounding.chat import NO_PICTURES, Asked, ChatModel
from grounding.records import Failure, Record
from grounding.webagents.filling import fill
from grounding.webagents.personalwab.agents.base import Move, Reflection, Started
from grounding.webagents.personalwab.agents.conversation import text_message, told, with_calls
from grounding.webagents.personalwab.agents.functions import FunctionAgent, read_move
from grounding.webagents.personalwab.memory import Memory
from grounding.webagents.personalwab.prompts import ShopPrompts, behaviour_text
from grounding.webagents.personalwab.records import Product, TaskView, Track, Turn

MOST_BEHAVIOURS = 200
MOST_EXPECTED = 30


class Likings(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Products by ASIN that the user likes and dislikes, and what it expects, in words."""

    like: tuple[str, ...] = ()
    dislike: tuple[str, ...] = ()
    expect: tuple[str, ...] = ()

    def updated(self, later: Likings) -> Likings:
        """With what a later conversation showed: the later word counts, at most 30 expectations stay."""
        like = [one for one in self.like if one not in later.dislike]
        dislike = [one for one in self.dislike if one not in later.like]
        expect = list(dict.fromkeys([*self.expect, *later.expect]))
        return Likings(
            like=tuple(dict.fromkeys([*like, *later.like])),
            dislike=tuple(dict.fromkeys([*dislike, *later.dislike])),
            expect=tuple(expect[-MOST_EXPECTED:]),
        )

    @property
    def text(self) -> str:
        """As the prompt has it."""
        return f"\nLike:\n{list(self.like)}\nDislike:\n{list(self.dislike)}\nExpect:\n{list(self.expect)}"


class InterecAgent(FunctionAgent):
    """A chat model with function calls and a profile of likings."""

    def __init__(self, model: ChatModel, memory: Memory, prompts: ShopPrompts, products: dict[str, Product]) -> None:
        super().__init__(model, memory, prompts)
        self._products = products
        self.name = "interecagent"
        self.identity = f"interecagent:1|{model.identity}|{memory.identity}|{prompts.label}"

    async def start(self, view: TaskView, *, track: Track, max_steps: int) -> Started:
        """Distil the likings from what was bought before."""
        started = await super().start(view, track=track, max_steps=max_steps)
        past = self._memory.past(view)[-MOST_BEHAVIOURS:]
        if not past:
            return msgspec.structs.replace(started, opening=Likings().text, profile=_json(Likings()))
        template = self._prompts.interecagent_start_entry
        history = "".join(behaviour_text(template, 0, one, self._products[one.asin]) for one in past)
        asked = await self._say(fill(self._prompts.interecagent_start, History=history))
        calls = () if asked.call is None else (asked.call,)
        if asked.completion is None:
            return msgspec.structs.replace(started, calls=calls, failure=_missed(asked))
        likings = read_likings(asked.completion.text) or Likings()
        return msgspec.structs.replace(
            started,
            opening=started.opening + likings.text,
            profile=_json(likings),
            calls=calls,
        )

    async def move(self, started: Started, view: TaskView, turns: Sequence[Turn]) -> Move:
        """Ask for the next call with the likings as they are now."""
        before, now = _profile(started.profile), latest(started, turns)
        opening = started.opening.removesuffix(before.text) + now.text
        return read_move(await self._ask(self._system(started) + opening, view, turns))

    async def reflect(self, started: Started, view: TaskView, turns: Sequence[Turn]) -> Reflection:
        """Distil what the conversation shows."""
        spoken = told(with_calls("", view, turns)[1:])
        prompt = fill(self._prompts.interecagent_update, conversation="\n".join(spoken) + "\n")
        asked = await self._say(prompt)
        calls = () if asked.call is None else (asked.call,)
        if asked.completion is None:
            return Reflection(calls=calls, failure=_missed(asked))
        later = read_likings(asked.completion.text)
        if later is None:
            return Reflection(calls=calls)
        return Reflection(text=_json(latest(started, turns).updated(later)), calls=calls)

    async def _say(self, prompt: str) -> Asked:
        return await self._model.send(lambda: [text_message("system", prompt)], NO_PICTURES)


def latest(started: Started, turns: Sequence[Turn]) -> Likings:
    """The likings after the turns so far."""
    found = next((turn.reflection for turn in reversed(turns) if turn.reflection), started.profile)
    return _profile(found)


def read_likings(text: str) -> Likings | None:
    """The profile in a reply, with or without a fence around it; None where there is none."""
    inside = text[text.find("{") : text.rfind("}") + 1]
    try:
        values = msgspec.json.decode(inside)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    return Likings(**{name: _words(values.get(name)) for name in ("like", "dislike", "expect")})


def _words(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _json(likings: Likings) -> str:
    return msgspec.json.encode(likings).decode()


def _profile(text: str) -> Likings:
    return msgspec.json.decode(text, type=Likings) if text else Likings()


def _missed(asked: Asked) -> Failure:
    return asked.failure or Failure(kind="error", message="no reply")
