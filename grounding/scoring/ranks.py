"""Correlation of ranks: two lists of values in, Spearman's coefficient out. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]


def average_ranks(values: Sequence[float]) -> Values:
    """Ranks from 1 on; equal values share the mean of the places that they take.

    >>> average_ranks([10, 20, 20, 5]).tolist()
    [2.0, 3.5, 3.5, 1.0]
    """
    found = np.asarray(values, dtype=np.float64)
    _, place, counts = np.unique(found, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    shared: Values = (last - (counts - 1) / 2)[place]
    return shared


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation, ties by average ranks: Pearson's correlation of the ranks (Spearman, 1904).

    Returns:
        None where it is not defined: fewer than two pairs, or one side always has the same value.

    Raises:
        ValueError: the lists are of different lengths, or hold something that can't be put in order.

    >>> spearman([1, 2, 3], [10, 30, 20])
    0.5
    """
    if len(first) != len(second):
        raise ValueError(f"expected as many values on both sides, got {len(first)} and {len(second)}")
    if not np.isfinite([*first, *second]).all():
        raise ValueError("expected finite values")
    if len(first) < 2:
        return None
    # Twice the ranks are whole numbers: sums of them are exact, so that "always the same" needs no tolerance.
    one, two = (2 * average_ranks(values) - (len(first) + 1) for values in (first, second))
    spread = float(one @ one) * float(two @ two)
    return float(one @ two) / math.sqrt(spread) if spread else None


def phi(table: Sequence[Sequence[float]]) -> float | None:
    """Correlation of two yes-or-no raters from their 2 x 2 table of counts; None where one always says the same.

    Spearman's coefficient of the same ratings, ties by average ranks, is this very number: with two values the ranks
    are the values, shifted and stretched.

    >>> round(phi([[20, 5], [10, 15]]), 4)
    0.4082

    Raises:
        ValueError: the table is not 2 x 2 or has a negative count.
    """
    counts = np.asarray(table, dtype=np.float64)
    if counts.shape != (2, 2) or (counts < 0).any():
        raise ValueError(f"expected a 2 x 2 table of counts, got shape {counts.shape}")
    (a, b), (c, d) = counts.tolist()
    spread = (a + b) * (c + d) * (a + c) * (b + d)
    return float((a * d - b * c) / math.sqrt(spread)) if spread else None
