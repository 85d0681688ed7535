"""The figures behind a run's diagrams: measured steps in, numbers out. Pure."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from grounding.records import Record
from grounding.report.html.measured import Measured, shares
from grounding.scoring.intervals import Interval, wilson

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOLERANCES_PX = (0, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300)
"""Distances at which the tolerance curve is drawn."""

_LATE = 8
"""Positions in a task from which on steps are put together."""


class Bin(Record, frozen=True, kw_only=True):
    """Some of the steps: ``k`` of ``n`` are hits."""

    name: str
    k: int
    n: int

    @property
    def percent(self) -> float:
        """The share of hits; 0 where there is nothing."""
        return 100 * self.k / self.n if self.n else 0.0

    @property
    def interval(self) -> Interval:
        """Wilson's 95 % interval in percent, which takes the steps for independent of each other."""
        return wilson(self.k, self.n)


def alive(steps: Measured) -> tuple[float, ...]:
    """The share of tasks in percent without a wrong step after 0, 1, 2, … of their steps.

    A task that ended well stays alive, so that the last value is the task success.
    """
    import numpy as np

    if not steps.steps:
        return ()
    place = _places(steps)
    longest = int(place.max()) + 1
    died = np.full(steps.tasks, longest, dtype=np.int64)
    np.minimum.at(died, steps.task[~steps.is_hit], place[~steps.is_hit])
    deaths = np.bincount(died, minlength=longest + 1)
    gone = np.concatenate(([0], np.cumsum(deaths[:longest])))
    return shares([steps.tasks - int(count) for count in gone], steps.tasks)


def by_area(steps: Measured, most: int = 5) -> tuple[Bin, ...]:
    """Steps by the area of their gold region (its largest shape) in parts of about equal size."""
    import numpy as np

    order = np.argsort(steps.area_px2, kind="stable")
    order = order[steps.area_px2[order] > 0]
    if not len(order):
        return ()
    parts = max(1, min(most, len(order) // 5))
    bounds = [round(part * len(order) / parts) for part in range(parts + 1)]
    bins = []
    for start, end in itertools.pairwise(bounds):
        part = order[start:end]
        low, high = (round(math.sqrt(steps.area_px2[part[at]])) for at in (0, -1))
        bins.append(_bin(f"{low} to {high}" if low != high else f"{low}", steps.is_hit[part]))
    return tuple(bins)


def by_position(steps: Measured) -> tuple[Bin, ...]:
    """Steps by their number in their task; late ones are put together."""
    if not steps.steps:
        return ()
    place = _places(steps) + 1
    longest = int(place.max())
    bins = []
    for number in range(1, min(longest, _LATE) + 1):
        chosen = place >= number if number == _LATE else place == number
        bins.append(_bin(f"{number}+" if number == _LATE < longest else str(number), steps.is_hit[chosen]))
    return tuple(bins)


def by_screen_place(steps: Measured) -> tuple[tuple[Bin, ...], ...]:
    """Steps by where on the screen their first gold shape lies: three rows from above, of three from the left."""
    return tuple(
        tuple(_bin("", steps.is_hit[steps.ninth == 3 * row + column]) for column in range(3)) for row in range(3)
    )


def tolerance_curve(steps: Measured) -> tuple[float, ...]:
    """The share of all scored steps in percent whose click is at most so many pixels (``TOLERANCES_PX``) beside."""
    import numpy as np

    if not steps.steps:
        return ()
    # A hit where the target is absent has no distance.
    right = int((steps.is_hit & np.isnan(steps.distance_px)).sum())
    return shares([right + int((steps.distance_px <= most).sum()) for most in TOLERANCES_PX], steps.steps)


def _places(steps: Measured) -> NDArray[np.int64]:
    """The number of each step in its task, from 0."""
    import numpy as np

    starts = np.flatnonzero(np.diff(steps.task, prepend=-1))
    lengths = np.diff(np.append(starts, steps.steps))
    return np.arange(steps.steps, dtype=np.int64) - np.repeat(starts, lengths)


def _bin(name: str, is_hit: NDArray[np.bool_]) -> Bin:
    return Bin(name=name, k=int(is_hit.sum()), n=len(is_hit))
