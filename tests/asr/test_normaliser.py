from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.asr.normaliser import FILLERS, NORMALISER, normalise
from grounding.asr.numbers import digits_for_numbers, ordinal

SAME = [
    # ordinals are one word
    ("21st", "twenty-first"),
    ("21st", "twenty first"),
    ("September tenth", "September 10th"),
    ("the 105th", "the one hundred and fifth"),
    ("the twelfth", "the 12th"),
    # numbers
    ("twenty-five", "25"),
    ("under a hundred", "under 100"),
    ("one thousand two hundred and fifty", "1,250"),
    ("two million three hundred thousand and five", "2300005"),
    ("five hundred", "5 hundred"),
    ("three point one four", "3.14"),
    ("two thousand and six", "2006"),
    ("nineteen ninety", "1990"),
    ("twenty twenty-six", "2026"),
    ("the forty minute video", "the 40-minute video"),
    # times
    ("at one thirty", "at 1:30"),
    ("one oh five", "1:05"),
    ("eighteen thirty", "18:30"),
    ("seven p.m.", "7pm"),
    ("seven PM", "7 p.m."),
    ("the eight o'clock show", "the 8 o\u2019clock show"),
    # currencies and signs
    ("five dollars", "$5"),
    ("five dollars and fifty cents", "$5.50"),
    ("one point five million dollars", "$1.5 million"),
    ("three pounds", "£3"),
    ("five euros", "5€"),
    ("tip two dollars", "tip $2"),
    ("five per cent", "5%"),
    ("number one", "#1"),
    ("salt and pepper", "salt & pepper"),
    ("go to quickfork dot example", "Go to quickfork.example."),
    ("ada at winter dot example", "ada@winter.example"),
    # contractions
    ("I am", "I'm"),
    ("do not", "don\u2019t"),
    ("can not", "can't"),
    ("cannot", "can't"),
    ("it is", "it's"),
    ("let us go", "let's go"),
    ("we would like", "we'd like"),
    ("going to", "gonna"),
    ("will not", "won't!"),
    # hesitations, asides, accents, case
    ("go back", "Um, hmm... go back"),
    ("hello", "[Music] Hello (laughs) <unk>"),
    ("café", "CAFE"),
    ("okay", "OK"),
    ("quoted", "'quoted'"),
]

APART = [
    ("one two", "12"),
    ("Nell's", "Nell is"),
    ("the second one", "the seconds"),
    ("twenty seconds", "22nd"),
    ("oh", ""),
    ("twelve thirty", "1230"),
]


@pytest.mark.parametrize(("said", "written"), SAME)
def test_what_sounds_the_same_is_the_same(said: str, written: str) -> None:
    assert normalise(said) == normalise(written)
    assert normalise(said)


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_differs_stays_apart(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


def test_an_ordinal_is_one_whole_word() -> None:
    assert normalise("the 21st of May") == ("the", "21st", "of", "may")
    assert normalise("twenty-first") == ("21st",)
    assert normalise("the first two") == ("the", "1st", "2")


def test_nothing_to_compare() -> None:
    for text in ("", "   ", "...", "um", "[BLANK_AUDIO]", "'", "♪♪"):
        assert normalise(text) == ()


def test_possessives_and_words_that_look_like_numbers_stay() -> None:
    assert normalise("Nell's hundred points") == ("nell's", "hundred", "points")
    assert normalise("hundredth and point") == ("hundredth", "and", "point")


def test_it_has_a_name_and_a_version() -> None:
    assert NORMALISER.id == "grounding-en-1"
    assert NORMALISER.words is normalise


@given(st.integers(0, 10_000))
def test_ordinals_end_as_they_are_said(value: int) -> None:
    ending = ordinal(value).removeprefix(str(value))
    last_two, last = value % 100, value % 10
    assert ending == ("th" if 10 < last_two < 14 else {1: "st", 2: "nd", 3: "rd"}.get(last, "th"))


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


@settings(max_examples=400)
@given(st.text(max_size=60) | st.text("0123456789.,:$%'- aonehundrtlfiv", max_size=60))
def test_any_text_is_taken_and_words_are_clean(text: str) -> None:
    words = normalise(text)
    for word in words:
        assert word
        assert word == word.strip()
        assert not any(letter.isspace() for letter in word)
        assert word not in FILLERS


@pytest.mark.parametrize(
    "text", ["9" * 5000, "9" * 5000 + " hundred", "²³", "፩ oh ፪", "١٢٣ hundred", "1" + ".1" * 3000]
)
def test_strange_digits_do_no_harm(text: str) -> None:
    assert normalise(text)
