"""Where a quote stands in a page's text: small differences in blanks, letters' case and quotation marks don't count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from grounding.webagents.agenticshop.page.content import AROUND_QUOTE, MOST_PAGE_TEXT, Found, TextPiece

_SAME = str.maketrans("\u2018\u2019\u201c\u201d\u2010\u2011\u2013\u2014\u00a0\u202f", "''\"\"----  ")
"""Curly quotation marks, dashes and blanks that don't break are taken for the plain ones."""


class PageText:
    """A text that quotes are looked for in."""

    def __init__(self, text: str) -> None:
        self.text = text
        # One letter for each: a place in it is a place in the text.
        self._plain = text.translate(_SAME)

    def find(self, quote: str) -> tuple[int, int] | None:
        """First place of a quote and the one after its last, in characters of the text; None where it is not there."""
        words = quote.translate(_SAME).split()
        if not words:
            return None
        found = re.search(r"\s+".join(map(re.escape, words)), self._plain, re.IGNORECASE)
        return None if found is None else found.span()


def pieces_with(text: str, spans: Iterable[tuple[int, int]], *, most: int = MOST_PAGE_TEXT) -> tuple[TextPiece, ...]:
    """The beginning of a text, and what is around spans that lie further down. Pieces that meet become one.

    Args:
        text: The whole text.
        spans: First place and the one after the last, in characters.
        most: How much of the beginning is shown.
    """
    wanted = [(0, min(most, len(text)))]
    wanted += [(max(0, start - AROUND_QUOTE), min(len(text), end + AROUND_QUOTE)) for start, end in spans]
    merged: list[tuple[int, int]] = []
    for start, end in sorted(wanted):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(TextPiece(at=start, text=text[start:end]) for start, end in merged if end > start)


def found_in(pieces: Sequence[TextPiece], span: tuple[int, int]) -> Found:
    """Where a span stands among pieces that were cut for it.

    Raises:
        ValueError: no piece holds it.
    """
    start, end = span
    for number, piece in enumerate(pieces):
        if piece.at <= start and end <= piece.at + len(piece.text):
            before = utf16_units(piece.text[: start - piece.at])
            return Found(
                piece=number, start=before, end=before + utf16_units(piece.text[start - piece.at : end - piece.at])
            )
    raise ValueError(f"no piece holds characters {start} to {end}")


def utf16_units(text: str) -> int:
    """How long a browser holds a text to be.

    >>> utf16_units("ab"), utf16_units("\U0001f600")
    (2, 2)
    """
    return sum(2 if letter > "\uffff" else 1 for letter in text)
