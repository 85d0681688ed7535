"""What does not fit between a step's boxes and its picture."""

from __future__ import annotations

from annotate.native_item import BOXES
from annotate.picture_size import UprightSize
from annotate.records import Entry, Issue, MarkedBox
from grounding.records import Size


def picture_issues(index: int, entry: Entry, picture: UprightSize) -> tuple[Issue, ...]:
    """Boxes that reach over the edge of their picture, and a picture that is stored turned.

    Args:
        index: The step's position, for the issues.
        entry: The step.
        picture: Size and orientation of its picture.
    """
    found = []
    if picture.orientation != 1:
        found.append(
            Issue(
                index=index,
                field="final_image",
                what=f"is stored turned (EXIF orientation {picture.orientation}): boxes are drawn on the picture as it "
                "is shown, the evaluation reads it as it is stored; save the picture upright",
            )
        )
    for place, box in enumerate(entry.boxes):
        what = _outside(box, picture.size)
        if what:
            found.append(Issue(index=index, field=f"{BOXES}[{place}]", what=what))
    return tuple(found)


def _outside(box: MarkedBox, size: Size) -> str:
    left, top = box.x_px, box.y_px
    right, bottom = left + box.width_px, top + box.height_px
    if left >= 0 and top >= 0 and right <= size.width and bottom <= size.height:
        return ""
    edges = f"({left:g}, {top:g} to {right:g}, {bottom:g})"
    picture = f"its picture of {size.width} x {size.height} pixels"
    if right <= 0 or bottom <= 0 or left >= size.width or top >= size.height:
        return f"{edges} lies outside {picture}: drawn on another picture, or at another scale"
    return f"{edges} reaches over the edge of {picture}"
