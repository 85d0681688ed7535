"""Rules on delivery, returns, warranty and stock: what a shop writes of its terms, and what follows from it."""

from __future__ import annotations

import math
import re

from grounding.webagents.agenticshop.judge.conditions import (
    ArrivesWithin,
    InStock,
    ReturnsAccepted,
    TermStated,
    WarrantyAtLeast,
)
from grounding.webagents.agenticshop.judge.deciding.delivery import Span, delivery_spans
from grounding.webagents.agenticshop.judge.deciding.shown import MAX_QUOTE_CHARS, Finding, Shown, open_question, silent
from grounding.webagents.agenticshop.judge.parsing.quantities import COUNT, count

_TIME = re.compile(
    rf"\b(?P<n>{COUNT})[- ]?(?:(?:calendar|business|working) )?(?P<kind>day|week|month|year)s?\b", re.IGNORECASE
)
_IN_DAYS = {"day": 1.0, "week": 7.0, "month": 30.0, "year": 365.0}
_IN_MONTHS = {"month": 1.0, "year": 12.0, "week": 7 / 30, "day": 1 / 30}

_TERMS = re.compile(
    r"[;|\n\u2022\u00b7!]+|\.(?=\s|$)|(?<=\bdays):\s|(?<=\bweeks):\s"
    r"|,\s+(?=(?:\d|free |we |two|one|deliver|arriv|ship))",
    re.IGNORECASE,
)
_OF_RETURNS = re.compile(r"\breturn|\brefund|\bexchange|\b(?:send|sent) (?:it |them )?back\b", re.IGNORECASE)
_OF_WARRANTY = re.compile(r"\bwarrant|\bguarantee", re.IGNORECASE)
_NO_RETURNS = re.compile(
    r"\b(?:no returns?|no refunds?|final sale|non[- ]returnable|not (?:be )?return(?:able|ed)|can(?:no|')t be returned|"
    r"returns? (?:are |is )?not (?:accepted|possible|allowed))\b",
    re.IGNORECASE,
)
_FREE_RETURNS = re.compile(
    r"\bfree (?:and easy )?(?:\d+[- ]day )?returns?\b"
    r"|\breturns? (?:(?:shipping|postage) )?(?:is|are) free\b"
    r"|\bfree return (?:shipping|postage)\b"
    r"|\breturn(?:ed|s)? (?:\w+ ){0,4}(?:free of charge|for free|at no (?:extra )?cost|postage paid)\b"
    r"|\b(?:we|the (?:seller|shop)) (?:pays?|covers?) (?:for )?(?:the )?(?:return|postage|shipping|costs?)\b"
    r"|\bprepaid (?:return )?label",
    re.IGNORECASE,
)
_PAID_RETURNS = re.compile(
    r"\bat (?:your|the (?:buyer|customer)'s) (?:own )?(?:cost|expense)\b"
    r"|\b(?:buyer|customer|you) pays?\b|\breturn fee\b|\brestocking fee\b|\bnot free\b"
    r"|\breturn (?:shipping|postage):? (?:costs |is )?\S*\d",
    re.IGNORECASE,
)
_COST_WORDS = re.compile(r"\b(?:postage|costs?|fees?|charges?|pay|pays|paid|free|label)\b", re.IGNORECASE)
_NO_WARRANTY = re.compile(
    r"\b(?:no|without(?: an?y?)?) (?:\w+ )?(?:warranty|guarantee)\b|\bnot covered by\b", re.IGNORECASE
)
_LIFETIME = re.compile(r"\blife ?time\b|\bfor life\b", re.IGNORECASE)
_NO_LIFETIME = re.compile(
    r"\b(?:no|not an?)\s+life ?time\b|\blimited life ?time\b|\bbattery life ?time\b", re.IGNORECASE
)


