"""Items that ask for certain words on the page."""

from __future__ import annotations

import re

from grounding.webagents.agenticshop.judge.conditions import Rule, WordsStated

_WHERE = (
    r"(?:the )?(?P<where>(?:product |item )?title|product listing|product description or specifications?|product "
    r"label or description|"
    r"product description|product page|product details|product|listing|description|page|seller listing|label"
    r"|packaging|item)"
)
_SAYS = (
    r"(?:(?:explicitly|clearly) )?(?:states|says|mentions|contains|includes|lists|declares|specifies|notes|must "
    r"state|must say|indicates|"
    r"claims|uses the words?|contains the words?)(?: explicitly)?"
)
_QUOTED = r"""["'][^"']{2,60}["']"""
_EXACT = re.compile(
    rf"{_WHERE} {_SAYS}(?: the words?| the phrase| the term| either)*:? (?P<words>{_QUOTED}(?:(?:,| or|, "
    rf"or) {_QUOTED})*)",
    re.IGNORECASE,
)
_THAT = re.compile(
    rf"{_WHERE} {_SAYS} (?:that )?(?:it|the product|the item)(?:'s| is| are| must be) (?:an? )?(?P<words>[\w][\w "
    rf"\-/]*)",
    re.IGNORECASE,
)
_PLAIN = re.compile(
    r"(?:the )?(?:product|item|it) is (?:stated|listed|described|labelled|labeled|marked|declared|explicitly "
    r"stated|specified)"
    r"(?: to be| as(?: being)?)? (?P<words>[\w][\w \-/]*)",
    re.IGNORECASE,
)
_IS = re.compile(r"(?:the )?(?:product|item) is (?:certified )?(?P<words>[\w][\w \-/]*)", re.IGNORECASE)
_EACH = re.compile(_QUOTED)
_FIXED = re.compile(
    r"[\w]+-(?:free|safe|proof|resistant|friendly|wrapped|certified|washable|grade|compatible|only|resealable)"
    r"|(?:fair trade|organic|vegan|vegetarian|kosher|halal|recyclable|biodegradable|compostable|waterproof|washable|"
    r"rechargeable|refillable|wireless|cordless|handmade|unscented|decaf|decaffeinated|machine washable|dishwasher "
    r"safe|"
    r"gluten free|nut free|dairy free|sugar free|bpa free|caffeine free|fragrance free|refurbished|new|assembled"
    r"|foldable|"
    r"stackable|dimmable|reversible|hypoallergenic|made in [\w ]{2,20})",
    re.IGNORECASE,
)
MAX_WORDS = 6


def words_rule(text: str) -> Rule | None:
    """The rule of an item that asks for certain words; None where it is no such item.

    Words in quotes are looked for as they are. Without quotes only set terms are, such as "gluten-free": other words
    may be said in other ways.

    Args:
        text: The item, plain and without asides.
    """
    found = _EXACT.fullmatch(text)
    if found is not None:
        words = tuple(each[1:-1].strip() for each in _EACH.findall(found["words"]))
        fit = all(words) and all(len(each.split()) <= MAX_WORDS for each in words)
        return WordsStated(any_of=words, title_only="title" in found["where"].lower()) if fit else None
    found = _THAT.fullmatch(text) or _PLAIN.fullmatch(text) or _IS.fullmatch(text)
    if found is None:
        return None
    terms = tuple(each.strip() for each in re.split(r" or ", found["words"]))
    return WordsStated(any_of=terms, exact=False) if all(_FIXED.fullmatch(each) for each in terms) else None
