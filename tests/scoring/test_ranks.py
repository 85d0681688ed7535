"""Rank correlation against scipy, and against itself for raters who say yes or no."""

from __future__ import annotations

import math
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from grounding.scoring.ranks import average_ranks, phi, spearman

VALUES = st.one_of(st.integers(-3, 3), st.floats(-1e6, 1e6, allow_nan=False))
PAIRS = st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=40)
COUNT = st.integers(0, 30)


@given(st.lists(VALUES, max_size=40))
def test_ranks_are_those_of_scipy(values: list[float]) -> None:
    assert average_ranks(values).tolist() == stats.rankdata(values).tolist()


@given(PAIRS)
def test_it_is_that_of_scipy(pairs: list[tuple[float, float]]) -> None:
    first, second = zip(*pairs, strict=True)
    found = spearman(first, second)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.ConstantInputWarning)
        theirs = float(stats.spearmanr(first, second).statistic)
    if found is None:
        assert math.isnan(theirs)
    else:
        assert found == pytest.approx(theirs, abs=1e-9)


@given(COUNT, COUNT, COUNT, COUNT)
def test_of_two_values_it_is_phi(a: int, b: int, c: int, d: int) -> None:
    first = [1] * (a + b) + [0] * (c + d)
    second = [1] * a + [0] * b + [1] * c + [0] * d
    found = phi([[a, b], [c, d]])
    assert found == (None if spearman(first, second) is None else pytest.approx(spearman(first, second)))


def test_what_can_t_be_computed() -> None:
    assert spearman([1.0], [2.0]) is None
    assert spearman([1, 1, 1], [1, 2, 3]) is None
    with pytest.raises(ValueError, match="as many values"):
        spearman([1, 2], [1])
    with pytest.raises(ValueError, match="finite"):
        spearman([1, math.nan], [1, 2])
    with pytest.raises(ValueError, match="2 x 2"):
        phi([[1, 2, 3], [1, 2, 3]])
