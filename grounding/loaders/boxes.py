"""The ``bounding_box`` field of the RealWebAssist layout: null, an object or a list of objects in; boxes out."""

from __future__ import annotations

from grounding.loaders.fields import ABSENT, Fields
from grounding.loaders.problems import Problem
from grounding.records import Box, Record, Size

FIELD = "bounding_box"

_CORRECT = "correct it or set bounding_box to null"


class NamedBox(Record, frozen=True, kw_only=True):
    """A gold box in pixels of the original screenshot, and the path of the field it came from."""

    field: str
    box: Box


def read_boxes(fields: Fields) -> tuple[NamedBox, ...] | None:
    """The gold boxes of an item, None for a step without a click.

    A box is ``x``, ``y`` (top left), ``width``, ``height`` in pixels of the original screenshot. The right edge is
    ``x + width`` as the official scorer computes it, so that a point on the edge scores the same here.
    """
    value = fields.raw(FIELD, "add it, with null for a step without a click")
    if value is None or value is ABSENT:
        return None
    if value == []:
        fields.report(
            FIELD,
            "is an empty list, which no click can hit",
            "add a box, or set it to null for a step without a click",
            value,
        )
        return None
    several = isinstance(value, list)
    boxes = []
    for index, one in enumerate(value if isinstance(value, list) else [value]):
        name = f"{FIELD}[{index}]" if several else FIELD
        if not isinstance(one, dict):
            fields.report(name, "must be null, an object with x, y, width and height, or a list of such", _CORRECT, one)
            continue
        box = _read_box(fields.nested(one, f"{name}."))
        if box is not None:
            boxes.append(NamedBox(field=name, box=box))
    return tuple(boxes)


def check_inside(named: NamedBox, size: Size, file: str, item: int, problems: list[Problem]) -> None:
    """See that the centre of a box lies on its screenshot.

    Boxes are drawn by hand over the picture and may hang over its edge; the official scorer takes them as they are,
    and so do we. The centre, however, stands for the box: where it lies outside, at least half of the box does, and the
    annotation belongs to another picture or another scale.
    """
    box = named.box
    center = box.center
    if 0 <= center.x_px <= size.width and 0 <= center.y_px <= size.height:
        return
    edges = f"{box.left_px:g}, {box.top_px:g} to {box.right_px:g}, {box.bottom_px:g}"
    problems.append(
        Problem(
            file=file,
            item=item,
            field=named.field,
            value=f"({edges})",
            what=f"has its centre outside its screenshot of {size.width} x {size.height} pixels",
            fix=f"give x, y, width and height in pixels of that picture: {_CORRECT}",
        )
    )


def _read_box(fields: Fields) -> Box | None:
    x, y = fields.pixels("x", _CORRECT), fields.pixels("y", _CORRECT)
    width, height = fields.pixels("width", _CORRECT), fields.pixels("height", _CORRECT)
    for name, length in (("width", width), ("height", height)):
        if length is not None and length <= 0:
            fields.report(name, "must be above 0", _CORRECT, length)
    if x is None or y is None or width is None or height is None:
        return None
    if width <= 0 or height <= 0:
        return None
    return Box(left_px=float(x), top_px=float(y), right_px=float(x + width), bottom_px=float(y + height))
