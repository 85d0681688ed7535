from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.grounders.ocr.similarity import fit, tokens


def score(phrase: str, text: str) -> float:
    return fit(phrase, tuple(text.split())).score


@pytest.mark.parametrize(
    ("phrase", "better", "worse"),
    [
        ("add to cart", "Add to cart", "Tap Add to cart to buy this and many other things"),
        ("add to cart", "Add to cart", "Cart"),
        ("add to cart", "Ad to cart", "A"),
        ("sign in", "Signin", "Sign up"),
        ("log in", "Sign in", "Blog"),
        ("basket", "Cart (2)", "Brand"),
        ("under $50", "Under $50", "Under $25"),
        ("wireless keyboard", "Wireless Keyboard K380", "Wireless Mouse"),
        ("april 22", "22", "April"),
        ("review", "Reviews", "Preview window"),
        ("+", "+", "A+ rated"),
        ("four stars", "4 stars and up", "3 stars and up"),
    ],
)
def test_the_better_text_wins(phrase: str, better: str, worse: str) -> None:
    assert score(phrase, better) > score(phrase, worse)


@pytest.mark.parametrize("text", ["Add to cart", "ADD TO CART", "Add to cart!", "+", "$49.99", "22", "Men's"])
def test_the_text_itself_fits_fully(text: str) -> None:
    assert score(text, text) == 1.0


def test_the_words_that_fit_are_told() -> None:
    found = fit("privacy", ("About", "us", "Privacy", "Help"))
    assert (found.first, found.last) == (2, 2)


def test_tokens_are_plain() -> None:
    assert tokens("Women's, size Two!") == ("womens", "size", "2")
    assert tokens("the 22nd") == ("the", "22")
    assert tokens("\u00d7") == tokens("X") == ("x",)
    assert tokens("+") == ("+",)


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=12), max_size=8))
def test_a_fit_is_a_share_and_its_words_are_there(phrase: str, words: list[str]) -> None:
    found = fit(phrase, tuple(words))
    assert 0.0 <= found.score <= 1.0
    assert 0 <= found.first <= found.last <= max(0, len(words) - 1)
