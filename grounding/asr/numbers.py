"""Numbers that are spelt out, as digits: words in, words out. English; cardinals, ordinals, decimals, years, times.

A number is one word: ``twenty-five`` is ``25``, ``twenty first`` and ``21st`` are both ``21st``. Words that merely
stand side by side stay apart: ``one two`` is ``1 2``, and a time such as ``one thirty`` is ``1 30``, as ``1:30`` is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

_ONES: Final = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_TEENS: Final = [
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS: Final = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_CARDINALS: Final = {word: value for value, word in enumerate(_ONES + _TEENS)} | {
    word: 10 * value for value, word in enumerate(_TENS, start=2)
}
_SCALES: Final = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_UNUSUAL: Final = {"first": 1, "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12}
_ORDINALS: Final = (
    {f"{word}th": value for word, value in _CARDINALS.items() if not word.endswith("y")}
    | {f"{word[:-1]}ieth": value for word, value in _CARDINALS.items() if word.endswith("y")}
    | _UNUSUAL
)
_SCALE_ORDINALS: Final = {f"{word}th": value for word, value in _SCALES.items()}

_DIGITS: Final = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
_WHOLE: Final = re.compile("[0-9]+")
_SINGLE: Final = frozenset([*range(10), *"0123456789"])
_CENTURIES: Final = frozenset(["16", "17", "18", "19", "20"])
"""``nineteen ninety`` is a year; a smaller first half is rather the hour of a time."""


def digits_for_numbers(words: Sequence[str]) -> list[str]:
    """The words with spelt-out numbers as digits.

    Args:
        words: In small letters, without hyphens.

    >>> digits_for_numbers("the twenty first of two thousand and six".split())
    ['the', '21st', 'of', '2006']
    """
    found: list[str] = []
    at = 0
    while at < len(words):
        taken, text = _number(words, at)
        if taken == 0:
            found.append(words[at])
            at += 1
        else:
            found.append(text)
            at += taken
    return _joined(found)


def ordinal(value: int) -> str:
    """``21`` is ``21st``."""
    if value % 100 in (11, 12, 13):
        return f"{value}th"
    return f"{value}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(value % 10, 'th') }"


def _number(words: Sequence[str], at: int) -> tuple[int, str]:
    """How many words from ``at`` on are one number, and that number; 0 where none is."""
    start = at
    if words[at] in ("a", "an") and at + 1 < len(words) and words[at + 1] in _SCALES:
        at += 1
        total, part = Decimal(0), Decimal(1)
        expects_scale = True
    else:
        total, part = Decimal(0), Decimal(0)
        expects_scale = False
    seen = 0
    state = "scale" if expects_scale else "start"
    while at < len(words):
        word = words[at]
        joiner = 0
        if word == "and" and state == "scaled" and at + 1 < len(words) and _fits(words[at + 1]):
            joiner, word = 1, words[at + 1]
        if word in _ORDINALS or word in _SCALE_ORDINALS:
            value = _ordinal_end(word, state, part)
            if value is None:
                break
            return at + joiner + 1 - start, ordinal(int(total + value))
        decimals = _decimals(words, at + 1) if word == "point" and state in ("digits", "ones", "tens", "scaled") else ""
        if decimals:
            part, state = part + Decimal(f"0.{decimals}"), "digits"
            at += 1 + len(decimals)
            continue
        step = _step(word, state, part)
        if step is None:
            break
        part, state = step
        if word in _SCALES and _SCALES[word] >= 1000:
            total, part = total + part, Decimal(0)
        at += joiner + 1
        seen += 1
    if seen == 0:
        return 0, ""
    alone = at - start == 1 and words[start][0].isdigit()
    return at - start, words[start] if alone else _plain(total + part)


def _decimals(words: Sequence[str], at: int) -> str:
    """The digits behind a spoken decimal point, one a word."""
    found = ""
    while at < len(words) and (digit := _CARDINALS.get(words[at], words[at])) in _SINGLE:
        found += str(digit)
        at += 1
    return found


def _fits(word: str) -> bool:
    return word in _CARDINALS or word in _ORDINALS


def _step(word: str, state: str, part: Decimal) -> tuple[Decimal, str] | None:
    """The number so far with one more word; None where the word begins something else.

    States: ``start``; ``digits`` after a number in digits; ``ones`` after one to nineteen; ``tens`` after twenty,
    thirty, …; ``scale`` where only a scale may follow; ``scaled`` after one.
    """
    if word in _SCALES:
        if state not in ("digits", "ones", "tens", "scale") and not (state == "scaled" and part > 0):
            return None
        scale = _SCALES[word]
        if part == 0 or (scale == 100 and part >= 100):
            return None
        return part * scale, "scaled"
    if state == "start" and _DIGITS.fullmatch(word):
        return Decimal(word), "digits"
    value = _CARDINALS.get(word)
    if value is None:
        return None
    if state in ("start", "scaled") and not (state == "scaled" and value == 0):
        return part + value, "tens" if value >= 20 else "ones"
    if state == "tens" and 1 <= value <= 9:
        return part + value, "ones"
    return None


def _ordinal_end(word: str, state: str, part: Decimal) -> Decimal | None:
    """The value of a number that ends with this ordinal; None where the ordinal is a word of its own."""
    if word in _SCALE_ORDINALS:
        return part * _SCALE_ORDINALS[word] if state in ("digits", "ones", "tens", "scale") and part else None
    value = _ORDINALS[word]
    if state in ("start", "scaled") or (state == "tens" and 1 <= value <= 9):
        return part + value
    return None


def _plain(value: Decimal) -> str:
    return str(int(value)) if value == int(value) else f"{value.normalize():f}"


def _joined(words: Sequence[str]) -> list[str]:
    """The zero of a time (``1 oh 5`` is ``1 05``) and the halves of a year (``19 90``) put together."""
    found: list[str] = []
    at = 0
    while at < len(words):
        here, *after = words[at : at + 3]
        if _WHOLE.fullmatch(here) and len(after) == 2 and after[0] in ("oh", "o") and after[1] in _SINGLE:
            found += [here, f"0{after[1]}"]
            at += 3
        elif here in _CENTURIES and after and len(after[0]) == 2 and _WHOLE.fullmatch(after[0]) and after[0] > "09":
            found.append(here + after[0])
            at += 2
        else:
            found.append(here)
            at += 1
    return found
