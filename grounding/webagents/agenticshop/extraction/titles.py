"""Which element names the page's product, told from a shop's name in large letters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from grounding.webagents.agenticshop.extraction.dom import Document, ancestors, words_of

if TYPE_CHECKING:
    Element = Any


_PIECES = re.compile(r"\s+[-|/:\u2013\u2014\u00b7\u2022\u00bb]\s+|\s*\|\s*")


def find_title(document: Document, names: tuple[str, ...]) -> Element | None:
    """The heading of the page's subject: an h1, else the element or heading that says what data or head say."""
    from rapidfuzz import fuzz

    known = [name.casefold() for name in (*names, document.meta.get("og:title", ""), document.title) if name]

    def likeness(element: Element) -> float:
        words = words_of(element).casefold()
        if not words or len(words) > 400:
            return 0.0
        return max((fuzz.token_set_ratio(words, name) for name in known), default=50.0) + 1.0

    def best(found: list[Element], least: float) -> Element | None:
        seen = [one for one in found if not any(up in document.hidden for up in ancestors(one))]
        scored = [(likeness(one), -place, one) for place, one in enumerate(seen[:50])]
        top = max(scored, key=lambda entry: entry[:2], default=None)
        return top[2] if top is not None and top[0] > least else None

    chosen = best(list(document.body.iter("h1")), 0.0)
    if chosen is not None:
        return chosen
    named = [one for one in document.body.iter() if "name" in (one.get("itemprop") or "").split()]
    for found, least in ((named, 70.0), (list(document.body.iter("h2", "h3")), 85.0)):
        chosen = best(found, least)
        if chosen is not None:
            return chosen
    return _told_by_head(document, known)


def _told_by_head(document: Document, known: list[str]) -> Element | None:
    """The first element whose words are most of what the head calls the page: a title without a heading."""
    best: tuple[int, Element] | None = None
    # A page's title is often the product's name and the shop's, with a sign between them.
    pieces = {piece.strip() for name in known for piece in (name, *_PIECES.split(name))}
    for line in document.lines:
        words = line.words.casefold()
        if not 4 <= len(words) <= 200 or any(up.tag in ("nav", "footer", "select") for up in ancestors(line.element)):
            continue
        home = any(up.tag == "a" and (up.get("href") or "") in ("/", ".") for up in ancestors(line.owner(0), most=4))
        if words in pieces and not home and (best is None or len(words) > best[0]):
            best = (len(words), line.element)
    return best[1] if best is not None else None
