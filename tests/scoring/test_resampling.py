"""Sums over drawn rows: exact, the same whatever adds them, and pooled draws of the same distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.scoring import bootstrap, resampling
from grounding.scoring.resampling import POOLED_ABOVE, exact_pieces, resampled_sums

fractions = st.lists(st.floats(0, 1000, allow_subnormal=False), min_size=1, max_size=40)


@settings(max_examples=60)
@given(fractions, st.integers(0, 99))
def test_every_sum_is_that_of_the_exact_values_rounded_once(values: list[float], seed: int) -> None:
    parts = np.array(values)[:, np.newaxis]
    found = resampled_sums(parts, seed, resamples=20)[:, 0]
    plain = np.random.default_rng(seed)
    for one in found:
        drawn = parts[plain.integers(len(values), size=len(values)), 0]
        assert one == pytest.approx(math.fsum(drawn), rel=2.5e-16, abs=1e-22)


@pytest.mark.parametrize("value", [5e-324, 2.225073858507e-311, 1e-300, 1e300])
def test_numbers_at_the_edges_of_a_float_are_summed_too(value: float) -> None:
    (found,) = resampled_sums(np.array([[value]]), 0, resamples=1)[0]
    assert found == value


@given(fractions)
def test_the_pieces_add_up_and_their_sums_need_no_rounding(values: list[float]) -> None:
    parts = np.array(values)[:, np.newaxis]
    high, low = exact_pieces(parts, draws=1 << 20)
    assert np.abs(high + low - parts).max() <= 2.0**-52 * parts.max()
    assert np.abs((parts - high) - low).max() <= 2.0**-63 * parts.max()
    for piece in (high[:, 0], low[:, 0]):
        shuffled = np.random.default_rng(1).permutation(np.repeat(piece, 1000))
        assert float(np.add.reduce(shuffled)) == math.fsum(shuffled) == float(np.cumsum(shuffled)[-1])


def rows(count: int) -> resampling.Matrix:
    generator = np.random.default_rng(5)
    steps = generator.integers(1, 16, count)
    right = generator.binomial(steps, 0.7)
    return np.column_stack([right, steps]).astype(np.float64)


def test_pooled_draws_have_the_same_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = rows(POOLED_ABOVE + 500)
    pooled = resampled_sums(parts, 3, resamples=4000)
    monkeypatch.setattr(resampling, "POOLED_ABOVE", len(parts))
    single = resampled_sums(parts, 4, resamples=4000)
    assert not np.array_equal(pooled, single)
    # Means, spreads and the correlation of two sets of 4,000 draws: within four of their standard errors.
    for column in (0, 1):
        spread = single[:, column].std()
        assert abs(pooled[:, column].mean() - single[:, column].mean()) < 4 * spread * math.sqrt(2 / 4000)
        assert abs(pooled[:, column].std() / spread - 1) < 4 * math.sqrt(2 / (2 * 4000))
    assert abs(np.corrcoef(pooled.T)[0, 1] - np.corrcoef(single.T)[0, 1]) < 0.06


def test_up_to_the_documented_size_every_task_is_drawn_by_itself() -> None:
    parts = rows(POOLED_ABOVE)
    plain = np.random.default_rng(8)
    for one in resampled_sums(parts, 8, resamples=5):
        assert one.tolist() == parts[plain.integers(len(parts), size=len(parts))].sum(axis=0).tolist()


def test_pooled_intervals_are_reproducible_and_hang_on_no_order() -> None:
    parts = rows(POOLED_ABOVE * 3)
    mixed = np.random.default_rng(0).permutation(parts)
    first = bootstrap(parts[:, :1], parts[:, 1:], seed=9, resamples=500)
    assert first == bootstrap(mixed[:, :1], mixed[:, 1:], seed=9, resamples=500)
    assert first != bootstrap(parts[:, :1], parts[:, 1:], seed=10, resamples=500)
    # Another metric beside it changes nothing.
    beside = bootstrap(parts, parts[:, [1, 1]], seed=9, resamples=500)
    assert beside[0] == first[0]


def test_rows_that_are_all_different_are_drawn_one_by_one_however_many() -> None:
    parts = np.random.default_rng(2).random((POOLED_ABOVE + 1, 1))
    plain = np.random.default_rng(1)
    (one,) = resampled_sums(parts, 1, resamples=1)[:, 0]
    assert one == math.fsum(parts[plain.integers(len(parts), size=len(parts)), 0])
