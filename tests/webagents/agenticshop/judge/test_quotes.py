from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.webagents.agenticshop.judge.quotes import is_quoted

PIECES = (
    "The \u201cKettle\u201d \u2014 it\u2019s  4.6 out of\n5, $1,048.00 incl. VAT",
    '{"name":"Kettle","brand":{"name":"Brewster"}}',
)


@pytest.mark.parametrize(
    "quote",
    [
        'the "kettle" - it\'s 4.6 out of 5',
        "4.6 OUT OF 5",
        "'4.6 out of 5.'",
        "$1,048.00",
        '"brand":{"name":"Brewster"}',
        "kettle ... 4.6",
        "Kettle' \u200b\u2014 it's",
        "the \u2026 out of",
        "1,048",
    ],
)
def test_what_stands_there(quote: str) -> None:
    assert is_quoted(quote, PIECES)


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "...",
        "it",
        "5",
        "kettles",
        "ettle",
        "4.6 of 5",
        "048.0",
        "out of ... kettle",
        "the ... Brewster",
        "incl. VAT {",
        "4.6 ... 5",
    ],
)
def test_what_does_not(quote: str) -> None:
    assert not is_quoted(quote, PIECES)


def test_a_long_quote_may_be_cut_within_a_word() -> None:
    text = "A stovetop kettle made of copper, with a handle of walnut and a lid that whistles"
    assert is_quoted(text[:-3], [text])
    assert not is_quoted(text[-8:-3], [text])


@given(st.lists(st.from_regex(r"[a-z]{3,8}", fullmatch=True), min_size=3, max_size=12), st.data())
def test_any_run_of_words_is_found(words: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(words) - 2))
    end = data.draw(st.integers(start + 1, len(words)))
    assert is_quoted("  ".join(words[start:end]).upper(), [" ".join(words)])


@given(st.text(max_size=60), st.text(max_size=200))
def test_any_quote_gets_an_answer(quote: str, piece: str) -> None:
    assert is_quoted(quote, [piece]) in (True, False)
