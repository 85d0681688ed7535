"""Boxes in whole pixels, and sums over boxes of a picture. Pure."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

IntBox = tuple[int, int, int, int]
"""Left, top, right, bottom; the right and bottom edges are those of the last pixel's far side."""


class Grid:
    """Sums over boxes of a picture of zeros and ones, each in constant time."""

    def __init__(self, ones: npt.NDArray[np.uint8]) -> None:
        self._sums = cv2.integral(ones)

    def total(self, box: IntBox) -> int:
        """How many ones a box has."""
        left, top, right, bottom = box
        sums = self._sums
        return int(sums[bottom, right]) - int(sums[top, right]) - int(sums[bottom, left]) + int(sums[top, left])

    def share(self, box: IntBox) -> float:
        """Which share of a box is ones; 0 where it is empty."""
        return self.total(box) / max(1, (box[2] - box[0]) * (box[3] - box[1]))


def area(box: IntBox) -> int:
    """Width times height, 0 for a box that is inside out."""
    return max(0, box[2] - box[0]) * max(0, box[3] - box[1])


def overlap(one: IntBox, other: IntBox) -> int:
    """The area that two boxes share."""
    return area((max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3])))
