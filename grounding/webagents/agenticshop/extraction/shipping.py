"""What it costs to have the product sent, and whether the words "free shipping" hold for it.

A threshold is held against the product's own price: "free over $35" is not free for a $20 item. What is free for
members, with a code, on a first order, or on the way back is not counted as free.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from grounding.records import Record
from grounding.webagents.agenticshop.extraction.kinds import price_kind
from grounding.webagents.agenticshop.extraction.price import BREAK, FoundPrice, find_prices, money
from grounding.webagents.agenticshop.records import Money

MAX_CHARS = 400

_MENTIONED = re.compile(
    r"\b(?:to ship|shipping|shipped|ships|deliver(?:y|ed|s)|postage|freight|p\s?&\s?p|versand\w*|livraison|"
    r"envío|dispatch)\b",
    re.IGNORECASE,
)
_COSTS = re.compile(
    r"\b(?:to ship|shipping|delivery|postage|freight|p\s?&\s?p|versand\w*|livraison|envío)\b|"
    r"\b(?:ships|shipped|delivered)\b[^.;]{0,30}\bfor\b",
    re.IGNORECASE,
)
_FREE = re.compile(
    r"\b(?:free|complimentary|no.cost|gratis)\b(?:\s+\w+){0,3}?\s+(?:shipping|delivery|postage|freight|p\s?&\s?p)\b|"
    r"\b(?:shipping|delivery|postage|freight|p\s?&\s?p)\b(?:\s+(?:cost|costs|fee|charges?))?\s*(?:is|:|-|\u2013|"
    r"=)?\s*(?:always )?"
    r"\b(?:free|included|on us)\b|\b(?:ships|shipped|delivered)\s+(?:for\s+)?free\b|versandkostenfrei|"
    r"kostenloser versand|"
    r"livraison (?:gratuite|offerte)|free of (?:shipping|delivery) charge",
    re.IGNORECASE,
)
_BARE_FREE = re.compile(r"\bfree\b|\bwe pay\b|\bno charge\b|\bon us\b", re.IGNORECASE)
_NOT_SHIPPING = re.compile(
    r"\bfree\b[^.;]{0,20}\b(?:returns?|exchanges?|gift|sample|pick.?up|collection)\b|\bin.store\b", re.IGNORECASE
)
_RETURN = re.compile(r"\b(?:return|returns|exchange)s?\b[^.;]{0,12}\b(?:shipping|postage|delivery)\b", re.IGNORECASE)
_CONDITION = re.compile(
    r"\b(?:members?|membership|prime|(?:plus|premium) (?:customers?|account|subscri\w+)|subscri\w+|with (?:code|"
    r"coupon|account)|first order|new customers?|"
    r"loyalty|app only|sign(?:ed)? (?:up|in)|join|club|pass|card ?holders?|add .{1,14} more|away from|"
    r"when you buy \d|[2-9] or more (?:items|units|packs|pieces|products)|multiple items)\b",
    re.IGNORECASE,
)
_STRICT = re.compile(r"\b(?:over|above|more than|exceed\w*)\b[^.;]{0,20}$", re.IGNORECASE)
_BELOW = re.compile(r"\b(?:under|below|up to|less than)\b[^.;]{0,20}$", re.IGNORECASE)
_AT_LEAST = re.compile(
    r"\b(?:orders? (?:of|from)|at least|minimum|min\.|spend(?:ing)?|from|when you (?:buy|spend)|purchases? of|"
    r"ab|dès)\b"
    r"[^.;]{0,20}$",
    re.IGNORECASE,
)
_FAST = re.compile(
    r"\b(?:express|overnight|next.day|same.day|priority|expedited|rush|1.day|2.day|two.day|courier|faster)\b",
    re.IGNORECASE,
)
_STANDARD = re.compile(r"\b(?:standard|economy|regular|ground|flat.?rate|normal|basic)\b", re.IGNORECASE)
_ABROAD = re.compile(
    r"\b(?:international|worldwide|overseas|abroad|outside (?:the|of)|europe|canada|alaska|hawaii)\b", re.I
)
_CLAUSES = re.compile(
    r"(?<=[a-z0-9)])[.;!|•·](?:\s|$)|\n|,\s*(?=otherwise|else|or\s)|\s(?=otherwise\b)|\s/\s", re.IGNORECASE
)
_OTHERWISE = re.compile(r"^\W*(?:otherwise|else|or (?:else )?(?:just )?)", re.IGNORECASE)


class ShippingWord(Record, frozen=True, kw_only=True):
    """One statement about shipping: free, free from a sum on, or a cost.

    ``least`` is the price from which it is free; ``strictly`` where it has to be more. ``conditional``: for some
    customers alone. ``fast`` and ``abroad`` mark what the usual buyer doesn't take.
    """

    quote: str
    free: bool = False
    cost: Money | None = None
    least: float | None = None
    strictly: bool = False
    conditional: bool = False
    fast: bool = False
    abroad: bool = False
    standard: bool = False


class ShippingWords(Record, frozen=True, kw_only=True):
    """What is said of shipping: beside the product's own offer, and elsewhere on the page, as over a whole site."""

    own: tuple[ShippingWord, ...] = ()
    general: tuple[ShippingWord, ...] = ()


class Shipping(Record, frozen=True, kw_only=True):
    """The cost of shipping, None where the page doesn't say, and the words that decided."""

    cost: Money | None = None
    quote: str = ""


