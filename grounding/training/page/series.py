"""Measured values over the steps of a training: gaps, bins, smoothing, medians over runs. Pure; no drawing.

A value that is no finite number (a loss that diverged) is None: it is a gap in a line, never a point of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from grounding.records import Record
from grounding.training.records import MetricsKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_POINTS = 400
"""More points than these are drawn as bins, each from its least to its greatest value."""

BINS = 240

_FEWEST_SMOOTHED = 12
"""Fewer points than these are shown as they are: a mean of neighbours would say nothing that they don't."""

_FAR = 1e9
"""How many times as far from the middle as usual a value must be for sums to be made without running totals."""

_PARTS = 20
"""A smoothed value is the mean over about this part of all points."""


class Series(Record, frozen=True, kw_only=True):
    """One figure at rising steps, on what is trained on or on what is held out.

    ``values`` are as many as ``steps``. ``spreads`` are standard deviations, as many, or none at all; ``lows`` and
    ``highs`` the ends of a range that was worked out already.
    """

    kind: MetricsKind
    steps: tuple[int, ...]
    values: tuple[float | None, ...]
    spreads: tuple[float | None, ...] = ()
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()

    @property
    def gaps(self) -> tuple[int, ...]:
        """The steps whose value is no finite number."""
        return tuple(step for step, value in zip(self.steps, self.values, strict=True) if value is None)


class Bin(Record, frozen=True, kw_only=True):
    """Points beside each other. The figures are None where no value among them is finite.

    ``step`` is the middle of the steps, ``missing`` how many of the points are gaps.
    """

    first_step: int
    last_step: int
    points: int
    missing: int
    low: float | None
    high: float | None
    mean: float | None

    @property
    def step(self) -> float:
        """The middle of the bin's steps."""
        return (self.first_step + self.last_step) / 2


def finite(value: float | None) -> float | None:
    """The value, or None where it is no finite number."""
    return value if value is not None and math.isfinite(value) else None


def binned(
    steps: Sequence[int], values: Sequence[float | None], most: int = BINS, *, bounds: tuple[int, int] | None = None
) -> tuple[Bin, ...]:
    """All points in at most ``most`` bins of equally many steps of the range; bins without a point are left out.

    No point is dropped: the least and the greatest value of a bin are among what was measured.

    Args:
        steps: Rising.
        values: As many.
        most: How many bins there are at most.
        bounds: The first and last step of the range; None for those of the points.

    >>> binned([1, 2, 3, 4], [1.0, 5.0, None, 2.0], most=2)[0].high
    5.0
    """
    if not steps:
        return ()
    first, last = bounds or (steps[0], steps[-1])
    span = last - first + 1
    at = np.asarray(steps, dtype=np.int64) - first
    places = at * most // span if span > most else at
    starts = np.flatnonzero(np.diff(places, prepend=places[0] - 1))
    ends = np.append(starts[1:], len(at))
    figures = np.asarray(values, dtype=float)  # None becomes NaN.
    known = ~np.isnan(figures)
    lows = np.minimum.reduceat(np.where(known, figures, math.inf), starts)
    highs = np.maximum.reduceat(np.where(known, figures, -math.inf), starts)
    counts = np.add.reduceat(known.astype(np.int64), starts)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        means = np.clip(np.add.reduceat(np.where(known, figures, 0.0), starts) / counts, lows, highs)
    return tuple(
        Bin(
            first_step=steps[start],
            last_step=steps[end - 1],
            points=int(end - start),
            missing=int(end - start - count),
            low=float(low) if count else None,
            high=float(high) if count else None,
            mean=float(mean) if count else None,
        )
        for start, end, count, low, high, mean in zip(starts, ends, counts, lows, highs, means, strict=True)
    )


def window_of(points: int) -> int:
    """How many neighbouring points a smoothed value is the mean of: odd, about a twentieth of all; 1 for few points.

    >>> window_of(8), window_of(200), window_of(100_000)
    (1, 11, 5001)
    """
    return 1 if points < _FEWEST_SMOOTHED else max(3, points // _PARTS // 2 * 2 + 1)


def smoothed(values: Sequence[float | None], window: int) -> tuple[float | None, ...]:
    """The mean of the finite values around each point, of fewer at the ends; a gap stays a gap.

    The window is centred, so that a rise is shown where it was and not after it.

    Args:
        values: The points in order.
        window: How many points the mean is over, an odd number.

    >>> smoothed([0.0, 3.0, 6.0, None], 3)
    (1.5, 3.0, 4.5, None)
    """
    if window <= 1:
        return tuple(values)
    figures = np.asarray(values, dtype=float)  # None becomes NaN.
    known = ~np.isnan(figures)
    if not known.any():
        return tuple(None for _ in values)
    # Differences from a middle value keep the digits that large sums would take.
    middle = float(np.median(figures[known]))
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.where(known, figures - middle, 0.0)
        sums, counts = _window_sums(off, window), _window_sums(known.astype(float), window)
        means = middle + sums / np.maximum(counts, 1.0)
    means = np.clip(means, figures[known].min(), figures[known].max())
    return tuple(
        mean if is_known and math.isfinite(mean) else None
        for mean, is_known in zip(means.tolist(), known.tolist(), strict=True)
    )


def _window_sums(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """The sum of the values around each, of fewer at the ends."""
    sizes = np.abs(values)
    usual = np.median(sizes[sizes > 0]) if (sizes > 0).any() else 0.0
    if usual and sizes.max() > _FAR * usual:
        # A value so far off would take the digits of every running sum after it.
        return np.convolve(values, np.ones(window), mode="full")[window // 2 : window // 2 + len(values)]
    half = window // 2
    running = np.concatenate(([0.0], np.cumsum(values)))
    at = np.arange(len(values))
    found: NDArray[np.float64] = (
        running[np.minimum(at + half + 1, len(values))] - running[np.maximum(at - half, 0)]
    )  # fmt: skip
    return found


def joined_series(kind: MetricsKind, runs: Sequence[Series]) -> Series | None:
    """Several runs as one line with a range; None where they have no step in common.

    Thinned to the middle of bins, since it is smoothed already.
    """
    found = joined(runs)
    if not found:
        return None
    if len(found) > MOST_POINTS:
        apart = -(-len(found) // MOST_POINTS)
        found = (*found[:-1:apart], found[-1])
    return Series(
        kind=kind,
        steps=tuple(one.step for one in found),
        values=tuple(one.median for one in found),
        lows=tuple(one.low for one in found),
        highs=tuple(one.high for one in found),
    )


class Joined(Record, frozen=True, kw_only=True):
    """Several runs at one step: the median of their values, and the least and greatest; ``runs`` have one there."""

    step: int
    median: float
    low: float
    high: float
    runs: int


def joined(runs: Sequence[Series], window: int | None = None) -> tuple[Joined, ...]:
    """The median and the range of several runs, such as of one recipe with several seeds, at each step.

    Each run is smoothed for itself first. Steps at which fewer than half of the runs have a value are left out, so
    that the line doesn't end as that of the run that went on the longest.

    Args:
        runs: The same figure of each run.
        window: Points that are smoothed over; None for what is usual with so many.
    """
    at: dict[int, list[float]] = {}
    for run in runs:
        lines = smoothed(run.values, window or window_of(len(run.values)))
        for step, value in zip(run.steps, lines, strict=True):
            if value is not None:
                at.setdefault(step, []).append(value)
    return tuple(
        Joined(step=step, median=median(found), low=min(found), high=max(found), runs=len(found))
        for step, found in sorted(at.items())
        if 2 * len(found) >= len(runs)
    )
