"""What a page says of stock, delivery, returns and warranty, in its own words; and of shipping, word by word."""

from __future__ import annotations

import re
from collections.abc import Callable

from grounding.records import Record
from grounding.webagents.agenticshop.extraction.buying import is_buying, ways_to_buy
from grounding.webagents.agenticshop.extraction.dom import Line, ancestors, words_of
from grounding.webagents.agenticshop.extraction.price import find_prices
from grounding.webagents.agenticshop.extraction.regions import Regions
from grounding.webagents.agenticshop.extraction.shipping import (
    ShippingWord,
    ShippingWords,
    mentions_shipping,
    read_words,
)
from grounding.webagents.agenticshop.records import Attribute, Availability

MAX_TEXT_CHARS = 400
MAX_LINES = 3

_SOLD_OUT = re.compile(
    r"\b(?:sold.?out|out of stock|currently (?:unavailable|not available)|temporarily (?:unavailable|out)|"
    r"not in stock|"
    r"no longer (?:available|sold|made)|discontinued|unavailable|all gone|back in stock soon|not available|"
    r"notify me when|email me when|ausverkauft|nicht (?:auf lager|lieferbar|verfügbar)|épuisé|agotado|0 (?:left|"
    r"in stock))\b",
    re.IGNORECASE,
)
_IN_STOCK = re.compile(
    r"\b(?:in stock|available now|ready to ship|ships (?:today|now|immediately)|only \d{1,4} (?:left|remaining|"
    r"in stock)|"
    r"\d{1,4} (?:left|in stock|available|remaining)|low stock|limited stock|auf lager|lieferbar|en stock|"
    r"availability:? (?:in stock|available|yes))\b|^available$",
    re.IGNORECASE,
)
_WAITING = re.compile(r"\b(?:pre-?order|back.?order(?:ed)?|coming soon|available (?:from|on))\b", re.IGNORECASE)
_DELIVERY = re.compile(
    r"\b(?:deliver(?:y|ed|s)|arriv(?:es?|ing|al)|get it (?:by|in|on|within)|with you (?:in|by|within)|"
    r"ships? (?:in|within|from|today|by|on)|"
    r"dispatch(?:ed|es)?|(?:business|working) days?|lieferzeit|estimated|leaves (?:our|the))\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b\d{1,2}\s*(?:-|\u2013|to|and)?\s*(?:\d{1,2}\s*)?(?:business |working )?(?:days?|weeks?|hours?|h|tage)\b|"
    r"\btomorrow\b|\btoday\b|"
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|"
    r"dec)[a-z]* \d|next.day",
    re.IGNORECASE,
)
_RETURNS = re.compile(
    r"\b(?:returns?|returnable|refund(?:s|ed|able)?|money.?back|returned|exchanges?|send (?:it |them )?back|"
    r"final sale|"
    r"rückgabe|retours?)\b",
    re.I,
)
_WARRANTY = re.compile(
    r"\b(?:warranty|warranties|guarantee[ds]?|garantie|guaranteed for|free (?:repairs?|mending))\b",
    re.IGNORECASE,
)
_MONEY_BACK = re.compile(r"\bmoney.?back\b|\bsatisfaction\b|\bprice (?:match|guarantee)|\bbest price\b", re.IGNORECASE)


class Stock(Record, frozen=True, kw_only=True):
    """Whether the product can be had, and the words that say so."""

    availability: Availability = "unknown"
    quote: str = ""


def stock(regions: Regions) -> Stock:
    """What the product's part says of stock; words of single forms and of reviews don't count.

    Sold out is believed before in stock: a page that is sold out keeps words like "in stock: notify me".
    """
    near = [line for line in _offer_lines(regions) if len(line.words) <= 120]
    waiting = ""
    for pattern, said in ((_SOLD_OUT, "sold_out"), (_IN_STOCK, "in_stock")):
        for line in near:
            if not pattern.search(line.words) or _is_form(line) or not regions.document.can_be_seen(line.words):
                continue
            if said == "in_stock" and _SOLD_OUT.search(line.words):
                continue
            return Stock(availability=said, quote=line.words[:160])  # type: ignore[arg-type]
    for line in near:
        if _WAITING.search(line.words) and not _is_form(line):
            waiting = line.words[:160]
            break
    if waiting:
        return Stock(quote=waiting)
    for one in ways_to_buy(regions.document.body):
        if regions.role_of(one) != "main":
            continue
        words = words_of(one) or (one.get("value") or "")
        if one.get("disabled") is None and one.get("aria-disabled") != "true":
            return Stock(availability="in_stock", quote=words[:80])
    return Stock()


def _offer_lines(regions: Regions) -> list[Line]:
    """Lines of the product's part, those after the title first and the nearest of them first."""
    lines = regions.lines("main")
    return sorted(lines, key=lambda line: (line.place < regions.title_place, abs(line.place - regions.title_place)))


