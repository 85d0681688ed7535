"""From a need to what is typed into a shop's search box: few words first, fewer where nothing is found. Pure.

The paper finds that agents overload their searches (section 5.1, appendix D), so a query holds what the user asked for
without the talk around it, then the product type, then its last word. Where nobody asked for anything, the words come
from what is known of the user.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

from grounding.records import Record
from grounding.webagents.agenticshop.agents.searching.words import FILLERS, singular, telling, words_of
from grounding.webagents.agenticshop.records import ShopperView

MAX_QUERY_WORDS = 8
MAX_QUERIES = 3
MAX_EXPLORED = 6

_SPOKEN = re.compile(r"[^\W_]+(?:['\u2019&-][^\W_]+)*")
_ANY_NAME = re.compile(r"\b[A-Z][\w'\u2019]+(?:(?: & | and | )[A-Z][\w'\u2019]+)*")
_AWAY = re.compile(
    r"\b(not|no|never|nor|avoid\w*|dislike\w*|against|away from|off|left|broke|without|once|refus\w*|stop\w*|hate\w*"
    r"|disappoint\w*|returned|ruled out)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"(?<=[.!?;])\s+|,? but |,? while |,? because |, which "
    r"|,? and (?=(?:no|never|not|stays?|keeps?|avoids?|dislikes?) )"
)
_VERB = re.compile(
    r"[A-Z][a-z]*s|[A-Z][a-z]+ed|Saw|Found|Got|Grew|Had|Bought|Kept|Tried|Will|Would|A|An|The|Once|After|Since|For"
)
"""What a sentence about a user begins with, rather than a name."""


def queries_of(view: ShopperView, shelves: Collection[str] = ()) -> tuple[str, ...]:
    """What is searched for, the most exact first.

    Args:
        view: The need.
        shelves: What shops call the parts of their assortment, by the links of their first pages; only looked at where
            the user asks for nothing in particular.
    """
    if view.product_type is None and view.scenario == "casual_browsing":
        return _explored(view, shelves)
    asked = _telling(view.query)[:MAX_QUERY_WORDS]
    kind = _telling(view.product_type or "")
    found: dict[tuple[str, ...], str] = {}
    for one in (asked, kind, kind[-1:]):
        found.setdefault(tuple(words_of(" ".join(one))), " ".join(one))
    return tuple(one for one in found.values() if one)[:MAX_QUERIES]


def _explored(view: ShopperView, shelves: Collection[str]) -> tuple[str, ...]:
    """Names that the user likes, then shelves that are spoken of, then the words that are used most."""
    context = view.context
    names = liked_names(context.brand_preferences).liked
    wishes = " ".join((context.functional_requirements, context.aesthetic_preferences, view.situation))
    spoken = Counter(telling(words_of(wishes)))
    known = [shelf for shelf in shelves if any(word in spoken for word in telling(words_of(shelf)))]
    often = [word for word, _ in sorted(spoken.items(), key=lambda one: -one[1])]
    first = [word for word in telling(words_of(context.functional_requirements)) if word in often]
    found = dict.fromkeys((*names[:3], *(" ".join(_telling(shelf)) for shelf in sorted(known)), *first))
    return tuple(one for one in found if one)[:MAX_EXPLORED]


def _telling(text: str) -> list[str]:
    """The words of a text that say something, as they are written."""
    said = _SPOKEN.findall(text)
    return list(
        dict.fromkeys(word for word in said if word.lower() not in FILLERS and singular(word.lower()) not in FILLERS)
    )


class Names(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Names of makers: those spoken of well or without a judgement, and those in a clause with a word of dislike."""

    liked: tuple[str, ...]
    shunned: tuple[str, ...]


def liked_names(text: str) -> Names:
    """The names in a text about brands: capitalised words that don't begin a sentence, by the clause they stand in.

    The first word of a sentence belongs to a name where it is no verb and another capital follows, or where it is a
    name elsewhere, too.
    """
    liked: dict[str, None] = {}
    shunned: dict[str, None] = {}
    for clause in _CLAUSE.split(text):
        first = clause.strip()
        away = _AWAY.search(clause) is not None
        for found in _ANY_NAME.finditer(first):
            name = found[0]
            if found.start() == 0:
                name = _without_first(name, text)
            for one in re.split(r" and ", name):
                if one and one.lower() not in FILLERS and one not in ("I", "A"):
                    (shunned if away else liked).setdefault(one.strip())
    return Names(liked=tuple(name for name in liked if name not in shunned), shunned=tuple(shunned))


def _without_first(name: str, text: str) -> str:
    """A name at the start of a sentence without a first word that is none."""
    first, _, rest = name.partition(" ")
    inside = re.search(rf"[a-z,] {re.escape(first)}\b", text) is not None
    if inside or (rest and not _VERB.fullmatch(first)):
        return name
    return rest.removeprefix("& ").removeprefix("and ")
