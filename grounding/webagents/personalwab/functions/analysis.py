"""Text to search terms, as Lucene's analyser for English does it: the one that Pyserini takes by default.

Words as Unicode's word boundaries cut them, possessive endings off, lower case, Lucene's 33 stop words out, Porter's
stemmer. Written after the behaviour of Lucene 9 (``DefaultEnglishAnalyzer`` of Anserini) and held against it term by
term in the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

_STOPPED = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
STOP_WORDS = frozenset(_STOPPED.split())
"""Lucene's ``EnglishAnalyzer.ENGLISH_STOP_WORDS_SET``."""

MAX_TOKEN_CHARS = 255
"""Lucene's ``StandardAnalyzer.DEFAULT_MAX_TOKEN_LENGTH``: a longer word is cut into pieces."""

_EXTRA = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*"
_LETTER = r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}]"
_DIGIT = r"\p{WB=Numeric}"
_PICTURE = (
    r"(?: (?! [\#*0-9] ) \p{Emoji}"
    r" | [\u2600-\u2605\u2607-\u2612\u2614-\u2685\u2690-\u2705\u2708-\u2712\u2763-\u2767\U0001f000-\U0001faff] )"
)
"""Pictograms, with the ones that Unicode called so when Lucene's tables were made."""
_WORD = rf"""
    [\p{{Script=Han}}\p{{Script=Hiragana}}] {_EXTRA}
  | \p{{Regional_Indicator}}{{2}} {_EXTRA}
  | {_PICTURE} {_EXTRA} (?: (?<= \p{{WB=ZWJ}} ) {_PICTURE} {_EXTRA} )*
  | (?: (?: {_LETTER} | {_DIGIT} | \p{{WB=Katakana}} | \p{{WB=ExtendNumLet}} ) {_EXTRA}
        (?: (?<= {_LETTER} {_EXTRA} ) [\p{{WB=MidLetter}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}] (?= {_LETTER} )
          | (?<= {_DIGIT} {_EXTRA} ) [\p{{WB=MidNum}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}] (?= {_DIGIT} ) )?
    )+
"""
"""Words of Unicode's annex 29 that hold something to find; an ideograph and a pictogram are words of their own."""
_CHUNK = re.compile(r"[^ \t\r\n]+")
_POSSESSIVES = ("'", "\u2019", "\uff07")


def terms(text: str) -> list[str]:
    """The terms of a text, in order, repeated where it repeats them."""
    found: list[str] = []
    for chunk in _CHUNK.findall(text):
        found += _chunk_terms(chunk)
    return found


@lru_cache(maxsize=1_000_000)
def _chunk_terms(chunk: str) -> tuple[str, ...]:
    # No word goes across a blank, and shops repeat themselves.
    found = []
    for token in words(chunk):
        owner = token[:-2] if token[-1] in "sS" and token[-2:-1] in _POSSESSIVES else token
        word = owner.lower()
        if word and word not in STOP_WORDS:
            found.append(_stem(word))
    return tuple(found)


def words(text: str) -> Iterable[str]:
    """The words of a text as they stand in it. What holds no letter, digit or pictogram is none."""
    for match in _pattern().finditer(text):
        word = match[0]
        if word.strip("_"):
            for start in range(0, len(word), MAX_TOKEN_CHARS):
                yield word[start : start + MAX_TOKEN_CHARS]


@cache
def _pattern() -> Any:
    import regex

    return regex.compile(_WORD, regex.VERBOSE)


@lru_cache(maxsize=200_000)
def _stem(word: str) -> str:
    # Lucene's stemmer is its author's own program, which differs from the published rules in two endings.
    return str(_stemmer().stem(word, to_lowercase=False))


@cache
def _stemmer() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS)
