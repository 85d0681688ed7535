"""Snapping on a decoded picture, of which only the part around the box is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from annotate.edits import with_box
from annotate.proposals.snapping import Frame, snap, usual_reach_px
from annotate.proposals.taking import frame_of

if TYPE_CHECKING:
    from PIL import Image

    from annotate.window.session import Session

ROOM_PX = 64
"""What is cut out around a box: more than any side may move, border included."""


def snapped_on(picture: Image.Image, rough: Frame) -> Frame:
    """A box snapped on a decoded picture, of which only the part around the box is looked at.

    Raises:
        ValueError: The box has no pixel of the picture.
    """
    # The gap that sets text off grows with the box.
    room = ROOM_PX + rough.height_px // 2
    x, y = max(0, rough.left_px - room), max(0, rough.top_px - room)
    part = picture.crop((x, y, min(picture.width, rough.right_px + room), min(picture.height, rough.bottom_px + room)))
    if part.width < 1 or part.height < 1:
        raise ValueError("the box has no pixel of the picture")
    here = Frame(
        left_px=rough.left_px - x, top_px=rough.top_px - y, right_px=rough.right_px - x, bottom_px=rough.bottom_px - y
    )
    found = snap(np.asarray(part), here, reach_px=usual_reach_px(rough))
    return Frame(
        left_px=found.left_px + x, top_px=found.top_px + y, right_px=found.right_px + x, bottom_px=found.bottom_px + y
    )


def snap_selected(session: Session) -> None:
    """What the key does: snap the selected box, or the only one there is, and say so where that is not possible."""
    picture, boxes = session.picture(), session.entry.boxes
    number = session.selected if session.selected is not None else 0 if len(boxes) == 1 else None
    if number is None or number >= len(boxes):
        session.status("Select a box first: then it can be snapped to the nearest edges")
        return
    if picture is None:
        session.status("The picture is still on its way")
        return
    rough = frame_of(boxes[number])
    try:
        found = snapped_on(picture, rough)
    except ValueError:
        session.status("The box lies outside the picture")
        return
    if found == rough:
        session.status("No nearer edges: the box stays as it is")
        return
    box = msgspec.structs.replace(
        boxes[number], x_px=found.left_px, y_px=found.top_px, width_px=found.width_px, height_px=found.height_px
    )
    session.change(with_box(session.entry, number, box), "snap box")
    session.select(number)
    session.status("Snapped to the nearest edges")
