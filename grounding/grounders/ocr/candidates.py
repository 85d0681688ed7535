"""Every place on the screen that a phrase may mean, with how well its text fits. Pure.

The measure is balanced by length: a button that *is* the words beats a paragraph that contains them, and a word that is
all there beats a letter that happens to be in it.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from rapidfuzz import fuzz

from grounding.grounders.ocr import lexicon
from grounding.grounders.ocr.instruction import Phrase
from grounding.grounders.ocr.screen import TextLine, TextWord
from grounding.records import Box, Record

_PART_SHARE = 0.6
"""If the words found are less of the line than this, the click goes to them and not to the line's middle."""
_LEAST_SCORE = 0.15
_SEPARATORS = frozenset(["\u00b7", "\u2022", "|", "/", ">", "\u203a", "\u00bb", "-"])


class TextCandidate(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A text that may be meant: the box to click, the line it was read in, and the fit from 0 to 1."""

    text: str
    box: Box
    line: TextLine
    score: float


def candidates(phrases: Sequence[Phrase], lines: Sequence[TextLine]) -> tuple[TextCandidate, ...]:
    """Everything that fits one of some phrases at least a little, best first, each line once."""
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
                found.append(TextCandidate(text=f"{upper.text} {lower.text}", box=upper.box, line=upper, score=score))
    kept = [candidate for candidate in found if candidate.score >= _LEAST_SCORE]
    return tuple(sorted(kept, key=lambda c: (-c.score, c.box.top_px, c.box.left_px)))


def whole(line: TextLine, score: float = 0.0) -> TextCandidate:
    """A line as a candidate, whatever is written on it."""
    return TextCandidate(text=line.text, box=line.box, line=line, score=score)


def _in_line(phrase: Phrase, line: TextLine) -> TextCandidate:
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


def _in_words(phrase: Phrase, line: TextLine, words: tuple[TextWord, ...]) -> TextCandidate:
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
    return TextCandidate(text=" ".join(word.text for word in part), box=box, line=line, score=score)


def _wrapped(lines: Sequence[TextLine]) -> list[tuple[TextLine, TextLine]]:
    """Pairs of lines that may be one text broken in two: one under the other, one size, one left edge or centre."""
    pairs = []
    for upper in lines:
        size = upper.height_px
        for lower in lines:
            below = lower.box.top_px - upper.box.bottom_px
            if not 0 <= below <= 1.1 * size or not 0.7 <= lower.height_px / max(size, 1.0) <= 1.4:
                continue
            left = abs(lower.box.left_px - upper.box.left_px)
            middle = abs(lower.box.center.x_px - upper.box.center.x_px)
            if min(left, middle) <= 0.5 * size:
                pairs.append((upper, lower))
    return pairs


# --- how well a phrase fits a text --------------------------------------------------------------------------------

_RECALL_WEIGHT = 4.0
"""Words of the phrase that the text lacks count four times as much as words that the text has besides (F2)."""
_LEAST_LIKENESS = 0.75  # Two words less alike than this are different words, not a misreading.
_STOP_WEIGHT = 0.3
_SYNONYM_WEIGHT = 0.93
_OTHER_NUMBER = 0.6
"""Where the phrase has a number that the text lacks, the text is about something else: "Under $25", say, not "$50"."""


class TextFit(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How well a text fits, from 0 to 1, and the words of it, by index, that the phrase was found in."""

    score: float
    first: int
    last: int


@lru_cache(maxsize=50_000)
def tokens(text: str) -> tuple[str, ...]:
    """A text's words in lower case, numbers as digits, without punctuation; symbols only if there is nothing else."""
    plain = text.lower().replace("\u2019", "'").replace("'s", "s").replace("'", "")
    plain = re.sub(r"[\u00d7\u2715\u2716]", "x", plain)
    words = re.findall(r"\d+(?:st|nd|rd|th)\b|[$€£]?\d+(?:[.,]\d+)*%?|[^\W\d_]+\d*|\d+", plain)
    if not words:
        return tuple(re.findall(r"[^\w\s]", plain))
    return tuple(lexicon.NUMBERS.get(word, _without_day_ending(word)) for word in words)


def fit(phrase: str, words: tuple[str, ...]) -> TextFit:
    """How well a phrase fits the words of a line, as they are or in words that mean the same control."""
    best = _fit_plain(phrase, words)
    if best.score >= _SYNONYM_WEIGHT:
        return best
    for other in _renamed(phrase):
        found = _fit_plain(other, words)
        if found.score * _SYNONYM_WEIGHT > best.score:
            best = TextFit(score=found.score * _SYNONYM_WEIGHT, first=found.first, last=found.last)
    return best


def _fit_plain(phrase: str, words: tuple[str, ...]) -> TextFit:
    whole = TextFit(score=0.0, first=0, last=max(0, len(words) - 1))
    wanted = tokens(phrase)
    written = [(token, index) for index, word in enumerate(words) for token in tokens(word)]
    if not wanted or not written:
        # A text of symbols alone, such as "+", must be the very symbols.
        return TextFit(score=float(phrase.strip() == " ".join(words)), first=0, last=whole.last)
    found = 0.0
    matched: set[int] = set()
    for token in wanted:
        likeness, at = max(
            ((_likeness(token, other), -position) for position, (other, _) in enumerate(written)),
            default=(0.0, 0),
        )
        if likeness > 0:
            found += _weight(token) * likeness
            matched.add(-at)
    missing = {token for token in wanted if _is_number(token)} - {token for token, _ in written}
    factor = _OTHER_NUMBER if any(all(_likeness(n, token) == 0 for token, _ in written) for n in missing) else 1.0
    recall = found / sum(_weight(token) for token in wanted)
    precision = sum(_weight(written[at][0]) for at in matched) / sum(_weight(token) for token, _ in written)
    score = 0.0
    if found > 0:
        score = (1 + _RECALL_WEIGHT) * precision * recall / (_RECALL_WEIGHT * precision + recall)
    # Readers lose or invent spaces; then words differ, and the letters in one piece do not.
    run_on = fuzz.ratio("".join(wanted), "".join(token for token, _ in written)) / 100
    if factor == 1.0 and run_on >= 0.8 and run_on * 0.99 > score * 0.98:
        exact = tokens(phrase) == tuple(token for token, _ in written)
        return TextFit(score=1.0 if exact else run_on * 0.99, first=0, last=whole.last)
    if not matched:
        return whole
    places = [written[at][1] for at in matched]
    return TextFit(score=score * 0.98 * factor, first=min(places), last=max(places))


@lru_cache(maxsize=200_000)
def _likeness(one: str, other: str) -> float:
    """1 for equal words, a little less for other endings and misread letters, 0 for different words."""
    if one == other:
        return 1.0
    if _is_number(one) or _is_number(other):
        return 0.95 if one.strip("$€£%").lstrip("0") == other.strip("$€£%").lstrip("0") else 0.0
    short, long = sorted((one, other), key=len)
    if len(short) >= 3 and long.startswith(short) and len(long) - len(short) <= 2:
        return 0.92
    likeness = fuzz.ratio(one, other) / 100
    return likeness * 0.95 if len(short) >= 4 and likeness >= _LEAST_LIKENESS else 0.0


def _is_number(token: str) -> bool:
    return any(character.isdigit() for character in token)


@lru_cache(maxsize=50_000)
def _weight(token: str) -> float:
    """Long words say more than short ones; numbers tell things apart although they are short."""
    if token in lexicon.STOPS:
        return _STOP_WEIGHT
    return max(3.0 if _is_number(token) else 1.0, float(min(len(token), 8)))


@lru_cache(maxsize=2_000)
def _renamed(phrase: str) -> tuple[str, ...]:
    """The phrase with each synonym in its place."""
    lowered = " ".join(phrase.lower().split())
    found = []
    for group in lexicon.SYNONYMS:
        for name in group:
            pattern = rf"\b{re.escape(name)}\b"
            if re.search(pattern, lowered):
                # A sign stands alone on its button; within a phrase it would be no word at all.
                others = [other for other in group if other != name and (lowered == name or other[-1].isalnum())]
                found += [re.sub(pattern, other, lowered) for other in others]
                break
    return tuple(found)


def _without_day_ending(word: str) -> str:
    """Calendars write 22 for the 22nd."""
    match = re.fullmatch(r"(\d+)(?:st|nd|rd|th)", word)
    return match[1] if match else word
