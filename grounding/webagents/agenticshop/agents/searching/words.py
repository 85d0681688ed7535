"""Words of a text as a search counts them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")

_FILLERS = """a about above across after again all also always am an and another any anything are around as at available
be because been before being below best better between both but buy buying by can choose choosing comes cost could
decide do does down dollars each either enough especially euros even every expect expects favor favors few find
finding for free from generally get gets getting give gives go goes good great had has have having he help her here
hers him his how i if in inside into is isn it item items its just keep keeps kind know less let like likes little
look looking looks lot made make makes many may me mind more most much must my name need needs never new nice no
none nor not nothing now of off often on once one ones only open or order orders other others our out over own
page pay pays people perhaps piece pieces please prefer preference preferences prefers price product products
purchase purchases rather read reads really recommend review reviews search searching
seek seeking seems sell sells set she ship
shipping shop shopping should show small so some something soon spend spends still strong such suit take takes than
that the their them then there these they thing things think this those though three through to too tries trust
trusts try two under until up us use used user uses usually very want wanted wants was way we week weeks well were
what when where which while who why will with within without work works would year years you your"""
FILLERS = frozenset(_FILLERS.split())
"""Words that say nothing about a product, or stand in every profile."""


def words_of(text: str) -> list[str]:
    """The words of a text in small letters, each without a plural's ending."""
    return [singular(word) for word in _WORD.findall(text.lower())]


def singular(word: str) -> str:
    """A word without the ending of an English plural, roughly: the same for both is what matters."""
    word = word.replace("\u2019", "'").removesuffix("'s")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


_SINGULAR_FILLERS = FILLERS | {singular(word) for word in FILLERS}


def telling(words: Iterable[str]) -> list[str]:
    """The words that say something, each once, in their order."""
    return list(dict.fromkeys(word for word in words if word not in _SINGULAR_FILLERS and len(word) > 1))


def telling_words(text: str) -> list[str]:
    """The words of a text that say something, each once."""
    return telling(words_of(text))


def share(wanted: Iterable[str], have: frozenset[str] | set[str]) -> float:
    """Which share of some words is there; 0 where none is wanted."""
    all_wanted = set(wanted)
    return len(all_wanted & have) / len(all_wanted) if all_wanted else 0.0
