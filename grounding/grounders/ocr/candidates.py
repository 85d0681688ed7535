"""Every place on the screen that a phrase may mean, with how well its text fits. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from grounding.grounders.ocr import layout
from grounding.grounders.ocr.instruction import Phrase
from grounding.grounders.ocr.screen import TextLine, TextWord
from grounding.grounders.ocr.similarity import fit
from grounding.records import Box, Record

_PART_SHARE = 0.6
"""If the words found are less of the line than this, the click goes to them and not to the line's middle."""
_LEAST_SCORE = 0.15
_SEPARATORS = frozenset(["\u00b7", "\u2022", "|", "/", ">", "\u203a", "\u00bb", "-"])


class Candidate(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A text that may be meant: the box to click, the line it was read in, and the fit from 0 to 1."""

    text: str
    box: Box
    line: TextLine
    score: float


def candidates(phrases: Sequence[Phrase], lines: Sequence[TextLine]) -> tuple[Candidate, ...]:
    """Everything that fits one of some phrases at least a little, best first, each line once.

    Args:
        phrases: Alternatives.
        lines: The lines to look at.
    """
    found = []
    for line in lines:
        best = max((_in_line(phrase, line) for phrase in phrases), key=lambda candidate: candidate.score, default=None)
        if best is not None:
            found.append(best)
    fitting = {candidate.line for candidate in found if candidate.score >= _LEAST_SCORE}
    for upper, lower in _wrapped([line for line in lines if line in fitting]):
        joined = tuple(word.text for word in upper.words) + tuple(word.text for word in lower.words)
        for phrase in phrases:
            score = fit(phrase.text, joined).score * phrase.weight
            alone = max((c.score for c in found if c.line in (upper, lower)), default=0.0)
            # Only a text that truly runs on: both halves must be needed.
            if score > alone + 0.1:
                found = [c for c in found if c.line not in (upper, lower)]
                found.append(Candidate(text=f"{upper.text} {lower.text}", box=upper.box, line=upper, score=score))
    kept = [candidate for candidate in found if candidate.score >= _LEAST_SCORE]
    return tuple(sorted(kept, key=lambda c: (-c.score, c.box.top_px, c.box.left_px)))


def whole(line: TextLine, score: float = 0.0) -> Candidate:
    """A line as a candidate, whatever is written on it."""
    return Candidate(text=line.text, box=line.box, line=line, score=score)


def _in_line(phrase: Phrase, line: TextLine) -> Candidate:
    """The part of a line that fits a phrase best: links in a row are often read as one line, "Terms | Privacy"."""
    parts = _parts(line.words)
    if len(parts) > 1:
        best = max((_in_words(phrase, line, part) for part in (line.words, *parts)), key=lambda c: c.score)
        return best
    return _in_words(phrase, line, line.words)


def _parts(words: tuple[TextWord, ...]) -> list[tuple[TextWord, ...]]:
    parts: list[tuple[TextWord, ...]] = []
    start = 0
    for index, word in enumerate(words):
        if word.text in _SEPARATORS:
            parts.append(words[start:index])
            start = index + 1
    parts.append(words[start:])
    return [part for part in parts if part]


def _in_words(phrase: Phrase, line: TextLine, words: tuple[TextWord, ...]) -> Candidate:
    found = fit(phrase.text, tuple(word.text for word in words))
    score = found.score * phrase.weight
    part = words[found.first : found.last + 1]
    share = sum(len(word.text) for word in part) / max(1, sum(len(word.text) for word in line.words))
    if not part or found.score == 0 or share >= _PART_SHARE or part[-1].right_px <= part[0].left_px:
        return whole(line, score)
    box = Box(
        left_px=part[0].left_px,
        top_px=line.box.top_px,
        right_px=part[-1].right_px,
        bottom_px=line.box.bottom_px,
    )
    return Candidate(text=" ".join(word.text for word in part), box=box, line=line, score=score)


def _wrapped(lines: Sequence[TextLine]) -> list[tuple[TextLine, TextLine]]:
    """Pairs of lines that may be one text broken in two: one under the other, one size, one left edge or centre."""
    pairs = []
    for upper in lines:
        size = layout.height(upper)
        for lower in lines:
            below = lower.box.top_px - upper.box.bottom_px
            if not 0 <= below <= 1.1 * size or not 0.7 <= layout.height(lower) / max(size, 1.0) <= 1.4:
                continue
            left = abs(lower.box.left_px - upper.box.left_px)
            middle = abs(lower.box.center.x_px - upper.box.center.x_px)
            if min(left, middle) <= 0.5 * size:
                pairs.append((upper, lower))
    return pairs
