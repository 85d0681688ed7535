"""How sure is a score? Per-task sums in, 95 % intervals in percent or the score's own unit out.

A bootstrap learns from how much the clusters differ. From one cluster, or from clusters that are all alike, it learns
nothing: its interval would have no width, which looks like certainty. There is then no interval, or, where every
cluster is at 0 or at the most that there is, Wilson's with one trial a cluster, which is wide enough however much the
steps of a cluster hang together.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from grounding.records import Record

Matrix = npt.NDArray[np.float64]
RESAMPLES = 10_000
CONFIDENCE = 0.95
normal_quantile = NormalDist().inv_cdf

# Rows up to which they are drawn one by one. Above, the same intervals come from other draws of equal distribution.
POOLED_ABOVE = 2_000
_CELLS = 1 << 20  # drawn rows held at a time: small enough to stay in the processor's cache, and bounds memory
_DRAWS_A_CLASS = 8  # about what one class of a multinomial costs, in draws of a single row


def resampled_sums(parts: Matrix, seed: int, resamples: int = RESAMPLES) -> Matrix:
    """Column sums of ``parts`` (rows, columns) over as many rows drawn with replacement; shape (resamples, columns).

    Columns side by side share the draws, so that what belongs to one row stays together. Equal rows are one class,
    because only how often each class came matters: where they are few for many rows, the counts are drawn at once from
    the multinomial distribution that they follow. ``seed`` is that of ``numpy.random.default_rng``.
    """
    rows = len(parts)
    classes, class_of, sizes = np.unique(parts, axis=0, return_inverse=True, return_counts=True)
    class_of, count = class_of.reshape(-1), len(classes)
    generator = np.random.default_rng(seed)
    pooled = rows > POOLED_ABOVE and count * _DRAWS_A_CLASS < rows
    sums = np.empty((resamples, parts.shape[1]))
    block = max(1, _CELLS // (count if pooled else rows))
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        if pooled:
            times = generator.multinomial(rows, sizes / rows, size=size)
        else:
            drawn = class_of[generator.integers(rows, size=(size, rows))]
            drawn += np.arange(0, size * count, count)[:, np.newaxis]
            times = np.bincount(drawn.ravel(), minlength=size * count).reshape(size, count)
        sums[start : start + size] = times.astype(np.float64) @ classes
    return sums


class Interval(Record, frozen=True, kw_only=True, omit_defaults=False):
    low: float
    high: float


def sums_by_metric(columns: Matrix, metrics: int, seed: int, resamples: int) -> Matrix:
    """:func:`resampled_sums` of columns of which every one beside its ``metrics``-th neighbour is of one metric.

    Up to :data:`POOLED_ABOVE` rows all share the same draws. Above, each metric has its own: alone it has far fewer
    kinds of rows than all of them together.
    """
    if len(columns) <= POOLED_ABOVE:
        return resampled_sums(columns, seed, resamples)
    sums = np.empty((resamples, columns.shape[1]))
    for metric in range(metrics):
        sums[:, metric::metrics] = resampled_sums(columns[:, metric::metrics], seed, resamples)
    return sums


def bootstrap(
    numerators: Matrix,
    denominators: Matrix,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    most: Sequence[float | None] | None = None,
) -> tuple[Interval | None, ...]:
    """Percentile bootstrap over tasks of ratios of sums, one interval per column; shape (tasks, metrics) both.

    Whole tasks are drawn with replacement, because the steps of a task are not independent of each other; numerator
    and denominator are summed anew in each resample. ``most`` is for each metric what no task's ratio can exceed (the
    least is 0); None where there is no such bound. None where :func:`drawn_interval` finds no interval.

    >>> right, steps = np.array([[1.0], [3.0], [0.0]]), np.array([[2.0], [3.0], [2.0]])
    >>> (interval,) = bootstrap(right, steps, seed=7)
    >>> interval.low, interval.high
    (0.0, 1.0)
    """
    metrics: int = numerators.shape[1]
    if len(numerators) == 0:
        return (None,) * metrics
    above, below = np.hsplit(sums_by_metric(np.hstack([numerators, denominators]), metrics, seed, resamples), 2)
    clusters = (denominators != 0).sum(axis=0)
    bounds = most or [None] * metrics
    return tuple(
        drawn_interval(top[bottom != 0] / bottom[bottom != 0], int(count), most=bound)
        for top, bottom, count, bound in zip(above.T, below.T, clusters, bounds, strict=True)
    )


def drawn_interval(draws: Matrix, clusters: int, *, most: float | None = None) -> Interval | None:
    """The interval that a statistic's draws from so many clusters give.

    None where fewer than two clusters were drawn from or no draw differs; but with all clusters at 0, or all at
    ``most``, the greatest value, Wilson's interval for as many trials as there are clusters.
    """
    if clusters < 2 or not len(draws):
        return None
    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    if not alike(low, high):
        return Interval(low=float(low), high=float(high))
    if most is None or not (alike(low, 0.0) or alike(low, most)):
        return None
    found = wilson(0 if alike(low, 0.0) else clusters, clusters)
    return Interval(low=found.low * (most / 100), high=found.high * (most / 100))


def alike(one: float, other: float) -> bool:
    """Whether two draws differ in no more than the order in which sums were rounded.

    >>> alike(100 / 3, 1e2 / 3 + 1e-13), alike(0.0, 1e-3)
    (True, False)
    """
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def wilson(k: int, n: int) -> Interval:
    """Wilson score interval, in percent, of ``k`` right of ``n`` independent trials (Wilson, 1927).

    With no trial at all anything is possible: 0 to 100.

    >>> interval = wilson(15, 107)
    >>> round(interval.low, 1), round(interval.high, 1)
    (8.7, 21.8)
    """
    if n == 0:
        return Interval(low=0.0, high=100.0)
    z = normal_quantile((1 + CONFIDENCE) / 2)
    share = k / n
    middle = share + z * z / (2 * n)
    reach = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 100 / (1 + z * z / n)
    # at the ends the formula is exact only up to rounding
    return Interval(low=0.0 if k == 0 else scale * (middle - reach), high=100.0 if k == n else scale * (middle + reach))


class Kappa(Record, frozen=True, kw_only=True):
    """Cohen's kappa and its large-sample standard error; both None where chance alone would agree always."""

    value: float | None
    standard_error: float | None

    @property
    def interval(self) -> Interval | None:
        """95 %, cut to what a kappa can be; a standard error of 0 is too few things, not certainty."""
        if self.value is None or not self.standard_error or self.standard_error < 1e-9:
            return None
        reach = normal_quantile(0.975) * self.standard_error
        return Interval(low=max(-1.0, self.value - reach), high=min(1.0, self.value + reach))


