"""One spelling for what sounds the same: a text in, the words that are compared out.

A word error rate depends on this as much as on the recogniser: rates under different normalisers can't be compared, so
its name and version are part of a run's signature. ``grounding-en-1`` does this, in order, to the true and to the heard
text alike:

1. small letters, plain letters for accented ones, straight apostrophes;
2. what recognisers write about the sound, not of the words, goes: ``[Music]``, ``<unk>``, ``(laughs)``;
3. contractions are written out (``don't`` do not, ``it's`` it is, ``gonna`` going to); a possessive 's stays;
4. signs that are spoken become words: currencies (``$5.50`` 5 dollars 50 cents), ``%``, ``&``, ``@``, ``+``, ``#``, the
   dot in ``example.com``;
5. spelt-out numbers become digits, an ordinal one word (:mod:`grounding.asr.numbers`);
6. hesitations go (um, uh, hmm); ``oh``, ``okay`` and ``like`` are words and stay;
7. what is left of punctuation goes.

Spellings of Britain and America are not made one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from grounding.asr.numbers import digits_for_numbers
from grounding.records import Record


class Normaliser(Record, frozen=True, kw_only=True):
    """A named way to make words of a text. ``id``, such as grounding-en-1, goes into signatures."""

    name: str
    version: int
    words: Callable[[str], tuple[str, ...]]

    @property
    def id(self) -> str:
        """Name and version."""
        return f"{self.name}-{self.version}"


FILLERS: Final = frozenset(
    ["um", "umm", "uhm", "uh", "uhh", "er", "erm", "err", "ah", "ahh", "eh", "hm", "hmm", "hmmm", "mm", "mmm", "mhm"]
)
"""Sounds of hesitation, which some recognisers write and others leave out."""

_ASIDE: Final = re.compile(r"\[[^\[\]]*\]|<[^<>]*>|\([^()]*\)|[♪♫]")
_WHOLE: Final = {
    "can't": "can not", "cannot": "can not", "won't": "will not", "shan't": "shall not", "ain't": "is not",
    "let's": "let us", "gonna": "going to", "wanna": "want to", "gotta": "got to", "lemme": "let me",
    "gimme": "give me", "y'all": "you all", "'cause": "because", "'em": "them", "ok": "okay", "o.k.": "okay",
}  # fmt: skip
_PLAIN_S: Final = frozenset(
    [
        "it",
        "that",
        "this",
        "what",
        "who",
        "where",
        "when",
        "why",
        "how",
        "there",
        "here",
        "he",
        "she",
        "everything",
        "something",
    ]
)
"""Words after which 's is short for is; after others it may as well be a possessive."""

_ENDINGS: Final = (("n't", "not"), ("'re", "are"), ("'ve", "have"), ("'ll", "will"), ("'d", "would"), ("'m", "am"))
_CURRENCIES: Final = {"$": ("dollars", "cents"), "€": ("euros", "cents"), "£": ("pounds", "pence")}
_UNITS: Final = {
    "dollar": "dollars", "cent": "cents", "euro": "euros", "pound": "pounds", "penny": "pence", "bucks": "dollars",
    "buck": "dollars",
}  # fmt: skip
_SIGN: Final = "[" + re.escape("".join(_CURRENCIES)) + "]"
_AMOUNT: Final = re.compile(
    rf"(?:(?P<before>{_SIGN})\s?(?P<number>\d[\d,]*(?:\.\d+)?)(?P<scale>\s?(?:hundred|thousand|million|billion))?\b)"
    rf"|(?:(?<![\d.,])(?P<number2>\d[\d,]*(?:\.\d+)?)\s?(?P<after>{_SIGN}))"
)
_SPOKEN_SIGNS: Final = {"%": " percent ", "&": " and ", "@": " at ", "+": " plus ", "=": " equals ", "#": " number "}


