"""Finding what may be meant on a screenshot, by the toolkit's own detector; and which of it a key takes. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from grounding.records import Point

from ..core.native import whole_box
from ..core.records import MarkedBox
from .snapping import Frame, Pixels, snap

REACH_PX = 4
"""Found boxes are off by two or three pixels, never more: contours are those of thickened edges."""
TAKEN_SHARE = 0.9
"""A proposal that overlaps a box of the step so far (intersection over union) was taken already."""


def find_regions(pixels: Pixels) -> tuple[Frame, ...]:
    """Widgets, icons, pictures and lines of text by their edges, each snapped to them; the largest first."""
    from grounding.grounders.som.boxes import WidgetProposer

    boxes = (Frame.around(region.box) for region in WidgetProposer().propose(pixels))
    found = dict.fromkeys(snap(pixels, box, reach_px=REACH_PX) for box in boxes)
    return tuple(sorted(found, key=lambda frame: (-frame.area_px2, frame.top_px, frame.left_px)))


def in_order(proposals: Sequence[Frame], cursor: Point | None) -> list[Frame]:
    """The proposals in the order in which they are taken: by their distance from the cursor, the smaller ones first.

    What is under the cursor has no distance. Without a cursor they stay as they come.
    """
    if cursor is None:
        return list(proposals)
    return sorted(proposals, key=lambda one: (_distance_px(one, cursor), one.area_px2))


def _distance_px(frame: Frame, point: Point) -> float:
    """How far a place is from a box, 0 inside."""
    across = max(frame.left_px - point.x_px, 0.0, point.x_px - frame.right_px)
    down = max(frame.top_px - point.y_px, 0.0, point.y_px - frame.bottom_px)
    return math.hypot(across, down)


def next_best(order: Sequence[Frame], boxes: Sequence[MarkedBox], tried: Collection[Frame] = ()) -> Frame | None:
    """The first proposal that is none of the boxes, and was not tried; None where nothing is left."""
    there = [frame_of(box) for box in boxes]
    left = (one for one in order if one not in tried)
    return next((one for one in left if all(one.share_of_union(box) < TAKEN_SHARE for box in there)), None)


def frame_of(box: MarkedBox) -> Frame:
    """A box by its edges, on the nearest whole pixels."""
    return Frame.around(whole_box(box).box)
