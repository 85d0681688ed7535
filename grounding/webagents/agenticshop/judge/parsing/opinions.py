"""Items on ratings and reviews."""

from __future__ import annotations

import re

import msgspec

from grounding.webagents.agenticshop.judge.bounds import Bounds
from grounding.webagents.agenticshop.judge.conditions import (
    AllOf,
    RatingCountWithin,
    RatingShown,
    RatingWithin,
    ReviewsMention,
    ReviewsShown,
    Rule,
)
from grounding.webagents.agenticshop.judge.parsing.quantities import COUNT, DECIMAL, count, decimal, read_range

STARS = 5.0

_WHO = r"(?:customer|user|product|buyer|consumer|shopper|star|written|item)"
_RATING = (
    rf"(?:(?:displayed|aggregate|aggregated|overall|listed|shown|average|{_WHO}(?:'s)?|review) )*rating(?: score)?"
)
_RATING_SUBJECT = re.compile(
    rf"(?:(?:the )?(?:product|item|listing|page|product page) (?:has|shows|displays|carries|holds) (?:an? |the )?)?"
    rf"(?:the |an? )?{_RATING}(?: (?:on|of) the (?:product page|listing|page|product|item))?(?: or retailer site)?"
    r"(?:\s(?:is|are|must be|should be|falls|lies|stands|of|at(?! (?:the )?(?:least|most)| or)|in|within|the range"
    r"|range|or|listed|displayed))*\s"
    r"|(?:(?:the )?(?:product|item|it) )?(?:is )?rated(?: at)?\s|(?:has )?(?:an? )?(?:average of )",
    re.IGNORECASE,
)
_TENTHS = re.compile(r"(?:out of|/) ?(?:10|ten)\b", re.IGNORECASE)
_STARS_UNIT = r"stars?(?: out of (?:5|five))?|out of (?:5|five)(?: stars)?|/ ?5(?: stars)?|of 5"
_STARRED = re.compile(r"\b(?:stars?|out of 5)\b", re.IGNORECASE)
_SCALE = re.compile(
    r" ?\((?:based )?on (?:the|a) (?:platform|5-(?:star|point)|five-star)(?: rating)? scale\)", re.IGNORECASE
)

_COUNTED = (
    rf"(?:(?:total |{_WHO} )*(?:reviews|ratings|review|rating)(?:(?: or | and |/)(?:{_WHO} )*(?:ratings|reviews))?)"
)
_THERE = r"(?: (?:are|is) (?:available|shown|listed|visible|displayed|present)| available| in total| to read)*"
_HAS = (
    r"(?:(?:the )?(?:product|item|listing|page|product page|product listing|it) (?:has|shows|displays|contains"
    r"|includes|lists|"
    r"carries) (?:received )?|(?:there are|has|shows|with|backed by|based on|rating is based on) )?"
)
_COUNT_SUBJECT = re.compile(
    rf"(?:the )?(?:(?:total )?number of {_COUNTED}|(?:customer |user |total )*(?:review|rating) count)(?: (?:is"
    rf"|exceeds|of))*\s",
    re.IGNORECASE,
)
_COUNT_OBJECT = re.compile(rf"{_HAS}(?P<range>.+?) {_COUNTED}{_THERE}", re.IGNORECASE)
_SOME = re.compile(rf"{_HAS}(?P<some>multiple |several )?{_COUNTED}{_THERE}", re.IGNORECASE)
_AT_LEAST_ONE = re.compile(rf"{_HAS}at least one {_COUNTED}{_THERE}", re.IGNORECASE)
_RATING_SHOWN = re.compile(
    rf"(?:the |an? )?{_RATING} is (?:displayed|shown|visible|available)"
    rf"|(?:the )?(?:product|listing|page|product page) (?:displays|shows) (?:an? |the )?{_RATING}",
    re.IGNORECASE,
)
_BOTH_SHOWN = re.compile(
    rf"(?:the )?(?:product|listing|page|product page) (?:displays|shows) (?:an? |the )?{_RATING} (?:and|alongside"
    rf"|with|together with) "
    rf"(?:the )?(?:total )?(?:count|number) of {_COUNTED}",
    re.IGNORECASE,
)
_MENTION = re.compile(
    rf"(?:(?:at least )?(?P<n>{COUNT}|an?) )(?:{_WHO} )*reviews? (?:explicitly |specifically )?"
    r"(?:mentions?|says?|contains?|uses?)(?: the words?)? (?P<words>.+)",
    re.IGNORECASE,
)
_PLAIN_WORDS = re.compile(r"[a-z]{3,}(?:(?:, or|,| or) [a-z]{3,}){0,4}")
_ON_PAGE = re.compile(r"(?:the )?(?:product )?page (?:shows|displays|contains|includes) ", re.IGNORECASE)
_QUOTED = re.compile(r'"([^"]{2,60})"')