def stated(rule: TermStated, page: Shown) -> Finding:
    """Whether the page says anything of a term."""
    facts = page.facts
    if rule.term == "brand":
        return _is_there(rule, facts.brand, page.quote("brand", facts.brand))
    if rule.term == "seller":
        return _is_there(rule, facts.seller, page.quote("seller", facts.seller))
    if rule.term == "price":
        return _is_there(rule, "" if facts.price is None else "price", page.quote("price"))
    if rule.term == "shipping cost":
        text = facts.shipping_text
        known = facts.shipping is not None or any(letter.isdigit() for letter in text)
        return _is_there(rule, text or "shipping" if known else "", _own_words(page, "shipping_text", text))
    if rule.term == "delivery time":
        return _is_there(rule, facts.delivery_text, _own_words(page, "delivery_text", facts.delivery_text))
    if rule.term == "stock":
        known = facts.availability != "unknown"
        return _is_there(rule, "availability" if known else "", page.quote("availability", "in stock", "sold out"))
    if rule.term == "warranty":
        text = warranty_text(page)
        return _is_there(rule, text, _own_words(page, "warranty_text", text))
    text = returns_text(page)
    if text and rule.with_days and not _TIME.search(_about(text, _OF_RETURNS)):
        quote = _own_words(page, "returns_text", text)
        return Finding(satisfied=False, reason="the page says nothing of the time for returns", quote=quote)
    return _is_there(rule, text, _own_words(page, "returns_text", text))


def _is_there(rule: TermStated, said: str, quote: str) -> Finding:
    if not said:
        return silent(f"anything of the {rule.term}")
    return Finding(satisfied=True, reason=f"the page states the {rule.term}", quote=quote)


def arrives(rule: ArrivesWithin, page: Shown) -> Finding:
    """How long it takes; of several ways to send it, all have to agree."""
    text = page.facts.delivery_text
    if not text:
        return silent("how long delivery takes")
    quote = _own_words(page, "delivery_text", text)
    spans = delivery_spans(text, page.day)
    if not spans:
        return open_question("no rule reads how long delivery takes", quote)
    wanted = [span for span in spans if span.dispatch == rule.dispatch]
    if not wanted and rule.dispatch:
        # What has arrived was sent before.
        wanted = [span for span in spans if _soon(rule, span)]
    if not wanted:
        return Finding(
            satisfied=False,
            reason=f"the page only says when it {'arrives' if rule.dispatch else 'is sent'}",
            quote=quote,
        )
    held = {_soon(rule, span) for span in wanted}
    reason = "the page says " + ", ".join(span.words for span in wanted)
    if len(held) > 1 or None in held:
        return open_question(reason, quote)
    return Finding(satisfied=held.pop(), reason=reason, quote=quote)


def _soon(rule: ArrivesWithin, span: Span) -> bool | None:
    """Whether a time is short enough, None where that hangs on weekends."""
    if rule.business == span.business:
        return span.high_days <= rule.days
    if span.business:
        # So many business days are at least as many days, and at most so many with all weekends they can meet.
        if span.high_days + 2 * math.ceil(span.high_days / 5) <= rule.days:
            return True
        return False if span.high_days > rule.days else None
    if span.high_days <= rule.days:
        return True
    fewest = span.high_days - 2 * math.ceil(span.high_days / 5)
    return False if fewest > rule.days else None


