"""Prices in words: amounts with their currency, ranges, prices of a unit, and what the words around a price make of it.

Numbers are read by price-parser; which part of a text is a price, and of what, is decided here, since the library takes
the first number that it meets.
"""

from __future__ import annotations

import math
import re

from grounding.records import Record
from grounding.webagents.agenticshop.records import Money

BREAK = "\u200b"
"""Stands in a line's text where one element ends and another begins without a blank: no number goes on over it."""

MAX_AMOUNT = 100_000_000.0
MAX_TEXT_CHARS = 5_000

CURRENCIES = {
    "US$": "USD",
    "CA$": "CAD",
    "C$": "CAD",
    "AU$": "AUD",
    "A$": "AUD",
    "NZ$": "NZD",
    "HK$": "HKD",
    "S$": "SGD",
    "R$": "BRL",
    "MX$": "MXN",
    "€": "EUR",
    "£": "GBP",
    "₹": "INR",
    "₩": "KRW",
    "₺": "TRY",
    "₽": "RUB",
    "₴": "UAH",
    "₪": "ILS",
    "₫": "VND",
    "₱": "PHP",
    "฿": "THB",
    "zł": "PLN",
    "Kč": "CZK",
    "Fr.": "CHF",
}
"""Signs that stand for one currency alone."""

AMBIGUOUS = {"$": ("USD", "CAD", "AUD", "NZD", "HKD", "SGD", "MXN"), "¥": ("JPY", "CNY"), "kr": ("SEK", "NOK", "DKK")}
"""Signs that several currencies share; the first is meant where the page says nothing else."""

CODES = frozenset(
    [
        "USD",
        "EUR",
        "GBP",
        "JPY",
        "CAD",
        "AUD",
        "NZD",
        "CHF",
        "CNY",
        "HKD",
        "SGD",
        "INR",
        "KRW",
        "SEK",
        "NOK",
        "DKK",
        "PLN",
        "CZK",
        "HUF",
        "RON",
        "BGN",
        "TRY",
        "BRL",
        "MXN",
        "ZAR",
        "ILS",
        "THB",
        "PHP",
        "MYR",
        "IDR",
        "VND",
        "TWD",
        "RUB",
        "UAH",
        "AED",
        "SAR",
    ]
)


class FoundPrice(Record, frozen=True, kw_only=True):
    """A price in a text: from ``start`` to ``end``, as written.

    ``highest`` is the upper end of a range, whose lower one is ``amount``. ``open_below`` marks "from 10": the least of
    several prices. ``unit`` is what it buys where that is a measure, such as "100 g".
    """

    amount: float
    sign: str
    text: str
    start: int
    end: int
    highest: float | None = None
    open_below: bool = False
    unit: str = ""


_SIGNS = "|".join(
    [
        *(re.escape(sign) for sign in sorted(CURRENCIES, key=len, reverse=True)),
        r"(?<![A-Za-z])(?:" + "|".join(sorted(CODES)) + r")(?![A-Za-z])\s?\$?",
        r"(?<![A-Za-z])[Ee]uros?(?![A-Za-z])",
        r"(?<![A-Za-z])kr\.?(?![A-Za-z])",
        r"\$",
        r"¥",
    ]
)
_B = f"{BREAK}?"
_GROUP = r"[.,'\u2019\u00a0\u202f\u2009]"
_WHOLE = rf"(?:\d{{1,3}}(?:{_GROUP}\d{{2,3}}){{0,4}}{_GROUP}\d{{3}}(?!\d)|\d{{1,9}})"
_CENTS = rf"(?:{_B}[.,]{_B}(?:\d{{1,2}}(?!\d)|[-\u2013—]{{1,2}}))?"
_NUMBER = rf"(?<![\d.,])(?:{_WHOLE}{_CENTS}|[.,]\d{{2}}(?!\d))"
_SPACED = rf"(?<![\d.,])\d{{1,3}}(?: \d{{3}})+{_CENTS}"
_BEFORE = re.compile(rf"(?P<sign>{_SIGNS}){_B}\s?{_B}(?P<number>{_NUMBER})")
_AFTER = re.compile(rf"(?P<number>{_SPACED}|{_NUMBER}){_B}\s?{_B}(?P<sign>{_SIGNS})(?P<cents>\d\d(?!\d))?")
_NOT_PLAIN = re.compile(r"[eE]\d|[kKmM](?![A-Za-z])|[A-Za-z]*\d")
_RANGE_GAP = re.compile(rf"^[\s{BREAK}]*(?:-|\u2013|—|to|bis)[\s{BREAK}]*$", re.IGNORECASE)
_FROM = re.compile(rf"\b(?:from|starting (?:at|from)|as low as|ab|à partir de|desde)[:\s{BREAK}]*$", re.IGNORECASE)
_MEASURE = (
    r"(?:fl\.?\s?oz|sq\.?\s?(?:ft|m)|kilograms?|grams?|kilos?|kg|mg|g|lbs?|pounds?|oz|ounces?|lit(?:er|re)s?|ml|cl|l|"
    r"met(?:er|re)s?|cm|mm|m|ft|feet|yards?|yd|count|ct|sheets?|pods?|capsules?|bags?|servings?|washes|cups?|"
    r"tablets?|"
    r"pieces?|pcs?|units?|stück|rolls?|100)"
)
_UNIT = re.compile(
    rf"^[\s{BREAK}]*(?:/|per|pro|je|par|a)[\s{BREAK}]*(?P<unit>(?:\d+(?:[.,]\d+)?\s?)?{_MEASURE})(?![A-Za-z])",
    re.IGNORECASE,
)


