import math

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.geometry import distance_px, is_finite, is_hit
from grounding.records import Box, Point, Polygon, Region


def point(x: float, y: float) -> Point:
    return Point(x_px=x, y_px=y)


def box(left: float, top: float, right: float, bottom: float) -> Box:
    return Box(left_px=left, top_px=top, right_px=right, bottom_px=bottom)


def polygon(*corners: tuple[float, float]) -> Polygon:
    return Polygon(points=tuple(point(x, y) for x, y in corners))


BUTTON = Region(boxes=(box(10, 10, 20, 20),))
TRIANGLE = Region(polygons=(polygon((0, 0), (10, 0), (0, 10)),))


@pytest.mark.parametrize(
    ("x", "y", "hit", "distance"),
    [
        (15, 15, True, 0),
        (10, 15, True, 0),  # each edge
        (20, 15, True, 0),
        (15, 10, True, 0),
        (15, 20, True, 0),
        (10, 10, True, 0),  # each corner
        (20, 10, True, 0),
        (10, 20, True, 0),
        (20, 20, True, 0),
        (20.5, 15, False, 0.5),
        (math.nextafter(20, 21), 15, False, pytest.approx(0, abs=1e-9)),
        (23, 24, False, 5),
        (-10, 15, False, 20),
    ],
)
def test_box(x, y, hit, distance):
    assert is_hit(BUTTON, point(x, y)) is hit
    assert distance_px(BUTTON, point(x, y)) == distance


@pytest.mark.parametrize(
    ("x", "y", "hit", "distance"),
    [
        (2, 2, True, 0),
        (5, 5, True, 0),  # on the slanted edge
        (10, 0, True, 0),
        (9, 9, False, pytest.approx(8 / math.sqrt(2))),  # inside its bounds, outside the outline
        (-3, 5, False, 3),
    ],
)
def test_polygon(x, y, hit, distance):
    assert is_hit(TRIANGLE, point(x, y)) is hit
    assert distance_px(TRIANGLE, point(x, y)) == distance


def test_any_shape_will_do_and_the_nearest_counts():
    region = Region(boxes=(box(100, 0, 110, 10), box(200, 0, 210, 10)), polygons=TRIANGLE.polygons)
    assert is_hit(region, point(105, 5))
    assert is_hit(region, point(205, 5))
    assert is_hit(region, point(1, 1))
    assert distance_px(region, point(195, 5)) == 5
    assert distance_px(region, point(-2, 5)) == 2


@pytest.mark.parametrize("region", [BUTTON, TRIANGLE, Region(boxes=(box(0, 0, math.inf, math.inf),))])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 10**400])
def test_a_point_that_is_not_finite(region, bad):
    for where in (point(bad, 1), point(1, bad), point(bad, bad)):
        assert not is_finite(where)
        assert not is_hit(region, where)
        assert distance_px(region, where) is None


quarters = st.integers(-400, 400).map(lambda n: n / 4)
anywhere = st.floats(-1e5, 1e5, allow_subnormal=False)


@st.composite
def boxes_and_point(draw, number):
    """Boxes with an area and a point that often lies on one of their edges or corners."""
    boxes = []
    for _ in range(draw(st.integers(1, 4))):
        (left, right), (top, bottom) = (
            sorted(draw(st.lists(number, min_size=2, max_size=2, unique=True))) for _ in range(2)
        )
        boxes.append(box(left, top, right, bottom))
    xs = [edge for b in boxes for edge in (b.left_px, b.right_px)]
    ys = [edge for b in boxes for edge in (b.top_px, b.bottom_px)]
    where = point(draw(number | st.sampled_from(xs)), draw(number | st.sampled_from(ys)))
    return tuple(boxes), where


@settings(deadline=None, max_examples=300)
@given(boxes_and_point(quarters) | boxes_and_point(anywhere))
def test_boxes_agree_with_shapely(case):
    boxes, where = case
    shapes = [shapely.box(b.left_px, b.top_px, b.right_px, b.bottom_px) for b in boxes]
    region = Region(boxes=boxes)
    assert is_hit(region, where) == any(shapely.intersects_xy(shape, where.x_px, where.y_px) for shape in shapes)
    with np.errstate(all="ignore"):
        expected = min(shapely.distance(shape, shapely.Point(where.x_px, where.y_px)) for shape in shapes)
    assert distance_px(region, where) == pytest.approx(expected, rel=1e-9, abs=1e-9)
