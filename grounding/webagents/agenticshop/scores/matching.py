"""Is a product what was looked for? The same brand and the same type, however they are spelt (paper, table 5). Pure.

The paper does not say who decided that. Here words do: brand and page's brand are equal, or one begins with the other;
where the page names no brand, it stands in the title. All words of the type, without plural endings, stand in title,
categories, features or attributes of the page.
"""

from __future__ import annotations

import re
import unicodedata

from grounding.webagents.agenticshop.records import ProductFacts, Target

_WORD = re.compile(r"[a-z0-9]+")
_IDLE = frozenset({"a", "an", "and", "the", "of", "for", "with", "in", "or", "by"})


def is_of_target(facts: ProductFacts, target: Target) -> bool:
    """Whether a page's product is of the target's brand and type."""
    return has_brand(facts, target.brand) and has_type(facts, target.product_type)


def has_brand(facts: ProductFacts, brand: str) -> bool:
    """Whether the page says that brand, or, where it says none, has it in its title."""
    wanted, said = words(brand), words(facts.brand)
    if not wanted:
        return False
    if not said:
        return _stands_in(wanted, words(facts.title))
    shorter = min(len(wanted), len(said))
    return wanted[:shorter] == said[:shorter]


def has_type(facts: ProductFacts, product_type: str) -> bool:
    """Whether all words of the type stand on the page, where it says what the product is."""
    wanted = {word for word in words(product_type) if word not in _IDLE}
    said = " ".join(
        (facts.title, *facts.categories, *facts.features, *(f"{one.name} {one.value}" for one in facts.attributes))
    )
    return bool(wanted) and wanted <= set(words(said))


def words(text: str) -> tuple[str, ...]:
    """A text's words in small letters without accents and plural endings.

    >>> words("Crème Brûlée Cups")
    ('creme', 'brulee', 'cup')
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().casefold().replace("'s", "")
    return tuple(_singular(word) for word in _WORD.findall(plain))


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _stands_in(wanted: tuple[str, ...], said: tuple[str, ...]) -> bool:
    length = len(wanted)
    return any(said[start : start + length] == wanted for start in range(len(said) - length + 1))