def normalise(text: str) -> tuple[str, ...]:
    """The words of a text that are compared; see above.

    >>> normalise("Um, pick the twenty-first — it's $5.50 at quickfork.example!")
    ('pick', 'the', '21st', 'it', 'is', '5', 'dollars', '50', 'cents', 'at', 'quickfork', 'dot', 'example')
    """
    plain = _plain_letters(text)
    plain = _ASIDE.sub(" ", plain)
    plain = _signs(" ".join(_written_out(word) for word in plain.split()))
    words = [_UNITS.get(word, word) for word in plain.split()]
    return tuple(word for word in _one_amount(digits_for_numbers(_kept(words))) if word)


NORMALISER: Final = Normaliser(name="grounding-en", version=1, words=normalise)
"""The one that is used."""


def _plain_letters(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text.lower())
    plain = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return re.sub("[\u2018\u2019\u02bc\u0060\u00b4]", "'", plain)


def _written_out(word: str) -> str:
    """A word without its contraction; punctuation around it stays."""
    core = word.strip('.,;:!?"-\u2013\u2014\u2026')
    before, _, after = word.partition(core) if core else (word, "", "")
    for shape in (word, core, core.strip("'")):
        if shape in _WHOLE:
            return f"{before}{_WHOLE[shape]}{after}"
    core = core.strip("'") if core.startswith("'") else core
    if core.endswith("'s") and core[:-2] in _PLAIN_S:
        return f"{before}{core[:-2]} is{after}"
    for ending, meaning in _ENDINGS:
        stem = core.removesuffix(ending)
        if stem != core and stem.isalpha():
            return f"{before}{stem} {meaning}{after}"
    return word


def _signs(text: str) -> str:
    """Signs as the words they are spoken as; other punctuation as blanks."""
    text = _AMOUNT.sub(_amount, text)
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    # Letters with dots between (p.m., e.g.) are one word; a dot between longer ones is spoken.
    text = re.sub(r"\b(?:[a-z]\.){2,}|\b(?:[a-z]\.)+[a-z]\b", lambda found: found[0].replace(".", "") + " ", text)
    text = re.sub(r"(?<=[a-z0-9])\.(?=[a-z])", " dot ", text)
    text = re.sub(r"\b(\d{1,2}):(\d{2})\b", r"\1 \2", text)
    text = re.sub(r"(\d)\s?([ap]m)\b", r"\1 \2", text)
    text = re.sub(r"\bper cent\b", "percent", text)
    for sign, meaning in _SPOKEN_SIGNS.items():
        text = text.replace(sign, meaning)
    text = re.sub(r"(?<=\d)\.(?=\d)", "\0", text)
    return re.sub(r"[^\w'\0]|_", " ", text).replace("\0", ".")


def _amount(found: re.Match[str]) -> str:
    sign = found["before"] or found["after"]
    whole, _, part = (found["number"] or found["number2"]).replace(",", "").partition(".")
    many, small = _CURRENCIES[sign]
    if found["scale"] or (part and len(part) != 2):
        decimals = f".{part}" if part else ""
        return f" {whole}{decimals} {(found['scale'] or '').strip()} {many} "
    return f" {whole} {many} " + (f"{int(part)} {small} " if part and int(part) else "")


def _kept(words: list[str]) -> list[str]:
    """Without hesitations, and without apostrophes that are quotation marks."""
    return [word for word in (each.strip("'") for each in words) if word and word not in FILLERS]


def _one_amount(words: list[str]) -> list[str]:
    """``5 dollars and 50 cents`` without the ``and``, which nobody writes in $5.50."""
    units = {unit for unit, _ in _CURRENCIES.values()}
    small = {unit for _, unit in _CURRENCIES.values()}
    return [
        word
        for at, word in enumerate(words)
        if not (
            word == "and"
            and 0 < at < len(words) - 2
            and words[at - 1] in units
            and words[at + 1].isdigit()
            and words[at + 2] in small
        )
    ]
