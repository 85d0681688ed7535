"""Intervals, resampling, kappa and tests of significance, held against textbooks, scipy and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2
from statsmodels.stats.contingency_tables import mcnemar as their_mcnemar
from statsmodels.stats.inter_rater import cohens_kappa as their_kappa
from statsmodels.stats.multitest import multipletests

from grounding.scoring import intervals as resampling
from grounding.scoring.intervals import POOLED_ABOVE, bootstrap, cohens_kappa, wilson
from grounding.scoring.paired import EXACT_UP_TO, holm, least_significant, mcnemar


def columns(*values):
    return np.array(values, dtype=np.float64).T


def test_tasks_that_are_all_alike_say_nothing_unless_they_are_at_an_end():
    right, steps = columns([1, 2, 3], [0, 0, 0], [2, 4, 6], [0, 0, 0]), columns(*[[2, 4, 6]] * 4)
    half, none, every, unbounded = bootstrap(100 * right, steps, most=[100.0, 100.0, 100.0, None])
    assert (half, unbounded) == (None, None)
    assert (none, every) == (wilson(0, 3), wilson(3, 3))
    in_one = bootstrap(columns([0, 0]), columns([3, 0]), most=[1.0])
    assert in_one == (None,), "only one of the two has a step"


def test_it_is_the_bootstrap_of_the_textbook():
    generator = np.random.default_rng(11)
    steps = generator.integers(1, 30, 25).astype(float)
    right = np.floor(steps * generator.random(25))
    (interval,) = bootstrap(right[:, None], steps[:, None], seed=2, resamples=4000)
    plain = np.random.default_rng(2)
    ratios = []
    for _ in range(4000):
        drawn = plain.integers(25, size=25)
        ratios.append(right[drawn].sum() / steps[drawn].sum())
    assert [interval.low, interval.high] == pytest.approx(np.percentile(ratios, [2.5, 97.5]))


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(15, 148, 6.24, 16.05), (0, 20, 0.0, 16.11), (1, 29, 0.61, 17.18), (81, 263, 25.53, 36.62)],
)
def test_wilson_against_published_values(k, n, low, high):
    """Newcombe (1998), Statistics in Medicine 17, table I, method 3."""
    interval = wilson(k, n)
    assert interval.low == pytest.approx(low, abs=0.006)
    assert interval.high == pytest.approx(high, abs=0.006)


def rows(count: int) -> resampling.Matrix:
    generator = np.random.default_rng(5)
    steps = generator.integers(1, 16, count)
    right = generator.binomial(steps, 0.7)
    return np.column_stack([right, steps]).astype(np.float64)


def test_pooled_intervals_are_reproducible_and_hang_on_no_order() -> None:
    parts = rows(POOLED_ABOVE * 3)
    mixed = np.random.default_rng(0).permutation(parts)
    first = bootstrap(parts[:, :1], parts[:, 1:], seed=9, resamples=500)
    assert first == bootstrap(mixed[:, :1], mixed[:, 1:], seed=9, resamples=500)
    assert first != bootstrap(parts[:, :1], parts[:, 1:], seed=10, resamples=500)
    # Another metric beside it changes nothing.
    beside = bootstrap(parts, parts[:, [1, 1]], seed=9, resamples=500)
    assert beside[0] == first[0]


@given(
    st.integers(2, 5).flatmap(
        lambda k: st.lists(st.lists(st.integers(0, 40), min_size=k, max_size=k), min_size=k, max_size=k)
    )
)
def test_it_is_that_of_statsmodels(table: list[list[int]]) -> None:
    counts = np.array(table)
    rows, columns, total = counts.sum(axis=1), counts.sum(axis=0), counts.sum()
    assume(total > 0 and (rows * columns).sum() < total**2)
    ours = cohens_kappa(table)
    with np.errstate(invalid="ignore"):
        theirs = their_kappa(table)
    assert ours.value == pytest.approx(theirs.kappa, abs=1e-9)
    # Theirs is the root of a variance that may come out a hair below 0 where it is 0.
    assert ours.standard_error == pytest.approx(math.sqrt(max(0.0, theirs.var_kappa)), abs=1e-7)


@given(st.integers(0, 400), st.integers(0, 400), st.integers(0, 100))
def test_few_pairs_are_the_exact_test_of_scipy_and_statsmodels(won: int, lost: int, same: int) -> None:
    found = mcnemar(won, lost, won + lost + same)
    assert found.method == "exact"
    assert found.statistic is None
    if won + lost:
        assert found.p == pytest.approx(binomtest(won, won + lost).pvalue, rel=1e-6, abs=1e-300)
        theirs = their_mcnemar([[same, won], [lost, 0]], exact=True)
        assert found.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-300)
    else:
        assert found.p == 1.0


@given(st.integers(450, 900), st.integers(551, 900))
def test_many_pairs_are_the_corrected_chi_square(won: int, lost: int) -> None:
    found = mcnemar(won, lost, 5000)
    assert won + lost > EXACT_UP_TO
    assert found.method == "chi-square"
    if won != lost:
        theirs = their_mcnemar([[0, won], [lost, 0]], exact=False, correction=True)
        assert found.statistic == pytest.approx(theirs.statistic)
        assert found.p == pytest.approx(theirs.pvalue, rel=1e-6)
        assert found.p == pytest.approx(chi2.sf(found.statistic, 1), rel=1e-6)
    else:
        assert found.p == 1.0


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    _, theirs, _, _ = multipletests(p_values, method="holm")
    assert holm(p_values) == pytest.approx(tuple(theirs), abs=1e-12)


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_least_significant_difference_is_the_least(changed: int, same: int) -> None:
    n = changed + same
    net = least_significant(changed, n)
    if net is None:
        assert mcnemar(n, 0, n).p > 0.05
        return
    # where too few changed to reach it, the least number that can is taken instead
    while mcnemar(changed, 0, n).p > 0.05:
        changed += 1
    won = (changed + net) // 2
    assert (changed + net) % 2 == 0
    assert mcnemar(won, changed - won, n).p <= 0.05
    if net >= 2:
        assert mcnemar(won - 1, changed - won + 1, n).p > 0.05
