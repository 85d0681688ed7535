"""One spelling for what sounds the same: a text in, the words that are compared out.

A word error rate depends on this as much as on the recogniser: rates under different normalisers can't be compared, so
its name stands beside every rate. ``whisper-en`` is that of Whisper's paper, from the package openai-whisper.
``grounding-en`` does this, in order, to the true and to the heard text alike:

1. small letters, plain letters for accented ones, straight apostrophes;
2. what recognisers write about the sound, not of the words, goes: ``[Music]``, ``<unk>``, ``(laughs)``;
3. contractions are written out (``don't`` do not, ``it's`` it is, ``gonna`` going to); a possessive 's stays;
4. signs that are spoken become words: currencies (``$5.50`` 5 dollars 50 cents), ``%``, ``&``, ``@``, ``+``, ``#``, the
   dot in ``example.com``;
5. spelt-out numbers become digits, an ordinal one word: ``twenty-five`` is ``25``, ``twenty first`` and ``21st`` are
   both ``21st``. Words that merely stand side by side stay apart: ``one two`` is ``1 2``, ``one thirty`` is ``1 30``;
6. hesitations go (um, uh, hmm); ``oh``, ``okay`` and ``like`` are words and stay;
7. what is left of punctuation goes.

Spellings of Britain and America are not made one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from itertools import takewhile
from typing import Final

from grounding.errors import UserError, install
from grounding.scoring.words import Normaliser

FILLERS: Final = frozenset([
    "um", "umm", "uhm", "uh", "uhh", "er", "erm", "err", "ah", "ahh", "eh", "hm", "hmm", "hmmm", "mm", "mmm", "mhm",
])  # fmt: skip
"""Sounds of hesitation, which some recognisers write and others leave out."""

_ASIDE: Final = re.compile(r"\[[^\[\]]*\]|<[^<>]*>|\([^()]*\)|[♪♫]")
_WHOLE: Final = {
    "can't": "can not", "cannot": "can not", "won't": "will not", "shan't": "shall not", "ain't": "is not",
    "let's": "let us", "gonna": "going to", "wanna": "want to", "gotta": "got to", "lemme": "let me",
    "gimme": "give me", "y'all": "you all", "'cause": "because", "'em": "them", "ok": "okay", "o.k.": "okay",
}  # fmt: skip
_PLAIN_S: Final = frozenset([
    "it", "that", "this", "what", "who", "where", "when", "why", "how", "there", "here", "he", "she", "everything",
    "something",
])  # fmt: skip
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
_ONE_AMOUNT: Final = re.compile(r"(?<!\S)(dollars|euros|pounds) and (?=[0-9]+ (?:cents|pence)(?!\S))")
_SPOKEN_SIGNS: Final = {"%": " percent ", "&": " and ", "@": " at ", "+": " plus ", "=": " equals ", "#": " number "}


def normalise(text: str) -> tuple[str, ...]:
    """The words of a text that are compared; see above.

    >>> normalise("Um, pick the twenty-first — it's $5.50 at quickfork.example!")
    ('pick', 'the', '21st', 'it', 'is', '5', 'dollars', '50', 'cents', 'at', 'quickfork', 'dot', 'example')
    """
    plain = _plain_letters(text)
    plain = _ASIDE.sub(" ", plain)
    plain = _signs(" ".join(_written_out(word) for word in plain.split()))
    bare = (_UNITS.get(word, word).strip("'") for word in plain.split())
    said = digits_for_numbers([word for word in bare if word and word not in FILLERS])
    # 5 dollars and 50 cents: without the "and", which nobody writes in $5.50.
    return tuple(_ONE_AMOUNT.sub(r"\1 ", " ".join(said)).split())


def _whisper_english() -> Normaliser:
    try:
        from whisper.normalizers import EnglishTextNormalizer
    except ImportError as error:
        raise UserError(
            f"the normaliser whisper-en needs the package openai-whisper ({error}): {install('whisper')}"
        ) from error
    english = EnglishTextNormalizer()
    return Normaliser(id=WHISPER, words=lambda text: english(text).split())


NORMALISER: Final = Normaliser(id="grounding-en-1", words=normalise)
WHISPER: Final = "whisper-en"
NORMALISERS: Final = {"grounding-en": lambda: NORMALISER, WHISPER: _whisper_english}


def open_normaliser(name: str | None) -> Normaliser:
    """A normaliser by its name; None for ours. Raises UserError: no such name, or its package is missing."""
    if name is not None and name not in NORMALISERS:
        raise UserError(f"--normaliser {name}: there is no such normaliser; choose from {', '.join(NORMALISERS)}")
    return NORMALISERS[name]() if name else NORMALISER


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


# --- numbers that are spelt out -----------------------------------------------------------------------------------

_SMALL: Final = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
_TENS: Final = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_CARDINALS: Final = {word: value for value, word in enumerate(_SMALL)} | {
    word: 10 * value for value, word in enumerate(_TENS, start=2)
}
_SCALES: Final = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_ORDINALS: Final = {
    (f"{word[:-1]}ieth" if word.endswith("y") else f"{word}th"): word for word in (*_CARDINALS, *_SCALES)
} | {
    "first": "one", "second": "two", "third": "three", "fifth": "five", "eighth": "eight", "ninth": "nine",
    "twelfth": "twelve",
}  # fmt: skip
"""Ordinals with their cardinals."""

_DIGITS: Final = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
_DIGIT: Final = {word: str(value) for value, word in enumerate(_SMALL[:10])} | {digit: digit for digit in "0123456789"}
_HALVES: Final = re.compile(r"(?<!\S)(?:([0-9]+) oh? ([0-9])|(1[6-9]|20) ([1-9][0-9]))(?!\S)")
"""``nineteen ninety`` is a year; a smaller first half is rather the hour of a time, such as ``one oh five``."""


def digits_for_numbers(words: Sequence[str]) -> list[str]:
    """The words, in small letters and without hyphens, with spelt-out numbers as digits.

    >>> digits_for_numbers("the twenty first of two thousand and six".split())
    ['the', '21st', 'of', '2006']
    """
    found: list[str] = []
    at = 0
    while at < len(words):
        taken, text = _number(words, at)
        found.append(text if taken else words[at])
        at += taken or 1
    # The zero of a time (1 oh 5 is 1 05), and the halves of a year (19 90), put together.
    joined = _HALVES.sub(lambda at: f"{at[1]} 0{at[2]}" if at[1] else f"{at[3]}{at[4]}", " ".join(found))
    return joined.split()


def _number(words: Sequence[str], start: int) -> tuple[int, str]:
    """How many words from ``start`` on are one number, and that number; 0 where none is.

    States: ``start``; ``digits`` after a number in digits; ``ones`` after one to nineteen; ``tens`` after twenty,
    thirty, …; ``scale`` where only a scale may follow; ``scaled`` after one.
    """
    at, total, part, state = start, Decimal(0), Decimal(0), "start"
    if words[at] in ("a", "an") and at + 1 < len(words) and words[at + 1] in _SCALES:
        at, part, state = at + 1, Decimal(1), "scale"
    while at < len(words):
        follows = words[at + 1] if at + 1 < len(words) else ""
        if words[at] == "point" and state not in ("start", "scale") and follows in _DIGIT:
            digits = "".join(_DIGIT[word] for word in takewhile(_DIGIT.__contains__, words[at + 1 :]))
            at, part, state = at + 1 + len(digits), part + Decimal(f"0.{digits}"), "digits"
            continue
        joins = words[at] == "and" and state == "scaled" and _ORDINALS.get(follows, follows) in _CARDINALS
        word = follows if joins else words[at]
        cardinal = _ORDINALS.get(word, word)
        scale, value = _SCALES.get(cardinal), _CARDINALS.get(cardinal)
        if scale is not None:
            again = state == "scaled" and word != cardinal
            if state == "start" or part <= 0 or (scale == 100 and part >= 100) or again:
                break
            part, state = part * scale, "scaled"
        elif state == "start" and _DIGITS.fullmatch(word):
            part, state = Decimal(word), "digits"
        elif value is not None and (state == "start" or (state == "scaled" and value)):
            part, state = part + value, "tens" if value >= 20 else "ones"
        elif value is not None and state == "tens" and 1 <= value <= 9:
            part, state = part + value, "ones"
        else:
            break
        if scale is not None and scale >= 1000:
            total, part = total + part, Decimal(0)
        at += 1 + joins
        if word != cardinal:
            return at - start, _ordinal(int(total + part))
    if state in ("start", "scale"):
        return 0, ""
    alone = at - start == 1 and words[start][0].isdigit()
    return at - start, words[start] if alone else f"{(total + part).normalize():f}"


def _ordinal(value: int) -> str:
    """``21`` is ``21st``."""
    ending = "th" if value % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{ending}"
