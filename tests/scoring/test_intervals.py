import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.scoring import Interval, bootstrap, resampling, wilson


def columns(*values):
    return np.array(values, dtype=np.float64).T


def test_equal_seeds_give_equal_intervals_and_others_do_not():
    generator = np.random.default_rng(3)
    right, steps = generator.integers(0, 9, (40, 1)).astype(float), np.full((40, 1), 9.0)
    first = bootstrap(right, steps, seed=5)
    assert first == bootstrap(right, steps, seed=5)
    assert first != bootstrap(right, steps, seed=6)


def test_one_task_leaves_no_doubt():
    assert bootstrap(columns([2], [1 / 3]), columns([7], [1])) == (
        Interval(low=2 / 7, high=2 / 7),
        Interval(low=1 / 3, high=1 / 3),
    )


def test_no_task_no_interval():
    assert bootstrap(np.empty((0, 2)), np.empty((0, 2))) == (None, None)


def test_resamples_without_a_denominator_are_left_out():
    low_high, nothing = bootstrap(columns([1, 0], [0, 0]), columns([1, 0], [0, 0]))
    assert low_high == Interval(low=1, high=1)
    assert nothing is None


def test_blocks_do_not_change_the_draws(monkeypatch):
    right, steps = columns(range(7)), columns([9] * 7)
    whole = bootstrap(right, steps, resamples=501)
    monkeypatch.setattr(resampling, "_CELLS", 64)
    assert bootstrap(right, steps, resamples=501) == whole


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


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    """Tasks of unequal length and unequal difficulty, the true accuracy known: 95 % should cover, 90 to 98 may."""
    generator = np.random.default_rng(0)
    lengths = np.array([4, 10, 20])
    truth = 0.6  # easiness is drawn apart from length, so its mean is the ratio's limit
    covered = 0
    rounds = 400
    for seed in range(rounds):
        steps = generator.choice(lengths, 60)
        right = generator.binomial(steps, generator.beta(3, 2, 60))
        (interval,) = bootstrap(right[:, None] * 1.0, steps[:, None] * 1.0, seed=seed, resamples=600)
        covered += interval.low <= truth <= interval.high
    assert 0.90 <= covered / rounds <= 0.98


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=30), st.integers(0, 2**32 - 1))
def test_shares_stay_between_0_and_1(pairs, seed):
    right = columns([min(pair) for pair in pairs])
    steps = columns([max(pair) + 1 for pair in pairs])
    (interval,) = bootstrap(right, steps, seed=seed, resamples=200)
    assert 0 <= interval.low <= interval.high <= 1
    shares = right / steps
    assert shares.min() - 1e-12 <= interval.low
    assert interval.high <= shares.max() + 1e-12


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (15, 148, 6.24, 16.05),
        (0, 20, 0.0, 16.11),
        (1, 29, 0.61, 17.18),
        (81, 263, 25.53, 36.62),
    ],
)
def test_wilson_against_published_values(k, n, low, high):
    """Newcombe (1998), Statistics in Medicine 17, table I, method 3."""
    interval = wilson(k, n)
    assert interval.low == pytest.approx(low, abs=0.006)
    assert interval.high == pytest.approx(high, abs=0.006)


@given(st.integers(0, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share_and_is_symmetric(pair):
    k, n = pair
    interval, mirrored = wilson(k, n), wilson(n - k, n)
    assert 0 <= interval.low <= (100 * k / n if n else 50) <= interval.high <= 100
    assert interval.low == pytest.approx(100 - mirrored.high)


def test_wilson_agrees_with_scipy():
    from scipy.stats import binomtest

    expected = binomtest(15, 107).proportion_ci(method="wilson")
    assert [wilson(15, 107).low, wilson(15, 107).high] == pytest.approx([100 * expected.low, 100 * expected.high])


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3)])
def test_wilson_refuses_impossible_counts(k, n):
    with pytest.raises(ValueError, match="0 <= k <= n"):
        wilson(k, n)
