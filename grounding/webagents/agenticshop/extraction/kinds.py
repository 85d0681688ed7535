"""What a price in a text is for, by the words around it."""

from __future__ import annotations

import re
from typing import Literal

from grounding.webagents.agenticshop.extraction.price import BREAK, FoundPrice

PriceKind = Literal[
    "current", "list", "unit", "saving", "shipping", "threshold", "instalment", "extra", "total", "used", "recurring"
]
"""What a price is for: ``current`` is what the product costs now."""


# --- what a price is for ------------------------------------------------------------------------------------------

_SHIPPING = re.compile(
    r"\b(?:to ship|shipping|delivery|postage|freight|p\s?&\s?p|versand|livraison|envío)\b",
    re.IGNORECASE,
)
_THRESHOLD = re.compile(
    r"(?:\b(?:over|above|orders? (?:of|from|over)|more than|at least|minimum|min\.|spend(?:ing)?|exceed\w*|"
    r"under|below|up to|ab)\b)[^.;]{0,20}$",
    re.IGNORECASE,
)
_SAVING = re.compile(
    r"(?:\b(?:sav(?:e|es|ed|ings?)|discount|coupon|voucher|rebate|cashback|you save|reduced by|reward|credit|"
    r"gift card)"
    r"\b[^.;]{0,20}|[-\u2212\u2013]\s?)$",
    re.IGNORECASE,
)
_OFF = re.compile(rf"^[\s{BREAK}]*(?:off\b|discount|savings?\b|cashback|back\b|rabatt)", re.IGNORECASE)
_LIST = re.compile(
    r"\b(?:was|list(?: price)?|m\.?s\.?r\.?p\.?|r\.?r\.?p\.?|reg(?:\.|ular)?(?: price)?|original(?:ly)?(?: price)?|"
    r"compare(?:d)? (?:at|to)|before|previous(?:ly)?|old price|typical price|usual(?:ly)?|retail(?: price)?|uvp|"
    r"statt|"
    r"instead of|valued? at|worth)[\s:]*(?:price)?[\s:]*$",
    re.IGNORECASE,
)
_WAS_AFTER = re.compile(rf"^[\s{BREAK}]*(?:\(?\s*(?:list price|m\.?s\.?r\.?p|rrp|uvp|before)\b)", re.IGNORECASE)
_INSTALMENT = re.compile(
    r"\b(?:payments? of|instal?lments? of|pay(?: in)? (?:\d|just)|interest.free|klarna|afterpay|"
    r"affirm)\b[^.;]{0,30}$",
    re.IGNORECASE,
)
_RECURRING = re.compile(
    rf"^[\s{BREAK}]*(?:/|per|a|each)?[\s{BREAK}]*\b(?:mo(?:nth)?s?\b\.?|monthly|weeks?\b|weekly|yr|years?\b|"
    rf"day\b|night)",
    re.IGNORECASE,
)
_TIMES = re.compile(r"\b\d{1,2}\s?[x\u00d7]\s?$", re.IGNORECASE)
_SUBSCRIBE = re.compile(
    r"\b(?:subscribe|subscription|auto.?ship|members?|membership|club price|plus price)\b", re.IGNORECASE
)
_EXTRA = re.compile(
    r"\b(?:protection|insurance|warranty|care plan|gift.?wrap\w*|assembly|installation|engraving|deposit|"
    r"tax(?:es)?|vat|"
    r"trade.?in|add.?on|fee|accessor\w+|refill)\b",
    re.IGNORECASE,
)
_TOTAL = re.compile(r"\b(?:sub)?total\b|\bincl(?:uding|\.)? (?:shipping|delivery|postage)", re.IGNORECASE)
_USED = re.compile(r"\b(?:used|refurbished|pre-?owned|open.?box|renewed|second.?hand)\b", re.IGNORECASE)
_UNIT_LABEL = re.compile(r"\b(?:unit price|price per|grundpreis|base price per)[\s\w]{0,12}:?\s*$", re.IGNORECASE)


def price_kind(text: str, prices: tuple[FoundPrice, ...], place: int) -> PriceKind:
    """What one price of a text is for, by the words since the price before it and up to the next.

    Args:
        text: The whole text.
        prices: All prices in it, as ``find_prices`` gives them.
        place: Which one is meant.
    """
    one = prices[place]
    begin = prices[place - 1].end if place else 0
    stop = prices[place + 1].start if place + 1 < len(prices) else len(text)
    before = text[max(begin, one.start - 60) : one.start].replace(BREAK, " ").lower()
    after = text[one.end : min(stop, one.end + 40)].replace(BREAK, " ").lower()
    # A price belongs to the words of its own clause.
    before = re.split(r"[.;!?|•()](?:\s|$)|\s[-\u2013]\s", before)[-1]
    near = re.split(r"[.;!?|•,()]", after)[0]
    if one.unit or _UNIT_LABEL.search(before):
        return "unit"
    if _THRESHOLD.search(before) or re.match(r"\s*(?:or (?:more|above)|minimum|\+ orders)", after):
        return "threshold"
    if _SHIPPING.search(near) or _SHIPPING.search(before):
        return "total" if _TOTAL.search(before + near) else "shipping"
    if _SAVING.search(before) or _OFF.match(after):
        return "saving"
    if _LIST.search(before.strip() + " ") or _WAS_AFTER.match(after):
        return "list"
    if _INSTALMENT.search(before) or _TIMES.search(before):
        return "instalment"
    if _RECURRING.match(after) or _SUBSCRIBE.search(before + near):
        return "recurring"
    if _TOTAL.search(before):
        return "total"
    if _USED.search(before + near):
        return "used"
    if _EXTRA.search(before) or re.match(r"\s*(?:deposit|fee|tax)", after):
        return "extra"
    return "current"
