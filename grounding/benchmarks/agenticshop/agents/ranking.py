"""What to search for and what fits, by the words of a need: never by the checklist. Pure.

The paper finds that agents overload their searches (section 5.1, appendix D), so a query holds what the user asked for
without the talk around it, then the product type, then its last word. Where nobody asked for anything, the words come
from what is known of the user. Pages get points for the words asked for, the kind of product, makers that the user
likes, and what else is wished for; points off for makers that are shunned, a price over the budget, and what cannot be
had. Equal products stay in the order of the search.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from grounding.benchmarks.agenticshop.records import ProductFacts, ShopperView
from grounding.benchmarks.agenticshop.spending import spending_limits

VERSION = 2
MAX_QUERY_WORDS, MAX_EXPLORED = 8, 6
ASKED, KIND, LIKED, WISHES, BUDGET, STOCK, OTHER_KIND = 4.0, 4.0, 2.5, 3.0, 2.0, 5.0, 6.0
USUAL_RATING, PER_STAR, MOST_RATED = 4.0, 1.0, 0.5
ALIKE = 0.6
"""Titles that share so many of their words are of the same kind."""

_WORD = re.compile(r"[^\W_]+(?:['\u2019&-][^\W_]+)*")


def singular(word: str) -> str:
    """A word in small letters without the ending of an English plural, roughly: the same for both is what matters."""
    word = word.lower().replace("\u2019", "'").removesuffix("'s")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


_FILLERS = Path(__file__).with_name("fillers.txt").read_text(encoding="utf-8").split()
FILLERS = frozenset(_FILLERS) | {singular(word) for word in _FILLERS}
"""Words that say nothing about a product, or stand in every profile."""


def words_of(text: str) -> list[str]:
    """The words of a text in small letters, each without a plural's ending."""
    return [singular(word) for word in re.split(r"[-&]", " ".join(_WORD.findall(text)).replace(" ", "-")) if word]


def telling_words(text: str) -> list[str]:
    """The words of a text that say something, each once."""
    return list(dict.fromkeys(word for word in words_of(text) if word not in FILLERS and len(word) > 1))


def as_written(text: str) -> list[str]:
    """The words of a text that say something, as they are written."""
    said = dict.fromkeys(_WORD.findall(text))
    return [word for word in said if word.lower() not in FILLERS and singular(word) not in FILLERS]


def share(wanted: Iterable[str], have: Collection[str]) -> float:
    """Which share of some words is there; 0 where none is wanted."""
    found = [word in have for word in set(wanted)]
    return sum(found) / len(found) if found else 0.0


# --- what is searched for ---------------------------------------------------------------------------------------------

_NAME = re.compile(r"(?:(?<=[a-z,] )|(?<=\bA ))[A-Z][\w'\u2019]+(?: (?:& )?[A-Z][\w'\u2019]+)*")
_AWAY = re.compile(
    r"\b(not|no|never|nor|avoid\w*|dislike\w*|against|away from|off|left|broke|without|once|refus\w*|stop\w*|hate\w*"
    r"|disappoint\w*|returned|ruled out)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"(?<=[.!?;])\s+|,? but |,? while |,? because |, which "
    r"|,? and (?=(?:no|never|not|stays?|keeps?|avoids?|dislikes?) )"
)