def opinion_rule(text: str) -> Rule | None:
    """The rule of an item on ratings or reviews; None where it is no such item.

    Args:
        text: The item, plain and without asides.
    """
    text = _SCALE.sub("", text)
    if _RATING_SHOWN.fullmatch(text):
        return RatingShown()
    if _BOTH_SHOWN.fullmatch(text):
        return AllOf(rules=(RatingShown(), RatingCountWithin(bounds=Bounds(low=1))))
    return _mention(text) or _rating(text) or _number(text)


def _rating(text: str) -> Rule | None:
    start = _RATING_SUBJECT.match(text)
    if start is None and not _STARRED.search(text):
        return None
    rest = text[start.end() :] if start is not None else text
    rest = re.sub(r"^\((.*)\)$", r"\1", rest)
    # Extractors give ratings out of five, whatever the page's scale is.
    tenths = _TENTHS.search(rest) is not None
    found = read_range(rest, DECIMAL, decimal, r"(?:out of|/) ?(?:10|ten)" if tenths else _STARS_UNIT)
    if found is None:
        return None
    if tenths:
        found = msgspec.structs.replace(found, bounds=_halved(found.bounds))
    ends = [end for end in (found.bounds.low, found.bounds.high) if end is not None]
    return RatingWithin(bounds=found.bounds) if all(0 <= end <= STARS for end in ends) else None


def _halved(bounds: Bounds) -> Bounds:
    def half(end: float | None) -> float | None:
        return None if end is None else end / 2

    return msgspec.structs.replace(bounds, low=half(bounds.low), high=half(bounds.high))


def _number(text: str) -> Rule | None:
    start = _COUNT_SUBJECT.match(text)
    if start is not None:
        rest = text[start.end() :]
        if start[0].rstrip().lower().endswith("exceeds"):
            rest = f"over {rest}"
        found = read_range(rest, COUNT, count)
        return None if found is None else RatingCountWithin(bounds=found.bounds)
    if _AT_LEAST_ONE.fullmatch(text):
        return ReviewsShown()
    some = _SOME.fullmatch(text)
    if some is not None:
        if some["some"]:
            return RatingCountWithin(bounds=Bounds(low=2))
        # A lone "ratings" without a verb says nothing of what is asked for.
        if "written" in text.lower() or text.lower().endswith("to read"):
            return ReviewsShown(readable=True)
        return ReviewsShown() if " " in text and "review" in text.lower() else None
    counted = _COUNT_OBJECT.fullmatch(text)
    if counted is None:
        return None
    found = read_range(counted["range"], COUNT, count)
    readable = _ON_PAGE.match(text) is not None and "rating" not in text.lower()
    return None if found is None else RatingCountWithin(bounds=found.bounds, readable=readable)


def _mention(text: str) -> Rule | None:
    found = _MENTION.fullmatch(text)
    if found is None:
        return None
    said = found["words"]
    words = tuple(_QUOTED.findall(said))
    exact = bool(words) and not re.sub(r"[\s,]|\bor\b", "", _QUOTED.sub("", said))
    if not exact:
        # Without quotes only lone words are looked for; what is said in several can be said in others.
        words = tuple(re.split(r", or |, | or ", said)) if _PLAIN_WORDS.fullmatch(said) else ()
    number = count(found["n"])
    if not words or (number is None and found["n"].lower() not in ("a", "an")):
        return None
    return ReviewsMention(any_of=words, at_least=1 if number is None else int(number.number), exact=exact)
