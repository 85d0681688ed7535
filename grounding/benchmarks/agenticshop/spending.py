"""What a user can spend, read out of the words in which a profile says it. Pure.

Budgets are free text: ``around $10-$20 for multi-packs``, ``under $50 including shipping``, ``$1,200``.
"""

from __future__ import annotations

import re
from itertools import pairwise

from grounding.benchmarks.agenticshop.records import Money
from grounding.records import Record

CURRENCIES = {"$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}
"""What a sign in a user's own words means: the released users shop in US dollars."""

_AMOUNT = re.compile(
    r"(?P<sign>(?:US)?[$€£¥₹]\s?|\b[A-Z]{3}\s)?(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?P<after>\s?[$€£¥₹]|\s(?:USD|EUR|GBP|JPY|INR|CAD|AUD|CHF)\b)?"
)
_RANGE = re.compile(r"^\s*(?:[-\u2010-\u2015]|to|and|up to)\s*$", re.IGNORECASE)
_AT_LEAST = re.compile(
    r"\b(?:over|above|at least|from|(?<!no )(?<!not )more than|starting at|no less than|minimum of)\s*$", re.IGNORECASE
)


class SpendingLimits(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The least and the most that a user wants to spend, None where nobody says; ``currency`` is ISO 4217, or ""."""

    low: float | None = None
    high: float | None = None
    currency: str = ""

    def exceeded_by(self, paid: Money | None) -> bool | None:
        """Whether an amount is over the limit; None where there is no limit, no amount, or not one currency.

        >>> limits = spending_limits("under $25")
        >>> limits.exceeded_by(Money(amount=30, currency="USD")), limits.exceeded_by(Money(amount=3000, currency="JPY"))
        (True, None)
        """
        if self.high is None or paid is None or not self.currency or paid.currency != self.currency:
            return None
        return paid.amount > self.high


def spending_limits(words: str | None) -> SpendingLimits:
    """The first amount, or range of amounts, that is marked with a currency; a bare number only where none is.

    >>> spending_limits("around $10-$20 for multi-packs")
    SpendingLimits(low=10.0, high=20.0, currency='USD')
    >>> spending_limits("under 1,200 € including shipping")
    SpendingLimits(low=None, high=1200.0, currency='EUR')
    >>> spending_limits("at least $40").low, spending_limits("mid-range").high
    (40.0, None)
    """
    found = list(_AMOUNT.finditer(words or ""))
    first = next((one for one in found if one["sign"] or one["after"]), found[0] if found else None)
    if words is None or first is None:
        return SpendingLimits()
    said, value = ((first["sign"] or first["after"]) or "").strip(), _value(first)
    currency = CURRENCIES.get(said, said)
    # In "$10-20" only the first is marked; a range is one whole.
    for one, other in pairwise(found):
        if first in (one, other) and _RANGE.match(words[one.end() : other.start()]):
            low, high = sorted((_value(one), _value(other)))
            return SpendingLimits(low=low, high=high, currency=currency)
    at_least = _AT_LEAST.search(words[: first.start()])
    return SpendingLimits(low=value, currency=currency) if at_least else SpendingLimits(high=value, currency=currency)


def _value(amount: re.Match[str]) -> float:
    return float(amount["number"].replace(",", ""))
