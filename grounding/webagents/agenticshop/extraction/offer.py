"""The price that a page asks for its product: the visible one, what speaks for it, and the one that is struck out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grounding.webagents.agenticshop.extraction.buying import ways_to_buy
from grounding.webagents.agenticshop.extraction.dom import Line, ancestors, named_words
from grounding.webagents.agenticshop.extraction.kinds import PriceKind, price_kind
from grounding.webagents.agenticshop.extraction.price import (
    BREAK,
    FoundPrice,
    find_prices,
    money,
)
from grounding.webagents.agenticshop.extraction.regions import Regions
from grounding.webagents.agenticshop.records import Money

if TYPE_CHECKING:
    Element = Any

CLEAR_SCORE = 5
"""From this score on a visible price needs no machine-readable one beside it."""

_STRUCK = frozenset(("del", "s", "strike"))
_OLD = frozenset(
    [
        "old",
        "was",
        "strike",
        "struck",
        "strikethrough",
        "crossed",
        "msrp",
        "rrp",
        "uvp",
        "original",
        "compare",
        "previous",
        "before",
        "list",
    ]
)
_NOW = frozenset(
    ["current", "now", "sale", "final", "our", "selling", "buybox", "today", "actual", "deal", "special", "discounted"]
)
_PRICE = frozenset(("price", "prices", "pricing", "preis", "prix", "amount", "cost"))
_OTHER_NAMES: tuple[tuple[PriceKind, frozenset[str]], ...] = (
    ("shipping", frozenset(["shipping", "delivery", "postage", "freight", "versand"])),
    ("unit", frozenset(("unit", "per", "ppu"))),
    ("saving", frozenset(["saving", "savings", "save", "discount", "coupon"])),
    (
        "instalment",
        frozenset(
            ["installment", "installments", "instalment", "instalments", "klarna", "afterpay", "affirm", "financing"]
        ),
    ),
    ("recurring", frozenset(["subscribe", "subscription"])),
    ("extra", frozenset(["warranty", "protection", "insurance", "addon", "gift", "accessory", "tax"])),
    ("total", frozenset(("total", "subtotal"))),
)
_SAYS_PRICE = re.compile(
    rf"^[\s{BREAK}]*(?:(?:our|sale|current|today'?s?|special|deal|your|online|final)\s)?(?:price|now|only|"
    rf"just)\b[:\s{BREAK}]*$",
    re.IGNORECASE,
)
_LABELS = re.compile(r"^\W*(?:price|our price|now|sale price|today|preis|current price)\W*$", re.IGNORECASE)
PROSE_CHARS = 90


@dataclass(frozen=True, slots=True)
class Candidate:
    """A price in the product's part of a page, with what speaks for it; ``line`` is where it stands."""

    price: FoundPrice
    kind: PriceKind
    struck: bool
    line: Line
    score: int

    @property
    def quote(self) -> str:
        """The words that it stands in."""
        return self.line.words[:200]


@dataclass(frozen=True, slots=True)
class VisiblePrice:
    """What the page shows. ``clear``: one amount is ahead of all others, and enough speaks for it."""

    current: Candidate | None
    list_price: Candidate | None
    clear: bool
    all: tuple[Candidate, ...]


def visible_price(regions: Regions, known: float | None) -> VisiblePrice:
    """The price in the product's part of the page.

    Args:
        regions: The page.
        known: What its data names as price, which counts for the same amount on the page.
    """
    candidates = _candidates(regions, known)
    current = [one for one in candidates if one.kind == "current" and not one.struck]
    if not current:
        # A price called regular is the price where no other is shown, unless it is struck out.
        current = [one for one in candidates if one.kind == "list" and not one.struck and not _says_old(one)]
    best = max(current, key=lambda one: (one.score, -one.line.place, -one.price.start), default=None)
    if best is None or best.score < 0:
        return VisiblePrice(current=None, list_price=None, clear=False, all=candidates)
    rivals = [one for one in current if one.price.amount != best.price.amount and one.score >= best.score]
    listed = [
        one
        for one in candidates
        if (one.struck or one.kind == "list")
        and one.price.amount > best.price.amount
        and abs(one.line.place - best.line.place) <= 6
    ]
    nearest = min(listed, key=lambda one: abs(one.line.place - best.line.place), default=None)
    return VisiblePrice(
        current=best, list_price=nearest, clear=best.score >= CLEAR_SCORE and not rivals, all=candidates
    )


