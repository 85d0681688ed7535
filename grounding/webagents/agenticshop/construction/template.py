"""Contexts, needs and checklists by rules, without any model: counts over the history and a few sentence patterns.

They make a data set that can be built and run on any machine, for trying things out. They are no replacement for a
model's: a context says what was counted and nothing of why, queries follow patterns, and a checklist asks for what a
product's page can be read for.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence

from grounding.records import Failure
from grounding.webagents.agenticshop.checklist import ItemFlag
from grounding.webagents.agenticshop.construction.facts import (
    Facts,
    brand_of,
    facts_of,
    features_of,
    middle,
    plain,
    price_usd,
)
from grounding.webagents.agenticshop.construction.records import Checklist, Need, Subject
from grounding.webagents.agenticshop.construction.writers import Part, Written
from grounding.webagents.agenticshop.records import DIMENSIONS, ChecklistItem, Dimension, UserContext
from grounding.webagents.rawusers import RawReview

TEMPLATE = "template"
VERSION = 1
BRANDS = 4
USUAL_BUDGET_USD = 25.0
"""The budget where neither the item nor the history has a price."""

_EXPLICIT = ("looking for {title}", "want to buy {title}", "where can I get {title}")
_ATTRIBUTES = ("want {brand} {kind} with {features}", "looking for {kind} by {brand}, {features}")
_BRAND = ("searching for {brand} {kind}", "need some {kind} from {brand}")
_NO_BRAND = ("searching for {kind}, whatever the brand",)
_NO_BRAND_ATTRIBUTES = ("want {kind} with {features}",)
_KIND = ("need to get {kind}", "thinking about buying {kind}", "looking for {kind}")
_SITUATION = ("Wants to buy {kind} again.", "Has run out of {kind}.", "Would like to try other {kind}.")
_END_OF_NAME = re.compile(r"\s*[,(|\[\-\u2013\u2014:;]\s")
_MOST_TITLE_WORDS = 9
_DETAILS = "The page lists details of the product."
_PICTURE = "The page shows a picture of the product."
_ASPECTS: tuple[tuple[str, str], ...] = (
    ("delivery", "The page tells the delivery time."),
    ("packaging", "The page describes the packaging."),
    ("returns", "The page tells how to return the product."),
    ("sellers", "The page names the seller."),
)


class TemplateWriter:
    """Rules, no model. ``seed`` chooses among sentence patterns."""

    can_mend = False
    max_concurrency = 1

    def __init__(self, seed: int, open_need: Need) -> None:
        self._seed = seed
        self._open_need = open_need

    def identity(self, part: Part) -> str:
        """The version of the rules, and the seed of the patterns."""
        return f"{TEMPLATE}:{VERSION}|{part}|{self._seed}"

    async def context(self, subject: Subject) -> Written[UserContext]:
        """Say what was counted."""
        return Written(made=template_context(facts_of(subject.history)))

    async def need(self, subject: Subject, context: UserContext) -> Written[Need]:  # noqa: ARG002
        """Fill the patterns with the item."""
        if subject.seed is None:
            return Written(made=self._open_need)
        return Written(made=template_need(subject, subject.seed, self._seed))

    async def checklist(self, subject: Subject, context: UserContext, need: Need) -> Written[Checklist]:  # noqa: ARG002
        """Turn the counts into conditions."""
        return Written(made=template_checklist(subject, need))

    async def again(
        self,
        context: UserContext,  # noqa: ARG002
        need: Need,  # noqa: ARG002
        checklist: Checklist,  # noqa: ARG002
        flags: Sequence[ItemFlag],  # noqa: ARG002
    ) -> Written[Checklist]:
        """Rules say the same again."""
        return Written(failure=Failure(kind="unparsed", message="rules have nothing else to say"))

    async def check(self) -> None:
        """Nothing has to be there."""

    async def aclose(self) -> None:
        """Nothing is held."""


def template_context(facts: Facts) -> UserContext:
    """Six paragraphs of counts."""
    return UserContext(
        brand_preferences=_brands(facts),
        price_sensitivity=_prices(facts),
        review_sensitivity=_ratings(facts),
        functional_requirements=_values("What the products bought share", facts.functions),
        aesthetic_preferences=_values("What the products bought look like", facts.looks),
        purchase_preferences=_topics(facts),
    )


def _brands(facts: Facts) -> str:
    if not facts.brands:
        return f"No brand is known of {_purchases(facts)}."
    shown = [
        f"{brand} ({count}{f', rated {facts.stars[brand]:.1f} of 5' if brand in facts.stars else ''})"
        for brand, count in facts.brands[:BRANDS]
    ]
    more = len(facts.brands) - len(shown)
    others = f", and {more} other brand{'s' if more > 1 else ''}" if more else ""
    return f"Of {_purchases(facts)}, the brands are: {', '.join(shown)}{others}."


def _prices(facts: Facts) -> str:
    if not facts.prices_usd:
        return f"No price is known of {_purchases(facts)}."
    low, high, usual = facts.prices_usd[0], facts.prices_usd[-1], middle(facts.prices_usd)
    known = f"{len(facts.prices_usd)} of {_purchases(facts)} have a known price"
    return f"{known}: between ${low:.2f} and ${high:.2f}, ${usual:.2f} in the middle."


def _ratings(facts: Facts) -> str:
    if not facts.averages:
        return f"No rating is known of {_purchases(facts)}."
    low, high, usual = facts.averages[0], facts.averages[-1], middle(facts.averages)
    said = f"The products bought have average ratings between {low:.1f} and {high:.1f}, {usual:.1f} in the middle"
    return f"{said}, from {facts.ratings[0]:,} to {facts.ratings[-1]:,} ratings each." if facts.ratings else f"{said}."


def _values(what: str, values: Sequence[tuple[str, str, int]]) -> str:
    shown = [f"{name.lower()} {value} ({count})" for name, value, count in values[:6]]
    return f"{what}: {', '.join(shown)}." if shown else f"{what} is not known."


def _topics(facts: Facts) -> str:
    shown = [f"{name} ({count})" for name, count in facts.topics]
    if not shown:
        return f"None of the reviews of {_purchases(facts)} speaks of delivery, packaging, returns or sellers."
    return f"What reviews speak of beside the product, and how many of {facts.purchases}: {', '.join(shown)}."


def _purchases(facts: Facts) -> str:
    return f"{facts.purchases} purchase{'' if facts.purchases == 1 else 's'}"


def template_need(subject: Subject, seed: RawReview, chance: int) -> Need:
    """Situation, budget and four queries out of patterns; the last three never name the product."""
    kind = subject.product_type.lower()
    product = seed.product
    brand = brand_of(product)
    told = {"kind": kind, "brand": brand, "title": _short_title(product.title, brand)}
    features = [one for one in features_of(product) if one not in told["title"].lower()][:2]
    told["features"] = " and ".join(features) or "good ratings"

    def pick(patterns: Sequence[str], name: str) -> str:
        drawn = hashlib.sha256(f"{chance}/{subject.id}/{name}".encode()).digest()
        return patterns[drawn[0] % len(patterns)].format(**told)

    return Need(
        situation=pick(_SITUATION, "situation"),
        budget=f"under ${_budget_usd(subject, seed):.0f}",
        explicit_title=pick(_EXPLICIT, "title"),
        attribute_specific=pick(_ATTRIBUTES if brand else _NO_BRAND_ATTRIBUTES, "attributes"),
        brand_categorical=pick(_BRAND if brand else _NO_BRAND, "brand"),
        categorical=pick(_KIND, "kind"),
    )


def _budget_usd(subject: Subject, seed: RawReview) -> float:
    """A quarter more than the item costs, or than is usual in the history, in steps of five dollars."""
    price = price_usd(seed.product) or middle(facts_of(subject.history).prices_usd) or USUAL_BUDGET_USD / 1.25
    return 5.0 * math.ceil(price * 1.25 / 5)


def _short_title(title: str, brand: str) -> str:
    """A title up to its first comma, dash or bracket, in few words, with the brand before it."""
    short = " ".join(_END_OF_NAME.split(plain(title) + " ", maxsplit=1)[0].split()[:_MOST_TITLE_WORDS])
    return short if not brand or brand.lower() in short.lower() else f"{brand} {short}"


def template_checklist(subject: Subject, need: Need) -> Checklist:
    """Conditions that a product's page decides: one to three in each dimension."""
    facts = facts_of(subject.history)
    kind = subject.product_type.lower()
    texts: dict[Dimension, list[str]] = {
        "brand_preferences": _brand_items(facts),
        "price_sensitivity": _price_items(facts, need),
        "review_sensitivity": _review_items(facts),
        # What products of several kinds share by chance is no wish of somebody who only looks around.
        "functional_requirements": [f"The product is of the type {kind}.", *_details(facts)] if kind else [_DETAILS],
        "aesthetic_preferences": _looks(facts) if kind else [_PICTURE],
        "purchase_preferences": _purchase_items(facts),
    }
    return tuple(
        ChecklistItem(dimension=dimension, number=number, text=text)
        for dimension in DIMENSIONS
        for number, text in enumerate(texts[dimension])
    )


