"""Cards: the blocks of a page that show other products, each a link to another page beside a price."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urljoin, urlsplit

from grounding.webagents.agenticshop.extraction.buying import ways_to_buy
from grounding.webagents.agenticshop.extraction.dom import Document, ancestors, words_of
from grounding.webagents.agenticshop.extraction.price import find_prices

if TYPE_CHECKING:
    Element = Any


Role = Literal["main", "frame", "promotion", "card", "reviews", "crumbs", "choice", "hidden"]

MAX_CARD_LEVELS = 7
"""How far above a link its price may stand."""
_PLAIN_LINK = re.compile(
    r"\b(?:shipping|delivery|returns?|warranty|details|learn more|read more|see (?:all|more)|sign in|log in|"
    r"terms|policy|"
    r"size (?:guide|chart)|reviews?|ratings?|questions?|share|wish ?list|save|contact|help|faq|store|visit|cart|"
    r"basket|"
    r"checkout|compare|print|report|gift|coupon|all|more|back to|home)\b",
    re.IGNORECASE,
)
_BY = re.compile(r"\b(?:by|from|brand|seller|sold|manufacturer|ships)\s*:?\s*$", re.IGNORECASE)
_FILE = re.compile(r"\.(?:png|jpe?g|gif|webp|avif|svg|pdf|zip|mp4)$", re.IGNORECASE)
_PAIRED = frozenset(("fieldset", "form"))


@dataclass(frozen=True, slots=True)
class Card:
    """A block that shows another product: where it stands, and the page that it leads to."""

    element: Element
    target: str
    promoted: bool


# --- cards --------------------------------------------------------------------------------------------------------


def find_cards(
    document: Document, url: str, holders: frozenset[Element], roles: dict[Element, Role]
) -> tuple[Card, ...]:
    """The blocks that show other products.

    A card is the smallest block in which a link to another page, with a picture or a title, stands beside a price.

    Args:
        document: The page.
        url: Where it is.
        holders: The title's element and those around it, which are no cards.
        roles: The elements whose role is known.
    """
    priced: dict[Element, int] = {}
    for line in document.lines:
        for price in find_prices(line.text) if any(sign.isdigit() for sign in line.text) else ():
            for one in ancestors(line.owner(price.start), most=10_000):
                priced[one] = priced.get(one, 0) + 1
    found: dict[Element, str] = {}
    targets: dict[Element, set[str]] = {}
    for link in document.body.iter("a"):
        target = _other_page(link, url, document.canonical)
        if not target or roles.get(link, "main") in ("frame", "hidden", "crumbs") or not _shows_product(link):
            continue
        for one in ancestors(link, most=MAX_CARD_LEVELS):
            if one in holders or one.tag in ("body", "html", "main"):
                break
            if one in priced:
                found.setdefault(one, target)
                targets.setdefault(one, set()).add(target)
                break
    ways = [one for one in ways_to_buy(document.body) if roles.get(one, "main") in ("main", "reviews")]
    cards = []
    for element, target in found.items():
        # Several pages and one price: other colours of this product, or a list of links beside it.
        if len(targets[element]) > 1 and priced[element] < 2:
            continue
        if _is_whole_offer(element, ways):
            continue
        cards.append(
            Card(element=element, target=target, promoted=roles.get(element, "main") in ("promotion", "reviews"))
        )
    return tuple(cards)


def _is_whole_offer(element: Element, ways: list[Element]) -> bool:
    """Whether a block holds the only way to buy that the page has: then it is the page's own, whatever it links to."""
    inside = sum(element in set(ancestors(one)) for one in ways)
    return 0 < inside == len(ways) and any(one.tag in _PAIRED for one in element.iter(*_PAIRED))


def _other_page(link: Element, url: str, canonical: str) -> str:
    """Where a link leads, without query and fragment; "" where that is this page, or no page."""
    href = (link.get("href") or "").strip()
    if not href or href.startswith(("#", "javascript:", "mailto:", "tel:", "data:")) or len(href) > 2_000:
        return ""
    try:
        there, here = urlsplit(urljoin(url, href)), urlsplit(url)
        own = {here.path.rstrip("/"), urlsplit(urljoin(url, canonical)).path.rstrip("/") if canonical else ""}
    except ValueError:
        return ""
    if there.scheme not in ("http", "https") or _FILE.search(there.path):
        return ""
    same_site = there.netloc == here.netloc
    # A shop may tell its products apart by a number in the query alone.
    if same_site and there.path.rstrip("/") in own - {""} and (not there.query or there.query == here.query):
        return ""
    return f"{there.netloc}{there.path}?{there.query}"


def _shows_product(link: Element) -> bool:
    """Whether a link is a product's picture or name, rather than a way to a policy, a seller or a list."""
    if next(link.iter("img"), None) is not None or link.find(".//h2") is not None or link.find(".//h3") is not None:
        return True
    words = words_of(link)
    if not words or len(words) > 200 or _PLAIN_LINK.search(words):
        return False
    parent = link.getparent()
    before = (link.getprevious().tail if link.getprevious() is not None else parent.text) or ""
    if _BY.search(before.strip()):
        return False
    heads = {"h2", "h3", "h4", "h5"} & {one.tag for one in ancestors(link, most=3)}
    return bool(heads) or len(words.split()) >= 2 or bool(find_prices(words))
