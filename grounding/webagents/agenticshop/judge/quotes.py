"""Is a quote in the evidence? Compared without regard to case, blanks and the kind of quotes and dashes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

MIN_LETTERS, MIN_DIGITS = 3, 2
"""A shorter quote is found everywhere and shows nothing; a number needs less than a word."""
LONG_CHARS = 40
MAX_QUOTE_CHARS = 1_000

_FOLDED = str.maketrans(
    {sign: "'" for sign in "\u2018\u2019\u201a\u201b`\u00b4\u2032"}
    | {sign: "'" for sign in '"\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033'}
    | {sign: "-" for sign in "\u2010\u2011\u2012\u2013\u2014\u2212"}
)
_LEFT_OUT = re.compile(r"\s*(?:\.{3,}|\u2026|\[\.\.\.\])\s*")


def folded(text: str) -> str:
    """A text in one case, with one kind of blank, quote and dash.

    >>> folded("It\u2019s  4.6\u00a0Stars")
    "it's 4.6 stars"
    """
    # An ellipsis would become three dots, which stand for something left out.
    text = unicodedata.normalize("NFKC", text.replace("\u2026", " ... ")).translate(_FOLDED)
    # What can't be seen is a blank, as it is where evidence is shown.
    text = "".join(" " if unicodedata.category(letter) in ("Cf", "Cc") else letter for letter in text)
    # Quotes within JSON are written with a backslash, and as they are in a reply.
    return " ".join(text.replace("\\'", "'").casefold().split())


def is_quoted(quote: str, evidence: Iterable[str]) -> bool:
    """Whether a quote stands in one of the pieces, by whole words.

    Where a quote leaves words out ("..."), its parts have to stand in the same piece in their order.

    >>> is_quoted("4.5 stars", ["Rated 4.5 Stars by 12 people"]), is_quoted("4.5", ["14.5 cm"])
    (True, False)

    Args:
        quote: What somebody says stands there.
        evidence: The pieces as they were shown.
    """
    parts = [part for part in _LEFT_OUT.split(_bare(quote[:MAX_QUOTE_CHARS])) if part]
    if not parts or not all(_says_something(part) for part in parts):
        return False
    pattern = ".*?".join(_by_words(part) for part in parts)
    return any(re.search(pattern, folded(piece)) for piece in evidence)


def _by_words(part: str) -> str:
    """The pattern of a part; a short one has to stand by itself, a long one may have been cut within a word."""
    escaped = re.escape(part)
    return escaped if len(part) > LONG_CHARS else rf"(?<![^\W_]){escaped}(?![^\W_])"


def _says_something(part: str) -> bool:
    digits = sum(letter.isdigit() for letter in part)
    return digits >= MIN_DIGITS or sum(letter.isalnum() for letter in part) >= MIN_LETTERS


def _bare(quote: str) -> str:
    """A quote without what stands around it: quotes, dots, blanks."""
    return folded(quote).strip("' .,;:")
