"""Cohen's kappa against published and independently computed figures, and what can't be computed said."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errorsplit.agreement import agreements
from grounding.errorsplit.records import Opinion, Said
from grounding.scoring.kappa import cohens_kappa

COUNT = st.integers(0, 40)
TABLE = st.tuples(st.tuples(COUNT, COUNT), st.tuples(COUNT, COUNT))


def opinions(source: str, *said: Said) -> tuple[Opinion, ...]:
    return tuple(Opinion(source=source, step_id=f"1/{i}", said=each) for i, each in enumerate(said))


@pytest.mark.parametrize(
    ("table", "kappa", "error"),
    [
        # Kappa and standard error as statsmodels 0.15.0 (cohens_kappa) gives them.
        (((20, 5), (10, 15)), 0.4, 0.12699606293110033),
        (((45, 15), (25, 15)), 0.13043478260869554, 0.0986615376234396),
        (((25, 35), (5, 35)), 0.25925925925925924, 0.07715973174444572),
        # The worked example of Fleiss, Cohen and Everitt (1969): 0.429, n = 200.
        (((106, 10, 4), (22, 28, 10), (2, 12, 6)), 0.4285714285714285, 0.05371100486916735),
        (((3, 1), (0, 7)), 0.7924528301886792, 0.19357944285330209),
        (((1, 9), (8, 2)), -0.7, 0.15888675212238476),
    ],
)
def test_kappa_is_that_of_others(table: tuple[tuple[int, ...], ...], kappa: float, error: float) -> None:
    found = cohens_kappa(table)
    assert found.value == pytest.approx(kappa, abs=1e-12)
    assert found.standard_error == pytest.approx(error, abs=1e-12)


@given(TABLE)
def test_kappa_is_at_most_one_and_doesnt_care_who_is_first(table: tuple[tuple[int, int], tuple[int, int]]) -> None:
    (a, b), (c, d) = table
    found, turned = cohens_kappa(table), cohens_kappa(((a, c), (b, d)))
    swapped = cohens_kappa(((d, c), (b, a)))
    if found.value is None:
        assert turned.value is None
        assert a + b + c + d == 0 or a == a + b + c + d or d == a + b + c + d
        return
    assert math.isfinite(found.value)
    assert -1 - 1e-12 <= found.value <= 1 + 1e-12
    assert turned.value == pytest.approx(found.value)
    assert swapped.value == pytest.approx(found.value)
    assert (found.value == pytest.approx(1)) == (b == c == 0)


@given(TABLE)
def test_kappa_is_what_shuffling_would_leave(table: tuple[tuple[int, int], tuple[int, int]]) -> None:
    """Expected agreement from its definition: over all pairs of one rater's labels and the other's."""
    (a, b), (c, d) = table
    n = a + b + c + d
    kappa = cohens_kappa(table).value
    if kappa is None:
        return
    by_chance = ((a + b) * (a + c) + (c + d) * (b + d)) / (n * n)
    assert kappa == pytest.approx(((a + d) / n - by_chance) / (1 - by_chance))


@pytest.mark.parametrize("table", [((1, 2, 3), (4, 5, 6)), ((1, -1), (0, 1)), ()])
def test_what_is_no_table_is_refused(table: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(ValueError, match="square table"):
        cohens_kappa(table)


def test_only_steps_that_both_decide_are_compared() -> None:
    (found,) = agreements(
        {
            "reference": opinions("reference", "reasoning", "reasoning", "grounding", "missing", "grounding"),
            "label:ann": opinions("label:ann", "reasoning", "grounding", "grounding", "grounding", "unclear"),
        }
    )
    assert (found.first, found.second) == ("reference", "label:ann")
    counts = (found.reasoning_reasoning, found.reasoning_grounding, found.grounding_reasoning)
    assert (*counts, found.grounding_grounding) == (1, 1, 0, 1)
    assert (found.n, found.left_out) == (3, 2)
    assert found.agree_percent == pytest.approx(200 / 3)
    assert found.kappa == pytest.approx(0.4)
    assert found.interval is not None
    assert -1 <= found.interval.low < 0.4 < found.interval.high <= 1


def test_every_two_sources_are_compared() -> None:
    one, two = ("reasoning", "grounding"), ("grounding", "reasoning")
    found = agreements({"a": opinions("a", *one), "b": opinions("b", *one), "c": opinions("c", *two)})
    assert [(each.first, each.second, each.kappa) for each in found] == [
        ("a", "b", 1.0),
        ("a", "c", -1.0),
        ("b", "c", -1.0),
    ]
    assert [each.interval for each in found] == [None, None, None]


@pytest.mark.parametrize(
    ("one", "two", "why"),
    [
        (("grounding",) * 3, ("grounding",) * 3, "both always say grounding"),
        (("reasoning",) * 2, ("reasoning",) * 2, "both always say reasoning"),
        (("reasoning", "missing"), ("missing", "grounding"), "no step that both decide"),
    ],
)
def test_an_undefined_kappa_is_said_to_be(one: tuple[Said, ...], two: tuple[Said, ...], why: str) -> None:
    (found,) = agreements({"a": opinions("a", *one), "b": opinions("b", *two)})
    assert (found.kappa, found.interval, found.undefined_because) == (None, None, why)