def names_in(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The makers in a text about brands: those spoken of well or without a judgement, and those with a word of dislike.

    Names are capitalised words within a sentence, judged by the clause they stand in.
    """
    liked: dict[str, None] = {}
    shunned: dict[str, None] = {}
    for clause in _CLAUSE.split(text):
        found = shunned if _AWAY.search(clause) else liked
        # What begins a clause that does not begin a sentence is within one.
        inside = clause if text.startswith(clause) or f". {clause}" in text else f"and {clause}"
        found |= dict.fromkeys(_NAME.findall(inside))
    return tuple(name for name in liked if name not in shunned), tuple(shunned)


def asks(view: ShopperView) -> bool:
    """Whether the user says what to look for."""
    return view.product_type is not None or view.scenario != "casual_browsing"


def queries_of(view: ShopperView, shelves: Collection[str] = ()) -> tuple[str, ...]:
    """What is searched for, the most exact first.

    Where the user asks for nothing in particular, names that the user likes come first, then those ``shelves`` (what
    shops call the parts of their assortment) that are spoken of, then the words that are used most.
    """
    if asks(view):
        kind = as_written(view.product_type or "")
        asked = [" ".join(one) for one in (as_written(view.query)[:MAX_QUERY_WORDS], kind, kind[-1:])]
        found = {tuple(words_of(one)): one for one in reversed(asked) if one}
        return tuple(reversed(found.values()))
    liked, _ = names_in(view.context.brand_preferences)
    spoken = set(telling_words(_wishes(view)))
    known = sorted(shelf for shelf in shelves if spoken & set(telling_words(shelf)))
    first = telling_words(view.context.functional_requirements)
    words = dict.fromkeys((*liked[:3], *(" ".join(as_written(shelf)) for shelf in known), *first))
    return tuple(filter(None, words))[:MAX_EXPLORED]


def _wishes(view: ShopperView) -> str:
    context = view.context
    return " ".join((context.functional_requirements, context.aesthetic_preferences, view.situation))


# --- what fits --------------------------------------------------------------------------------------------------------


class ShoppingNeed(NamedTuple):
    """A need as words, singular and in small letters, and the most that may be spent."""

    asked: tuple[str, ...]
    kind: tuple[str, ...]
    wishes: tuple[str, ...]
    liked: tuple[str, ...]
    shunned: tuple[str, ...]
    most: float | None


class ProductCandidate(NamedTuple):
    """A product that was looked at, with its points and the reasons for them once it is judged.

    ``place`` is that among all results, in the order in which they were found.
    """

    url: str
    place: int
    facts: ProductFacts
    points: float = 0.0
    reasons: tuple[str, ...] = ()


def need_of(view: ShopperView) -> ShoppingNeed:
    """What is wanted, from all that is told of a task."""
    liked, shunned = names_in(view.context.brand_preferences)
    return ShoppingNeed(
        asked=() if view.product_type is None else tuple(telling_words(view.query)),
        kind=tuple(telling_words(view.product_type or "")),
        wishes=tuple(telling_words(_wishes(view))),
        liked=liked,
        shunned=shunned,
        most=spending_limits(view.budget or view.context.price_sensitivity).high,
    )


def quick_points(need: ShoppingNeed, words: str, *, sold_out: bool) -> float:
    """The points of a product by the few words of a list: which pages are worth opening first."""
    have = frozenset(words_of(words))
    points = ASKED * share(need.asked, have) + KIND * share(need.kind, have) + WISHES * share(need.wishes, have)
    points += LIKED * (_named(need.liked, words) - _named(need.shunned, words))
    points -= OTHER_KIND / 2 if need.kind and not share((*need.kind, *need.asked[-1:]), have) else 0.0
    return points - (STOCK if sold_out else 0.0)


def rank(need: ShoppingNeed, candidates: Sequence[ProductCandidate]) -> tuple[ProductCandidate, ...]:
    """The products from the best to the worst; the same for the same pages."""
    texts = {one.url: frozenset(words_of(_text(one.facts))) for one in candidates}
    spread = Counter(word for text in texts.values() for word in text)
    # A word that only some of the pages have tells them apart; one that all have does not.
    weights = {word: 1 - (spread[word] - 1) / max(1, len(texts)) for word in need.wishes if spread[word]}
    judged = [_judged(need, one, texts[one.url], weights) for one in candidates]
    return tuple(sorted(judged, key=lambda one: (-one.points, one.place, one.url)))


def different(ranked: Sequence[ProductCandidate]) -> tuple[ProductCandidate, ...]:
    """Products in their order, but those last that are called nearly as a better one is.

    Who asks for nothing in particular wants no three of a kind.
    """
    first: list[ProductCandidate] = []
    later: list[ProductCandidate] = []
    for one in ranked:
        words = set(telling_words(one.facts.title))
        others = (set(telling_words(other.facts.title)) for other in first)
        same = any(len(words & other) >= ALIKE * max(1, len(words | other)) for other in others)
        (later if same else first).append(one)
    return (*first, *later)


def _judged(
    need: ShoppingNeed, one: ProductCandidate, text: frozenset[str], weights: dict[str, float]
) -> ProductCandidate:
    facts, made_by = one.facts, f"{one.facts.brand} {one.facts.title}"
    title = frozenset(words_of(made_by))
    about = frozenset(words_of(" ".join((facts.title, *facts.categories))))
    wished = sum(weight for word, weight in weights.items() if word in text) / (sum(weights.values()) or 1.0)
    cost, rating, count = facts.total or facts.price, facts.rating, facts.rating_count or 0
    budget, fits = 0.0, ""
    if cost is not None and need.most is not None:
        over = cost.amount - need.most
        budget = -BUDGET * min(2.0, 0.5 + over / (need.most or 1.0)) if over > 0 else BUDGET
        fits = "over the budget" if over > 0 else "within the budget"
    strange = need.kind and not share((*need.kind[-1:], *need.asked[-1:]), title | text)
    judged = (
        (ASKED * (share(need.asked, title) + share(need.asked, text)) / 2, ""),
        (KIND * max(share(need.kind, about), 0.6 * share(need.kind, text)), ""),
        (-OTHER_KIND * bool(strange), "may be something else than was asked for"),
        (WISHES * wished, ""),
        (LIKED * _named(need.liked, made_by), f"by {facts.brand or 'a maker that the user likes'}"),
        (-2 * LIKED * _named(need.shunned, made_by), "by a maker that the user avoids"),
        (-1.0 * (cost is None), "no price was found"),
        (budget, fits),
        (-STOCK * (facts.availability == "sold_out"), "is sold out"),
        (0.5 * (facts.availability == "in_stock"), ""),
        (0.0 if rating is None else PER_STAR * (rating - USUAL_RATING), f"rated {rating} of 5"),
        (0.0 if rating is None else MOST_RATED * min(1.0, count / 200), ""),
    )
    reasons = [why for points, why in judged if why and points]
    if cost is not None:
        reasons.insert(0, f"costs {cost.amount:.2f} {cost.currency}{' with delivery' if facts.total else ''}")
    return one._replace(points=round(sum(points for points, _ in judged), 6), reasons=tuple(reasons))


def _text(facts: ProductFacts) -> str:
    lines = (f"{line.name} {line.value}" for line in facts.attributes)
    return " ".join((facts.title, facts.brand, *facts.categories, facts.description, *facts.features, *lines))


def _named(names: Sequence[str], text: str) -> bool:
    """Whether any of the names stands in a text, word for word."""
    have = f" {' '.join(words_of(text))} "
    return any(f" {' '.join(words_of(name))} " in have for name in names)
