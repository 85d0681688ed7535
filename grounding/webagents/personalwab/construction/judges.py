"""Who ranks candidates for a profile: a chat model, or the likeness of texts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
import numpy as np

from grounding.cards import PlannerCard
from grounding.chat import ChatModel
from grounding.journal import Journal
from grounding.places import models_dir
from grounding.records import Failure, Record
from grounding.webagents.filling import fill
from grounding.webagents.personalwab.construction.consistency import AT, Question, Ranking
from grounding.webagents.personalwab.construction.wording import profile_lines
from grounding.webagents.personalwab.records import Behaviour, Product, Profile, ShopDataset, ShopUser
from grounding.webagents.words import ask_in_words

SHOWN_CHARS = 300
"""Characters of one review that a candidate is shown with."""

Embed = Callable[[Sequence[str]], "np.ndarray[Any, np.dtype[np.float32]]"]


class ConsistencyPrompts(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All texts of the two questions."""

    name: str
    version: int
    source: str
    users: str
    items: str
    user_heading: str
    user_entry: str
    item_entry: str

    @property
    def label(self) -> str:
        """Name, version and eight hex digits over every text."""
        digest = hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:8]
        return f"{self.name}.{self.version}@{digest}"


@cache
def consistency_prompts() -> ConsistencyPrompts:
    """The bundled wording."""
    path = models_dir() / "prompts" / "personalwab" / "consistency.yaml"
    return msgspec.yaml.decode(path.read_bytes(), type=ConsistencyPrompts)


class Shown:
    """Words for candidates: a user by the newest behaviours, a product by a line."""

    def __init__(self, dataset: ShopDataset, prompts: ConsistencyPrompts, behaviours: int) -> None:
        self._dataset = dataset
        self.prompts = prompts
        self._behaviours = behaviours

    def profile(self, user_id: str) -> str:
        """A user's profile, line by line.

        Raises:
            ValueError: there is none.
        """
        profile: Profile | None = self._dataset.users[user_id].profile
        if profile is None:
            raise ValueError(f"{user_id} has no profile")
        return profile_lines("- <NAME>: <VALUE>", profile)

    def behaviours(self, user_id: str) -> list[str]:
        """A line for each of a user's newest behaviours, oldest first."""
        user: ShopUser = self._dataset.users[user_id]
        return [self._behaviour(one) for one in user.behaviours[-self._behaviours :]]

    def product(self, asin: str, number: int) -> str:
        """A product's line, numbered from 1."""
        return fill(self.prompts.item_entry, number=str(number), **_fields(self._dataset.products[asin]))

    def question(self, question: Question) -> str:
        """A question as a chat model is asked."""
        numbered = list(enumerate(question.candidates, start=1))
        if question.kind == "items":
            candidates = "\n".join(self.product(asin, number) for number, asin in numbered)
        else:
            candidates = "\n\n".join(
                "\n".join([fill(self.prompts.user_heading, number=str(number)), *self.behaviours(user)])
                for number, user in numbered
            )
        return fill(
            self.prompts.users if question.kind == "users" else self.prompts.items,
            profile=self.profile(question.user_id),
            count=str(len(numbered)),
            candidates=candidates,
        )

    def _behaviour(self, one: Behaviour) -> str:
        text = " ".join(f"{one.review.title}. {one.review.text}".split())[:SHOWN_CHARS]
        product = self._dataset.products[one.asin]
        return fill(self.prompts.user_entry, rating=str(one.review.rating), text=text, **_fields(product))


def _fields(product: Product) -> dict[str, str]:
    return {
        "title": product.title,
        "category": product.categories[-1] if product.categories else product.main_category,
        "store": product.store,
        "price": product.price,
    }


