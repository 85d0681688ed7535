from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.webagents.agenticshop.records import Reported
from grounding.webagents.agenticshop.scores.official import fraction, official_figures
from grounding.webagents.agenticshop.scores.verdicts import PlaceVerdict


def place(user: str, rank: int, reported: Reported | None, outcome: str = "judged") -> PlaceVerdict:
    return PlaceVerdict(
        task=f"explicit_title/{user}",
        user=user,
        scenario="explicit_title",
        rank=rank,
        judge="model",
        outcome=outcome,  # type: ignore[arg-type]
        url="http://a.test",
        reported=reported,
    )


def said(percentage: float | None, **dimensions: str) -> Reported:
    return Reported(satisfaction_percentage=percentage, dimensions=dimensions)


def test_percentages_are_averaged_as_the_judge_wrote_them():
    # A judge that answers 0.5 and means 50 is averaged as 0.5 (protocol note D3).
    users = [
        [place("a", 0, said(50.0)), place("a", 1, said(0.5)), place("a", 2, None)],
        [place("b", 0, said(30.0))],
    ]
    found = official_figures(users)
    assert found.satisfaction_percentage == pytest.approx((25.25 + 30.0) / 2)
    assert (found.users, found.products) == (2, 3)


def test_a_user_without_reports_adds_nought_and_one_without_products_is_absent():
    users = [
        [place("a", 0, said(60.0))],
        [place("b", 0, None, "unreachable")],
        [place("c", rank, None, "not-curated") for rank in range(3)],
    ]
    found = official_figures(users)
    assert (found.satisfaction_percentage, found.users) == (30.0, 2)


def test_nothing_reported_is_no_figure():
    assert official_figures([[place("a", 0, None)]]).satisfaction_percentage is None


def test_dimensions_are_summed_within_a_user_and_nought_where_they_are_empty():
    users = [
        [
            place("a", 0, said(1.0, price_sensitivity_percentage="1 / 3", review_sensitivity_percentage="2 of 3")),
            place("a", 1, said(1.0, price_sensitivity="2/3", review_sensitivity="66%")),
        ],
        [place("b", 0, said(1.0, price_sensitivity="0/0"))],
    ]
    dimensions = official_figures(users).dimensions
    assert dimensions["price_sensitivity"] == pytest.approx((50.0 + 0.0) / 2)
    assert dimensions["review_sensitivity"] == 0.0


@given(st.integers(0, 99), st.integers(0, 99), st.text(alphabet=" \t", max_size=2))
def test_only_digits_with_blanks_around_are_a_fraction(above: int, below: int, blank: str):
    assert fraction(f"{blank}{above}{blank}/{blank}{below}{blank}") == (above, below)


@given(st.text(max_size=10))
def test_anything_else_is_nothing_of_nothing(text: str):
    parts = text.split("/")
    plain = len(parts) == 2 and all(part.strip().isdecimal() and part.strip().isascii() for part in parts)
    assert plain or fraction(text) == (0, 0)
