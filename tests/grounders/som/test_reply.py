"""Which number a reply names, if any."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.grounders.som.reply import MAX_REPLY_CHARS, read_number


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("7", 7),
        (" 7\n", 7),
        ("7.", 7),
        ("**7**", 7),
        ("[7]", 7),
        ("#7", 7),
        ('"7"', 7),
        ("Mark 7", 7),
        ("The correct mark is 7, the search field.", 7),
        ("7 (yes, 7)", 7),
        ("- 7", 7),
        ("007", 7),
        ("the 2nd button, mark 7", 7),
        ("20", 20),
        ("1", 1),
    ],
)
def test_a_number_is_read(said: str, number: int) -> None:
    assert read_number(said, 20) == number


@pytest.mark.parametrize(
    "said",
    [
        "",
        " ",
        "none",
        "I can't see it.",
        "0",
        "-1",
        "−3",  # noqa: RUF001
        "mark -3",
        "21",
        "99999999999999999999999",
        "7.5",
        "7,5",
        "1.0",
        "3 or 4",
        "3/4",
        "3-5",
        "3, 4 and 5",
        "1,234",
        "1e1",
        "seven",
        "mark x7",
        "2nd",
        "7 of 20",
        "+7",
        "\u0667",
    ],
)
def test_what_names_no_mark_is_none(said: str) -> None:
    assert read_number(said, 20) is None


def test_no_marks_no_answer() -> None:
    assert read_number("1", 0) is None


def test_an_endless_reply_is_none() -> None:
    assert read_number("7 " * MAX_REPLY_CHARS, 20) is None


@given(st.integers(1, 500), st.integers(0, 500))
def test_a_bare_number_is_that_mark_or_none(number: int, count: int) -> None:
    assert read_number(str(number), count) == (number if number <= count else None)


@given(st.text(max_size=200), st.integers(0, 500))
def test_any_text_gives_a_mark_that_exists_or_none(said: str, count: int) -> None:
    number = read_number(said, count)
    assert number is None or 1 <= number <= count
