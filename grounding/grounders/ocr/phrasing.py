"""The patterns of English that place one thing relative to others: relations, quotations, corners of the screen."""

from __future__ import annotations

import re
from typing import Literal

from grounding.grounders.ocr.preamble import QUOTED
from grounding.records import Record

Relation = Literal["near", "below", "above", "left", "right"]
Place = Literal["top", "bottom", "left", "right", "middle"]


class Context(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Words written elsewhere, and where the target lies from there.

    ``sure`` tells that they were quoted or put in brackets: then they are on the screen as they stand.
    """

    text: str
    relation: Relation
    sure: bool = False


class Quotes(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Quoted texts by what they are for, and the instruction without them."""

    targets: tuple[str, ...]
    contexts: tuple[Context, ...]
    typed: tuple[str, ...]
    rest: str


class Places(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Parts of the screen that were named, and the words without them."""

    places: tuple[Place, ...]
    rest: str


class Split(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Words before and after the first word that relates the target to something else."""

    head: str
    tail: str
    relation: Relation


_NO_CORNER = r"(?<!top )(?<!bottom )(?<!upper )(?<!lower )"
"""The top right of a panel is a corner, not what is right of it."""

_RELATIONS: tuple[tuple[Relation, str], ...] = (
    # "under $50" is written on filters: before an amount the word places nothing.
    ("below", r"(?:directly |just |right )?(?:under(?:neath)?|below|beneath)(?! ?(?:an? |about |around )?[$€£]?\d)"),
    ("above", r"(?:directly |just |right )?(?:above|on top of)(?! ?(?:an? |about |around )?[$€£]?\d)"),
    (
        "left",
        _NO_CORNER
        + r"(?:(?:to|on) the |just )?(?:immediate )?left (?:side )?of(?! the (?:page|screen|window))|in front of",
    ),
    (
        "right",
        _NO_CORNER
        + r"(?:(?:to|on) the |just )?(?:immediate )?right (?:side )?of(?! the (?:page|screen|window))|behind",
    ),
    ("near", r"next to|beside|near(?:est)?(?: to)?|close(?:st)? to|alongside|adjacent to|inside(?: of)?|within"),
)
"""Said between the target and something else; the target comes first."""

_WEAK = (
    r"in|of|for|from|by|with|on|at|that (?:says|has|costs|is|reads)|that's|which|where|whose|showing|priced"
    r"|belonging to|associated with|corresponding to"
)
"""The same, but texts on screens contain these words too."""

_VERB_ON = re.compile(r"\b(?:click(?:ing)?|press|tap|focus|go|interact|correct element) (?:on|with|in|for)\b")
"""Here the little word belongs to the verb and relates nothing."""

_MARKERS = re.compile(
    r"\b(?:(?P<type>typ(?:e|ing)|enter(?:ing)?|write|input|search(?:ing)? for|look(?:ing)? for|look up)"
    r"|(?P<act>click(?:ing)?(?: on)?|press|tap(?: on)?|select|choose|pick|open|hit|go to|is the|field|box"
    r"|label+ed(?: as| with)?|titled|named|called|say(?:s|ing)|read(?:s|ing)|(?:text|placeholder))"
    rf"|(?P<relation>{'|'.join(pattern for _, pattern in _RELATIONS)}|{_WEAK}))(?!\w)"
)

_WHOLE = re.compile(
    r"\b(?:card|poster|image|picture|photo|cover|tile|thumbnail|listing|result|row|entry|line|page|tab)"
    r" (?:of|for|showing|with) (?:the )?$"
)
"""The card of a thing is clicked at its name ..."""
_PART = re.compile(r"\b(?:button|icon|checkbox|arrow|swatch|plus|minus|link|field|box|menu|heart|star)\b")
"""... unless a part of the card was named before."""

_PLACES: tuple[tuple[tuple[Place, ...], str], ...] = (
    (("top", "left"), r"(?:(?:at|on|in|to|near) the )?(?:top|upper)[- ]left"),
    (("top", "right"), r"(?:(?:at|on|in|to|near) the )?(?:top|upper)[- ]right"),
    (("bottom", "left"), r"(?:(?:at|on|in|to|near) the )?(?:bottom|lower)[- ]left"),
    (("bottom", "right"), r"(?:(?:at|on|in|to|near) the )?(?:bottom|lower)[- ]right"),
    (
        ("top",),
        r"(?:at|on|near|in|to|from) the (?:very |main |page |site )?(?:top|header|nav(?:igation)?|toolbar|upper)",
    ),
    (("top",), r"(?:top|upper)(?:most)? one|all the way up|up top"),
    (("bottom",), r"(?:at|on|near|in|to|from) the (?:very |page |site )?(?:bottom|footer|lower)"),
    (("bottom",), r"(?:bottom|lower)(?:most)? one|all the way down|down below"),
    (("left",), r"(?:at|on|in|to|from) the (?:far |very )?left|(?:in|on) the (?:filter )?sidebar|left(?:most)? one"),
    (("right",), r"(?:at|on|in|to|from) the (?:far |very )?right|right(?:most)? one"),
    (("middle",), r"(?:at|on|in) the (?:very )?(?:middle|cent(?:er|re))|middle one"),
)
_PLACE_TAIL = (
    r"(?:[- ](?:hand|side|corner|part|half|section|area|bar|menu|column|panel|cent(?:er|re)|middle))*"
    r"(?: of (?:the|this|your|my) (?:web ?)?(?:page|screen|window|site|website|view|browser))?(?!\w)"
)


def take_quotes(text: str) -> Quotes:
    """Sort quoted texts into what to click, what lies near it, and what to type, by the words before each."""
    targets: list[str] = []
    contexts: list[Context] = []
    typed: list[str] = []
    rest: list[str] = []
    end = 0
    for match in QUOTED.finditer(text):
        quote = (match[1] or match[2]).strip().rstrip(",")
        before = text[end : match.start()].lower()
        rest.append(text[end : match.start()])
        end = match.end()
        if not quote:
            continue
        relation = last_relation(before)
        markers = list(_MARKERS.finditer(_VERB_ON.sub("click", before)))
        last = markers[-1].lastgroup if markers else None
        if last == "type":
            typed.append(quote)
        elif not targets and _WHOLE.search(before) and not _PART.search(before):
            targets.append(quote)
        elif relation is not None and (last == "relation" or targets):
            contexts.append(Context(text=quote, relation=relation, sure=True))
        elif targets:
            contexts.append(Context(text=quote, relation="near", sure=True))
        else:
            targets.append(quote)
    rest.append(text[end:])
    return Quotes(targets=tuple(targets), contexts=tuple(contexts), typed=tuple(typed), rest=" ".join(rest))


def last_relation(text: str) -> Relation | None:
    """The relation said last in a text; strong words come before weak ones."""
    found: Relation | None = None
    at = -1
    for name, pattern in _RELATIONS:
        for match in re.finditer(rf"\b(?:{pattern})(?!\w)", text):
            if match.start() > at:
                found, at = name, match.start()
    if found is None and re.search(rf"\b(?:{_WEAK})\b", _VERB_ON.sub("click", text)):
        return "near"
    return found


def split_strong(text: str) -> Split | None:
    """Cut words at the first "under", "next to" and the like."""
    found: Split | None = None
    at = len(text)
    for name, pattern in _RELATIONS:
        match = re.search(rf"\b(?:{pattern})(?!\w)", text)
        if match is not None and match.start() < at:
            found, at = Split(head=text[: match.start()], tail=text[match.end() :], relation=name), match.start()
    return found


def splits_weak(text: str) -> tuple[Split, ...]:
    """Every way to cut words at an "of", "for", "with" and the like."""
    text = _VERB_ON.sub("click", text)
    return tuple(
        Split(head=text[: match.start()], tail=text[match.end() :], relation="near")
        for match in re.finditer(rf"\b(?:{_WEAK})\b", text)
    )


def take_places(text: str) -> Places:
    """Find the named parts of the screen."""
    places: list[Place] = []
    for names, pattern in _PLACES:
        rest = re.sub(rf"\b(?:{pattern}){_PLACE_TAIL}", " ", text)
        if rest != text:
            text = rest
            places += [name for name in names if name not in places]
    return Places(places=tuple(places), rest=text)