def returns(rule: ReturnsAccepted, page: Shown) -> Finding:
    """Whether it can be sent back, for how long and at whose cost."""
    text = returns_text(page)
    if not text:
        return silent("whether it can be returned")
    quote = _own_words(page, "returns_text", text)
    if _NO_RETURNS.search(text):
        if _TIME.search(_about(text, _OF_RETURNS)):
            return open_question("the page speaks of returns that are accepted and of some that are not", quote)
        return Finding(satisfied=False, reason="it can't be returned", quote=quote)
    if rule.free:
        free, paid = _FREE_RETURNS.search(text), _PAID_RETURNS.search(text)
        if free and paid:
            return open_question("the page speaks of free returns and of returns that cost something", quote)
        if not free and not paid and _COST_WORDS.search(text):
            return open_question("no rule reads who pays for returns", quote)
        if not free:
            return Finding(satisfied=False, reason="the page doesn't say that returns are free", quote=quote)
    if not rule.at_least_days:
        return Finding(satisfied=True, reason="it can be returned", quote=quote)
    days = sorted({_amount(found, _IN_DAYS) for found in _TIME.finditer(_about(text, _OF_RETURNS))})
    if not days:
        return Finding(satisfied=False, reason="the page doesn't say for how long it can be returned", quote=quote)
    return _reaches(days, rule.at_least_days, "it can be returned within", "day", quote)


def warranty(rule: WarrantyAtLeast, page: Shown) -> Finding:
    """How long the warranty lasts."""
    text = warranty_text(page)
    if not text:
        return silent("anything of a warranty")
    quote = _own_words(page, "warranty_text", text)
    if _NO_WARRANTY.search(text):
        return Finding(satisfied=False, reason="there is no warranty", quote=quote)
    for_life = _LIFETIME.search(text) is not None
    if for_life and _NO_LIFETIME.search(text):
        return open_question("the page's warranty for life is a limited one", quote)
    months = sorted({_amount(found, _IN_MONTHS) for found in _TIME.finditer(_about(text, _OF_WARRANTY))})
    if for_life and not months:
        return Finding(satisfied=True, reason="the warranty is for life", quote=quote)
    if for_life:
        return open_question("the page names several warranties", quote)
    if rule.lifetime:
        return Finding(satisfied=False, reason="the warranty is not for life", quote=quote)
    if not months:
        return Finding(satisfied=False, reason="the page doesn't say how long the warranty lasts", quote=quote)
    return _reaches(months, rule.months, "the warranty lasts", "month", quote)


def _reaches(numbers: list[float], least: float, what: str, unit: str, quote: str) -> Finding:
    listed = ", ".join(f"{number:g}" for number in numbers)
    reason = f"{what} {listed} {unit}{'' if listed == '1' else 's'}"
    held = {number >= least for number in numbers}
    return open_question(reason, quote) if len(held) > 1 else Finding(satisfied=held.pop(), reason=reason, quote=quote)


def in_stock(_rule: InStock, page: Shown) -> Finding:
    """Whether it can be bought now."""
    state = page.facts.availability
    if state == "unknown":
        return silent("whether it is in stock")
    quote = page.quote(
        "availability", *(("in stock", "available") if state == "in_stock" else ("sold out", "out of stock"))
    )
    reason = "it is in stock" if state == "in_stock" else "it is sold out"
    return Finding(satisfied=state == "in_stock", reason=reason, quote=quote)


def warranty_text(page: Shown) -> str:
    """What the page says of its warranty, in its own place or in the table of facts."""
    return page.facts.warranty_text or _attribute(page, "warranty", "guarantee")


def returns_text(page: Shown) -> str:
    """What the page says of returns, in its own place or in the table of facts."""
    return page.facts.returns_text or _attribute(page, "returns", "return policy")


def _about(text: str, subject: re.Pattern[str]) -> str:
    """The parts of a shop's terms that speak of one of them; all, where none does by name."""
    parts = [part for part in _TERMS.split(text) if part]
    about = [part for part in parts if subject.search(part)]
    return ". ".join(about) or text


def _attribute(page: Shown, *names: str) -> str:
    for line in page.facts.attributes:
        if any(name in line.name.lower() for name in names):
            return f"{line.name}: {line.value}"
    return ""


def _own_words(page: Shown, field: str, text: str) -> str:
    return page.quote(field) or text[:MAX_QUOTE_CHARS]


def _amount(found: re.Match[str], table: dict[str, float]) -> float:
    number = count(found["n"])
    return 0.0 if number is None else number.number * table[found["kind"].lower()]