def cohens_kappa(table: Sequence[Sequence[int]]) -> Kappa:
    """Unweighted kappa of a square table of counts (rows: first rater, columns: second).

    kappa = (observed - expected) / (1 - expected) agreement (Cohen, 1960). The standard error is that for a kappa that
    is not 0 (Fleiss, Cohen and Everitt, 1969), which holds for large numbers of things that are independent of each
    other.

    >>> kappa = cohens_kappa([[20, 5], [10, 15]])
    >>> round(kappa.value, 3), round(kappa.standard_error, 3)
    (0.4, 0.127)
    """
    counts = np.asarray(table, dtype=np.float64)
    total = counts.sum()
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    # In whole numbers, so that "always the same class" is found without a tolerance.
    if total == 0 or (rows * columns).sum() == total * total:
        return Kappa(value=None, standard_error=None)
    shares = counts / total
    first, second = rows / total, columns / total
    expected = float(first @ second)
    value = (float(np.trace(shares)) - expected) / (1 - expected)
    on_diagonal = float((np.diag(shares) * (1 - (first + second) * (1 - value)) ** 2).sum())
    elsewhere = shares * (second[:, np.newaxis] + first[np.newaxis, :]) ** 2
    off_diagonal = float((1 - value) ** 2 * (elsewhere.sum() - np.trace(elsewhere)))
    variance = (on_diagonal + off_diagonal - (value - expected * (1 - value)) ** 2) / ((1 - expected) ** 2 * total)
    return Kappa(value=value, standard_error=math.sqrt(max(0.0, variance)))
