"""Rules on brand and seller."""

from __future__ import annotations

import unicodedata

from grounding.webagents.agenticshop.judge.conditions import BrandIs, SellerIs
from grounding.webagents.agenticshop.judge.deciding.shown import Finding, Shown, silent
from grounding.webagents.agenticshop.judge.vocabulary import word_set

_FORMS = word_set("inc incorporated ltd limited llc co corp corporation company gmbh ag plc bv sa srl pty")
_SHOPS = word_set("store shop official")


def brand(rule: BrandIs, page: Shown) -> Finding:
    """Who makes it."""
    name = page.facts.brand
    if not name:
        return silent("which brand it is")
    return _named(rule, name, "the brand", page.quote("brand", name))


def seller(rule: SellerIs, page: Shown) -> Finding:
    """Who sells it."""
    name = page.facts.seller
    if not name:
        return silent("who sells it")
    return _named(rule, name, "the seller", page.quote("seller", name))


def _named(rule: BrandIs | SellerIs, name: str, what: str, quote: str) -> Finding:
    among = any(same_name(name, each) for each in rule.any_of)
    return Finding(satisfied=among is not rule.excluded, reason=f"{what} is {name}", quote=quote)


def same_name(first: str, second: str) -> bool:
    """Whether two names are one, but for case, accents, signs and legal forms.

    >>> same_name("The North Face, Inc.", "north face"), same_name("Brooks", "Brooks Brothers")
    (True, False)
    """
    return _bare(first) == _bare(second) != ()


def _bare(name: str) -> tuple[str, ...]:
    spelled = unicodedata.normalize("NFKD", name.casefold().replace("&", " and "))
    letters = "".join(letter for letter in spelled if not unicodedata.combining(letter))
    words = "".join(
        letter if letter.isalnum() else " " if letter != "'" and letter != "\u2019" else "" for letter in letters
    ).split()
    while len(words) > 1 and words[-1] in _FORMS | _SHOPS:
        words.pop()
    return tuple(words[1:] if len(words) > 1 and words[0] == "the" else words)
