"""What kind of page this is: by what came, what can be read and how it is built, with the reason in words.

A page's own claim, such as data that calls it a product, never decides alone: what is shown has to bear it out. Where
structure can't tell, ``sure`` is False, and a model may.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from grounding.records import Record
from grounding.webagents.agenticshop.extraction.buying import ways_to_buy
from grounding.webagents.agenticshop.extraction.dom import words_of
from grounding.webagents.agenticshop.extraction.terms import stock
from grounding.webagents.agenticshop.records import PageClass, RenderedPage

if TYPE_CHECKING:
    from grounding.webagents.agenticshop.extraction.dom import Document
    from grounding.webagents.agenticshop.extraction.offer import VisiblePrice
    from grounding.webagents.agenticshop.extraction.products import PageData
    from grounding.webagents.agenticshop.extraction.regions import Regions

MANY_CARDS = 3
SHORT_PAGE_CHARS = 3_000
HARDLY_ANY_CHARS = 200

_BLOCKED_STATUS = frozenset((401, 403, 407, 429, 451, 503))
_BLOCKED = re.compile(
    r"\b(?:captcha|are you (?:a )?(?:human|robot)|(?:verify|confirm|prove|check(?:ing)?)(?: that)? (?:you are|"
    r"you'?re|if you are|"
    r"your browser|we are talking to)(?: an?| not a)?\s?(?:human|robot|person|bot)?|not a (?:robot|bot)|"
    r"unusual (?:traffic|activity)|"
    r"access (?:denied|to this page has been denied)|automated (?:access|requests|traffic)|security check|"
    r"human verification|"
    r"request (?:was )?blocked|enable javascript and cookies|press (?:and|&) hold|bot detection|"
    r"pardon our interruption|"
    r"robot check|type the characters|one more step|just a moment|too many requests|solve (?:the|this) puzzle)\b",
    re.IGNORECASE,
)
_GUARDS = re.compile(
    r"recaptcha|hcaptcha|turnstile|challenge-platform|perimeterx|datadome|captcha-delivery|arkoselabs|geetest", re.I
)
_MISSING = re.compile(
    r"\b(?:page|product|item|article|listing|what you(?:'re| are) looking for|that|this|it)\b[^.!?]{0,50}\b(?:"
    r"(?:could ?n[o']t|can ?n[o']t|can't|was not|wasn't|is not|isn't) (?:be )?(?:found|available|here)|not found|"
    r"(?:does ?n[o']t|doesn't|do not|no longer) (?:seem to )?exists?|has (?:been )?(?:moved|removed|gone|"
    r"deleted|expired|left)|"
    r"is (?:gone|missing)|no longer (?:available|on our site|here|listed|part of))|"
    r"\b404\b|\bnot found\b|\bno such (?:page|product|item)|\b(?:sorry|oops|uh.?oh)\b[^.!?]{0,60}\b(?:find|"
    r"found|exist|went wrong)|"
    r"\b(?:can ?not|can't|could ?n[o']t|couldn't) find (?:that|the|this|what|any|your)|\bdead (?:link|end)\b|"
    r"\bnothing (?:here|was found|to see)|seite (?:wurde )?nicht gefunden|page introuvable",
    re.IGNORECASE,
)
_NO_RESULTS = re.compile(r"\b(?:no|0|zero) (?:results|products|items|matches)\b", re.IGNORECASE)
_RESULTS = re.compile(
    r"\b\d[\d,.]* (?:results|products|items|articles|matches|styles)\b|\bsort(?:ed)? by\b|\bshowing \d+|"
    r"\bfilter(?:s| by)?\b|"
    r"\bresults for\b|\bpage \d+ of \d+|\b\d+\s?[-\u2013]\s?\d+ of \d+\b",
    re.IGNORECASE,
)
_SEARCH_PATH = re.compile(
    r"/(?:search|s|results|find|category|categories|collections?|c|browse|catalog|shop-all|list|departments?|"
    r"tag|brands?)(?:/|$|\.)",
    re.IGNORECASE,
)


class Classed(Record, frozen=True, kw_only=True):
    """A page's class and why. ``sure``: structure alone decides it."""

    page_class: PageClass
    reason: str
    sure: bool = True


def class_without_page(page: RenderedPage) -> Classed | None:
    """The class of a page that the answer itself gives away: no page, a status of refusal or of error; else None."""
    if page.failure is not None:
        return Classed(page_class="error", reason=f"no page: {page.failure.message[:200]}")
    if page.status is None:
        return Classed(page_class="error", reason="no answer came")
    if page.status in _BLOCKED_STATUS:
        return Classed(page_class="blocked", reason=f"the site answered {page.status}")
    if page.status >= 400:
        return Classed(page_class="error", reason=f"the site answered {page.status}")
    kind = page.content_type.partition(";")[0].strip().lower()
    if kind and kind not in ("text/html", "application/xhtml+xml"):
        return Classed(page_class="other", reason=f"the answer is {kind}, not a page")
    return None