def _brand_items(facts: Facts) -> list[str]:
    liked = [brand for brand, _ in facts.brands if facts.stars.get(brand, 5.0) >= 4.0][:BRANDS]
    if len(liked) > 1:
        return [f"The brand is one of: {', '.join(liked)}."]
    return [f"The brand is {liked[0]}."] if liked else ["The page names the brand of the product."]


def _price_items(facts: Facts, need: Need) -> list[str]:
    bound = re.search(r"\d+(?:\.\d+)?", need.budget)
    usd = float(bound[0]) if bound else (facts.prices_usd[-1] if facts.prices_usd else None)
    return [f"The price is at most ${usd:.2f}."] if usd is not None else ["The page states a price."]


def _review_items(facts: Facts) -> list[str]:
    usual = middle(facts.averages)
    stars = 4.0 if usual is None else min(4.5, math.floor(usual * 2) / 2)
    items = [f"The average customer rating is at least {stars:.1f} stars."]
    if facts.ratings:
        few = facts.ratings[len(facts.ratings) // 4]
        items.append(f"The product has at least {max(1, min(few, 100))} customer ratings.")
    return items


def _details(facts: Facts) -> list[str]:
    often = [(name, value) for name, value, count in facts.functions if count > 1][:2]
    return [f"The {name.lower()} is {value}." for name, value in often if not _is_sentence(name)] or [_DETAILS]


def _looks(facts: Facts) -> list[str]:
    often = [(name, value) for name, value, count in facts.looks if count > 1][:1]
    return [f"The {name.lower()} is {value}." for name, value in often] or [_PICTURE]


def _purchase_items(facts: Facts) -> list[str]:
    named = {name for name, _ in facts.topics}
    return [text for name, text in _ASPECTS if name in named][:2] or ["The page tells the shipping cost."]


def _is_sentence(name: str) -> bool:
    return "?" in name or len(name.split()) > 3
