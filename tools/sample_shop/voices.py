"""How somebody writes: sentences in, a text with that person's capitals and stops out. Pure."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from tools.sample_shop.catalogue import Item
from tools.sample_shop.grammar import start_lower, start_upper
from tools.sample_shop.people import Person

_SINGULAR = {
    "goes": "goes",
    "fits": "fits",
    "they": "it",
    "it": "it",
    "It": "It",
    "is": "is",
    "has": "has",
    "this": "this",
    "This": "This",
    "was": "was",
}
_PLURAL = {
    "goes": "go",
    "fits": "fit",
    "they": "they",
    "it": "them",
    "It": "They",
    "is": "are",
    "has": "have",
    "this": "these",
    "This": "These",
    "was": "were",
}
_IT = re.compile(r"\b(it|one)\b", re.IGNORECASE)
_STOP = re.compile(r"(?<=[a-z0-9)])\.(?=\s|$)")


def words_for(item: Item, rng: random.Random) -> dict[str, str]:
    """What phrases may fill in about a product."""
    pronouns = _PLURAL if item.kind.is_plural else _SINGULAR
    noun = rng.choice(item.kind.nouns)
    price = item.info["price"]
    return {
        **pronouns,
        "noun": noun,
        "a": item.kind.article,
        "need": rng.choice(item.kind.needs),
        "theme": rng.choice(item.kind.themes),
        "store": item.store,
        "round": str(max(5, round((price or item.kind.price_usd[0]) / 5) * 5)),
    }


def fits(line: str, item: Item) -> bool:
    """Whether a line about "it" can be said of this product: one thing that lasts."""
    return not item.kind.is_eaten_up and not (item.kind.is_plural and _IT.search(line))


def join(sentences: Sequence[str]) -> str:
    """Sentences as one text; one that ends in a comma or a dash goes on into the next."""
    text = ""
    for sentence in sentences:
        one = sentence.strip()
        if not one:
            continue
        if text.endswith((",", " -")):
            text += " " + start_lower(one)
        else:
            text += (" " if text else "") + start_upper(one)
    return re.sub(r"([!?])\.", r"\1", text)


def styled(text: str, person: Person, rng: random.Random) -> str:
    """The text as this person would type it."""
    match person.habit:
        case "lower":
            return text.lower()
        case "exclaim":
            return _STOP.sub(lambda _: "!" if rng.random() < 0.55 else ".", text)
        case "dots":
            return _STOP.sub(lambda _: "..." if rng.random() < 0.6 else ".", text)
        case "dashes":
            return _dashed(text, rng)
    return text


def _dashed(text: str, rng: random.Random) -> str:
    parts = re.split(r"(?<=[a-z])\. (?=[A-Z])", text)
    joined = parts[0]
    for part in parts[1:]:
        joined += f" - {start_lower(part)}" if rng.random() < 0.22 and not joined.endswith("-") else f". {part}"
    return joined
