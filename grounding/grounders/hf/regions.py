"""GUI-Actor's rule from scores over image patches to places on the picture. Pure; numpy only.

Source: ``get_prediction_region_point`` in src/gui_actor/inference.py of the repository microsoft/GUI-Actor.
"""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from grounding.coordinates import ModelPoint
from grounding.records import Record

ACTIVE_FROM = 0.3
"""A patch takes part when its score is above this share of the highest."""


class PointerRegion(Record, frozen=True, kw_only=True):
    """Patches that hang together: their centre as a fraction of the picture, mean score, and number."""

    point: ModelPoint
    score: float
    patches: int


def pointer_regions(scores: npt.ArrayLike, *, columns: int, rows: int) -> tuple[PointerRegion, ...]:
    """The regions of active patches, the one with the highest mean score first; empty if no score is a number.

    Patches with a score above 0.3 of the highest are active. Active patches that share an edge are one region. Its
    point is the mean of the patches' centres, each weighted by its score. Of equal means the one that begins first in
    reading order comes first.

    Args:
        scores: one number per patch, row by row from the top left, shape (rows * columns,).
        columns: patches across the picture, after the merging of 2 x 2 patches.
        rows: patches down the picture, likewise.

    Raises:
        ValueError: the number of scores is not rows x columns.
    """
    grid = np.asarray(scores, dtype=np.float64)
    if grid.shape != (rows * columns,):
        raise ValueError(f"{grid.size} scores for a grid of {columns} x {rows} patches")
    if not grid.size or not np.isfinite(grid).all():
        return ()
    active = grid > grid.max() * ACTIVE_FROM
    regions = [_region(grid, patches, columns, rows) for patches in _connected(active, columns)]
    return tuple(sorted(regions, key=lambda region: -region.score))  # Sorting is stable: ties stay in reading order.


def _connected(active: npt.NDArray[np.bool_], columns: int) -> list[list[int]]:
    left = set(np.flatnonzero(active).tolist())
    groups = []
    for start in sorted(left):
        if start not in left:
            continue
        left.remove(start)
        group, queue = [start], deque([start])
        while queue:
            patch = queue.popleft()
            column = patch % columns
            near = [patch - columns, patch + columns]
            near += [patch - 1] if column > 0 else []
            near += [patch + 1] if column < columns - 1 else []
            for other in near:
                if other in left:
                    left.remove(other)
                    group.append(other)
                    queue.append(other)
        groups.append(group)
    return groups


def _region(grid: npt.NDArray[np.float64], patches: list[int], columns: int, rows: int) -> PointerRegion:
    index = np.array(patches)
    weights = grid[index]
    x = ((index % columns + 0.5) / columns * weights).sum() / weights.sum()
    y = ((index // columns + 0.5) / rows * weights).sum() / weights.sum()
    return PointerRegion(
        point=ModelPoint(space="rel_1", x=float(x), y=float(y)), score=float(weights.mean()), patches=len(patches)
    )
