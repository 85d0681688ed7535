from __future__ import annotations

import jiwer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.asr.normaliser import NORMALISER, digits_for_numbers, normalise
from grounding.scoring.words import Errors, Normaliser, word_errors

SAME = [
    # ordinals are one word
    ("21st", "twenty-first"),
    ("21st", "twenty first"),
    # numbers
    ("twenty-five", "25"),
    ("one thousand two hundred and fifty", "1,250"),
    ("two million three hundred thousand and five", "2300005"),
    ("three point one four", "3.14"),
    ("two thousand and six", "2006"),
    ("twenty twenty-six", "2026"),
    ("the forty minute video", "the 40-minute video"),
    # times
    ("one oh five", "1:05"),
    ("eighteen thirty", "18:30"),
    ("seven p.m.", "7pm"),
    ("the eight o'clock show", "the 8 o\u2019clock show"),
    # currencies and signs
    ("five dollars", "$5"),
    ("five dollars and fifty cents", "$5.50"),
    ("one point five million dollars", "$1.5 million"),
    ("five per cent", "5%"),
    ("salt and pepper", "salt & pepper"),
    ("go to quickfork dot example", "Go to quickfork.example."),
    # contractions
    ("do not", "don\u2019t"),
    ("cannot", "can't"),
    ("it is", "it's"),
    ("going to", "gonna"),
    # hesitations, asides, accents, case
    ("go back", "Um, hmm... go back"),
    ("café", "CAFE"),
    ("okay", "OK"),
]

APART = [
    ("one two", "12"),
    ("Nell's", "Nell is"),
    ("twenty seconds", "22nd"),
    ("twelve thirty", "1230"),
]


@pytest.mark.parametrize(("said", "written"), SAME)
def test_what_sounds_the_same_is_the_same(said: str, written: str) -> None:
    assert normalise(said) == normalise(written)
    assert normalise(said)


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_differs_stays_apart(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


_ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_ONES += ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def spelt(value: int) -> str:
    """The number in words, as people say it."""
    if value < 20:
        return _ONES[value]
    if value < 100:
        return _TENS[value // 10] + (f" {_ONES[value % 10]}" if value % 10 else "")
    for size, name in ((1_000_000, "million"), (1000, "thousand"), (100, "hundred")):
        if value >= size:
            rest = value % size
            joiner = " and " if 0 < rest < 100 else " "
            return f"{spelt(value // size)} {name}" + (f"{joiner}{spelt(rest)}" if rest else "")
    raise AssertionError(value)


@settings(max_examples=300)
@given(st.integers(0, 999_999_999))
def test_every_number_in_words_is_that_number(value: int) -> None:
    assert digits_for_numbers(spelt(value).split()) == [str(value)]
    assert normalise(f"{value:,}") == (str(value),)


PLAIN = Normaliser(id="plain-3", words=lambda text: tuple(text.split()))


def test_the_kinds_of_error_are_counted() -> None:
    found = word_errors([("click on the red button", "um click the bread button now")], NORMALISER)
    assert found.normaliser == "grounding-en-1"
    assert found.errors == Errors(hits=3, substitutions=1, deletions=1, insertions=1)
    assert found.errors.reference_words == 5
    assert found.errors.rate_percent == pytest.approx(60)


_WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=8).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(_WORDS, _WORDS), min_size=1, max_size=12))
def test_counts_are_jiwers(texts: list[tuple[str, str]]) -> None:
    found = word_errors(texts, PLAIN)
    theirs = jiwer.process_words([said for said, _ in texts], [heard for _, heard in texts])
    assert found.errors == Errors(
        hits=theirs.hits,
        substitutions=theirs.substitutions,
        deletions=theirs.deletions,
        insertions=theirs.insertions,
    )
    assert found.errors.reference_words == sum(len(said.split()) for said, _ in texts)
    if found.errors.rate_percent is not None:
        assert found.errors.rate_percent == pytest.approx(100 * theirs.wer)
        between = found.interval
        assert between is None or between.low <= found.errors.rate_percent <= between.high
