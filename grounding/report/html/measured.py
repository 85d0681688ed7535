"""What a run's diagrams are drawn from: five numbers a scored step, so that a million of them fit anywhere."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from grounding.records import Record, Region, Step, Verdict
from grounding.scoring.scored import ScoredTask

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Measured(Record, frozen=True, kw_only=True):
    """The scored steps in the order of their tasks, one entry a step in each column.

    ``task`` numbers the tasks that have a scored step from 0. ``distance_px`` is NaN where a step has none,
    ``area_px2`` 0 where its region has no shape, ``ninth`` (of the screen, row by row from the top left) -1 there.
    """

    task: NDArray[np.int64]
    is_hit: NDArray[np.bool_]
    distance_px: NDArray[np.float64]
    area_px2: NDArray[np.float64]
    ninth: NDArray[np.int64]

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return len(self.task)

    @property
    def tasks(self) -> int:
        """How many tasks there are."""
        return int(self.task[-1]) + 1 if len(self.task) else 0

    def off_px(self) -> list[float]:
        """How far the misses with a click are off."""
        return [float(distance) for distance in self.distance_px[~self.is_hit] if distance > 0]


class Measuring:
    """Takes scored steps one by one, in any order of their tasks, and keeps nothing of them but the numbers."""

    def __init__(self) -> None:
        self._task, self._ninth = array("q"), array("q")
        self._is_hit = bytearray()
        self._distance, self._area = array("d"), array("d")

    def add(self, step: Step, verdict: Verdict, task: int) -> None:
        """Take one step; ``task`` is any number that only the steps of its task have."""
        self._task.append(task)
        self._is_hit.append(verdict.outcome == "hit")
        self._distance.append(math.nan if verdict.distance_px is None else verdict.distance_px)
        self._area.append(region_area_px(step.region))
        self._ninth.append(ninth_of(step))

    def done(self) -> Measured:
        """All steps so far: tasks in the order of their numbers, and steps as they came within each."""
        import numpy as np

        tasks = np.array(self._task, dtype=np.int64)
        order = np.argsort(tasks, kind="stable")
        _, numbered = np.unique(tasks[order], return_inverse=True)
        return Measured(
            task=numbered.astype(np.int64),
            is_hit=np.frombuffer(bytes(self._is_hit), dtype=np.bool_)[order],
            distance_px=np.array(self._distance, dtype=np.float64)[order],
            area_px2=np.array(self._area, dtype=np.float64)[order],
            ninth=np.array(self._ninth, dtype=np.int64)[order],
        )


def measured(tasks: Iterable[ScoredTask]) -> Measured:
    """The numbers of scored tasks."""
    found = Measuring()
    for number, task in enumerate(tasks):
        for scored in task.steps:
            found.add(scored.step, scored.verdict, number)
    return found.done()


def region_area_px(region: Region | None) -> float:
    """The area of a region's largest shape in square pixels; 0 where it has none."""
    if region is None:
        return 0.0
    boxes = [(box.right_px - box.left_px) * (box.bottom_px - box.top_px) for box in region.boxes]
    outlines = []
    for polygon in region.polygons:
        corners = polygon.points
        # The shoelace formula.
        turns = [a.x_px * b.y_px - b.x_px * a.y_px for a, b in zip(corners, (*corners[1:], *corners[:1]), strict=True)]
        outlines.append(abs(sum(turns)) / 2)
    return max([*boxes, *outlines], default=0.0)


def ninth_of(step: Step) -> int:
    """In which ninth of the screen a step's first gold shape has its middle, row by row; -1 where it has no shape."""
    region, size = step.region, step.screenshot.size
    if region is None or not (region.boxes or region.polygons):
        return -1
    if region.boxes:
        x, y = region.boxes[0].center.x_px, region.boxes[0].center.y_px
    else:
        corners = region.polygons[0].points
        x = sum(point.x_px for point in corners) / len(corners)
        y = sum(point.y_px for point in corners) / len(corners)
    return 3 * _third(y, size.height) + _third(x, size.width)


def _third(at_px: float, whole_px: int) -> int:
    return min(2, max(0, int(3 * at_px / whole_px)))


def shares(counts: Sequence[int], whole: int) -> tuple[float, ...]:
    """Counts as per cent of a whole."""
    return tuple(100 * count / whole for count in counts)
