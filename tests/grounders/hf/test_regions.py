"""The region rule against an independent reference, and cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from grounding.grounders.hf.actor import pointer_regions

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


def test_the_highest_mean_wins_over_the_highest_patch() -> None:
    # Left: one 1.0 with three at 0.4, mean 0.55. Right: two at 0.6.
    grid = np.array([[1.0, 0.4, 0.0, 0.6], [0.4, 0.4, 0.0, 0.6]])
    best, second = pointer_regions(grid.reshape(-1), columns=4, rows=2)
    assert (best.score, best.patches) == (pytest.approx(0.6), 2)
    assert (best.point.x, best.point.y) == pytest.approx((3.5 / 4, 0.5))
    assert (second.score, second.patches) == (pytest.approx(0.55), 4)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_scores_that_are_not_numbers_name_no_place(bad: float) -> None:
    assert pointer_regions([0.1, bad], columns=2, rows=1) == ()
