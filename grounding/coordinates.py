"""Every coordinate space that a model speaks, to and from pixels of the original screenshot. Pure functions.

A space is always declared, never inferred from the size of the numbers: (500, 300) is a valid answer in most of them.
"""

from __future__ import annotations

import math
from typing import Literal

from grounding.records import Box, ImageSizes, Point, Record, Size

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
    if space in _RELATIVE:
        return _Extent(x=_RELATIVE[space], y=_RELATIVE[space])
    size = {"original_px": sizes.original, "sent_px": sizes.sent, "resized_px": sizes.model}[space]
    return _Extent(x=size.width, y=size.height)


def point_to_original(point: ModelPoint, sizes: ImageSizes) -> Point:
    """Convert a model's point to pixels of the original screenshot.

    Nothing is rounded or clamped: a point outside the picture stays outside.
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

    Source: ``smart_resize`` of the Qwen2-VL image processor in transformers.

    Raises:
        ValueError: one side is more than 200 times the other, which the processors refuse too.
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
