"""How sure is a score? Per-task sums in, 95 % intervals in percent or the score's own unit out."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from grounding.records import Record
from grounding.scoring.resampling import POOLED_ABOVE, RESAMPLES, Matrix, resampled_sums

__all__ = ["RESAMPLES", "Interval", "Matrix", "bootstrap", "resampled_sums", "wilson"]


class Interval(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Both ends of an interval."""

    low: float
    high: float


def bootstrap(
    numerators: Matrix,
    denominators: Matrix,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
) -> tuple[Interval | None, ...]:
    """Percentile bootstrap over tasks of ratios of sums, one interval per column.

    Whole tasks are drawn with replacement, because the steps of a task are not independent of each other; numerator
    and denominator are summed anew in each resample. Up to :data:`~grounding.scoring.resampling.POOLED_ABOVE` tasks all
    columns share the same resamples; above, each has its own. Equal arguments give equal intervals.

    Args:
        numerators: Shape (tasks, metrics): what each task adds to each metric's numerator.
        denominators: The same shape: what each task adds to the denominator.
        seed: Seed of ``numpy.random.default_rng``.
        resamples: How many times the tasks are drawn.
        confidence: The share of resamples that lies inside the interval.

    Returns:
        One interval per metric; None where no resample has a denominator.

    >>> right, steps = np.array([[1.0], [3.0], [0.0]]), np.array([[2.0], [3.0], [2.0]])
    >>> (interval,) = bootstrap(right, steps, seed=7)
    >>> interval.low, interval.high
    (0.0, 1.0)
    """
    metrics: int = numerators.shape[1]
    if len(numerators) == 0:
        return (None,) * metrics
    if len(numerators) > POOLED_ABOVE:
        # A metric alone has far fewer kinds of tasks than all of them together.
        sums = np.empty((resamples, 2 * metrics))
        for column in range(metrics):
            both = [column, metrics + column]
            sums[:, both] = resampled_sums(
                np.column_stack([numerators[:, column], denominators[:, column]]), seed, resamples
            )
    else:
        sums = resampled_sums(np.hstack([numerators, denominators]), seed, resamples)
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    intervals: list[Interval | None] = []
    for above, below in zip(sums[:, :metrics].T, sums[:, metrics:].T, strict=True):
        defined = below != 0
        if not defined.any():
            intervals.append(None)
            continue
        low, high = np.quantile(above[defined] / below[defined], tails)
        intervals.append(Interval(low=float(low), high=float(high)))
    return tuple(intervals)


def wilson(k: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Wilson score interval, in percent, of ``k`` right of ``n`` independent trials (Wilson, 1927).

    With no trial at all anything is possible: 0 to 100.

    >>> interval = wilson(15, 107)
    >>> round(interval.low, 1), round(interval.high, 1)
    (8.7, 21.8)

    Raises:
        ValueError: ``k`` is not between 0 and ``n``.
    """
    if not 0 <= k <= n:
        raise ValueError(f"expected 0 <= k <= n, got k = {k}, n = {n}")
    if n == 0:
        return Interval(low=0.0, high=100.0)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = k / n
    middle = share + z * z / (2 * n)
    reach = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 100 / (1 + z * z / n)
    # at the ends the formula is exact only up to rounding
    return Interval(
        low=0.0 if k == 0 else scale * (middle - reach),
        high=100.0 if k == n else scale * (middle + reach),
    )
