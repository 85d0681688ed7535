"""Which element of a page is its search box. What a script told in, the best places out; pure.

What speaks for a box: a role or type made for searching, a form for it, a name that such fields have (``q``, ``query``,
``keyword``), and words on it. What speaks against it: that it asks for something else, such as an address.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from grounding.records import Record

SCRIPT = Path(__file__).with_suffix(".js")
VERSION = 1

MIN_SCORE = 3
_NAMES = re.compile(
    r"(?:^|\s)(q|s|k|qs?|query|search\w*|\w*search|keywords?|kw|terms?|text|words?|find|seek)(?=\s|$)", re.I
)
_WORDS = re.compile(r"search|find|look(ing)? for|suche|such|buscar|recherche|cerca|what .*\?", re.IGNORECASE)
_OTHER = re.compile(
    r"e-?mail|newsletter|zip|post ?code|coupon|voucher|discount|phone|password|user ?name|card|address|quantity|amount"
    r"|comment|message|review|question|filter",
    re.IGNORECASE,
)


class Candidate(Record, frozen=True, kw_only=True):
    """An element that may be a search box, or may bring one to light. ``place`` counts from 0 among the elements."""

    place: int
    kind: str
    tag: str
    shown: bool
    type: str = ""
    role: str = ""
    names: str = ""
    label: str = ""
    text: str = ""
    action: str = ""
    around: bool = False
    fields: int = 0
    top: int = 0


class _Told(msgspec.Struct):
    kind: str
    tag: str
    type: str
    role: str
    names: str
    label: str
    text: str
    action: str
    around: bool
    fields: int
    shown: bool
    top: float


def read_candidates(told: Any) -> tuple[Candidate, ...]:
    """What the script told, as records.

    Raises:
        ValueError: it is not what the script tells.
    """
    try:
        found = msgspec.convert(told, type=list[_Told], strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"the page's fields can't be read: {error}") from None
    return tuple(
        Candidate(
            place=place, kind=one.kind, tag=one.tag, type=one.type, role=one.role, names=one.names, label=one.label,
            text=one.text, action=one.action, around=one.around, fields=one.fields, shown=one.shown, top=int(one.top),
        )
        for place, one in enumerate(found[:60])
    )  # fmt: skip


def score(one: Candidate) -> int:
    """How much speaks for it being the search box."""
    points = 0
    points += 5 if one.type == "search" or one.role == "searchbox" else 0
    points += 2 if one.role == "combobox" else 0
    points += 3 if _NAMES.search(one.names) else 0
    points += 3 if _WORDS.search(one.label) else 0
    points += 2 if one.around else 0
    points += 2 if re.search(r"search|find|result|such", one.action, re.IGNORECASE) else 0
    points += 1 if one.fields == 1 else 0
    points -= 3 if one.fields > 3 else 0
    points -= 6 if _OTHER.search(f"{one.label} {one.names}") and one.type != "search" else 0
    points -= 2 if one.tag == "textarea" else 0
    return points


def search_boxes(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """The boxes that can be used now, the likeliest first: of equals the one that is higher up."""
    return _best(one for one in candidates if one.kind == "box" and one.shown and score(one) >= MIN_SCORE)


def openers(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """What may bring a hidden box to light, the likeliest first."""
    found = [one for one in candidates if one.kind == "opener" and not _OTHER.search(f"{one.label} {one.text}")]
    return tuple(sorted(found, key=lambda one: (one.tag == "a", one.top, one.place)))


def _best(candidates: Any) -> tuple[Candidate, ...]:
    return tuple(sorted(candidates, key=lambda one: (-score(one), one.top, one.place)))
