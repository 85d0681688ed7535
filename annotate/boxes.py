"""What a hand does to a box: draw, move, pull at a handle, nudge. Whole pixels, inside the picture. Pure.

The edges of a box are continuous image coordinates; the hand gives fractions, a box gets the nearest whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from annotate.records import MarkedBox
from annotate.view_transform import nearest_whole
from grounding.records import Point, Record, Size

MIN_SIDE_PX = 2
"""No box has a side shorter than this, unless the picture itself is smaller."""

Handle = Literal["nw", "n", "ne", "e", "se", "s", "sw", "w"]
HANDLES: tuple[Handle, ...] = ("nw", "n", "ne", "e", "se", "s", "sw", "w")


class Edges(Record, frozen=True, kw_only=True):
    """The four edges of a rectangle in image pixels, in any order of opposite edges."""

    left_px: float
    top_px: float
    right_px: float
    bottom_px: float


def edges_of(box: MarkedBox) -> Edges:
    """The box by its edges."""
    return Edges(
        left_px=box.x_px, top_px=box.y_px, right_px=box.x_px + box.width_px, bottom_px=box.y_px + box.height_px
    )


def with_edges(box: MarkedBox, edges: Edges, picture: Size) -> MarkedBox:
    """The box with other edges: swapped where they came backwards, whole, inside the picture, not too small."""
    left, right = _side(edges.left_px, edges.right_px, picture.width)
    top, bottom = _side(edges.top_px, edges.bottom_px, picture.height)
    return msgspec.structs.replace(box, x_px=left, y_px=top, width_px=right - left, height_px=bottom - top)


def drawn(start: Point, end: Point, picture: Size) -> MarkedBox:
    """The box between two corners, whichever way it was drawn."""
    edges = Edges(left_px=start.x_px, top_px=start.y_px, right_px=end.x_px, bottom_px=end.y_px)
    return with_edges(MarkedBox(x_px=0, y_px=0, width_px=0, height_px=0), edges, picture)


def moved(box: MarkedBox, dx_px: float, dy_px: float, picture: Size) -> MarkedBox:
    """The box pushed, with the size that it has, as far as the picture allows."""
    width, height = max(nearest_whole(box.width_px), 1), max(nearest_whole(box.height_px), 1)
    return msgspec.structs.replace(
        box,
        x_px=min(max(nearest_whole(box.x_px + dx_px), 0), max(picture.width - width, 0)),
        y_px=min(max(nearest_whole(box.y_px + dy_px), 0), max(picture.height - height, 0)),
        width_px=min(width, picture.width),
        height_px=min(height, picture.height),
    )


def resized(box: MarkedBox, handle: Handle, to: Point, picture: Size) -> MarkedBox:
    """The box with the edge or corner of a handle at another place; pulled over the opposite edge, it turns over."""
    edges = edges_of(box)
    return with_edges(
        box,
        Edges(
            left_px=to.x_px if "w" in handle else edges.left_px,
            right_px=to.x_px if "e" in handle else edges.right_px,
            top_px=to.y_px if "n" in handle else edges.top_px,
            bottom_px=to.y_px if "s" in handle else edges.bottom_px,
        ),
        picture,
    )


def edge_nudged(box: MarkedBox, handle: Handle, by_px: int, picture: Size) -> MarkedBox:
    """The box with one edge pushed by whole pixels; it stops where the box would be too small, and never turns over."""
    edges = edges_of(box)
    if handle == "w":
        edges = msgspec.structs.replace(edges, left_px=min(edges.left_px + by_px, edges.right_px - MIN_SIDE_PX))
    elif handle == "e":
        edges = msgspec.structs.replace(edges, right_px=max(edges.right_px + by_px, edges.left_px + MIN_SIDE_PX))
    elif handle == "n":
        edges = msgspec.structs.replace(edges, top_px=min(edges.top_px + by_px, edges.bottom_px - MIN_SIDE_PX))
    else:
        edges = msgspec.structs.replace(edges, bottom_px=max(edges.bottom_px + by_px, edges.top_px + MIN_SIDE_PX))
    return with_edges(box, edges, picture)


def handle_place(box: MarkedBox, handle: Handle) -> Point:
    """Where a handle sits, in image pixels."""
    edges = edges_of(box)
    middle_x, middle_y = (edges.left_px + edges.right_px) / 2, (edges.top_px + edges.bottom_px) / 2
    return Point(
        x_px=edges.left_px if "w" in handle else edges.right_px if "e" in handle else middle_x,
        y_px=edges.top_px if "n" in handle else edges.bottom_px if "s" in handle else middle_y,
    )


def handle_at(box: MarkedBox, point: Point, reach_px: float) -> Handle | None:
    """The handle near a place; corners go before edges. Along an edge, all of the edge takes hold of it."""
    edges = edges_of(box)
    inside_x = edges.left_px - reach_px <= point.x_px <= edges.right_px + reach_px
    inside_y = edges.top_px - reach_px <= point.y_px <= edges.bottom_px + reach_px
    if not (inside_x and inside_y):
        return None
    # In a box of a few view pixels the nearer edge is meant, and its middle must stay free to move it.
    reach_x, reach_y = min(reach_px, box.width_px / 3), min(reach_px, box.height_px / 3)
    west = point.x_px <= edges.left_px + reach_x
    east = point.x_px >= edges.right_px - reach_x
    north = point.y_px <= edges.top_px + reach_y
    south = point.y_px >= edges.bottom_px - reach_y
    name = ("n" if north else "s" if south else "") + ("w" if west else "e" if east else "")
    return next((handle for handle in HANDLES if handle == name), None)


def box_at(boxes: Sequence[MarkedBox], point: Point, reach_px: float) -> int | None:
    """The box under a place: the smallest that covers it, so that one inside another can be reached."""
    covering = [
        (box.width_px * box.height_px, -number)
        for number, box in enumerate(boxes)
        if box.x_px - reach_px <= point.x_px <= box.x_px + box.width_px + reach_px
        and box.y_px - reach_px <= point.y_px <= box.y_px + box.height_px + reach_px
    ]
    return -min(covering)[1] if covering else None


def _side(one: float, other: float, length: int) -> tuple[int, int]:
    """Two opposite edges as whole numbers in order, inside 0 to ``length``, at least the minimum apart."""
    start = min(max(nearest_whole(min(one, other)), 0), length)
    end = min(max(nearest_whole(max(one, other)), 0), length)
    least = min(MIN_SIDE_PX, length)
    if end - start < least:
        # The edge that the hand moved is not known here; the box grows to the right and down, where there is room.
        start = min(start, length - least)
        end = start + least
    return start, end
