"""Amounts of money, numbers, and ranges of them, in the words of an item."""

from __future__ import annotations

import re
from collections.abc import Callable

from grounding.records import Record
from grounding.webagents.agenticshop.judge.bounds import Bounds

_SIGNS = {
    "$": "$",
    "us$": "USD",
    "c$": "CAD",
    "ca$": "CAD",
    "a$": "AUD",
    "au$": "AUD",
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
}
_WORDS = {
    "dollars": "$",
    "dollar": "$",
    "bucks": "$",
    "euros": "EUR",
    "euro": "EUR",
    "pounds": "GBP",
    "yen": "JPY",
    "francs": "CHF",
}
_CODES = ("USD", "EUR", "GBP", "JPY", "CAD", "AUD", "CHF", "NZD", "SEK", "NOK", "DKK", "PLN", "CZK")
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d{1,2})?|\d+(?:[.,]\d{1,2})?(?!\d)"
_BEFORE = r"(?:(?:us|ca?|au?)\$|[$€£¥]|\b(?:" + "|".join(_CODES) + r")\b)"
_AFTER = r"(?:[€£¥$]|\b(?:" + "|".join((*_CODES, *_WORDS)) + r")\b)"
MONEY = rf"(?:{_BEFORE}\s*)?(?:{_NUMBER})(?:\s*{_AFTER})?"
_MONEY = re.compile(rf"(?P<before>{_BEFORE})?\s*(?P<number>{_NUMBER})\s*(?P<after>{_AFTER})?", re.IGNORECASE)

_SMALL = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_COUNT_WORDS = {word: number for number, word in enumerate(_SMALL, start=1)} | {"twenty": 20, "thirty": 30, "fifty": 50}
COUNT = r"(?:\d{1,3}(?:,\d{3})+|\d+|" + "|".join(_COUNT_WORDS) + r"|a hundred|a thousand|a dozen)"
DECIMAL = r"\d+(?:\.\d+)?"

AT_MOST = (
    r"(?:less than or equal to|equal to or less than|lower than or equal to|at or below|at or under|no more than|"
    r"not more than|no higher than|not higher than|no greater than|at (?:the )?most|up to|not above|not over|not "
    r"exceeding|"
    r"a maximum of|maximum of|max(?:imum)?\.?:?|<=|=<)"
)
UNDER = r"(?:under|below|less than|lower than|fewer than|cheaper than|beneath|<)"
AT_LEAST = (
    r"(?:greater than or equal to|equal to or greater than|higher than or equal to|more than or equal to|at or above|"
    r"at (?:the )?least|no less than|not less than|no lower than|not lower than|not below|not under|no fewer than|"
    r"a minimum of|minimum of|min(?:imum)?\.?:?|>=)"
)
OVER = r"(?:over|above|more than|greater than|higher than|exceeding|in excess of|>)"
_LESS = r"(?:or|and) (?:less|lower|below|under|cheaper|fewer)"
_MORE = r"(?:or|and) (?:more|higher|above|over|greater|better|up|upwards)"


class Amount(Record, frozen=True, kw_only=True):
    """A number and what it is of: a currency, or nothing."""

    number: float
    unit: str = ""


class Range(Record, frozen=True, kw_only=True):
    """A range as it was read, and what its numbers are of."""

    bounds: Bounds
    unit: str = ""


def money(text: str) -> Amount | None:
    """An amount of money; the unit is an ISO code, "$" for a dollar without a country, or "" where none is said.

    >>> money("$1,200.50").number, money("10 euros").unit, money("twelve")
    (1200.5, 'EUR', None)
    """
    found = _MONEY.fullmatch(text.strip())
    if found is None:
        return None
    before, after = (found["before"] or "").lower(), (found["after"] or "").lower()
    units = {_currency(each) for each in (before, after) if each}
    if len(units) > 1:
        if units == {"$", "USD"}:
            units = {"USD"}
        else:
            return None
    digits = found["number"]
    if "," in digits:
        whole, _, rest = digits.rpartition(",")
        digits = digits.replace(",", "") if len(rest.partition(".")[0]) == 3 else f"{whole}.{rest}"
    return Amount(number=float(digits), unit=units.pop() if units else "")


