"""Steps and the boxes on them: records, and what an annotator does to them. Pure.

A pixel is one of the picture as it is shown upright (its EXIF rotation applied), origin at the top left.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec.structs import replace

from grounding.records import Box, Point, Record, Size

State = Literal["todo", "boxes", "no-click"]
"""``todo``: nobody has looked yet. ``boxes``: where a click is right. ``no-click``: the step is not a click, or its
target is not on the screen (``null`` in the release layout)."""


class Kind(Record, frozen=True):
    """What a target may be: as files have it, as the window shows it, and as formats with classes name it."""

    name: str
    words: str
    class_name: str


KINDS: tuple[Kind, ...] = (
    Kind(name="", words="Not said", class_name="target"),
    Kind(name="text", words="Text", class_name="text"),
    Kind(name="icon", words="Icon", class_name="icon"),
)  # All kinds, in the order in which the key goes through them; another kind is another line.
Handle = Literal["nw", "n", "ne", "e", "se", "s", "sw", "w"]
HANDLES: tuple[Handle, ...] = ("nw", "n", "ne", "e", "se", "s", "sw", "w")
MIN_SIDE_PX = 2  # No box that a hand draws has a side shorter than this, unless the picture itself is smaller.


class MarkedBox(Record, frozen=True, kw_only=True):
    """A rectangle somebody drew. Whole pixels, except in files that came with fractions and were not touched since.
    ``source`` is its place in the file's list, so that unknown fields stay with it; None for a box that was drawn here.
    """

    x_px: float
    y_px: float
    width_px: float
    height_px: float
    kind: str = ""
    source: int | None = None

    @property
    def place(self) -> tuple[float, float, float, float]:
        return self.x_px, self.y_px, self.width_px, self.height_px

    @property
    def box(self) -> Box:
        right, bottom = self.x_px + self.width_px, self.y_px + self.height_px
        return Box(left_px=self.x_px, top_px=self.y_px, right_px=right, bottom_px=bottom)

    @property
    def centre(self) -> Point:
        return self.box.center

    def covers(self, point: Point, reach_px: float = 0.0) -> bool:
        """The hit test: whether a place is in it, or no farther away than ``reach_px``; edges belong to it."""
        across = self.x_px - reach_px <= point.x_px <= self.x_px + self.width_px + reach_px
        return across and self.y_px - reach_px <= point.y_px <= self.y_px + self.height_px + reach_px

    def handle_place(self, handle: Handle) -> Point:
        edges, middle = self.box, self.centre
        return Point(
            x_px=edges.left_px if "w" in handle else edges.right_px if "e" in handle else middle.x_px,
            y_px=edges.top_px if "n" in handle else edges.bottom_px if "s" in handle else middle.y_px,
        )

    def handle_at(self, point: Point, reach_px: float) -> Handle | None:
        """The handle near a place; corners go before edges. Along an edge, all of the edge takes hold of it."""
        if not self.covers(point, reach_px):
            return None
        edges = self.box
        # In a box of a few view pixels the nearer edge is meant, and its middle must stay free to move it.
        reach_x, reach_y = min(reach_px, self.width_px / 3), min(reach_px, self.height_px / 3)
        north, south = point.y_px <= edges.top_px + reach_y, point.y_px >= edges.bottom_px - reach_y
        west, east = point.x_px <= edges.left_px + reach_x, point.x_px >= edges.right_px - reach_x
        name = ("n" if north else "s" if south else "") + ("w" if west else "e" if east else "")
        return next((handle for handle in HANDLES if handle == name), None)

    def moved(self, dx_px: float, dy_px: float, picture: Size) -> MarkedBox:
        width, height = max(nearest_whole(self.width_px), 1), max(nearest_whole(self.height_px), 1)
        return replace(
            self,
            x_px=min(max(nearest_whole(self.x_px + dx_px), 0), max(picture.width - width, 0)),
            y_px=min(max(nearest_whole(self.y_px + dy_px), 0), max(picture.height - height, 0)),
            width_px=min(width, picture.width),
            height_px=min(height, picture.height),
        )

    def resized(self, handle: Handle, to: Point, picture: Size) -> MarkedBox:
        """With a handle pulled to a place, over the other edge perhaps; whole, inside, not too small."""
        edges = self.box
        west, east = "w" in handle, "e" in handle
        north, south = "n" in handle, "s" in handle
        x, x_end = _side(to.x_px if west else edges.left_px, to.x_px if east else edges.right_px, picture.width)
        y, y_end = _side(to.y_px if north else edges.top_px, to.y_px if south else edges.bottom_px, picture.height)
        return replace(self, x_px=x, y_px=y, width_px=x_end - x, height_px=y_end - y)

    def inside(self, picture: Size) -> MarkedBox | None:
        """The part of it that lies in a picture; None where none does."""
        edges = self.box
        left, top = max(edges.left_px, 0), max(edges.top_px, 0)
        right, bottom = min(edges.right_px, picture.width), min(edges.bottom_px, picture.height)
        if right <= left or bottom <= top:
            return None
        return replace(self, x_px=left, y_px=top, width_px=right - left, height_px=bottom - top)


def drawn(start: Point, end: Point, picture: Size) -> MarkedBox:
    corner = MarkedBox(x_px=start.x_px, y_px=start.y_px, width_px=0, height_px=0)
    return corner.resized("se", end, picture)


def box_at(boxes: Sequence[MarkedBox], point: Point, reach_px: float) -> int | None:
    """The box under a place: the smallest that covers it, so that one inside another can be reached."""
    covering = [(box.width_px * box.height_px, -number) for number, box in enumerate(boxes)
                if box.covers(point, reach_px)]  # fmt: skip
    return -min(covering)[1] if covering else None


def overlap(one: Box, other: Box) -> float:
    """Intersection over union of two boxes, from 0 to 1; 0 where one of them has no area.

    >>> a = Box(left_px=0, top_px=0, right_px=10, bottom_px=10)
    >>> overlap(a, Box(left_px=5, top_px=0, right_px=15, bottom_px=10)) == 50 / 150
    True
    """
    across = min(one.right_px, other.right_px) - max(one.left_px, other.left_px)
    down = min(one.bottom_px, other.bottom_px) - max(one.top_px, other.top_px)
    shared = max(across, 0) * max(down, 0)
    # Rounding can put the quotient of two equal areas a little above 1.
    return min(1.0, shared / (one.area_px2 + other.area_px2 - shared)) if shared else 0.0


def nearest_whole(value: float) -> int:
    """The nearest whole number, halves upwards: unlike ``round`` it moves with its argument.

    >>> nearest_whole(0.5), nearest_whole(1.5), nearest_whole(-0.5)
    (1, 2, 0)
    """
    return math.floor(value + 0.5)


def _side(one: float, other: float, length: int) -> tuple[int, int]:
    start, end = (min(max(nearest_whole(edge), 0), length) for edge in sorted((one, other)))
    least = min(MIN_SIDE_PX, length)
    if end - start < least:
        start = min(start, length - least)
        end = start + least
    return start, end


class AnnotatedStep(Record, frozen=True, kw_only=True):
    """One step as the annotator sees it: a screenshot, the words, where a click is right.

    ``image`` is relative to the folder. ``transcript`` is what was said; ``instruction`` is what counts. ``at`` is when
    it was last changed, as UTC time such as 2026-01-31T09:00:00Z. ``boxes`` are empty unless ``state`` is ``boxes``.
    """

    image: str
    state: State = "todo"
    boxes: tuple[MarkedBox, ...] = ()
    instruction: str = ""
    transcript: str = ""
    task: str | int = ""
    action: str = ""
    comment: str = ""
    verified: bool = False
    annotator: str = ""
    at: str = ""


def with_boxes(entry: AnnotatedStep, boxes: Iterable[MarkedBox]) -> AnnotatedStep:
    boxes = tuple(boxes)
    return replace(entry, boxes=boxes, state="boxes" if boxes else "todo")


def with_added(entry: AnnotatedStep, boxes: Iterable[MarkedBox]) -> AnnotatedStep:
    """The entry with more boxes; one that is there already, at the same place, is not added again."""
    there = {box.place for box in entry.boxes}
    return with_boxes(entry, [*entry.boxes, *(box for box in boxes if box.place not in there)])


def with_box(entry: AnnotatedStep, number: int, box: MarkedBox | None) -> AnnotatedStep:
    boxes = [box if at == number else other for at, other in enumerate(entry.boxes)]
    return with_boxes(entry, [one for one in boxes if one is not None])


def with_kind(entry: AnnotatedStep, number: int, kind: str) -> AnnotatedStep:
    return with_box(entry, number, replace(entry.boxes[number], kind=kind))


def answered_anew(before: AnnotatedStep, after: AnnotatedStep) -> AnnotatedStep:
    """``after``, which is not verified any more where its answer is another than the one that was verified."""
    same = (before.state, before.boxes) == (after.state, after.boxes)
    return replace(after, verified=after.verified and (same or not before.verified))


def copies(boxes: Iterable[MarkedBox], picture: Size | None) -> tuple[MarkedBox, ...]:
    """Boxes for another step: nothing of the file's own fields, inside that step's picture where its size is known."""
    plain = (replace(box, source=None) for box in boxes)
    cut = (box if picture is None else box.inside(picture) for box in plain)
    return tuple(box for box in cut if box is not None)


def same_instruction(entries: Sequence[AnnotatedStep], index: int) -> range:
    """The neighbouring steps that carry out the same instruction as a step: equal words, not empty, in one task."""
    here = (entries[index].task, entries[index].instruction)
    first, end = index, index + 1
    if here[1].strip():
        while first > 0 and (entries[first - 1].task, entries[first - 1].instruction) == here:
            first -= 1
        while end < len(entries) and (entries[end].task, entries[end].instruction) == here:
            end += 1
    return range(first, end)
