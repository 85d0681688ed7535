"""Coordinate spaces of models, to and from pixels of the original screenshot; points and regions. Pure functions.

A space is always declared, never inferred from the size of the numbers: (500, 300) is a valid answer in most of them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from grounding.records import Box, ImageSizes, Point, Polygon, Record, Region, Size

if TYPE_CHECKING:
    import shapely

Space = Literal["original_px", "sent_px", "resized_px", "rel_1", "rel_999", "rel_1000"]
"""What one unit of a model's answer means.

``original_px``: a pixel of the screenshot on disk. ``sent_px``: a pixel of the image in the request.
``resized_px``: a pixel of the image after the server's own resizing, as the model saw it.
``rel_1``, ``rel_999``, ``rel_1000``: the fraction of the width (height), times 1, 999 or 1000.
"""


class ModelPoint(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A point as a model wrote it; without its space it means nothing."""

    space: Space
    x: float
    y: float


class ModelBox(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A rectangle as a model wrote it: two opposite corners in the model's space."""

    space: Space
    x1: float
    y1: float
    x2: float
    y2: float


class _Extent(Record, frozen=True, kw_only=True):
    """How many units of a space cover the whole picture."""

    x: float
    y: float


_RELATIVE: dict[str, float] = {"rel_1": 1.0, "rel_999": 999.0, "rel_1000": 1000.0}


def _extent(space: Space, sizes: ImageSizes) -> _Extent:
    if space == "original_px":
        return _Extent(x=sizes.original.width, y=sizes.original.height)
    whole = sizes.sent if space == "sent_px" else sizes.model
    width, height = float(whole.width), float(whole.height)
    if sizes.laid is not None:  # One ratio for both axes, as its authors go back, though its height is a whole number.
        width, height = sizes.laid.width, sizes.original.height * sizes.laid.width / sizes.original.width
    if space in _RELATIVE:
        units = _RELATIVE[space]
        return _Extent(x=units * width / whole.width, y=units * height / whole.height)
    return _Extent(x=width, y=height)


def point_to_original(point: ModelPoint, sizes: ImageSizes) -> Point:
    """Convert a model's point to pixels of the original screenshot. Nothing is rounded or clamped: a point outside the
    picture stays outside.
    """
    whole = _extent(point.space, sizes)
    return Point(
        x_px=_scaled(point.x, whole.x, sizes.original.width), y_px=_scaled(point.y, whole.y, sizes.original.height)
    )


def point_from_original(point: Point, space: Space, sizes: ImageSizes) -> ModelPoint:
    """Convert a point in pixels of the original screenshot to a model's space."""
    whole = _extent(space, sizes)
    return ModelPoint(
        space=space,
        x=_scaled(point.x_px, sizes.original.width, whole.x),
        y=_scaled(point.y_px, sizes.original.height, whole.y),
    )


def _scaled(value: float, whole: float, new_whole: float) -> float:
    """A value on one scale to another, as exactly as a float can: an answer on the very edge of a region is a hit."""
    return value if whole == new_whole else value * new_whole / whole


def box_to_original(box: ModelBox, sizes: ImageSizes) -> Box:
    """Convert a model's box to pixels of the original screenshot; corners may come in any order."""
    one = point_to_original(ModelPoint(space=box.space, x=box.x1, y=box.y1), sizes)
    two = point_to_original(ModelPoint(space=box.space, x=box.x2, y=box.y2), sizes)
    return Box(
        left_px=min(one.x_px, two.x_px),
        top_px=min(one.y_px, two.y_px),
        right_px=max(one.x_px, two.x_px),
        bottom_px=max(one.y_px, two.y_px),
    )


def smart_resize(size: Size, *, factor: int, min_pixels: int, max_pixels: int) -> Size:
    """The size to which the Qwen-VL image processors scale a picture.

    Both sides become multiples of ``factor`` (28 for Qwen2-VL and Qwen2.5-VL, 32 for Qwen3-VL), the area stays
    within ``min_pixels`` and ``max_pixels``, the aspect ratio is kept as far as that allows. Halves round to even,
    as Python's ``round`` does; shrinking floors and growing ceils.

    Source: ``smart_resize`` of the Qwen2-VL image processor in transformers. Raises ValueError: one side is more than
    200 times the other, which the processors refuse too.
    """
    height, width = size.height, size.width
    if max(height, width) / min(height, width) > 200:
        raise ValueError(f"a picture of {width}x{height} is more than 200 times longer than wide: models refuse it")
    new_height, new_width = round(height / factor) * factor, round(width / factor) * factor
    if new_height * new_width > max_pixels:
        shrink = math.sqrt(height * width / max_pixels)
        new_height = max(factor, math.floor(height / shrink / factor) * factor)
        new_width = max(factor, math.floor(width / shrink / factor) * factor)
    elif new_height * new_width < min_pixels:
        grow = math.sqrt(min_pixels / (height * width))
        new_height = math.ceil(height * grow / factor) * factor
        new_width = math.ceil(width * grow / factor) * factor
    return Size(width=new_width, height=new_height)


def largest_scale(size: Size, *, max_side_px: int, max_patches: int, patch_px: int) -> Fraction:
    """How far a picture is scaled down, if at all, to a longer side and a number of squares that it begins. Exact: one
    on the edge of a square is decided by whole numbers, and a rounding error would cost a row of them.
    """
    largest = min(Fraction(1), Fraction(max_side_px, max(size.width, size.height)))

    def patches(scale: Fraction) -> int:
        return math.ceil(size.width * scale / patch_px) * math.ceil(size.height * scale / patch_px)

    # The count only changes where a side becomes whole squares: the largest scale that fits is one of those.
    sides = [
        (side, number) for side in (size.width, size.height) for number in range(1, math.ceil(side / patch_px) + 1)
    ]
    steps = {Fraction(number * patch_px, side) for side, number in sides}
    fitting = (scale for scale in sorted(steps, reverse=True) if scale < largest and patches(scale) <= max_patches)
    return largest if patches(largest) <= max_patches else next(fitting, min(steps))


def scale_in_proportion(
    size: Size, *, min_pixels: int | None, max_pixels: int | None, sides: Literal["round", "floor"]
) -> Size:
    """A size with an area between two limits and the same aspect ratio, but for the whole pixels of its sides."""
    area = size.width * size.height
    wanted = max(area if max_pixels is None else min(area, max_pixels), min_pixels or 0)
    if wanted == area:
        return size
    scale = math.sqrt(wanted / area)
    whole = round if sides == "round" else math.floor
    return Size(width=max(1, whole(size.width * scale)), height=max(1, whole(size.height * scale)))


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
    import shapely  # it takes a while to load, and most regions are boxes

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
        import numpy as np
        import shapely

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
    import shapely

    if len(polygon.points) < 3:
        raise ValueError(f"a polygon has three corners or more, got {len(polygon.points)}")
    shape = shapely.Polygon([(corner.x_px, corner.y_px) for corner in polygon.points])
    shapely.prepare(shape)
    return shape
