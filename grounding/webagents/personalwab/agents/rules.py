"""The agent without a model: what the instruction's words, the remembered purchases and the user's own reviews say.

It is the offline default and the floor of what a model should do better. In the multi-turn track it shows what it
found, and searches again with the user's own words in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from grounding.webagents.personalwab.agents.base import Move, Offline, Started
from grounding.webagents.personalwab.agents.conversation import respond
from grounding.webagents.personalwab.agents.words import (
    meant_category,
    meant_type,
    review_words,
    search_words,
    usual_opening,
)
from grounding.webagents.personalwab.memory import Memory
from grounding.webagents.personalwab.records import FunctionCall, ShopDataset, TaskView, Track, Turn

LONGEST_SEQUENCE = 30
SHOWN = 3
MOST_TRIES = 3
SATISFIED = ("yes", "perfect", "great", "that is the one")


class RuleAgent(Offline):
    """Rules on words; no model, no chance."""

    name = "rules"

    def __init__(self, memory: Memory, dataset: ShopDataset) -> None:
        self._memory = memory
        self._dataset = dataset
        self.identity = f"rules:1|{memory.identity}"

    async def start(self, view: TaskView, *, track: Track, max_steps: int) -> Started:
        """Tell the type of task from the words, and remember what the memory gives for it."""
        meant = "review" if view.review_product is not None else meant_type(view.instruction)
        recalled = self._memory.recall(view, predicted=meant)
        return Started(track=track, max_steps=max_steps, memory=recalled, opening=recalled.text, predicted=meant)

    async def move(self, started: Started, view: TaskView, turns: Sequence[Turn]) -> Move:
        """Call the function of the type; in the multi-turn track show what came, and try again while it is wrong."""
        if not turns or started.track == "single":
            return Move(call=self._call(started, view, ()))
        last, tries = turns[-1], sum(turn.call.name not in ("respond", "stop") for turn in turns)
        if last.call.name == "respond":
            reply = (last.user_reply or "").lower()
            if reply.startswith(SATISFIED) or tries >= MOST_TRIES:
                return Move(call=_stop())
            replies = [turn.user_reply or "" for turn in turns if turn.call.name == "respond"]
            return Move(call=self._call(started, view, replies))
        if started.predicted == "review" or len(turns) + 2 > started.max_steps:
            return Move(call=_stop())
        return Move(call=respond(self._shown(last)))

    def _call(self, started: Started, view: TaskView, replies: Sequence[str]) -> FunctionCall:
        past = started.memory.chosen
        match started.predicted:
            case "review":
                opening, thought = usual_opening(past), review_words(view.instruction)
                return _function("add_product_review", review=f"{opening} {thought}".strip())
            case "recommend":
                wanted = " ".join([view.instruction, *replies])
                category = meant_category(wanted, past, self._dataset.products)
                fits = [one for one in past if self._dataset.products[one.asin].main_category == category]
                in_time = sorted(fits, key=lambda one: one.review.timestamp_ms)[-LONGEST_SEQUENCE:]
                return _function("get_recommendations_by_history", product_sequence=[one.asin for one in in_time])
        words = [search_words(view.instruction), *(search_words(reply) for reply in replies)]
        category = meant_category(view.instruction, past, self._dataset.products)
        return _function("search_product_by_query", query=" ".join([*words, category]).strip())

    def _shown(self, turn: Turn) -> str:
        asins = turn.observation.asins[:SHOWN] if turn.observation else ()
        if not asins:
            return "I found nothing. Could you tell me more about what you want?"
        names = "; ".join(self._dataset.products[asin].title for asin in asins)
        return f"Is it one of these? {names}"


def _function(name: str, **arguments: object) -> FunctionCall:
    return FunctionCall(name=name, arguments=msgspec.json.encode(arguments).decode())


def _stop() -> FunctionCall:
    return FunctionCall(name="stop", arguments="{}")
