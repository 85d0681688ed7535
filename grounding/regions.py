"""Is a point inside a region, and if not, how far off is it? Records in, numbers out.

Boxes are compared directly, which is exact on the edge and fast; polygons are shapely's.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import shapely

from grounding.records import Box, Point, Polygon, Region


def is_finite(point: Point) -> bool:
    """True when both coordinates are numbers that a screen could have: not NaN, not infinite, not beyond a float.

    >>> is_finite(Point(x_px=3, y_px=float("inf")))
    False
    """
    try:
        return math.isfinite(point.x_px) and math.isfinite(point.y_px)
    except OverflowError:  # a reply may spell out an integer of a thousand digits
        return False


def is_hit(region: Region, point: Point) -> bool:
    """True when the point is inside the region or on its edge (all four edges of a box count).

    An empty region is never hit; neither is anything by a point that is not finite. Box edges are compared as they
    are written, with no tolerance, as in the released evaluator of RealWebAssist.

    Raises:
        ValueError: A polygon of the region has fewer than three corners.

    >>> region = Region(boxes=(Box(left_px=10, top_px=10, right_px=20, bottom_px=20),))
    >>> is_hit(region, Point(x_px=20, y_px=10)), is_hit(region, Point(x_px=20.5, y_px=10))
    (True, False)
    """
    x, y = point.x_px, point.y_px
    for box in region.boxes:
        if box.left_px <= x <= box.right_px and box.top_px <= y <= box.bottom_px:
            return is_finite(point)
    if not region.polygons or not is_finite(point):
        return False
    return any(shapely.intersects_xy(_outline(polygon), x, y) for polygon in region.polygons)


def distance_px(region: Region, point: Point) -> float | None:
    """Euclidean distance in pixels to the nearest edge of the region, 0 inside.

    None for a region that no point can hit, for a point that is not finite and for one too far off for a float.

    Raises:
        ValueError: A polygon of the region has fewer than three corners.

    >>> region = Region(boxes=(Box(left_px=10, top_px=10, right_px=20, bottom_px=20),))
    >>> distance_px(region, Point(x_px=23, y_px=24))
    5.0
    """
    if not is_finite(point):
        return None
    distances = [_box_distance(box, point) for box in region.boxes if box.holds_points]
    if region.polygons:
        place = shapely.Point(point.x_px, point.y_px)
        with np.errstate(all="ignore"):  # absurdly large coordinates overflow, which the caller is told by None
            distances += [float(shapely.distance(_outline(polygon), place)) for polygon in region.polygons]
    nearest = min(distances, default=math.inf)
    return nearest if math.isfinite(nearest) else None


def _box_distance(box: Box, point: Point) -> float:
    across = max(box.left_px - point.x_px, 0.0, point.x_px - box.right_px)
    down = max(box.top_px - point.y_px, 0.0, point.y_px - box.bottom_px)
    return math.hypot(across, down)


@lru_cache(maxsize=4096)
def _outline(polygon: Polygon) -> shapely.Polygon:
    if len(polygon.points) < 3:
        raise ValueError(f"a polygon has three corners or more, got {len(polygon.points)}")
    shape = shapely.Polygon([(corner.x_px, corner.y_px) for corner in polygon.points])
    shapely.prepare(shape)
    return shape