def _currency(said: str) -> str:
    return _SIGNS.get(said) or _WORDS.get(said) or said.upper()


def count(text: str) -> Amount | None:
    """A whole number, in digits or in words up to twelve and a few more.

    >>> count("1,000").number, count("three").number, count("a hundred").number
    (1000.0, 3.0, 100.0)
    """
    text = text.strip().lower()
    spelled = {"a hundred": 100, "a thousand": 1000, "a dozen": 12} | _COUNT_WORDS
    if text in spelled:
        return Amount(number=float(spelled[text]))
    digits = text.replace(",", "")
    return Amount(number=float(digits)) if digits.isdigit() else None


def decimal(text: str) -> Amount | None:
    """A number with or without decimals."""
    return Amount(number=float(text)) if re.fullmatch(DECIMAL, text.strip()) else None


def read_range(text: str, quantity: str, read: Callable[[str], Amount | None], unit: str = "") -> Range | None:
    """A range in words: "under $50", "between 10 and 20", "4 stars or more"; None where the text is anything else.

    Args:
        text: The whole of the words.
        quantity: The pattern of one number.
        read: Reads one.
        unit: The pattern of a unit that may follow each number, such as ``stars?``.
    """
    number = f"({quantity}){f'(?:[ -]*(?:{unit}))?' if unit else ''}"
    lower, upper = rf"(?:(?P<al>{AT_LEAST})|(?P<ov>{OVER}))", rf"(?:(?P<am>{AT_MOST})|(?P<un>{UNDER}))"
    shapes = (
        (rf"(?:between|from) {number} (?:and|to|-) {number}|{number} ?(?:-|to) ?{number}", _both),
        (rf"(?:between |from )?{number} ?(?:-|to|and) ?{number} inclusive", _both),
        (rf"{lower} {number}(?:,| and| but)+ {upper} {number}", _mixed),
        (rf"{AT_MOST} ?{number}|{number},? {_LESS}|{number} (?:max|maximum|at (?:the )?most)", _at_most),
        (rf"{UNDER} ?{number}", _under),
        (rf"{AT_LEAST} ?{number}|{number},? {_MORE}|{number} ?\+(?: ?{unit or 'pieces'})?", _at_least),
        (rf"{OVER} ?{number}", _over),
        (rf"(?:exactly|equal to|equals|precisely|=) ?{number}", _exactly),
    )
    for pattern, make in shapes:
        found = re.fullmatch(pattern, text.strip(), re.IGNORECASE)
        if found is not None:
            return _made(found, make, read)
    return None


def _made(
    found: re.Match[str],
    make: Callable[[re.Match[str], list[float]], Bounds],
    read: Callable[[str], Amount | None],
) -> Range | None:
    named = set(found.re.groupindex.values())
    said = [text for number, text in enumerate(found.groups(), start=1) if number not in named and text is not None]
    amounts = [read(each) for each in said]
    known = [each for each in amounts if each is not None]
    units = {each.unit for each in known if each.unit}
    if len(known) != len(amounts) or len(units) > 1:
        return None
    bounds = make(found, [each.number for each in known])
    return None if bounds.empty else Range(bounds=bounds, unit=units.pop() if units else "")


def _both(_found: re.Match[str], numbers: list[float]) -> Bounds:
    return Bounds(low=numbers[0], high=numbers[1])


def _mixed(found: re.Match[str], numbers: list[float]) -> Bounds:
    return Bounds(low=numbers[0], high=numbers[1], low_open=found["ov"] is not None, high_open=found["un"] is not None)


def _at_most(_found: re.Match[str], numbers: list[float]) -> Bounds:
    return Bounds(high=numbers[0])


def _under(_found: re.Match[str], numbers: list[float]) -> Bounds:
    return Bounds(high=numbers[0], high_open=True)


def _at_least(_found: re.Match[str], numbers: list[float]) -> Bounds:
    return Bounds(low=numbers[0])


def _over(_found: re.Match[str], numbers: list[float]) -> Bounds:
    return Bounds(low=numbers[0], low_open=True)


def _exactly(_found: re.Match[str], numbers: list[float]) -> Bounds:
    return Bounds(low=numbers[0], high=numbers[0])
