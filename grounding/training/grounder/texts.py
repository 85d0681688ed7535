"""Figures of a training as text, for the terminal and for the page alike. Pure."""

from __future__ import annotations

from grounding.scoring.paired import Difference
from grounding.scoring.scores import Estimate
from grounding.training.grounder.pooled import FoldMean, MetricChange


def change_cells(change: MetricChange) -> tuple[str, str, str, str]:
    """Before, after, the difference in points, and its p."""
    p = change.difference.p
    return (
        _estimate(change.base),
        _estimate(change.tuned),
        difference_text(change.difference),
        "-" if p is None else ("< 0.0001" if p < 0.0001 else f"{p:.4f}"),
    )


def mean_text(mean: FoldMean, form: str) -> str:
    """A mean over folds with its interval."""
    return f"{mean.mean:{form}}{interval_text(mean.low, mean.high, form)}"


def interval_text(low: float | None, high: float | None, form: str) -> str:
    """An interval, "" where it has no bounds.

    >>> interval_text(1.0, 2.5, ".1f")
    ' [1.0, 2.5]'
    """
    return "" if low is None or high is None else f" [{low:{form}}, {high:{form}}]"


def _estimate(estimate: Estimate) -> str:
    if estimate.value is None:
        return "-"
    count = f" ({estimate.k:,}/{estimate.n:,})" if estimate.k is not None else f" (n = {estimate.n:,})"
    return f"{estimate.value:.1f}{interval_text(estimate.low, estimate.high, '.1f')}{count}"


def difference_text(found: Difference) -> str:
    """A difference in points with its interval."""
    return "-" if found.value is None else f"{found.value:+.1f}{interval_text(found.low, found.high, '+.1f')}"
