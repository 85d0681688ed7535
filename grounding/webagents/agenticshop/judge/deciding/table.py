"""The lines of a page's table of facts, and whether the page speaks of something elsewhere."""

from __future__ import annotations

from grounding.webagents.agenticshop.judge.deciding.shown import Shown
from grounding.webagents.agenticshop.judge.deciding.words import own_texts
from grounding.webagents.agenticshop.judge.vocabulary import places, tokens, word_set
from grounding.webagents.agenticshop.records import Attribute

_SAME_NAME = {
    "materials": "material",
    "fabric": "material",
    "composition": "material",
    "sizes": "size",
    "colourway": "colour",
    "flavours": "flavour",
    "volume": "capacity",
    "certifications": "certification",
}
_EMPTY_WORDS = word_set("product item listed advertised main primary total overall of")


def attribute_lines(name: str, page: Shown) -> tuple[list[Attribute], bool]:
    """The lines for a name, and whether they are called just so; else those of parts, such as Lid material."""
    wanted = _name(name)
    exact = [line for line in page.facts.attributes if _name(line.name) == wanted]
    if exact:
        return exact, True
    return [line for line in page.facts.attributes if wanted < _name(line.name)], False


def _name(text: str) -> frozenset[str]:
    return frozenset(_SAME_NAME.get(word, word) for word in tokens(text) if word not in _EMPTY_WORDS)


def mentioned(name: str, page: Shown) -> bool:
    """Whether the page speaks of something anywhere, in these words or in some that begin alike."""
    stems = {word[:6] for word in tokens(name)}
    return any(word[:6] in stems for text in (*own_texts(page), page.text) for word in tokens(text))


def said_anywhere(sought: tuple[str, ...], page: Shown) -> bool:
    """Whether the page says a run of words anywhere."""
    return any(places(tokens(text), sought) for text in (*own_texts(page), page.text))
