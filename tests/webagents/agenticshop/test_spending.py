from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.webagents.agenticshop.spending import SpendingLimits, spending_limits


@pytest.mark.parametrize(
    ("words", "low", "high"),
    [
        ("around $80\u2013$110", 80.0, 110.0),
        ("around $40\u201350", 40.0, 50.0),
        ("under $5", None, 5.0),
        ("around $10\u2013$14 for a 24-pack", 10.0, 14.0),
        ("a 2-pack for under $30", None, 30.0),
        ("around $3 to $5", 3.0, 5.0),
        ("around $1,900\u2013$2,100", 1900.0, 2100.0),
        ("20 \u20ac at most", None, 20.0),
        ("at least $40", 40.0, None),
        ("no more than 15 dollars", None, 15.0),
        ("flexible", None, None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_budgets_as_people_write_them(words: str | None, low: float | None, high: float | None):
    assert spending_limits(words) == SpendingLimits(low=low, high=high)


@given(st.integers(1, 5000), st.integers(1, 5000), st.sampled_from(["-", "\u2013", " to ", " - "]))
def test_a_range_keeps_its_ends_in_order(first: int, second: int, between: str):
    found = spending_limits(f"about ${first}{between}${second}, shipping included")
    assert (found.low, found.high) == (min(first, second), max(first, second))


@given(st.text(max_size=60))
def test_any_words_are_read(words: str):
    found = spending_limits(words)
    assert found.low is None or found.high is None or found.low <= found.high
