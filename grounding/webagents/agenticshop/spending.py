"""What a user can spend, read out of the words in which a profile says it. Pure.

Budgets are free text: ``around $10-$20 for multi-packs``, ``under $50 including shipping``, ``$1,200``.
"""

from __future__ import annotations

import re

from grounding.records import Record

_AMOUNT = re.compile(r"(?P<sign>[$€£]\s?)?(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?P<after>\s?[$€£])?")
_RANGE = re.compile(r"^\s*(?:[-\u2010-\u2015]|to|and|up to)\s*$", re.IGNORECASE)
_AT_LEAST = re.compile(
    r"\b(?:over|above|at least|from|(?<!no )(?<!not )more than|starting at|no less than|minimum of)\s*$", re.IGNORECASE
)


class SpendingLimits(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The least and the most that a user wants to spend; None where the words name none."""

    low: float | None
    high: float | None


def spending_limits(words: str | None) -> SpendingLimits:
    """The first amount, or range of amounts, that is marked with a currency; a bare number only where none is.

    >>> spending_limits("around $10-$20 for multi-packs")
    SpendingLimits(low=10.0, high=20.0)
    >>> spending_limits("under $1,200 including shipping")
    SpendingLimits(low=None, high=1200.0)
    >>> spending_limits("at least $40")
    SpendingLimits(low=40.0, high=None)
    >>> spending_limits("mid-range")
    SpendingLimits(low=None, high=None)
    """
    if not words:
        return SpendingLimits(low=None, high=None)
    found = list(_AMOUNT.finditer(words))
    marked = [one for one in found if one["sign"] or one["after"]]
    # In "$10-20" only the first is marked; a range is one whole.
    chosen = marked or found
    if not chosen:
        return SpendingLimits(low=None, high=None)
    first = chosen[0]
    place = found.index(first)
    before = found[place - 1] if place else None
    if before is not None and _RANGE.match(words[before.end() : first.start()]):
        return _between(before, first)
    after = found[place + 1] if place + 1 < len(found) else None
    if after is not None and _RANGE.match(words[first.end() : after.start()]):
        return _between(first, after)
    amount = _value(first)
    if _AT_LEAST.search(words[: first.start()]):
        return SpendingLimits(low=amount, high=None)
    return SpendingLimits(low=None, high=amount)


def _between(first: re.Match[str], second: re.Match[str]) -> SpendingLimits:
    ends = sorted((_value(first), _value(second)))
    return SpendingLimits(low=ends[0], high=ends[1])


def _value(amount: re.Match[str]) -> float:
    return float(amount["number"].replace(",", ""))
