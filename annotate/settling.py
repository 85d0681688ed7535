"""What a changed step is before it counts: whole pixels, a state that fits its boxes."""

from __future__ import annotations

import math

from msgspec.structs import replace

from annotate.native_item import Item, same_place
from annotate.records import Entry, MarkedBox
from grounding.loaders.fields import LARGEST_PX


def settle(entry: Entry, item: Item | None) -> Entry:
    """The entry as it is kept.

    A box that is where the file has it keeps its numbers; any other one gets whole pixels, one at least each way. A box
    whose ``source`` is no box of the file, or another one's already, is a box of its own. ``boxes`` without a box is
    ``todo``.

    Args:
        entry: What the annotator made.
        item: The step as the file has it, None for a step that is in no file.

    Raises:
        ValueError: boxes on a step whose state is not ``boxes``, or numbers that are no pixels.
    """
    if entry.boxes and entry.state != "boxes":
        raise ValueError(f"a step with boxes can't be {entry.state!r}")
    if entry.state == "boxes" and not entry.boxes:
        return replace(entry, state="todo")
    known = {} if item is None else {box.source: box for box in item.entry.boxes}
    settled = []
    for box in entry.boxes:
        before = known.pop(box.source, None)
        if before is None:
            box = replace(box, source=None)
        settled.append(box if before is not None and same_place(box, before) else _whole(box))
    return replace(entry, boxes=tuple(settled))


def _whole(box: MarkedBox) -> MarkedBox:
    """The box with its edges on the nearest whole pixels, halves upwards."""
    numbers = (box.x_px, box.y_px, box.width_px, box.height_px)
    if not all(math.isfinite(number) and abs(number) <= LARGEST_PX for number in numbers):
        raise ValueError(f"not a box in pixels: {box}")
    left, top = _nearest(box.x_px), _nearest(box.y_px)
    width = _nearest(box.x_px + box.width_px) - left
    height = _nearest(box.y_px + box.height_px) - top
    return replace(
        box, x_px=float(left), y_px=float(top), width_px=float(max(1, width)), height_px=float(max(1, height))
    )


def _nearest(value: float) -> int:
    return math.floor(value + 0.5)
