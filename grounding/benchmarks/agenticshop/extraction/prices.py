"""The words by which pages are read (``words.yaml``), and amounts of money: where they stand in a text, in what."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from grounding.benchmarks.agenticshop.records import Money

_WORDS: dict[str, Any] = msgspec.yaml.decode((Path(__file__).parent / "words.yaml").read_bytes())
_AROUND = {"words": (r"\b(?:", r")\b"), "whole": (r"^\W*(?:", r")\W*$"), "forms": ("", "")}
SAID: dict[str, re.Pattern[str]] = {
    name: re.compile(f"{before}{'|'.join(entries)}{after}", re.IGNORECASE)
    for kind, (before, after) in _AROUND.items()
    for name, entries in _WORDS[kind].items()
}
"""The patterns of ``words``, ``whole`` and ``forms`` by their names."""

CALLED: dict[str, frozenset[str]] = {name: frozenset(entries) for name, entries in _WORDS["names"].items()}
"""The entries of ``names``."""

SIGNS: dict[str, str] = _WORDS["signs"]
SHARED = {"$": ("USD", "CAD", "AUD", "NZD", "HKD", "SGD", "MXN"), "¥": ("JPY", "CNY"), "KR": ("SEK", "NOK", "DKK")}
"""Signs that several currencies share; the first is meant where the page says nothing else."""

CODES = {*SIGNS.values(), *(code for shared in SHARED.values() for code in shared), "CHF", "HUF", "ZAR", "THB"}
_SIGN = "|".join(
    [re.escape(sign) for sign in sorted((one for one in SIGNS if not one.isalpha()), key=len, reverse=True)]
    + [rf"(?<![A-Za-z])(?:{'|'.join(sorted(CODES))}|[Ee]uros?|kr\.?|zł|Kč)(?![A-Za-z])\s?\$?", r"\$", "¥"]
)
_NUMBER = r"(?:\d{1,3}(?:[.,' \u00a0\u202f]\d{3})+(?:[.,]\d{1,2})?|\d{1,9}(?:[.,](?:\d{1,2}|[-\u2013\u2014]))?)(?![\d])"
_PRICE = re.compile(
    rf"(?P<sign>{_SIGN})\s?(?P<number>{_NUMBER})|(?<![\d.,$€£])(?P<before>{_NUMBER})\s?(?P<after>{_SIGN})"
)
_OTHER_AFTER = re.compile(r"[^.;,$€£\d]{0,12}" + SAID["other_price"].pattern, re.IGNORECASE)


class FoundPrice(NamedTuple):
    """A price in a text, from ``start``. ``open``: the least of several ("from 10").

    ``kind`` is what the words beside it make of it: ``current``, ``list`` (an old price), or ``other``: shipping, a
    saving, a rate, a price of a unit.
    """

    amount: float
    sign: str
    text: str
    start: int
    kind: str
    open: bool

    def money(self, hint: str) -> Money:
        """The amount in its currency; ``hint`` is what the page names for a sign that several share."""
        return Money(amount=self.amount, currency=currency_code(self.sign, hint))


def find_prices(text: str) -> tuple[FoundPrice, ...]:
    """All prices of a text in its order; a number without a currency is none.

    >>> [one.amount for one in find_prices("Now 1.299,00 € instead of $1,499")]
    [1299.0, 1499.0]
    """
    from price_parser import Price

    text = text[:5_000]
    found: list[FoundPrice] = []
    end = 0
    for match in _PRICE.finditer(text):
        amount = Price.fromstring(re.sub(r"[.,][-\u2013\u2014]$", "", match["number"] or match["before"])).amount_float
        if amount is None or not 0 <= amount < 1e8:
            continue
        before, after, end = text[end : match.start()], text[match.end() : match.end() + 40], match.end()
        near = before[-40:].rpartition(".")[2]
        kind = "list" if SAID["old_price"].search(near) else "current"
        if SAID["other_price"].search(near) or _OTHER_AFTER.match(after) or SAID["unit_price"].match(after):
            kind = "other"
        sign = (match["sign"] or match["after"]).strip()
        found.append(FoundPrice(amount, sign, match[0], match.start(), kind, bool(SAID["from"].search(before))))
    return tuple(found)


def currency_code(sign: str, hint: str = "") -> str:
    """The ISO 4217 code of a sign or code; "" where it is none.

    >>> currency_code("€"), currency_code("$", "CAD"), currency_code("usd"), currency_code("?")
    ('EUR', 'CAD', 'USD', '')
    """
    plain = sign.strip().rstrip(".").upper()
    plain = plain.removesuffix("$").strip() if plain[:3] in CODES else plain
    if plain in SHARED:
        return hint if hint in SHARED[plain] else SHARED[plain][0]
    return plain if plain in CODES else SIGNS.get(plain, "")
