"""The region rule against an independent reference, and cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from grounding.coordinates import point_to_original
from grounding.grounders.hf.regions import pointer_regions
from grounding.records import ImageSizes, Size

Expected = list[tuple[float, float, float, int]]
"""x, y, mean score and number of patches of each region, in order of its first patch."""


def reference(grid: np.ndarray) -> Expected:
    """The same rule the slow way: reachability by squaring the matrix of neighbours; sums in plain Python."""
    rows, columns = grid.shape
    places = [(y, x) for y in range(rows) for x in range(columns) if grid[y, x] > 0.3 * grid.max()]
    near = np.array([[abs(a[0] - b[0]) + abs(a[1] - b[1]) <= 1 for b in places] for a in places])
    for _ in range(len(places).bit_length() + 1):
        near = (near.astype(int) @ near.astype(int)) > 0
    found: Expected = []
    for first, row in enumerate(near):
        members = np.flatnonzero(row)
        if members[0] != first:
            continue
        weights = [float(grid[places[m]]) for m in members]
        x = sum((places[m][1] + 0.5) / columns * w for m, w in zip(members, weights, strict=True)) / sum(weights)
        y = sum((places[m][0] + 0.5) / rows * w for m, w in zip(members, weights, strict=True)) / sum(weights)
        found.append((x, y, sum(weights) / len(weights), len(weights)))
    return found


# Few different values make ties and neighbours likely; the others exercise the arithmetic.
_SCORES = st.one_of(
    st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0]), st.floats(min_value=2**-20, max_value=1.0, allow_subnormal=False)
)
GRIDS = arrays.arrays(
    np.float64, arrays.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=7), elements=_SCORES
).filter(lambda grid: grid.max() > 0)


@given(GRIDS)
def test_regions_are_those_of_the_reference(grid: np.ndarray) -> None:
    rows, columns = grid.shape
    got = pointer_regions(grid.reshape(-1), columns=columns, rows=rows)
    expected = reference(grid)
    key = lambda region: (round(region[0], 9), round(region[1], 9), region[3])  # noqa: E731
    mine = sorted(((r.point.x, r.point.y, r.score, r.patches) for r in got), key=key)
    for one, other in zip(mine, sorted(expected, key=key), strict=True):
        assert one == pytest.approx(other, rel=1e-12)
    assert got[0].score == pytest.approx(max(region[2] for region in expected), rel=1e-12)
    assert [r.score for r in got] == sorted((r.score for r in got), reverse=True)


@given(GRIDS)
def test_every_point_is_inside_the_picture(grid: np.ndarray) -> None:
    rows, columns = grid.shape
    for region in pointer_regions(grid.reshape(-1), columns=columns, rows=rows):
        assert 0 < region.point.x < 1
        assert 0 < region.point.y < 1
        assert region.point.space == "rel_1"


@pytest.mark.parametrize(("row", "column"), [(0, 0), (0, 4), (2, 0), (2, 4), (1, 3)])
def test_one_patch_is_its_own_centre_in_pixels_of_the_screenshot(row: int, column: int) -> None:
    grid = np.zeros((3, 5))
    grid[row, column] = 1.0
    (region,) = pointer_regions(grid.reshape(-1), columns=5, rows=3)
    seen = Size(width=140, height=84)
    sizes = ImageSizes(original=Size(width=1000, height=600), sent=seen, model=seen)
    point = point_to_original(region.point, sizes)
    assert (point.x_px, point.y_px) == pytest.approx((200 * column + 100, 200 * row + 100))


def test_the_highest_mean_wins_over_the_highest_patch() -> None:
    # Left: one 1.0 with three at 0.4, mean 0.55. Right: two at 0.6.
    grid = np.array([[1.0, 0.4, 0.0, 0.6], [0.4, 0.4, 0.0, 0.6]])
    best, second = pointer_regions(grid.reshape(-1), columns=4, rows=2)
    assert (best.score, best.patches) == (pytest.approx(0.6), 2)
    assert (best.point.x, best.point.y) == pytest.approx((3.5 / 4, 0.5))
    assert (second.score, second.patches) == (pytest.approx(0.55), 4)


def test_the_centre_is_weighted_by_the_scores() -> None:
    (region,) = pointer_regions([1.0, 0.5, 0.0], columns=3, rows=1)
    assert region.point.x == pytest.approx((0.5 * 1.0 + 1.5 * 0.5) / 1.5 / 3)


def test_a_patch_at_exactly_the_threshold_is_left_out() -> None:
    (region,) = pointer_regions([1.0, 0.3], columns=2, rows=1)
    assert region.patches == 1


def test_corners_do_not_join_and_rows_do_not_wrap() -> None:
    assert len(pointer_regions([1.0, 0.0, 0.0, 1.0], columns=2, rows=2)) == 2
    # The last of the first row and the first of the second follow one another in memory only.
    assert len(pointer_regions([0.0, 0.0, 1.0, 1.0, 0.0, 0.0], columns=3, rows=2)) == 2


def test_of_equal_means_the_first_in_reading_order_counts() -> None:
    best, _ = pointer_regions([0.0, 1.0, 0.0, 0.0, 0.0, 1.0], columns=3, rows=2)
    assert (best.point.x, best.point.y) == pytest.approx((0.5, 0.25))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_scores_that_are_not_numbers_name_no_place(bad: float) -> None:
    assert pointer_regions([0.1, bad], columns=2, rows=1) == ()


def test_a_grid_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="3 scores for a grid of 2 x 2"):
        pointer_regions([1.0, 2.0, 3.0], columns=2, rows=2)
