"""How far two raters agree beyond chance: a table of counts in, Cohen's kappa with its standard error out. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from grounding.records import Record


class Kappa(Record, frozen=True, kw_only=True):
    """Cohen's kappa and its large-sample standard error; both None where chance alone would agree always."""

    value: float | None
    standard_error: float | None


def cohens_kappa(table: Sequence[Sequence[int]]) -> Kappa:
    """Unweighted kappa of a square table of counts (rows: first rater, columns: second).

    kappa = (observed - expected) / (1 - expected) agreement (Cohen, 1960). The standard error is that for a kappa that
    is not 0 (Fleiss, Cohen and Everitt, 1969), which holds for large numbers of things that are independent of each
    other.

    >>> kappa = cohens_kappa([[20, 5], [10, 15]])
    >>> round(kappa.value, 3), round(kappa.standard_error, 3)
    (0.4, 0.127)

    Raises:
        ValueError: the table is not square or has a negative count.
    """
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or (counts < 0).any():
        raise ValueError(f"expected a square table of counts, got shape {counts.shape}")
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
