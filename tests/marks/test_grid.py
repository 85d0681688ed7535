"""Boxes in whole pixels."""

from __future__ import annotations

import numpy as np

from grounding.marks.grid import Grid, area, overlap


def test_grid_counts_ones() -> None:
    ones = np.zeros((10, 20), np.uint8)
    ones[2:4, 5:8] = 1
    grid = Grid(ones)
    assert grid.total((0, 0, 20, 10)) == 6
    assert grid.total((5, 2, 8, 4)) == 6
    assert grid.share((5, 2, 8, 6)) == 0.5
    assert grid.share((3, 3, 3, 3)) == 0


def test_overlap_of_boxes() -> None:
    assert overlap((0, 0, 10, 10), (5, 5, 20, 20)) == 25
    assert overlap((0, 0, 10, 10), (10, 0, 20, 10)) == 0
    assert area((5, 5, 3, 9)) == 0