def classify(page: RenderedPage, document: Document, regions: Regions, data: PageData, price: VisiblePrice) -> Classed:
    """The class of a page that came.

    Args:
        page: How it came.
        document: It, parsed.
        regions: Its parts.
        data: What its data says.
        price: The price in the product's part.
    """
    title = words_of(regions.title) if regions.title is not None else ""
    text = " ".join(line.words for line in document.lines)
    own_way = _own_way_to_buy(regions)
    shows_offer = price.current is not None and price.current.score >= 3
    blocked = _blocked(document, text, own_way or shows_offer)
    if blocked is not None:
        return blocked
    cards = {card.target for card in regions.cards if not card.promoted}
    missing = _missing(document, text, title, own_way)
    if missing is not None and not (shows_offer and own_way):
        return missing
    listing = _listing(regions, data, price, cards, own_way, page)
    if listing is not None:
        return listing
    return _product(page, data, price, cards, own_way, title, stock(regions).quote)


def _own_way_to_buy(regions: Regions) -> bool:
    return any(regions.role_of(one) == "main" for one in ways_to_buy(regions.document.body))


def _blocked(document: Document, text: str, offers: bool) -> Classed | None:
    guard = next((match[0] for one in document.frames if (match := _GUARDS.search(one))), "")
    head = f"{document.title} {text[:SHORT_PAGE_CHARS]}"
    said = _BLOCKED.search(head)
    # Many shops carry such a guard on every page: it is in the way only where there is little else.
    if offers or len(text) > SHORT_PAGE_CHARS:
        return None
    if said is not None:
        return Classed(page_class="blocked", reason=f"asks whether we are human: {said[0]!r}")
    if guard and len(text) < 400:
        return Classed(page_class="blocked", reason=f"hardly any text beside a guard ({guard.lower()})")
    return None


def _missing(document: Document, text: str, title: str, own_way: bool) -> Classed | None:
    said = _MISSING.search(document.title) or _MISSING.search(title)
    if said is not None:
        return Classed(page_class="error", reason=f"says that there is no such page: {said[0]!r}")
    if own_way or len(text) > SHORT_PAGE_CHARS:
        return None
    said = _MISSING.search(text[:1_500])
    if said is not None and not title:
        return Classed(page_class="error", reason=f"says that there is no such page: {said[0]!r}")
    return (
        Classed(page_class="error", reason=f"says that there is no such page: {said[0]!r}", sure=False)
        if said
        else None
    )


def _listing(
    regions: Regions, data: PageData, price: VisiblePrice, cards: set[str], own_way: bool, page: RenderedPage
) -> Classed | None:
    text = " ".join(line.words for line in regions.lines("main", "frame", "card", "choice"))
    address = urlsplit(page.final_url or page.url)
    signs = [
        *(["data that calls it a list"] if data.is_list else []),
        *([f"data of {data.products} products"] if data.products >= MANY_CARDS else []),
        *(["an address of lists"] if _SEARCH_PATH.search(address.path) else []),
        *(["words of a list of results"] if _RESULTS.search(text[:20_000]) else []),
    ]
    claim = "; its data calls it a product" if data.main is not None and data.main.source else ""
    exact = price.current is not None and not price.current.price.open_below and price.current.price.highest is None
    if len(cards) >= MANY_CARDS and not own_way and not (price.clear and exact and not signs):
        return Classed(
            page_class="listing",
            reason=f"{len(cards)} other products with prices, and no way to buy one of its own"
            + (f", {', '.join(signs)}" if signs else "")
            + claim,
        )
    if len(cards) >= 2 * MANY_CARDS and len(signs) >= 2 and not price.clear:
        return Classed(page_class="listing", reason=f"{len(cards)} other products, {', '.join(signs)}{claim}")
    if _NO_RESULTS.search(text[:5_000]) and not own_way and len(signs) >= 1:
        return Classed(page_class="listing", reason="a list of results without any")
    if len(cards) == 2 and not own_way and price.current is None and signs:
        return Classed(page_class="listing", reason=f"2 other products with prices, {', '.join(signs)}{claim}")
    return None


def _product(
    page: RenderedPage,
    data: PageData,
    price: VisiblePrice,
    cards: set[str],
    own_way: bool,
    title: str,
    stocked: str,
) -> Classed:
    shown = price.current is not None and price.current.score >= 3
    claimed = data.main is not None
    agrees = (
        shown
        and data.main is not None
        and data.main.price is not None
        and price.current is not None
        and abs(data.main.price.amount - price.current.price.amount) < 0.005
    )
    told = []
    if shown and price.current is not None:
        told.append(f"a price of its own ({price.current.price.text})")
    if own_way:
        told.append("a way to buy it")
    if agrees:
        told.append("data of a product at that price")
    elif claimed:
        told.append("data of a product")
    if stocked and not own_way:
        told.append(f"words of stock ({stocked[:60]})")
    reason = ", ".join(told)
    if title and ((shown and (own_way or claimed or stocked)) or (own_way and claimed)):
        return Classed(page_class="product", reason=f"one title with {reason}")
    if shown or own_way or claimed:
        # An article names prices, a shop's first page has a way to buy: one sign is not enough.
        return Classed(page_class="other", reason=f"only {reason}; that is too little for a product", sure=False)
    here, asked = urlsplit(page.final_url or page.url).path, urlsplit(page.url).path
    if here in ("", "/") and asked not in ("", "/"):
        return Classed(page_class="other", reason="led to the site's first page", sure=not cards)
    # What a page shows in pictures alone is not seen here.
    sure = len(page.text) >= HARDLY_ANY_CHARS or not page.segments
    return Classed(page_class="other", reason="neither a price nor a way to buy nor a list of products", sure=sure)
