"""Words with times as a text: which letters are which word, which part of the sound a selection is. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from grounding.asr.records import Word
from grounding.records import Record

MARGIN_S = 0.05
"""What is played around chosen words: recognisers cut consonants short."""


class Placed(Record, frozen=True, kw_only=True):
    """A word's letters in the text, ``first`` to before ``end``, and its time."""

    first: int
    end: int
    start_s: float
    end_s: float


def place_words(text: str, words: Sequence[Word]) -> list[Placed]:
    """Find every word in the text, one after the other; punctuation may stand around them, and case may differ.

    A word that is not in the text is left out, such as one that a recogniser wrote otherwise when it put them together.
    """
    placed = []
    at = 0
    folded = text.casefold()
    # Folding may change lengths, as of ß: then the letters are looked for as they are.
    if len(folded) != len(text):
        folded = text
    for word in words:
        wanted = word.text.strip()
        wanted = wanted if folded is text else wanted.casefold()
        found = folded.find(wanted, at) if wanted else -1
        if found < 0:
            continue
        at = found + len(wanted)
        placed.append(Placed(first=found, end=at, start_s=word.start_s, end_s=word.end_s))
    return placed


def time_of(placed: Sequence[Placed], first: int, end: int) -> tuple[float, float] | None:
    """From when to when the words are said that have letters between two positions; None where there are none."""
    chosen = [one for one in placed if one.first < end and first < one.end]
    if not chosen:
        return None
    return max(0.0, chosen[0].start_s - MARGIN_S), chosen[-1].end_s + MARGIN_S


def word_at(placed: Sequence[Placed], time_s: float) -> Placed | None:
    """The word that is said at a time, or was said last; None before the first."""
    position = bisect_right([one.start_s for one in placed], time_s) - 1
    return placed[position] if position >= 0 else None
