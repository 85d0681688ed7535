"""Items on what a product costs."""

from __future__ import annotations

import re

from grounding.webagents.agenticshop.judge.bounds import Bounds
from grounding.webagents.agenticshop.judge.conditions import (
    Basis,
    Discounted,
    PriceWithin,
    Rule,
    ShippingWithin,
    TermStated,
    UnitPriceWithin,
)
from grounding.webagents.agenticshop.judge.parsing.quantities import DECIMAL, MONEY, Range, money, read_range

_SHIPPING = r"(?:the )?(?:estimated |standard )?(?:shipping|delivery|postage)(?: (?:costs?|fees?|charges?))?"
_WITH_SHIPPING = re.compile(
    rf"(?P<before>\b(?:price|cost)) (?:and|plus|\+) {_SHIPPING}(?: together| combined)?(?: costs?(?= ))?"
    rf"|,? ?\(?(?:including|incl\.?|inclusive of|with|plus) {_SHIPPING}(?: included)?\)?(?!\w)"
    rf"|,? ?\(?{_SHIPPING} included\)?"
    r"|\((?:item |product )?price (?:plus|and|\+) shipping\)",
    re.IGNORECASE,
)
_WITHOUT_SHIPPING = re.compile(
    r",? ?\(?(?:(?:item|product) price )?(?:excluding|excl\.?|exclusive of|before|without|not including|not counting) "
    r"(?:any )?(?:(?:sales )?tax(?:es)?|shipping|delivery|postage)(?: ?(?:/|,|&|and|or)+ ?(?:tax(?:es)?|shipping"
    r"|delivery|fees))*"
    r"(?: costs?| fees?)?\)?(?!\w)",
    re.IGNORECASE,
)
_TAXES = re.compile(r"\btax(?:es)?\b|\bvat\b", re.IGNORECASE)

_ADJECTIVES = (
    r"(?:(?:product|item|listed|listing|displayed|current|selling|retail|purchase|asking|advertised|stated"
    r"|actual)(?:'s)? )*"
)
_SUBJECT = re.compile(
    rf"(?:the |its )?(?P<total>total )?(?P<unit>(?:per-)?unit )?{_ADJECTIVES}(?:price|cost)(?P<per> per (?:unit"
    rf"|piece|item))?"
    rf"(?: (?:of|for) the (?:product|item|(?:offered|listed) (?:pack|set|product|item)))?(?: charged)?\b|(?:the "
    rf")?(?:product |item |it )?(?:is )?(?:costs|priced|sells for)\b",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"(?::|(?: ?(?:is|are|falls|lies|stays|remains|sits|must be|should be|has to be|listed|set|ranges|comes|to"
    r"|at(?! (?:the )?(?:least|most)| or)|as|in|of))*"
    r"(?: (?P<within>within|inside|in))?"
    r"(?: (?:the |an? )?(?:(?:stated|target|typical|preferred|usual|given|specified) )*(?:budget|price)(?: range| "
    r"limit| window)?"
    r"(?: of|:)?)?)\s*",
    re.IGNORECASE,
)
_AFTERWARDS = re.compile(
    r"(?: (?:(?:target|stated|price) )*(?:budget|price)(?: range)?| range| in total| each)$", re.IGNORECASE
)
_NEGATED = (
    (
        re.compile(r"\b(?:does not|doesn't|must not|should not|may not|not) (?:exceed|cost more than)\b", re.I),
        "is at most",
    ),
    (re.compile(r"\bexceeds\b", re.IGNORECASE), "is over"),
    (re.compile(r"\bcosts no more than\b", re.IGNORECASE), "costs at most"),
)

_DISCOUNTED = re.compile(
    r"(?:(?:the )?(?:product|item|it|price|listing) )?(?:is |has been )?(?:currently )?"
    r"(?:(?:on sale|discounted|reduced|marked down|(?:sold |offered )?at a reduced price(?: with the (?:former|old"
    r"|list) price "
    r"shown)?)"
    rf"|(?:offered |sold )?at a discount(?: of (?P<some>at least|over|more than) (?P<of>{DECIMAL})\s?%)?"
    rf"|(?:discounted|reduced|marked down) by (?P<some2>at least|over|more than) (?P<by>{DECIMAL})\s?%"
    rf"|(?P<some3>at least|over|more than) (?P<off>{DECIMAL})\s?% off)",
    re.IGNORECASE,
)

