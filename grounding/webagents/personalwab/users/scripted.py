"""A user without a model: says yes to its product, no to others, and what it cares about, from its profile."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from grounding.webagents.personalwab.functions.analysis import terms
from grounding.webagents.personalwab.records import Product, Profile, ShopDataset, ShopTask, Turn
from grounding.webagents.personalwab.users.base import UserReply

YES = "Yes, that is the one."
NO = "No, that is not it."


class ScriptedUser:
    """Answers by rules. A product counts as named when its id or all the terms of its title are said."""

    identity = "scripted:1"

    def __init__(self, dataset: ShopDataset) -> None:
        self._dataset = dataset

    async def reply(self, task: ShopTask, turns: Sequence[Turn], said: str) -> UserReply:
        """Yes, or no and a hint; the hint changes with every question and repeats when there is no other."""
        product = self._dataset.products[task.target_asin]
        if task.type == "review":
            rating = "" if task.target_review is None else _feeling(task.target_review.rating)
            return UserReply(text=f"Please write it the way I would. {rating}".strip())
        if _named(product, said):
            return UserReply(text=YES)
        user = self._dataset.users.get(task.user_id)
        hints = _hints(product, user.profile if user and user.profile else Profile())
        asked = sum(turn.call.name == "respond" for turn in turns)
        first = int.from_bytes(hashlib.sha256(task.id.encode()).digest()[:2], "big")
        return UserReply(text=f"{NO} {hints[(first + asked) % len(hints)]}")

    async def check(self) -> None:
        """Nothing can be missing."""

    async def aclose(self) -> None:
        """Nothing to close."""


def _named(product: Product, said: str) -> bool:
    title = set(terms(product.title))
    return product.asin in said or bool(title and title <= set(terms(said)))


def _feeling(rating: float | None) -> str:
    if rating is None:
        return ""
    return "I was happy with it." if rating >= 4 else "I was not happy with it." if rating <= 2 else "It was all right."


def _hints(product: Product, profile: Profile) -> list[str]:
    """What the user may say without naming the product: its own likes, the kind of thing, never its title."""
    hints = [
        f"What matters to me: {profile.focus_aspect}." if profile.focus_aspect else "",
        f"I mean something from {product.store}." if product.store else "",
        f"It belongs to {product.categories[-1]}." if product.categories else "",
        f"It should cost about {product.price}." if product.price not in ("", "None") else "",
    ]
    return [hint for hint in hints if hint] or ["Something else, please."]
