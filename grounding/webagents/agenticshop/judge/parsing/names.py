"""Items on who makes a product and who sells it."""

from __future__ import annotations

import re

from grounding.webagents.agenticshop.judge.conditions import AnyOf, BrandIs, Rule, SellerIs, TermStated
from grounding.webagents.agenticshop.judge.vocabulary import word_set

_LISTED = (
    r"(?:(?:is|are|must be|should be|was)(?: explicitly| clearly| exactly)?(?: listed| stated| named| given)?(?: "
    r"as)?|listed as|matches|exactly matches|name matches|:)"
)
_BRAND = r"(?:the )?(?:product |listing |item )?(?:brand(?: name| field)?|manufacturer|maker)"
_SELLER = r"(?:the )?(?:product |listing |item )?(?:seller|shop|store|retailer|vendor)(?: name)?"
_NOT = r"(?: (?P<no>not|none of|neither|anything but|other than|not one of))?"
_ONE_OF = r"(?: ?(?:either|one of(?: these| the following)?(?: brands| makers| manufacturers)?|any of):?)?"

_BRAND_IS = re.compile(rf"{_BRAND} ?{_LISTED}{_NOT}{_ONE_OF} (?P<names>.+)", re.IGNORECASE)
_SELLER_IS = re.compile(rf"{_SELLER} ?{_LISTED}{_NOT}{_ONE_OF} (?P<names>.+)", re.IGNORECASE)
_EITHER = re.compile(rf"{_BRAND} or {_SELLER} ?{_LISTED}{_ONE_OF} (?P<names>.+)", re.IGNORECASE)
_MADE_BY = re.compile(
    rf"(?:(?:the )?(?:product|item|it) )?(?:is )?(?:made|manufactured|produced) by{_ONE_OF} (?P<names>.+)"
    rf"|(?:the )?(?:product|item|it) (?:is|comes) from(?: the brands?)?{_ONE_OF} (?P<names2>.+)"
    r"|(?:the )?product is an? (?P<names3>.+?) product",
    re.IGNORECASE,
)
_SOLD_BY = re.compile(
    rf"(?:(?:the )?(?:product|item|it) )?(?:is )?sold{_NOT} (?:directly )?by{_ONE_OF} (?P<names>.+)", re.IGNORECASE
)
_AMONG = re.compile(rf"{_BRAND} ?{_LISTED} one of (?:the|these) [^():,\"]{{1,80}} \((?P<names>[^()]+)\)", re.IGNORECASE)
_STATED = re.compile(
    r"(?:the )?(?:product )?(?:listing|page|product page|product) (?:clearly |explicitly )?(?:states|names|shows"
    r"|displays|identifies) "
    r"(?:the |a |its )?(?:clear )?(?P<what>brand|seller|manufacturer)(?: name)?"
    r"|(?:the )?(?P<what2>brand|seller|manufacturer)(?: name)? is (?:clearly |explicitly )?(?:stated|named|shown"
    r"|displayed)",
    re.IGNORECASE,
)

_SMALL_WORDS = word_set("of the by from and in with de la le du des von van der den und et y for to on s")
_TOKEN = re.compile(r"[^\s]+")
MAX_NAME_WORDS = 10
MAX_NAMES = 30


def name_rule(text: str) -> Rule | None:
    """The rule of an item on brand or seller; None where it is no such item, or names nobody.

    Args:
        text: The item, plain and without asides.
    """
    stated = _STATED.fullmatch(text)
    if stated is not None:
        what = (stated["what"] or stated["what2"]).lower()
        return TermStated(term="seller" if what == "seller" else "brand")
    either = _EITHER.fullmatch(text)
    if either is not None:
        names = proper_names(either["names"])
        return AnyOf(rules=(BrandIs(any_of=names), SellerIs(any_of=names))) if names else None
    for pattern, make in ((_BRAND_IS, BrandIs), (_SELLER_IS, SellerIs), (_SOLD_BY, SellerIs)):
        found = pattern.fullmatch(text)
        if found is not None:
            names = proper_names(found["names"])
            return make(any_of=names, excluded=found["no"] is not None) if names else None
    made = _MADE_BY.fullmatch(text)
    if made is not None:
        names = proper_names(made["names"] or made["names2"] or made["names3"])
        return BrandIs(any_of=names) if names else None
    return None


def listed_names(text: str) -> Rule | None:
    """The rule of an item that names its brands in a parenthesis: "one of the small makers (Aa, Bb, Cc)".

    Only where the parenthesis is nothing but names, and is not called a list of examples.

    Args:
        text: The item, plain and with its asides.
    """
    found = _AMONG.fullmatch(text)
    if found is None or re.search(r"\bor\b", found[0][: found.start("names")]):
        return None
    names = proper_names(found["names"])
    return BrandIs(any_of=names) if len(names) > 1 else None


def proper_names(text: str) -> tuple[str, ...]:
    """The names in a list of names; none where any part of it is no proper name.

    A name has a capital letter or a digit in its first word and no small words but a few, or stands in quotes.

    >>> proper_names("Signature by Levi Strauss & Co., Gloria Vanderbilt, or KUT from the Kloth")
    ('Signature by Levi Strauss & Co.', 'Gloria Vanderbilt', 'KUT from the Kloth')
    >>> proper_names("Sony or a similar brand"), proper_names("a small maker")
    ((), ())
    """
    text = text.strip().strip("()").removeprefix(":").strip()
    parts = [part.strip() for part in re.split(r",(?:\s*(?:and|or)\b)?|;|\s+or\s+", text) if part.strip()]
    names = []
    for part in parts[: MAX_NAMES + 1]:
        halves = part.split(" and ")
        if len(halves) > 1 and len(parts) == 1:
            # "Barnes and Noble" is one name and "Sony and Bose" two: nothing tells them apart.
            return ()
        found = [_name(each) for each in ([part, *halves] if len(halves) > 1 else [part])]
        if not all(found):
            return ()
        names += found
    return tuple(dict.fromkeys(names)) if len(names) <= MAX_NAMES else ()


def _name(text: str) -> str:
    quoted = re.fullmatch(r"""["'](.+)["']""", text)
    if quoted is not None:
        return quoted[1]
    text = re.sub(r"^(?:the brands? |brand )", "", text)
    words = _TOKEN.findall(text)
    if not words or len(words) > MAX_NAME_WORDS or any(mark in text for mark in '":()[]'):
        return ""
    if not _proper(words[0]):
        return ""
    small = [word for word in words[1:] if not _proper(word) and word.lower().strip(".'") not in _SMALL_WORDS]
    return "" if any(re.search(r"\w", word) for word in small) else text


def _proper(word: str) -> bool:
    return any(letter.isupper() or letter.isdigit() for letter in word)
