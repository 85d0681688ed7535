"""Stars and counts in words, labels, glyphs and widths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.webagents.agenticshop.extraction.described import out_of_five
from grounding.webagents.agenticshop.extraction.ratings import counts_in_words, rating_in_words

from .pages import facts, json_ld, product


@pytest.mark.parametrize(
    ("text", "rating"),
    [
        ("4.3 out of 5 stars", 4.3),
        ("4.3/5", 4.3),
        ("8.6 / 10", 4.3),
        ("rated 86/100", 4.3),
        ("Rated 4.3", 4.3),
        ("4,3 von 5 Sternen", 4.3),
        ("4 stars", 4.0),
        ("★★★★☆", 4.0),
        ("4.5 ★ (128)", 4.5),
        ("4.6 (1,234 reviews)", 4.6),
        ("Four and a half stars out of five", 4.5),
        ("★★★★★", None),
        ("1 / 5", None),
        ("1 of 5 items", None),
        ("12/10", None),
        ("rating NaN", None),
    ],
)
def test_ratings_in_words(text: str, rating: float | None) -> None:
    assert rating_in_words(text) == rating


@pytest.mark.parametrize(
    ("text", "ratings", "reviews"),
    [
        ("128 ratings", 128, None),
        ("1,234 customer reviews", None, 1234),
        ("(1.2k reviews)", None, 1200),
        ("Reviews (56)", None, 56),
        ("128 ratings and 40 reviews", 128, 40),
        ("Based on 31 reviews", None, 31),
        ("rated by 655 customers", 655, None),
        ("4.3 out of 5 312 ratings", 312, None),
        ("Rating: 4.5", None, None),
    ],
)
def test_counts_in_words(text: str, ratings: int | None, reviews: int | None) -> None:
    assert counts_in_words(text) == (ratings, reviews)


@given(st.floats(0, 100), st.floats(0.1, 100))
def test_scales_become_five(value: float, best: float) -> None:
    found = out_of_five(value, best)
    assert (found is None) == (value > best)
    if found is not None:
        assert 0 <= found <= 5


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
def test_what_is_no_rating(value: float) -> None:
    assert out_of_five(value, 5.0) is None


@pytest.mark.parametrize(
    ("shown", "rating", "count"),
    [
        ('<span role="img" aria-label="4.4 out of 5 stars"></span> <a href="#r">12 reviews</a>', 4.4, 12),
        ('<div class="stars"><div style="width: 88%"></div></div><span>(12)</span>', 4.4, None),
        ('<div class="star-rating" style="--rating: 4.4"></div>', 4.4, None),
        ('<div class="rating"><b>4.4</b> <span>(1,012)</span></div>', 4.4, 1012),
        ('<div data-rating="4.4" class="stars"></div><p>12 ratings</p>', 4.4, 12),
        ('<svg aria-label="Rated 4.4"><path d="M0 0"/></svg>', 4.4, None),
        ("<svg><title>4.4 out of 5</title></svg>", 4.4, None),
        ("<p>No reviews yet</p>", None, 0),
        ("", None, None),
    ],
)
def test_ratings_of_a_page(shown: str, rating: float | None, count: int | None) -> None:
    found = facts(product(f'<div class="price">$59.00</div>{shown}'))
    assert (found.rating, found.rating_count) == (rating, count)


def test_a_histogram_and_other_products_stars_are_not_the_rating() -> None:
    others = (
        '<section><h2>You may also like</h2><div><a href="/p/a"><img src="a.png">Kettle A</a> $1.00 '
        '<span aria-label="1.0 out of 5 stars"></span></div></section>'
        '<div class="histogram rating"><div class="bar" style="width: 12%"></div><p>5 stars 71%</p></div>'
    )
    found = facts(product(after=others + '<p class="rating">Rated 4.1 out of 5 by 9 customers</p>'))
    assert (found.rating, found.rating_count) == (4.1, 9)


def test_data_fills_in_where_the_page_is_silent() -> None:
    head = json_ld(aggregateRating='{"ratingValue": "8.8", "bestRating": "10", "reviewCount": "31"}')
    found = facts(product(head=head))
    assert (found.rating, found.rating_count) == (4.4, 31)


def test_a_single_review_is_not_the_products_rating() -> None:
    after = (
        '<section id="reviews"><h2>Customer reviews</h2><ul>'
        '<li><span aria-label="1 out of 5 stars"></span><p>It broke on the first day.</p></li>'
        '<li><span aria-label="2 out of 5 stars"></span><p>It leaks at the spout.</p></li></ul></section>'
    )
    found = facts(product(after=after))
    assert found.rating is None
    assert [one.rating for one in found.reviews] == [1.0, 2.0]
