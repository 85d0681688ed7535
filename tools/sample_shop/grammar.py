"""Text with choices in, plain text out: ``<a|b>`` is one of the two, ``$word`` is filled in. Pure.

A choice may stand in a choice. The same source of chance gives the same text.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path

_CHOICE = re.compile(r"<([^<>]*)>")
_SLOT = re.compile(r"\$([A-Za-z]+)")


def say(text: str, rng: random.Random, words: Mapping[str, str] | None = None) -> str:
    """One reading of a text.

    Raises:
        KeyError: a word that is to be filled in is not given.
    """
    while match := _CHOICE.search(text):
        text = text[: match.start()] + rng.choice(match[1].split("|")) + text[match.end() :]
    given = words or {}
    while match := _SLOT.search(text):
        text = text[: match.start()] + say(given[match[1]], rng) + text[match.end() :]
    return text


def start_upper(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def start_lower(text: str) -> str:
    """The text with a small first letter, unless it begins with I, or a word that has capitals of its own."""
    first = text.split(" ", 1)[0]
    if first in ("I", "I'm", "I've", "I'd", "I'll") or first[1:] != first[1:].lower() or first[:1].isdigit():
        return text
    return text[:1].lower() + text[1:]


def read_phrases(path: Path) -> dict[str, tuple[str, ...]]:
    """The blocks of a file of phrases, by name: the lines below ``== name``.

    Raises:
        ValueError: a line stands before the first name, or a name stands twice.
    """
    found: dict[str, list[str]] = {}
    block: list[str] | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("== "):
            if (name := line[3:].strip()) in found:
                raise ValueError(f"{path}:{number}: {name} stands twice")
            block = found[name] = []
        elif block is None:
            raise ValueError(f"{path}:{number}: a phrase before the first name")
        else:
            block.append(line.strip())
    return {name: tuple(lines) for name, lines in found.items()}
