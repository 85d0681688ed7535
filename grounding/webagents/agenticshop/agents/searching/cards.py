"""Which links of a page of results are products. What a script told in, cards out; pure.

A product is shown by a block with a link, a price and mostly a picture, repeated beside others of the same make. What
stands in navigation, or under a heading such as "sponsored" or "you may also like", is no result.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from grounding.records import Record

SCRIPT = Path(__file__).with_suffix(".js")
VERSION = 1

MAX_CARDS = 60
_ELSEWHERE = ("header", "footer", "nav")
_PROMOTED = re.compile(
    r"\b(sponsored|advert\w*|promot\w*|promo|recommend\w*|related|also (like|bought|viewed)|similar|recently viewed"
    r"|deal of|deals?|bestsellers?|trending|popular|inspired by|you may)\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"\b(no (results|products|matches|items|hits)\b|nothing (was |has been )?(found|for|matche)|found nothing"
    r"|0 (results|hits|items|products|matches|found)\b|did(n.t| not) match|could(n.t| not) find|no \w+ match"
    r"|keine (ergebnisse|treffer|produkte))",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"^(more|details?|view|show|see|read more|quick view|shop now|buy now|add to \w+|compare|next|previous|\d+)\W*$",
    re.IGNORECASE,
)


class Card(Record, frozen=True, kw_only=True):
    """A product as a page of results shows it. ``place`` counts from 0 in the order of the page."""

    url: str
    name: str
    text: str
    place: int
    sold_out: bool = False


class Results(Record, frozen=True, kw_only=True):
    """What a search brought. ``nothing`` where the page says so; what it shows all the same is then no result.

    ``shelves`` are the names of links without products: the parts of the shop's assortment.
    """

    url: str
    cards: tuple[Card, ...]
    nothing: bool = False
    shelves: tuple[str, ...] = ()


class _Told(msgspec.Struct):
    href: str
    link: str
    named: str
    alt: str
    text: str
    picture: bool
    price: bool
    alike: int
    links: int
    area: str
    marks: str
    heading: str
    top: float


class _ToldPage(msgspec.Struct):
    url: str
    title: str
    cards: list[_Told]
    said: str


def read_results(told: Any) -> Results:
    """What the script told of a page, as cards; one for each address.

    Raises:
        ValueError: it is not what the script tells.
    """
    try:
        page = msgspec.convert(told, type=_ToldPage, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"the page's links can't be read: {error}") from None
    host = _host(page.url)
    blocks: dict[str, list[_Told]] = {}
    for one in page.cards:
        inside = _same_shop(_host(one.href), host) and urlsplit(one.href).path not in ("", "/")
        if one.price and one.links <= 6 and one.area not in _ELSEWHERE and inside:
            blocks.setdefault(one.href, []).append(one)
    kept = [
        (min(one.top for one in group), _card(url, group))
        for url, group in blocks.items()
        if any(_is_result(one) for one in group)
    ]
    named = [card for _, card in sorted(kept, key=lambda one: one[0]) if card.name]
    cards = tuple(msgspec.structs.replace(card, place=place) for place, card in enumerate(named[:MAX_CARDS]))
    shelves = dict.fromkeys(one.link for one in page.cards if not one.price and 2 < len(one.link) <= 40)
    return Results(
        url=page.url, cards=cards, nothing=_NOTHING.search(page.said[:1500]) is not None, shelves=tuple(shelves)[:60]
    )


def _is_result(one: _Told) -> bool:
    if _PROMOTED.search(one.heading) or _PROMOTED.search(one.marks.replace("-", " ").replace("_", " ")):
        return False
    return one.area != "aside" and (one.picture or one.alike > 1)


def _card(url: str, group: list[_Told]) -> Card:
    """A product of all links to it: its name is what is called so, else the longest text of a link."""
    names = [one.named for one in group] + sorted((one.link for one in group), key=len, reverse=True)
    names += [one.alt for one in group]
    name = next((name for name in names if len(name) > 2 and not _NO_NAME.match(name)), "")
    text = max((one.text for one in group), key=len)
    sold_out = (
        re.search(r"sold out|out of stock|not available|unavailable|ausverkauft", text, re.IGNORECASE) is not None
    )
    return Card(url=url, name=name[:200], text=text, place=0, sold_out=sold_out)


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _same_shop(host: str, shop: str) -> bool:
    return bool(host) and (host == shop or host.endswith(f".{shop}") or shop.endswith(f".{host}"))
