"""Turning a proposal into a box of the step; the same key again takes the next best instead. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from annotate.edits import with_added, with_box
from annotate.proposals.choosing import is_taken
from annotate.proposals.records import Proposal
from annotate.proposals.snapping import Frame
from annotate.records import Entry, MarkedBox
from annotate.view_transform import nearest_whole
from grounding.records import Point, Record

STILL_PX = 2.0
"""The cursor has not moved where it is no further away than this."""


class Taken(Record, frozen=True, kw_only=True):
    """What was taken last: as which box of which step, where the cursor was, what was taken before in its place."""

    index: int
    number: int
    cursor: Point | None
    proposals: tuple[Proposal, ...]


class Taking(Record, frozen=True, kw_only=True):
    """The step after a proposal was taken; ``instead`` tells that it replaced the one that was taken before it."""

    entry: Entry
    taken: Taken
    instead: bool


def take(
    index: int, entry: Entry, order: Sequence[Proposal], cursor: Point | None, last: Taken | None
) -> Taking | None:
    """Take the first proposal that the step has no box for.

    Where the cursor stands still since the last one was taken, and its box is as it was made, the next one replaces it.

    Args:
        index: The step's place in the document.
        entry: The step.
        order: The proposals, best first.
        cursor: Where the mouse is on the picture.
        last: What was taken last.

    Returns:
        None where nothing is left to take.
    """
    again = last is not None and _is_again(index, entry, cursor, last)
    tried = last.proposals if last is not None and again else ()
    others = [frame_of(box) for number, box in enumerate(entry.boxes) if not again or number != _number(last)]
    # By place: what was taken before its words were read is the same thing afterwards.
    places = {one.frame for one in tried}
    chosen = next((one for one in order if one.frame not in places and not is_taken(one, others)), None)
    if chosen is None:
        return None
    if again and last is not None:
        changed, number = with_box(entry, last.number, chosen.as_box()), last.number
    else:
        changed, number = with_added(entry, [chosen.as_box()]), len(entry.boxes)
    taken = Taken(index=index, number=number, cursor=cursor, proposals=(*tried, chosen))
    return Taking(entry=changed, taken=taken, instead=again)


def frame_of(box: MarkedBox) -> Frame:
    """A box by its edges, as whole pixels."""
    left, top = nearest_whole(box.x_px), nearest_whole(box.y_px)
    return Frame(
        left_px=left,
        top_px=top,
        right_px=max(left + 1, nearest_whole(box.x_px + box.width_px)),
        bottom_px=max(top + 1, nearest_whole(box.y_px + box.height_px)),
    )


def _is_again(index: int, entry: Entry, cursor: Point | None, last: Taken) -> bool:
    if last.index != index or last.number >= len(entry.boxes):
        return False
    if (cursor is None) != (last.cursor is None):
        return False
    if cursor is not None and last.cursor is not None:
        away_px = max(abs(cursor.x_px - last.cursor.x_px), abs(cursor.y_px - last.cursor.y_px))
        if away_px > STILL_PX:
            return False
    return frame_of(entry.boxes[last.number]) == last.proposals[-1].frame


def _number(last: Taken | None) -> int | None:
    return None if last is None else last.number