def as_money(candidate: Candidate, hint: str) -> Money:
    """A candidate's amount in its currency."""
    return money(candidate.price, hint)


def _says_old(one: Candidate) -> bool:
    before = one.line.text[: one.price.start].lower()
    return bool(re.search(r"\b(?:was|list|msrp|rrp|before|original|compare)", before))


def _candidates(regions: Regions, known: float | None) -> tuple[Candidate, ...]:
    document = regions.document
    buyers = [one for one in ways_to_buy(document.body) if regions.role_of(one) == "main"]
    near = _around(buyers, regions)
    found = []
    before: Line | None = None
    for line in document.lines:
        prices = find_prices(line.text) if any(sign.isdigit() for sign in line.text) else ()
        for place, price in enumerate(prices):
            owner = line.owner(price.start)
            if regions.role(line, price.start) != "main" or not document.can_be_seen(price.text):
                continue
            kind = price_kind(line.text, prices, place)
            if kind == "current" and not line.text[: price.start].replace(BREAK, "").strip():
                kind = _labelled(line, before, price) or kind
            names = _names(owner, line)
            struck = any(up.tag in _STRUCK for up in ancestors(owner, most=4)) or bool(
                re.search(r"line-through", " ".join(up.get("style") or "" for up in ancestors(owner, most=3)))
            )
            if kind == "current":
                kind = _named_kind(names) or kind
            score = _score(regions, line, price, names, kind, known, near, before)
            found.append(Candidate(price=price, kind=kind, struck=struck, line=line, score=score))
        before = line
    return tuple(found)


def _labelled(line: Line, before: Line | None, price: FoundPrice) -> PriceKind | None:
    """What the short line before a price makes of it, such as a cell of a table that says "List price"."""
    if before is None or len(before.words) > 30 or any(sign.isdigit() for sign in before.words):
        return None
    if before.element.getparent() is not line.element.getparent() and before.element is not line.element.getparent():
        return None
    said = f"{before.words} {price.text}"
    prices = find_prices(said)
    kind = price_kind(said, prices, 0) if prices else "current"
    return None if kind == "current" else kind


def _names(owner: Element, line: Line) -> tuple[frozenset[str], ...]:
    """What the elements around a price are called, nearest first, up to the block and a little beyond."""
    found = []
    for level, one in enumerate(ancestors(owner, most=6)):
        found.append(named_words(one))
        if one is line.element and level >= 2:
            break
    return tuple(found)


def _named_kind(names: tuple[frozenset[str], ...]) -> PriceKind | None:
    for words in names[:2]:
        if words & _OLD and (words & _PRICE or not words & {"list", "before"}) and not words & _NOW:
            return "list"
    for words in names[:3]:
        for kind, called in _OTHER_NAMES:
            if words & called and not words & _NOW:
                return kind
    return None


def _score(
    regions: Regions,
    line: Line,
    price: FoundPrice,
    names: tuple[frozenset[str], ...],
    kind: PriceKind,
    known: float | None,
    near: frozenset[Element],
    before: Line | None,
) -> int:
    words = line.words
    score = 0
    if any(called & _PRICE for called in names[:4]):
        score += 4
    if any(called & _NOW for called in names[:4]):
        score += 2
    lead = line.text[: price.start]
    if _SAYS_PRICE.match(lead) or (not lead.strip() and before is not None and _LABELS.match(before.words)):
        score += 2
    if len(words) <= 40:
        score += 1
    if known is not None and abs(price.amount - known) < 0.005:
        score += 3
    if line.element in near:
        score += 2
    if regions.title_place >= 0:
        away = line.place - regions.title_place
        score += 3 if 0 < away <= 8 else 2 if 0 < away <= 20 else 1 if 0 < away <= 40 else -2 if away < -10 else 0
    if len(words) > PROSE_CHARS and kind == "current":
        score -= 4
    if price.open_below:
        score -= 1
    if re.search(r"\b(?:shipping|delivery|orders?)\b", words, re.IGNORECASE) and not _SAYS_PRICE.match(lead):
        score -= 1
    return score


def _around(buyers: list[Element], regions: Regions) -> frozenset[Element]:
    """The elements that share a small block with a way to buy."""
    found: set[Element] = set()
    for buyer in buyers[:8]:
        for up in list(ancestors(buyer, most=5))[1:]:
            if up.tag in ("body", "main", "html") or (regions.title is not None and up in ancestors(regions.title)):
                break
            found.update(up.iter())
    return frozenset(found)
