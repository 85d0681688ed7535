"""What a shop's search box finds, and in which order: words counted, nothing learned, the same every time."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grounding.webagents.agenticshop.mall.records import Goods

MAX_QUERY_WORDS = 40
_SMALL_WORDS = """
a an and for from i in is it like looking me my need of on or searching some that the to want with
"""
_SMALL = frozenset(_SMALL_WORDS.split())
_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """The words of a text in small letters, without a plural's ``s``; two ``s`` at the end stay."""
    return [
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
        for word in _WORD.findall(text.lower())
    ]


def find(goods: Sequence[Goods], query: str) -> list[Goods]:
    """The products that have any word of the query, those first that have most of its words.

    A word in the title counts three, in the brand or category two, anywhere else in what the page says one. Ties stay
    in the shop's own order. A query without words finds nothing.
    """
    asked = list(dict.fromkeys(word for word in words_of(query) if word not in _SMALL))[:MAX_QUERY_WORDS]
    ranked = []
    for place, one in enumerate(goods):
        title, maker = set(words_of(one.title)), set(words_of(f"{one.brand} {one.category}"))
        facts = (f"{line.name} {line.value}" for line in one.attributes)
        rest = set(words_of(" ".join((one.description, *one.features, *facts))))
        score = [3 if word in title else 2 if word in maker else 1 if word in rest else 0 for word in asked]
        if any(score):
            ranked.append((-sum(map(bool, score)), -sum(score), place, one))
    return [one for *_, one in sorted(ranked, key=lambda entry: entry[:3])]
