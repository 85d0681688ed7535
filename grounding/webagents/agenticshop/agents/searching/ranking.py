"""How well a product's page fits a need, by what the user is known to want: never by the checklist. Pure.

Points for the words asked for, the kind of product, makers that the user likes, what else is wished for; points off for
makers that are shunned, a price over the budget, and what can't be had. Equal products stay in the order of the search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from grounding.records import Record
from grounding.webagents.agenticshop.agents.searching.queries import Names, liked_names
from grounding.webagents.agenticshop.agents.searching.words import share, telling_words, words_of
from grounding.webagents.agenticshop.records import ProductFacts, ShopperView
from grounding.webagents.agenticshop.spending import spending_limits

VERSION = 1

ASKED, KIND, LIKED, WISHES, BUDGET, STOCK, OTHER_KIND = 4.0, 4.0, 2.5, 3.0, 2.0, 5.0, 6.0
ALIKE = 0.6
"""Titles that share so many of their words are of the same kind."""

USUAL_RATING, PER_STAR, MOST_RATED = 4.0, 1.0, 0.5


class Need(Record, frozen=True, kw_only=True):
    """A need as words and limits. All words are singular and in small letters."""

    asked: tuple[str, ...]
    kind: tuple[str, ...]
    wishes: tuple[str, ...]
    liked: tuple[str, ...]
    shunned: tuple[str, ...]
    most: float | None = None


class Candidate(Record, frozen=True, kw_only=True):
    """A product that was looked at. ``place`` is that among all results, in the order in which they were found."""

    url: str
    place: int
    facts: ProductFacts


class Judged(Record, frozen=True, kw_only=True):
    """A product with its points, and the reasons in words."""

    candidate: Candidate
    points: float
    reasons: tuple[str, ...]


def need_of(view: ShopperView) -> Need:
    """What is wanted, from all that is told of a task."""
    context = view.context
    names: Names = liked_names(context.brand_preferences)
    explored = view.product_type is None
    wishes = " ".join((context.functional_requirements, context.aesthetic_preferences, view.situation))
    return Need(
        asked=() if explored else tuple(telling_words(view.query)),
        kind=tuple(telling_words(view.product_type or "")),
        wishes=tuple(telling_words(wishes)),
        liked=names.liked,
        shunned=names.shunned,
        most=spending_limits(view.budget or context.price_sensitivity).high,
    )


def quick_points(need: Need, words: str, *, sold_out: bool) -> float:
    """The points of a product by the few words of a list: which pages are worth opening first."""
    have = frozenset(words_of(words))
    points = ASKED * share(need.asked, have) + KIND * share(need.kind, have) + WISHES * share(need.wishes, have)
    points += LIKED if _named(need.liked, words) else 0.0
    points -= LIKED if _named(need.shunned, words) else 0.0
    points -= OTHER_KIND / 2 if need.kind and not share((*need.kind, *need.asked[-1:]), have) else 0.0
    return points - (STOCK if sold_out else 0.0)


def rank(need: Need, candidates: Sequence[Candidate]) -> tuple[Judged, ...]:
    """The products from the best to the worst; the same for the same pages."""
    texts = {one.url: frozenset(words_of(_text(one.facts))) for one in candidates}
    spread = Counter(word for text in texts.values() for word in text)
    judged = [_judge(need, one, texts[one.url], spread, len(candidates)) for one in candidates]
    return tuple(sorted(judged, key=lambda one: (-one.points, one.candidate.place, one.candidate.url)))


def different(judged: Sequence[Judged]) -> tuple[Judged, ...]:
    """Products in their order, but those last that are called nearly as a better one is.

    Who asks for nothing in particular wants no three of a kind.
    """
    first: list[Judged] = []
    later: list[Judged] = []
    for one in judged:
        words = set(telling_words(one.candidate.facts.title))
        same = any(len(words & _called(other)) >= ALIKE * max(1, len(words | _called(other))) for other in first)
        (later if same else first).append(one)
    return (*first, *later)


def _called(one: Judged) -> set[str]:
    return set(telling_words(one.candidate.facts.title))


def _judge(need: Need, one: Candidate, text: frozenset[str], spread: Counter[str], count: int) -> Judged:
    facts, reasons = one.facts, list[str]()
    title = frozenset(words_of(f"{facts.title} {facts.brand}"))
    about = frozenset(words_of(" ".join((facts.title, *facts.categories))))
    points = ASKED * (share(need.asked, title) + share(need.asked, text)) / 2
    points += KIND * max(share(need.kind, about), 0.6 * share(need.kind, text))
    if need.kind and not share((*need.kind[-1:], *need.asked[-1:]), title | text):
        points -= OTHER_KIND
        reasons.append("may be something else than was asked for")
    if need.asked and share(need.asked, title | text) == 1:
        reasons.append("has all that was asked for")
    # A word that only some of the pages have tells them apart; one that all have does not.
    weights = {word: 1 - (spread[word] - 1) / max(1, count) for word in need.wishes if spread[word]}
    if weights:
        points += WISHES * sum(weight for word, weight in weights.items() if word in text) / sum(weights.values())
    if _named(need.liked, f"{facts.brand} {facts.title}"):
        points += LIKED
        reasons.append(f"by {facts.brand or 'a maker that the user likes'}")
    if _named(need.shunned, f"{facts.brand} {facts.title}"):
        points -= 2 * LIKED
        reasons.append("by a maker that the user avoids")
    points += _money(need, facts, reasons) + _stock(facts, reasons) + _rated(facts, reasons)
    return Judged(candidate=one, points=round(points, 6), reasons=tuple(reasons))


def _money(need: Need, facts: ProductFacts, reasons: list[str]) -> float:
    cost = facts.total or facts.price
    if cost is None:
        reasons.append("no price was found")
        return -1.0
    shown = f"{cost.amount:.2f} {cost.currency}".strip() + (" with delivery" if facts.total else "")
    if need.most is None:
        reasons.append(f"costs {shown}")
        return 0.0
    over = cost.amount - need.most
    reasons.append(f"costs {shown}, {'within' if over <= 0 else 'over'} the budget")
    return BUDGET if over <= 0 else -BUDGET * min(2.0, 0.5 + over / need.most)


def _stock(facts: ProductFacts, reasons: list[str]) -> float:
    if facts.availability == "sold_out":
        reasons.append("is sold out")
        return -STOCK
    return 0.5 if facts.availability == "in_stock" else 0.0


def _rated(facts: ProductFacts, reasons: list[str]) -> float:
    if facts.rating is None:
        return 0.0
    count = facts.rating_count
    reasons.append(f"rated {facts.rating:.1f} of 5" + (f" by {count}" if count is not None else ""))
    return PER_STAR * (facts.rating - USUAL_RATING) + MOST_RATED * min(1.0, (count or 0) / 200)


def _text(facts: ProductFacts) -> str:
    lines = (f"{line.name} {line.value}" for line in facts.attributes)
    return " ".join((facts.title, facts.brand, *facts.categories, facts.description, *facts.features, *lines))


def _named(names: Sequence[str], text: str) -> bool:
    """Whether any of the names stands in a text, word for word."""
    have = f" {' '.join(words_of(text))} "
    return any(f" {' '.join(words_of(name))} " in have for name in names if words_of(name))
