"""How well does a phrase fit a text on the screen? Pure; letters only, no geometry.

The measure is balanced by length: a button that *is* the words beats a paragraph that contains them, and a word that is
all there beats a letter that happens to be in it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from rapidfuzz import fuzz

from grounding.grounders.ocr import lexicon
from grounding.records import Record

_RECALL_WEIGHT = 4.0
"""Words of the phrase that the text lacks count four times as much as words that the text has besides (F2)."""
_LEAST_LIKENESS = 0.75
"""Two words less alike than this are different words, not a misreading."""
_STOP_WEIGHT = 0.3
_SYNONYM_WEIGHT = 0.93
_OTHER_NUMBER = 0.6
"""Where the phrase has a number that the text lacks, the text is about something else: "Under $25", say, not "$50"."""


class Fit(Record, frozen=True, kw_only=True, omit_defaults=False):
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


def fit(phrase: str, words: tuple[str, ...]) -> Fit:
    """How well a phrase fits a line of text, in the words given or in words that mean the same control.

    Args:
        phrase: What the instruction calls it.
        words: The line, word by word.
    """
    best = _fit_plain(phrase, words)
    if best.score >= _SYNONYM_WEIGHT:
        return best
    for other in _renamed(phrase):
        found = _fit_plain(other, words)
        if found.score * _SYNONYM_WEIGHT > best.score:
            best = Fit(score=found.score * _SYNONYM_WEIGHT, first=found.first, last=found.last)
    return best


def _fit_plain(phrase: str, words: tuple[str, ...]) -> Fit:
    whole = Fit(score=0.0, first=0, last=max(0, len(words) - 1))
    wanted = tokens(phrase)
    written = [(token, index) for index, word in enumerate(words) for token in tokens(word)]
    if not wanted or not written:
        # A text of symbols alone, such as "+", must be the very symbols.
        return Fit(score=float(phrase.strip() == " ".join(words)), first=0, last=whole.last)
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
        return Fit(score=1.0 if exact else run_on * 0.99, first=0, last=whole.last)
    if not matched:
        return whole
    places = [written[at][1] for at in matched]
    return Fit(score=score * 0.98 * factor, first=min(places), last=max(places))


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
