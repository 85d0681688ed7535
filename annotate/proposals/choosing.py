"""Which proposal a key takes: the one under the cursor, else the next best. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from annotate.proposals.finding import area, contains, share_of_union
from annotate.proposals.records import Proposal
from annotate.proposals.snapping import Frame, Pixels, snap
from grounding.records import Point

NEAR_PX = 40
"""A proposal so near to the cursor comes before what the instruction seems to mean."""

CLICK_SIDE_PX = 24
"""The side of the box around a click where nothing was found; it is snapped like any other."""

TAKEN_SHARE = 0.9
"""A proposal that overlaps a box of the step so far (intersection over union) was taken already."""


def in_order(
    proposals: Sequence[Proposal], cursor: Point | None, meant: int | None, click: Proposal | None
) -> tuple[Proposal, ...]:
    """The proposals in the order in which they are taken.

    Those under the cursor, the smallest first; then the nearest one, if it is near; then what a model clicked; then
    what the instruction means; then the others by their distance, or as they come where there is no cursor.

    Args:
        proposals: What was found.
        cursor: Where the mouse is on the picture, in its pixels; None where it is elsewhere.
        meant: The place of the proposal that fits the instruction best.
        click: What a model clicked.
    """
    under: list[Proposal] = []
    others = list(proposals)
    if cursor is not None:
        under = sorted((one for one in others if contains(one.frame, cursor.x_px, cursor.y_px)), key=_area)
        others.sort(key=lambda one: (distance_px(one.frame, cursor), _area(one)))
    near = []
    if not under and cursor is not None:
        near = [one for one in others[:1] if distance_px(one.frame, cursor) <= NEAR_PX]
    said = [click] if click is not None else []
    wanted = [proposals[meant]] if meant is not None else []
    return tuple(dict.fromkeys([*under, *near, *said, *wanted, *others]))


def distance_px(frame: Frame, point: Point) -> float:
    """How far a place is from a box, 0 inside."""
    across = max(frame.left_px - point.x_px, 0.0, point.x_px - frame.right_px)
    down = max(frame.top_px - point.y_px, 0.0, point.y_px - frame.bottom_px)
    return math.hypot(across, down)


def around_click(click: Point, proposals: Sequence[Proposal], pixels: Pixels) -> Proposal | None:
    """What a click is on: the smallest thing that was found there, else a small box that is snapped to its edges.

    None for a click outside the picture.
    """
    height, width = pixels.shape[:2]
    if not (0 <= click.x_px <= width and 0 <= click.y_px <= height):
        return None
    on = [one for one in proposals if contains(one.frame, click.x_px, click.y_px)]
    if on:
        found = min(on, key=_area)
        return Proposal(frame=found.frame, origin="click", kind=found.kind, words=found.words)
    x = min(max(round(click.x_px), 1), width - 1)
    y = min(max(round(click.y_px), 1), height - 1)
    half = CLICK_SIDE_PX // 2
    rough = Frame(left_px=x - half, top_px=y - half, right_px=x + half, bottom_px=y + half)
    return Proposal(frame=snap(pixels, rough), origin="click")


def is_taken(proposal: Proposal, boxes: Sequence[Frame]) -> bool:
    """Whether the step has a box there already."""
    return any(share_of_union(proposal.frame, box) >= TAKEN_SHARE for box in boxes)


def _area(proposal: Proposal) -> int:
    return area(proposal.frame)
