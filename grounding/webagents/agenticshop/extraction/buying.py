"""Controls that buy: buttons, and what a page's scripts made one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from grounding.webagents.agenticshop.extraction.dom import ancestors, naming, words_of

if TYPE_CHECKING:
    Element = Any


_ADDING = re.compile(r"\b(?:add|buy|order|put|warenkorb|panier|carrito)\b", re.IGNORECASE)
"""Words of an act: "sold out" in a plain element is no control."""
_BUYING = re.compile(
    r"\b(?:add (?:\w+ )?to (?:\w+ )?(?:cart|bag|basket|trolley|order)|buy (?:it )?now|buy|order now|pre-?order|"
    r"purchase|"
    r"in den warenkorb|ajouter au panier|añadir al carrito|notify me|email me when|sold out|out of stock|"
    r"put in (?:the )?(?:cart|basket|bag))\b",
    re.IGNORECASE,
)


_BUYING_ALONE = re.compile(rf"^\W*(?:{_BUYING.pattern})\W*$", re.IGNORECASE)


def ways_to_buy(element: Element) -> list[Element]:
    """All controls in an element that buy: buttons, and what scripts made one, which says just that and no more."""
    found = [one for one in element.iter("button", "input", "a") if is_buying(one)]
    for one in element.iter("div", "span", "p"):
        if one.get("role") == "button":
            found.extend([one] if is_buying(one) else [])
        elif not len(one) and one.text and len(one.text) <= 40 and _BUYING_ALONE.match(one.text):
            inside = any(up.tag in ("button", "a") for up in ancestors(one, most=4))
            found.extend([one] if _ADDING.search(one.text) and not inside else [])
    return found


def is_buying(element: Element) -> bool:
    """Whether a control buys, or would if the product were there."""
    if element.tag == "a" and (element.get("role") or "") != "button" and "button" not in naming(element).split():
        return False
    said = (element.get("value") or "") if element.tag == "input" else words_of(element)
    return bool(_BUYING.search(f"{said[:80]} {(element.get('aria-label') or '')[:80]}"))
