"""Which of one annotator's boxes is which of the other's: boxes in, pairs out. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from annotate.records import MarkedBox
from grounding.records import Record


class Pair(Record, frozen=True, kw_only=True):
    """Two boxes for the same thing: their positions in the two lists, and how much of both they share."""

    first: int
    second: int
    iou: float


def overlap(one: MarkedBox, other: MarkedBox) -> float:
    """Intersection over union of two boxes, from 0 to 1; 0 where one of them has no area.

    >>> a = MarkedBox(x_px=0, y_px=0, width_px=10, height_px=10)
    >>> overlap(a, MarkedBox(x_px=5, y_px=0, width_px=10, height_px=10)) == 50 / 150
    True
    """
    if min(one.width_px, one.height_px, other.width_px, other.height_px) <= 0:
        return 0.0
    across = min(one.x_px + one.width_px, other.x_px + other.width_px) - max(one.x_px, other.x_px)
    down = min(one.y_px + one.height_px, other.y_px + other.height_px) - max(one.y_px, other.y_px)
    if across <= 0 or down <= 0:
        return 0.0
    shared = across * down
    # Rounding can put the quotient of two equal areas a little above 1.
    return min(1.0, shared / (one.width_px * one.height_px + other.width_px * other.height_px - shared))


def match(first: Sequence[MarkedBox], second: Sequence[MarkedBox], *, threshold: float) -> tuple[Pair, ...]:
    """The best one-to-one pairs: as many as can be with an overlap of the threshold, then with the largest sum.

    Boxes that share nothing are no pair. Pairs come in the order of ``first``.
    """
    if not first or not second:
        return ()
    shares = np.array([[overlap(one, other) for other in second] for one in first])
    # A pair above the threshold is worth more than all overlaps of the others together.
    worth = shares + (shares >= threshold) * (min(shares.shape) + 1.0)
    chosen = best_assignment(worth) if len(first) <= len(second) else _turned(best_assignment(worth.T), len(first))
    return tuple(
        Pair(first=index, second=int(partner), iou=float(shares[index, partner]))
        for index, partner in enumerate(chosen)
        if partner >= 0 and shares[index, partner] > 0
    )


def best_assignment(worth: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """For each row a column of its own, so that the sum of what is chosen is as large as it can be.

    The Hungarian method with potentials (Kuhn, 1955; Munkres, 1957), one augmenting path for each row.

    Args:
        worth: Rows x columns, with at least as many columns as rows.
    """
    rows, columns = worth.shape
    if rows > columns:
        raise ValueError(f"expected at least as many columns as rows, got {rows} x {columns}")
    cost = -worth
    row_price = np.zeros(rows + 1)
    column_price = np.zeros(columns + 1)
    # Column 0 and row 0 stand for "none": a path starts there.
    owner = np.zeros(columns + 1, dtype=np.intp)
    for row in range(1, rows + 1):
        owner[0] = row
        here = 0
        least = np.full(columns + 1, np.inf)
        came_from = np.zeros(columns + 1, dtype=np.intp)
        reached = np.zeros(columns + 1, dtype=np.bool_)
        while owner[here] != 0:
            reached[here] = True
            reduced = cost[owner[here] - 1] - row_price[owner[here]] - column_price[1:]
            nearer = ~reached[1:] & (reduced < least[1:])
            least[1:][nearer] = reduced[nearer]
            came_from[1:][nearer] = here
            following = int(np.argmin(np.where(reached, np.inf, least)))
            step = least[following]
            row_price[owner[reached]] += step
            column_price[reached] -= step
            least[~reached] -= step
            here = following
        while here:
            before = came_from[here]
            owner[here] = owner[before]
            here = int(before)
    chosen = np.full(rows, -1, dtype=np.intp)
    for column in range(1, columns + 1):
        if owner[column]:
            chosen[owner[column] - 1] = column - 1
    return chosen


def _turned(chosen: npt.NDArray[np.intp], count: int) -> npt.NDArray[np.intp]:
    """The same pairs seen from the other side."""
    turned = np.full(count, -1, dtype=np.intp)
    for index, partner in enumerate(chosen):
        turned[partner] = index
    return turned