_FREE = re.compile(
    r"(?:(?:the )?(?:product|item|seller|listing|shop|store|retailer|it|order) )?"
    r"(?:(?:offers|has|includes|comes with|qualifies for|states|shows|provides|is eligible for|lists) )?"
    r"(?:free (?:standard )?(?:shipping|delivery|postage)(?: (?:is )?(?:offered|available|included|stated|provided))?"
    r"|(?:ships|is shipped|is delivered) (?:for )?free(?: of charge)?|no (?:shipping|delivery) (?:costs?|fees?"
    r"|charges?))"
    r"|(?:shipping|delivery|postage) (?:is|must be|should be) free(?: of charge)?",
    re.IGNORECASE,
)
_SHIPPING_SUBJECT = re.compile(
    r"(?:the )?(?:standard )?(?:(?:shipping|delivery|postage)(?: (?:cost|fee|price|charge)s?)?|(?:cost|price) of "
    r"(?:shipping|delivery))"
    r"(?:\s(?:is|are|costs|must be|should be|comes to|of|at(?! (?:the )?(?:least|most)| or)))*\s",
    re.IGNORECASE,
)
_SHIPPING_STATED = re.compile(
    r"(?:(?:the )?(?:listing|product page|page|seller) (?:states|shows|lists|displays|indicates) (?:the "
    r")?(?:shipping|delivery) "
    r"(?:cost|fee|price|charge)s?|(?:the )?(?:shipping|delivery) (?:cost|fee|price|charge)s? (?:is|are) "
    r"(?:clearly )?(?:stated|shown|listed|displayed))",
    re.IGNORECASE,
)


def price_rule(text: str, *, alone: bool = False) -> Rule | None:
    """The rule of an item on the price; None where it is no such item.

    Args:
        text: The item, plain and without asides.
        alone: The item stands under prices, so that a range of money without a subject means the price.
    """
    return _discount(text) or _shipping(text) or _price(text, alone)


def _discount(text: str) -> Rule | None:
    found = _DISCOUNTED.fullmatch(text)
    if found is None:
        return None
    percent = found["of"] or found["by"] or found["off"]
    return Discounted(percent=float(percent) if percent else 0.0)


def _shipping(text: str) -> Rule | None:
    if _FREE.fullmatch(text):
        return ShippingWithin(bounds=Bounds(high=0.0))
    if _SHIPPING_STATED.fullmatch(text):
        return TermStated(term="shipping cost")
    start = _SHIPPING_SUBJECT.match(_affirmed(text))
    if start is None:
        return None
    found = _amounts(_affirmed(text)[start.end() :])
    return None if found is None else ShippingWithin(bounds=found.bounds, currency=found.unit)


def _price(text: str, alone: bool) -> Rule | None:
    text = _affirmed(text)
    without = _WITHOUT_SHIPPING.search(text)
    basis: Basis = "price"
    if without is not None:
        text = _cut(text, without, "")
    else:
        shipped = _WITH_SHIPPING.search(text)
        if shipped is not None:
            basis = "total"
            text = _cut(text, shipped, shipped["before"] or "")
    if _TAXES.search(text):
        return None
    start = _SUBJECT.match(text)
    if start is None:
        found = _amounts(text) if alone else None
        return None if found is None else PriceWithin(bounds=found.bounds, currency=found.unit, basis=basis)
    link = _LINK.match(text, start.end())
    if link is None:
        return None
    found = _amounts(text[link.end() :], within=link["within"] is not None)
    if found is None:
        return None
    if start["unit"] or start["per"]:
        # One piece of an order has no shipping cost of its own.
        return None if start["total"] or basis == "total" else UnitPriceWithin(bounds=found.bounds, currency=found.unit)
    if start["total"] and basis == "price" and without is None:
        basis = "either"
    return PriceWithin(bounds=found.bounds, currency=found.unit, basis=basis)


def _affirmed(text: str) -> str:
    for pattern, instead in _NEGATED:
        text = pattern.sub(instead, text)
    return re.sub(r"\b(price|cost) is is ", r"\1 is ", text)


def _cut(text: str, found: re.Match[str], instead: str) -> str:
    return " ".join(f"{text[: found.start()]}{instead} {text[found.end() :]}".split())


def _amounts(text: str, *, within: bool = False) -> Range | None:
    text = text.strip(" ,")
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    text = re.sub(r"^the ", "", _AFTERWARDS.sub("", text), flags=re.IGNORECASE)
    if text.lower().startswith("within "):
        within, text = True, text[len("within ") :]
    found = read_range(text, MONEY, money)
    if found is None and within:
        amount = money(text)
        return None if amount is None else Range(bounds=Bounds(high=amount.number), unit=amount.unit)
    return found