def _is_form(line: Line) -> bool:
    """Whether a line is of one form of the product, such as a size that is sold out."""
    for one in ancestors(line.element, most=3):
        if one.tag in ("label", "option") or one.get("role") in ("radio", "option"):
            return True
        if one.tag == "button" and not is_buying(one):
            return True
        if one.tag in ("li", "td", "tr", "div") and (one.get("data-variant") or one.get("data-option")):
            return True
    return False


def shipping_words(regions: Regions, pairs: tuple[Attribute, ...], hint: str) -> ShippingWords:
    """All statements about shipping, the product's own apart from those above it and in the site's frame."""
    own: list[ShippingWord] = []
    general: list[ShippingWord] = []
    for line, text in _labelled_lines(regions, "main"):
        if mentions_shipping(text) and len(text) <= 400 and not _is_form(line) and _shown(regions, line):
            (own if line.place > regions.title_place else general).extend(read_words(text, hint))
    for pair in pairs:
        if mentions_shipping(pair.name):
            own.extend(read_words(f"{pair.name}: {pair.value}", hint))
    for _, text in _labelled_lines(regions, "frame", "hidden"):
        if mentions_shipping(text) and len(text) <= 200:
            # A promise over the whole site holds from a sum on; without one it is an advertisement.
            told = read_words(text, hint)
            general.extend(one for one in told if not one.free or one.least is not None or _says_flat(text))
    return ShippingWords(own=tuple(own), general=tuple(general))


def _says_flat(text: str) -> bool:
    return bool(re.search(r"\b(?:flat.?rate|all orders|every order|everything)\b", text, re.IGNORECASE))


def _labelled_lines(regions: Regions, *roles: str) -> list[tuple[Line, str]]:
    """Lines with the short label before them where they are an answer to it: "Shipping" and "$4.99"."""
    found = []
    before: Line | None = None
    for line in regions.document.lines:
        if regions.role(line) in roles:
            text = line.text
            if before is not None and _answers(before, line):
                text = f"{before.words.rstrip(':')}: {line.words}"
            found.append((line, text))
        before = line
    return found


def _answers(label: Line, line: Line) -> bool:
    if len(label.words) > 40 or find_prices(label.text) or label.words.endswith((".", "!")):
        return False
    if len(label.words.split()) > 4 or any(sign.isdigit() for sign in label.words):
        return False
    if label.element.tag in ("dt", "th") and line.element.tag in ("dd", "td"):
        return True
    same = label.element.getparent() is line.element.getparent() or label.element is line.element
    return same and len(line.words) <= 60 and (mentions_shipping(label.words) or label.words.endswith(":"))


def _shown(regions: Regions, line: Line) -> bool:
    return regions.document.can_be_seen(line.text)


def delivery(regions: Regions, pairs: tuple[Attribute, ...]) -> str:
    """When the product comes, in the page's words."""
    return _gather(regions, pairs, _DELIVERY, lambda text: bool(_TIME.search(text)) and not _of_returns(text))


def returns(regions: Regions, pairs: tuple[Attribute, ...]) -> str:
    """How it can be sent back, in the page's words."""
    return _gather(regions, pairs, _RETURNS, lambda text: len(text.split()) >= 2)


def warranty(regions: Regions, pairs: tuple[Attribute, ...]) -> str:
    """What is promised for the time after, in the page's words."""
    return _gather(regions, pairs, _WARRANTY, lambda text: len(text.split()) >= 2 and not _MONEY_BACK.search(text))


def _of_returns(text: str) -> bool:
    return bool(_RETURNS.search(text)) and not re.search(r"\b(?:deliver|arriv|ship|dispatch)", text, re.IGNORECASE)


def _gather(
    regions: Regions, pairs: tuple[Attribute, ...], pattern: re.Pattern[str], fits: Callable[[str], bool]
) -> str:
    """The first lines that speak of a matter: of the product's part, then of hidden tabs, then of the table."""
    found: list[str] = []
    for roles in (("main",), ("hidden",)):
        for line, text in _labelled_lines(regions, *roles):
            words = " ".join(text.replace("\u200b", " ").split())
            if len(words) > MAX_TEXT_CHARS:
                words = _sentence(words, pattern)
            if words and pattern.search(words) and fits(words) and line.element.tag not in ("h1", "a", "option"):
                found.append(words)
        if found:
            break
    found += [
        f"{pair.name}: {pair.value}"
        for pair in pairs
        if pattern.search(pair.name) and not any(pair.value in one for one in found)
    ]
    kept = list(dict.fromkeys(found))[:MAX_LINES]
    return " | ".join(kept)[: MAX_TEXT_CHARS * 2]


def _sentence(words: str, pattern: re.Pattern[str]) -> str:
    return next((one for one in re.split(r"(?<=[.!?])\s", words) if pattern.search(one)), "")[:MAX_TEXT_CHARS]
