"""What can be marked on a picture, and what a number then means. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from grounding.records import Box, Point, Record

Pixels = npt.NDArray[np.uint8]
"""A picture as height x width x 3 bytes, red first."""

Outline = tuple[tuple[float, float], ...]


class Proposed(Record, frozen=True, kw_only=True):
    """One region, in pixels of the picture that was looked at.

    ``point`` is where a click stands for the region: the centre of a box, and for a mask the place farthest from its
    edge, which lies inside whatever the shape. ``outlines`` is empty where the box itself is the region.
    """

    box: Box
    point: Point
    area_px: float
    outlines: tuple[Outline, ...] = ()


class Mark(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a number on the picture means, in pixels of the original screenshot."""

    number: int
    box: Box
    point: Point


def box_region(left: float, top: float, right: float, bottom: float) -> Proposed:
    """A region that is a box."""
    box = Box(left_px=left, top_px=top, right_px=right, bottom_px=bottom)
    return Proposed(box=box, point=box.center, area_px=(right - left) * (bottom - top))
