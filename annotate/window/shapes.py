"""What is drawn over the picture: each shape is a record with its own drawing and hit test.

The step's own boxes are moved about by hand many times a second: their items on the canvas stay; their hit test is in
:mod:`annotate.core.records`.
"""

import tkinter as tk
from collections.abc import Sequence
from typing import Protocol

from grounding.records import Box, Point, Record

from ..core.records import HANDLES, MarkedBox
from ..core.view import ViewTransform

BOX_COLOUR, SELECTED_COLOUR, HALO = "#2f7df6", "#ff7a1a", "#ffffff"
_RING_VIEW, _ARM_VIEW = 9, 14
_HANDLE_VIEW, _SMALL_HANDLE_VIEW, _SMALL_BOX_VIEW = 4, 3, 44


class OverlayShape(Protocol):
    def draw(self, canvas: tk.Canvas, transform: ViewTransform, unit: float, tags: tuple[str, ...]) -> None:
        """Draw it; ``unit`` is how many view pixels are one at 96 dpi."""

    def area_under(self, point: Point, reach_px: float) -> float | None:
        """Its area in square image pixels where it covers a place; None where it does not."""


class OverlayBox(Record, frozen=True, kw_only=True):
    """A rectangle. ``halo`` is a white line around it, for a few that must be seen on any ground."""

    box: Box
    colour: str = "#f59e0b"
    label: str = ""
    dashed: bool = True
    halo: bool = True

    def draw(self, canvas: tk.Canvas, transform: ViewTransform, unit: float, tags: tuple[str, ...]) -> None:
        left, top, right, bottom = corners = transform.corners(self.box)
        if self.halo:
            canvas.create_rectangle(*corners, outline=HALO, width=_px(3, unit), tags=tags)
        dash = (6, 4) if self.dashed else ()
        canvas.create_rectangle(
            left, top, right, bottom, outline=self.colour, width=_px(1.5, unit), dash=dash, tags=tags
        )
        _draw_label(canvas, self.label, self.colour, left, top, unit, tags)

    def area_under(self, point: Point, reach_px: float) -> float | None:
        box = self.box
        across = box.left_px - reach_px <= point.x_px <= box.right_px + reach_px
        down = box.top_px - reach_px <= point.y_px <= box.bottom_px + reach_px
        return box.area_px2 if across and down else None


class OverlayPoint(Record, frozen=True, kw_only=True):
    """A place, as a cross in a ring, such as a model's click."""

    point: Point
    colour: str = "#dc2626"
    label: str = ""

    def draw(self, canvas: tk.Canvas, transform: ViewTransform, unit: float, tags: tuple[str, ...]) -> None:
        x, y = transform.to_view(self.point.x_px, self.point.y_px)
        ring, arm = _px(_RING_VIEW, unit), _px(_ARM_VIEW, unit)
        for colour, width in ((HALO, _px(4, unit)), (self.colour, _px(2, unit))):
            canvas.create_oval(x - ring, y - ring, x + ring, y + ring, outline=colour, width=width, tags=tags)
            canvas.create_line(x - arm, y, x + arm, y, fill=colour, width=width, tags=tags)
            canvas.create_line(x, y - arm, x, y + arm, fill=colour, width=width, tags=tags)
        _draw_label(canvas, self.label, self.colour, x + arm, y - ring, unit, tags)

    def area_under(self, point: Point, reach_px: float) -> float | None:
        near = max(abs(self.point.x_px - point.x_px), abs(self.point.y_px - point.y_px)) <= 2 * reach_px
        return 0.0 if near else None


class BoxLayer:
    """The step's boxes: two rectangles for each, a light one below a coloured one, seen on any background."""

    def __init__(self, canvas: tk.Canvas, unit: float) -> None:
        self._canvas, self._unit = canvas, unit
        self._items: list[tuple[int, int]] = []
        self._count = 0
        self._selected: int | None = None
        self._handles = [self._rectangle(SELECTED_COLOUR, 1.5, fill="#ffffff") for _ in HANDLES]

    def _rectangle(self, colour: str, width: float, fill: str = "") -> int:
        line = _px(width, self._unit)
        return self._canvas.create_rectangle(
            0, 0, 0, 0, outline=colour, width=line, fill=fill, tags=("box",), state="hidden"
        )

    def show(self, boxes: Sequence[MarkedBox], transform: ViewTransform, selected: int | None) -> None:
        """Draw all boxes, the selected one on top and with handles, with as few new items as possible."""
        canvas = self._canvas
        while len(self._items) < len(boxes):
            self._items.append((self._rectangle(HALO, 3), self._rectangle(BOX_COLOUR, 1.5)))
        self._selected = selected if selected is not None and selected < len(boxes) else None
        left_over = (item for pair in self._items[len(boxes) : self._count] for item in pair)
        for item in (*self._handles, *left_over):
            canvas.itemconfigure(item, state="hidden")
        self._count = len(boxes)
        for number, (box, (halo, line)) in enumerate(zip(boxes, self._items, strict=False)):
            colour, width = (SELECTED_COLOUR, 2.0) if number == selected else (BOX_COLOUR, 1.5)
            canvas.itemconfigure(halo, state="normal")
            canvas.itemconfigure(line, state="normal", outline=colour, width=_px(width, self._unit))
            self.place(number, box, transform)
        if self._selected is not None:
            for item in (*self._items[self._selected], *self._handles):
                canvas.tag_raise(item)

    def place(self, number: int, box: MarkedBox, transform: ViewTransform) -> None:
        for item in self._items[number]:
            self._canvas.coords(item, *transform.corners(box.box))
        if number != self._selected:
            return
        wide, high = box.width_px * transform.scale, box.height_px * transform.scale
        # What the box is about must be seen: small boxes get small handles, and only at the corners.
        room = _px(_SMALL_BOX_VIEW, self._unit)
        reach = _px(_HANDLE_VIEW if min(wide, high) >= room else _SMALL_HANDLE_VIEW, self._unit)
        for name, item in zip(HANDLES, self._handles, strict=True):
            crowded = (name in "ns" and wide < room) or (name in "we" and high < room)
            at = box.handle_place(name)
            x, y = transform.to_view(at.x_px, at.y_px)
            self._canvas.coords(item, x - reach, y - reach, x + reach, y + reach)
            self._canvas.itemconfigure(item, state="hidden" if crowded else "normal")


def _px(at_96_dpi: float, unit: float) -> int:
    return max(round(at_96_dpi * unit), 1)


def _draw_label(
    canvas: tk.Canvas, text: str, colour: str, x: float, y: float, unit: float, tags: tuple[str, ...]
) -> None:
    if text:
        pad = _px(3, unit)
        words = canvas.create_text(
            x + pad, y - pad, text=text[:80], anchor="sw", fill="#ffffff", font="TkSmallCaptionFont", tags=tags
        )
        left, top, right, bottom = canvas.bbox(words)
        around = (left - pad, top - 1, right + pad, bottom + 1)
        canvas.tag_lower(canvas.create_rectangle(*around, fill=colour, outline="", tags=tags), words)
