"""An item's words made plain: one kind of quote, dash and blank, and without what changes nothing.

What may be dropped is listed, and anything that might change what is asked for is kept: then no pattern fits and the
item stays undecided.
"""

from __future__ import annotations

import re

_SIGNS = str.maketrans(
    {sign: '"' for sign in "\u201c\u201d\u201e\u00ab\u00bb"}
    | {sign: "'" for sign in "\u2018\u2019\u201a`"}
    | {sign: "-" for sign in "\u2010\u2011\u2012\u2013\u2014\u2212"}
    | {sign: " " for sign in "\u00a0\u202f\u2009"}
    | {"\u2265": ">=", "\u2264": "<=", "\u00d7": "x"}
)

# Words in a parenthesis that might change what is asked for, or hold it.
_WEIGHTY = re.compile(
    r"[\d$€£¥%<>=≈~+\"]|\b(?:in|ex)clud\w*|\b(?:not?|non|never|without|with|plus|minus|before|after|only|except"
    r"|unless|if|"
    r"when|or|and|than|under|over|above|below|most|least|more|less|free|any|all|either|both|none|preferred|ideally)\b",
    re.IGNORECASE,
)
_EXAMPLES = re.compile(r"\s*(?:e\.\s?g\.|i\.\s?e\.|for example|for instance|such as|examples?\b)", re.IGNORECASE)
_PARENTHESIS = re.compile(r"\s*\(([^()]*)\)")

_PLACE = (
    r"(?:(?:the|its|this|an?)\s+)?(?:(?:official|main|chosen|seller'?s?|shop'?s?|store'?s?|retailer'?s?"
    r"|manufacturer'?s?)\s+)?"
    r"(?:retail\s+)?"
    r"(?:product(?:\s+(?:detail\s+)?(?:page|listing|details|description|specifications?|information))?"
    r"|listing(?:\s+page)?|page|"
    r"item\s+page|detail\s+page|specifications?|specs|spec\s+sheet|(?:product\s+)?details|description|website|site"
    r"|shop|"
    r"store\s+page|seller\s+page|seller\s+profile|shop\s+page|listing\s+(?:details|description)|checkout|"
    r"packaging(?:\s+images?)?|(?:manufacturer|seller)\s+information)"
)
_PLACED = (
    r"(?<!\bis)(?<!\bare)(?<!\bbe)(?<!clearly)(?<!explicitly)[\s,]+(?:(?:as\s+)?(?:clearly\s+"
    r"|explicitly\s+)?(?:shown|listed|displayed|stated|indicated|given|specified|noted|"
    r"documented|reported)\s+)?(?:on|in|at|by)\s+" + _PLACE + r"(?:\s+(?:or|and)\s+" + _PLACE + r")*"
)
_TAIL = re.compile(
    rf"{_PLACED}$|[\s,]+(?:on|in|at)\s+{_PLACE}(?:\s+(?:or|and)\s+{_PLACE})*$|[\s,]+as\s+(?:shown|listed|displayed"
    rf"|stated)$",
    re.IGNORECASE,
)
_BEFORE_ASIDE = re.compile(rf"[\s,]+(?:on|in|at)\s+{_PLACE}(?:\s+(?:or|and)\s+{_PLACE})*(?=\s*\()", re.IGNORECASE)
# A purpose says why something is asked for, and nothing more of it.
_PURPOSE = re.compile(
    r",?\s+(?:in order\s+)?to\s+(?:provide|support|allow|enable|verify|assess|inform|evaluate|confirm|judge"
    r"|gauge)\b[^\d$€£%]*$",
    re.IGNORECASE,
)
_DOUBTFUL = re.compile(
    r"[≈~]|\band/or\b|\b(?:approximately|approx|about|around|roughly|nearly|almost|close to|circa|preferabl[ey]"
    r"|preferred|"
    r"ideally|usually|typically|generally|mostly|if|unless|when|whenever|where|provided that|rather than|as long as|"
    r"instead of|otherwise|comparable|similar|equivalent|relative to|compared|competitive|reasonable|reasonably|"
    r"respectively|justif\w+|appropriate|suitable|relevant|optionally|except)\b",
    re.IGNORECASE,
)

_HISTORY = re.compile(
    r"(?:the\s+|an?\s+)?(?:user'?s?|shopper'?s?|customer'?s?|buyer'?s?)\s+(?:own\s+)?(?=(?:stated\s+|target\s+"
    r"|typical\s+|usual\s+)?"
    r"(?:budget|price\s+range|limit))",
    re.IGNORECASE,
)


def plain(text: str) -> str:
    r"""An item with one kind of quote, dash and blank, without its full stop.

    >>> plain("Listed price falls within $80\u2013$110.")
    'Listed price falls within $80-$110'
    """
    text = " ".join(text.translate(_SIGNS).split())
    text = text.strip(" .;,")
    return _HISTORY.sub("the ", text)


def doubtful(text: str) -> str:
    """The word that makes an item a matter of judgement or hangs it on a condition; "" where there is none.

    >>> doubtful("If not RAM, the brand is ChargerCity"), doubtful("Brand is RAM")
    ('If', '')
    """
    found = _DOUBTFUL.search(text)
    return found[0] if found else ""


def without_asides(text: str) -> str:
    """An item without parentheses that only give examples or say where something stands, and without such an ending.

    >>> without_asides("Return policy is stated (return policy documented) as shown on the listing")
    'Return policy is stated'
    >>> without_asides("Price is under $50 (including shipping)")
    'Price is under $50 (including shipping)'
    """

    def drop(match: re.Match[str]) -> str:
        aside = match[1]
        return "" if _EXAMPLES.match(aside) or not _WEIGHTY.search(aside) else match[0]

    text = _BEFORE_ASIDE.sub("", _PARENTHESIS.sub(drop, text)).strip()
    text = _PURPOSE.sub("", text)
    while (shorter := _TAIL.sub("", text).strip(" ,")) != text:
        text = shorter
    return text.strip(" ,.;")