class ChatJudge:
    """The stage that asks a chat model."""

    name = "judge"

    def __init__(self, model: ChatModel, card: PlannerCard, shown: Shown, journal: Journal[Ranking]) -> None:
        self._model = model
        self._card = card
        self._shown = shown
        self.journal = journal
        self.max_concurrency = model.max_concurrency

    def item_id(self, item: Question) -> str:
        """The question's id."""
        return item.id

    def key(self, item: Question, earlier: None) -> str:  # noqa: ARG002
        """Model and question, word for word."""
        parts = (self._model.identity, self._shown.question(item))
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]

    async def run(self, item: Question, earlier: None, key: str) -> Ranking:  # noqa: ARG002
        """Ask one question."""
        reply = await ask_in_words(self._model, self._card, self._shown.question(item))
        found = reply.failure or read_ranking(item, reply.text)
        return Ranking(
            step_id=item.id,
            key=key,
            order=() if isinstance(found, Failure) else found,
            raw=reply.raw,
            failure=found if isinstance(found, Failure) else None,
            call=reply.call,
        )

    async def check(self) -> None:
        """Fail early when the endpoint is not there."""
        await self._model.check()


def read_ranking(question: Question, text: str) -> tuple[int, ...] | Failure:
    """The places in a reply: one number for ``users``, a list of at least five different ones for ``items``."""
    count = len(question.candidates)
    if question.kind == "users":
        named = {int(number) for number in re.findall(r"(?<![\d.])\d{1,3}(?![\d.]*\d)", text)}
        if len(named) != 1 or not 1 <= (number := named.pop()) <= count:
            return _unparsed(f"expected the number of one of {count} shoppers and nothing else")
        return (number - 1,)
    lists = re.findall(r"\[[\d\s,]+\]", text)
    numbers = [int(number) for number in re.findall(r"\d{1,6}", lists[-1])] if lists else []
    if len(numbers) < AT or len(set(numbers)) < len(numbers) or not all(1 <= number <= count for number in numbers):
        return _unparsed(f"expected a JSON list of the {count} products' numbers, each once")
    return tuple(number - 1 for number in numbers)


def _unparsed(why: str) -> Failure:
    return Failure(kind="unparsed", message=why)


def rank_by_likeness(questions: Sequence[Question], shown: Shown, embed: Embed) -> Mapping[str, Ranking]:
    """Rank candidates by the cosine of their embedding and the profile's; a user's is the mean over the behaviours.

    Equal candidates stay in the order in which they are shown.

    Args:
        questions: What is asked.
        shown: Words for profiles and candidates.
        embed: Turns texts into rows of length 1.
    """
    users = list(dict.fromkeys(name for one in questions if one.kind == "users" for name in one.candidates))
    asins = list(dict.fromkeys(asin for one in questions if one.kind == "items" for asin in one.candidates))
    about = list(dict.fromkeys(one.user_id for one in questions))
    lines = {user: shown.behaviours(user) for user in users}
    texts = [*(line for user in users for line in lines[user]), *(_without_number(shown, asin) for asin in asins)]
    rows = embed([*texts, *(shown.profile(user) for user in about)])
    places = iter(range(len(rows)))
    of_user = {user: _unit(rows[[next(places) for _ in lines[user]]].mean(axis=0)) for user in users}
    of_item = {asin: rows[next(places)] for asin in asins}
    of_profile = {user: rows[next(places)] for user in about}
    found = {}
    for one in questions:
        vectors = of_user if one.kind == "users" else of_item
        likeness = np.stack([vectors[name] for name in one.candidates]) @ of_profile[one.user_id]
        order = tuple(int(place) for place in np.argsort(-likeness, kind="stable"))
        found[one.id] = Ranking(step_id=one.id, key="", order=order)
    return found


def _without_number(shown: Shown, asin: str) -> str:
    return shown.product(asin, 0).removeprefix("0. ")


def _unit(row: np.ndarray[Any, np.dtype[np.float32]]) -> np.ndarray[Any, np.dtype[np.float32]]:
    length = float(np.linalg.norm(row))
    return row / length if length else row
