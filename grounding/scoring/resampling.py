"""Rows of sums in, sums over rows drawn with replacement out: the same to the last bit on every machine.

Equal rows are drawn as one class, because only how often each class came matters. Up to :data:`POOLED_ABOVE` rows every
row is drawn by itself; above, the class counts are drawn at once from the multinomial distribution that they follow.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

RESAMPLES = 10_000

POOLED_ABOVE = 2_000
"""Rows up to which they are drawn one by one. Above, the same intervals come from other draws of equal distribution."""

_SMALLEST_BIT = -1074
"""The exponent of the smallest number above 0 that a float can be: nothing is left to cut below it."""

_CELLS = 1 << 20  # drawn rows held at a time: small enough to stay in the processor's cache, and bounds memory
_DRAWS_A_CLASS = 8  # about what one class of a multinomial costs, in draws of a single row


def resampled_sums(parts: Matrix, seed: int, resamples: int = RESAMPLES) -> Matrix:
    """Column sums of ``parts`` over as many rows drawn with replacement; shape (resamples, columns).

    Columns side by side share the draws, so that what belongs to one row stays together. Every sum is that of the
    exact values, rounded once: it hangs neither on the order of the rows nor on the processor that adds.

    Args:
        parts: Shape (rows, columns), at least one row.
        seed: Seed of ``numpy.random.default_rng``.
        resamples: How many times the rows are drawn.
    """
    rows = len(parts)
    classes, class_of, sizes = _classes(parts)
    high, low = exact_pieces(classes, rows)
    inexact = np.flatnonzero(low.any(axis=0))
    generator = np.random.default_rng(seed)
    pooled = rows > POOLED_ABOVE and len(classes) * _DRAWS_A_CLASS < rows
    sums = np.empty((resamples, parts.shape[1]))
    block = max(1, _CELLS // (len(classes) if pooled else rows))
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        if pooled:
            times = generator.multinomial(rows, sizes / rows, size=size)
        else:
            times = _times(class_of[generator.integers(rows, size=(size, rows))], len(classes))
        weights = times.astype(np.float64)
        part = weights @ high
        part[:, inexact] += weights @ low[:, inexact]
        sums[start : start + size] = part
    return sums


def _classes(parts: Matrix) -> tuple[Matrix, Counts, Counts]:
    """The distinct rows in a fixed order, which of them each row is, and how many rows each stands for."""
    classes, class_of, sizes = np.unique(parts, axis=0, return_inverse=True, return_counts=True)
    return classes, class_of.reshape(-1), sizes


def _times(drawn: Counts, classes: int) -> Counts:
    """How often each class was drawn: shape (resamples, rows) to (resamples, classes)."""
    resamples = len(drawn)
    drawn += np.arange(0, resamples * classes, classes)[:, np.newaxis]
    return np.bincount(drawn.ravel(), minlength=resamples * classes).reshape(resamples, classes)


def exact_pieces(parts: Matrix, draws: int) -> tuple[Matrix, Matrix]:
    """Two matrices that add up to ``parts`` and whose columns, drawn so often, sum up without any rounding.

    Each column is cut at the bit above which sums of ``draws`` such numbers fit into the 53 bits of a float; the rest
    is cut likewise. What is left out after that is, for a million draws, below 2^-63 of the column's largest number:
    far less than a float of that size can show.

    Args:
        parts: Shape (rows, columns).
        draws: How many numbers a sum has.

    >>> high, low = exact_pieces(np.array([[0.1], [3.0]]), draws=1000)
    >>> bool((high + low == [[0.1], [3.0]]).all())
    True
    """
    high = _multiples(parts, draws)
    return high, _multiples(parts - high, draws)


def _multiples(parts: Matrix, draws: int) -> Matrix:
    largest = np.abs(parts).max(axis=0, initial=0.0)
    # Numbers that are infinite or not numbers have no multiples: their sums say so whatever the order.
    usable = np.isfinite(largest) & (largest > 0)
    _, exponents = np.frexp(np.where(usable, largest, 1.0))
    units = np.ldexp(1.0, np.maximum(exponents + math.frexp(draws)[1] - 53, _SMALLEST_BIT))
    found = np.where(usable, np.rint(parts / units) * units, parts)
    return np.asarray(found, dtype=np.float64)