def mentions_shipping(text: str) -> bool:
    """Whether a text is about sending."""
    return bool(_MENTIONED.search(text))


def read_words(text: str, hint: str) -> tuple[ShippingWord, ...]:
    """All statements about shipping in a text, clause by clause.

    Args:
        text: A line of a page, with a label before it where it has one.
        hint: The currency that the page names.
    """
    found: list[ShippingWord] = []
    speaks = False
    for clause in _CLAUSES.split(text.replace(BREAK, " ")[:MAX_CHARS]):
        if not clause or not clause.strip():
            continue
        named = bool(_COSTS.search(clause)) or bool(_FREE.search(clause))
        if named or (speaks and _OTHERWISE.match(clause)) or (speaks and find_prices(clause)):
            found.extend(_clause(clause, text, hint))
        speaks = speaks or named
    return tuple(found)


def _clause(clause: str, text: str, hint: str) -> list[ShippingWord]:
    said = ShippingWord(
        quote=" ".join(text.replace(BREAK, " ").split())[:MAX_CHARS],
        conditional=bool(_CONDITION.search(clause)),
        fast=bool(_FAST.search(clause)),
        abroad=bool(_ABROAD.search(clause)),
        standard=bool(_STANDARD.search(clause)),
    )
    if _RETURN.search(clause):
        return []
    prices = find_prices(clause)
    costs, least, strictly = [], None, False
    for place, price in enumerate(prices):
        lead = clause[prices[place - 1].end if place else 0 : price.start]
        after = clause[price.end : price.end + 24]
        if _BELOW.search(lead):
            continue
        if _is_least(lead, after):
            least, strictly = price.amount, bool(_STRICT.search(lead))
        elif _is_cost(clause, prices, place):
            costs.append(price)
    found = []
    # "free over $50" after a cost in the same words says nothing of shipping again, and means it.
    free = bool(_FREE.search(clause)) or (least is not None and bool(_BARE_FREE.search(clause)))
    if free and not (_NOT_SHIPPING.search(clause) and not _FREE.search(_NOT_SHIPPING.sub(" ", clause))):
        found.append(msgspec.structs.replace(said, free=True, least=least, strictly=strictly))
    if costs and (not found or least is not None):
        cost = money(min(costs, key=lambda one: one.amount), hint)
        found.append(msgspec.structs.replace(said, free=cost.amount == 0, cost=cost))
    return found


def _is_least(lead: str, after: str) -> bool:
    if re.match(r"\s*(?:or (?:more|above)|and (?:up|over|above)|\+(?:\s|$)|minimum)", after):
        return True
    # "Delivery from $3.95" is a cost; "free delivery from $50" is none.
    if re.search(r"\bfrom\s*$", lead, re.IGNORECASE) and not re.search(r"free|orders?", lead, re.IGNORECASE):
        return False
    return bool(_STRICT.search(lead) or _AT_LEAST.search(lead))


def _is_cost(clause: str, prices: tuple[FoundPrice, ...], place: int) -> bool:
    kind = price_kind(clause, prices, place)
    if kind in ("saving", "list", "unit", "instalment", "total"):
        return False
    one = prices[place]
    begin = prices[place - 1].end if place else 0
    stop = prices[place + 1].start if place + 1 < len(prices) else len(clause)
    before, after = clause[begin : one.start], clause[one.end : min(stop, one.end + 40)]
    # The price of the product may stand in the same line: "$20.00 + $4.99 shipping".
    if re.search(r"\bprice\b[^.;]{0,10}$", before, re.IGNORECASE):
        return False
    if kind == "shipping" or _OTHERWISE.match(clause):
        return True
    if len(prices) == 1:
        return True
    return bool(_COSTS.search(before) or _COSTS.search(after))


def decide(words: ShippingWords, price: Money | None) -> Shipping:
    """The cost for this product out of all statements.

    What stands beside the product decides before what is said for a whole site: a heavy pot's "plus $9.90" is not free
    because a line above the page says so of orders from a sum on. Among one kind, free without a condition, or with a
    threshold that the price reaches, wins; then the cost of standard shipping, then the least cost that is neither fast
    nor abroad, then any.

    Args:
        words: The statements, nearest first.
        price: What the product costs; a threshold can't be held against an unknown price.
    """
    own = _decided(words.own, price)
    if own.cost is not None:
        return own
    both = _decided((*words.own, *words.general), price)
    return both if both.quote else own


def _decided(words: Sequence[ShippingWord], price: Money | None) -> Shipping:
    usual = [one for one in words if not one.conditional and not one.abroad]
    costs = [one for one in usual if one.cost is not None and one.cost.amount > 0]
    for one in usual:
        if not one.free or (one.fast and costs):
            continue
        if one.least is None or _reaches(price, one):
            currency = price.currency if price is not None else one.cost.currency if one.cost else ""
            return Shipping(cost=Money(amount=0.0, currency=currency), quote=one.quote)
    for chosen in (
        [one for one in costs if one.standard and not one.fast],
        [one for one in costs if not one.fast],
        costs,
    ):
        if chosen:
            return Shipping(cost=chosen[0].cost, quote=chosen[0].quote)
    return Shipping(quote=words[0].quote if words else "")


def _reaches(price: Money | None, word: ShippingWord) -> bool:
    if price is None or word.least is None:
        return False
    return price.amount > word.least if word.strictly else price.amount >= word.least
