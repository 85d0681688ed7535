"""Who compares: the overlap of words, which needs no model, or a chat model."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence

import msgspec

from grounding.cards import PlannerCard
from grounding.chat import ChatModel
from grounding.journal import Journal
from grounding.records import Failure
from grounding.webagents.agenticshop.reliability.alignment.records import Choice, Comparison
from grounding.webagents.agenticshop.reliability.alignment.texts import product_text, question_text
from grounding.webagents.words import ask_in_words

OVERLAP = "word-overlap.1"
_WORD = re.compile(r"[^\W_]{3,}")
_NUMBER = re.compile(r"(?<![\w.])([12])(?![\w]|\.\d)")
# What says nothing of anybody's taste: common words, and what stands in every product's text.
_COMMON_WORDS = """
the and for with that this from are was were has have had not but you your their they them its his her our who
which what when where while will would can could should may might must than then there here also any all each
more most some such only own same other into over under about between per very too out off one two three user
users product products item items price store title categories features description details unknown none
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def content_words(text: str) -> frozenset[str]:
    """The words of a text that say something, in small letters.

    >>> sorted(content_words("The kettle, a kettle for TEA!"))
    ['kettle', 'tea']
    """
    return frozenset(_WORD.findall(text.lower())) - _COMMON


def overlap_score(shopper: str, product: str) -> float:
    """Words that both have, over the root of the product of how many each has (Ochiai's coefficient): 0 to 1.

    It knows no meaning: "avoids plastic" counts for plastic, and a review that complains for what it complains of.
    """
    one, two = content_words(shopper), content_words(product)
    return len(one & two) / math.sqrt(len(one) * len(two)) if one and two else 0.0


def choose_by_overlap(comparisons: Sequence[Comparison]) -> dict[str, Choice]:
    """The product that shares more words with the description; the order of presentation changes nothing."""
    found = {}
    for one in comparisons:
        text = one.described.text
        lower, higher = (overlap_score(text, product_text(each.product)) for each in (one.lower, one.higher))
        same = math.isclose(lower, higher, rel_tol=1e-12)
        found[one.id] = Choice(
            step_id=one.id,
            key=OVERLAP,
            chosen=None if same else "higher" if higher > lower else "lower",
            tie=same,
        )
    return found


class ChatComparer:
    """The stage that asks a chat model."""

    name = "align"

    def __init__(self, model: ChatModel, card: PlannerCard, journal: Journal[Choice]) -> None:
        self._model = model
        self._card = card
        self.journal = journal
        self.max_concurrency = model.max_concurrency

    def item_id(self, item: Comparison) -> str:
        """The comparison's id."""
        return item.id

    def key(self, item: Comparison, earlier: None) -> str:  # noqa: ARG002
        """Model and question, word for word."""
        parts = (self._model.identity, question_text(item))
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]

    async def run(self, item: Comparison, earlier: None, key: str) -> Choice:  # noqa: ARG002
        """Ask one question."""
        reply = await ask_in_words(self._model, self._card, question_text(item))
        found = reply.failure or read_choice(reply.text)
        if isinstance(found, Failure):
            return Choice(step_id=item.id, key=key, raw=reply.raw, failure=found, call=reply.call)
        other = "higher" if item.order == "lower" else "lower"
        chosen = item.order if found == 1 else other
        return Choice(
            step_id=item.id,
            key=key,
            chosen="higher" if chosen == "higher" else "lower",
            raw=reply.raw,
            call=reply.call,
        )

    async def check(self) -> None:
        """Fail early when the endpoint is not there."""
        await self._model.check()


def read_choice(text: str) -> int | Failure:
    """1 or 2, the only number of its kind in a reply.

    >>> read_choice("Product 2."), read_choice("2")
    (2, 2)
    """
    named = set(_NUMBER.findall(text))
    if len(named) != 1:
        return Failure(kind="unparsed", message="expected 1 or 2 and nothing else")
    return int(named.pop())