def find_prices(text: str) -> tuple[FoundPrice, ...]:
    """All prices of a text in its order; a number without a sign of a currency is none."""
    text = text[:MAX_TEXT_CHARS]
    found: list[FoundPrice] = []
    taken = 0
    matches = sorted(
        (match for pattern in (_BEFORE, _AFTER) for match in pattern.finditer(text)),
        key=lambda match: (match.start(), -match.end()),
    )
    for match in matches:
        if match.start() < taken or (match.re is _BEFORE and _NOT_PLAIN.match(text, match.end())):
            continue
        amount = _amount(match["number"], match.groupdict().get("cents") or "")
        if amount is None:
            continue
        taken = match.end()
        unit = _UNIT.match(text[taken : taken + 40])
        one = FoundPrice(
            amount=amount,
            sign=_plain_sign(match["sign"]),
            text=match[0].replace(BREAK, "").strip(),
            start=match.start(),
            end=taken,
            open_below=bool(_FROM.search(text[max(0, match.start() - 24) : match.start()])),
            unit=unit["unit"].strip() if unit else "",
        )
        if found and _RANGE_GAP.match(text[found[-1].end : one.start]) and one.amount > found[-1].amount:
            found[-1] = _joined(found[-1], one, text)
        else:
            found.append(one)
    return tuple(found)


def _joined(low: FoundPrice, high: FoundPrice, text: str) -> FoundPrice:
    return FoundPrice(
        amount=low.amount,
        highest=high.amount,
        sign=low.sign,
        text=text[low.start : high.end].replace(BREAK, ""),
        start=low.start,
        end=high.end,
        unit=high.unit,
    )


def parse_money(text: str, hint: str = "") -> Money | None:
    """The one price of a short text; None where there is none, or several. A bare number takes the hint's currency.

    Args:
        text: Such as "1.299,00 €", "USD 12.5", or "12.50" beside a hint.
        hint: The code of the currency that the page names elsewhere.
    """
    found = find_prices(text)
    if len(found) == 1:
        return money(found[0], hint)
    if found:
        return None
    amount = _amount(text.strip(), "") if re.fullmatch(_NUMBER, text.strip()) else None
    return None if amount is None else Money(amount=amount, currency=currency_code(hint))


def money(found: FoundPrice, hint: str = "") -> Money:
    """A found price as an amount in a currency; the hint decides between those that share a sign."""
    return Money(amount=found.amount, currency=currency_of(found.sign, hint))


def currency_of(sign: str, hint: str = "") -> str:
    """The ISO code that a sign stands for.

    Args:
        sign: As on the page, such as "$".
        hint: A code that the page names elsewhere; taken where it is one that the sign may stand for.
    """
    if sign in CODES:
        return sign
    if sign in CURRENCIES:
        return CURRENCIES[sign]
    may_be = AMBIGUOUS.get(sign, ())
    known = currency_code(hint)
    return known if known in may_be else may_be[0] if may_be else ""


def currency_code(text: str) -> str:
    """A text as an ISO code, "" where it is none."""
    code = text.strip().upper()
    return code if code in CODES else CURRENCIES.get(text.strip(), "")


def _plain_sign(sign: str) -> str:
    bare = sign.replace(BREAK, "").strip().removesuffix("$").strip() if sign[:3] in CODES else sign.strip()
    if bare[:2] == "kr":
        return "kr"
    return "€" if bare.lower().startswith("euro") else bare


def _amount(number: str, cents: str) -> float | None:
    """The number of a price: price-parser's reading, but never a range, a sign or anything beyond all prices."""
    from price_parser import parse_price

    plain = number.replace(BREAK, "").replace("\u2019", "'")
    plain = re.sub(r"[.,][-\u2013—]+$", "", plain)
    plain = re.sub(r"[\s\u00a0\u202f\u2009]", "", plain)
    if plain.startswith((".", ",")):
        plain = "0." + plain[1:]
    if cents:
        plain = f"{re.sub(r'[^0-9]', '', plain)}.{cents}"
    parsed = parse_price(plain).amount if plain and len(plain) <= 20 else None
    if parsed is None:
        return None
    amount = float(parsed)
    return amount if math.isfinite(amount) and 0 <= amount <= MAX_AMOUNT else None
