"""The boxes on the canvas: outlines only, handles at the selected one. Items are moved, not made anew."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Sequence

from annotate.boxes import HANDLES, edges_of, handle_place
from annotate.records import MarkedBox
from annotate.view_transform import ViewTransform

BOX_COLOUR = "#2f7df6"
SELECTED_COLOUR = "#ff7a1a"
_HALO = "#ffffff"
_HANDLE_VIEW, _SMALL_HANDLE_VIEW = 4, 3
_SMALL_BOX_VIEW = 44


class BoxLayer:
    """Two rectangles for each box, a light one below a coloured one: seen on any background.

    Args:
        canvas: Where the boxes are shown.
        unit: How many view pixels are one at 96 dpi.
    """

    def __init__(self, canvas: tk.Canvas, unit: float) -> None:
        self._canvas = canvas
        self._unit = unit
        self._halos: list[int] = []
        self._lines: list[int] = []
        self._handles: list[int] = []
        self._count = 0
        self._selected: int | None = None
        self._visible = True

    def show(self, boxes: Sequence[MarkedBox], transform: ViewTransform, selected: int | None) -> None:
        """Draw all boxes anew, with as few new items as possible."""
        while len(self._lines) < len(boxes):
            self._add()
        state = "normal" if self._visible else "hidden"
        for number, box in enumerate(boxes):
            self.place(number, box, transform)
            self._canvas.itemconfigure(self._halos[number], state=state)
            self._canvas.itemconfigure(self._lines[number], state=state)
        for number in range(len(boxes), self._count):
            self._canvas.itemconfigure(self._halos[number], state="hidden")
            self._canvas.itemconfigure(self._lines[number], state="hidden")
        self._count = len(boxes)
        self.select(boxes, transform, selected)

    def select(self, boxes: Sequence[MarkedBox], transform: ViewTransform, selected: int | None) -> None:
        """Mark another box as the selected one and put the handles there."""
        for number in {self._selected, selected} - {None}:
            if number is not None and number < len(self._lines):
                chosen = number == selected
                self._canvas.itemconfigure(
                    self._lines[number],
                    outline=SELECTED_COLOUR if chosen else BOX_COLOUR,
                    width=self._px(2 if chosen else 1.5),
                )
        self._selected = selected
        if selected is None or not self._visible or selected >= len(boxes):
            for handle in self._handles:
                self._canvas.itemconfigure(handle, state="hidden")
            return
        self._canvas.tag_raise(self._halos[selected])
        self._canvas.tag_raise(self._lines[selected])
        self._make_handles()
        self.place(selected, boxes[selected], transform)

    def place(self, number: int, box: MarkedBox, transform: ViewTransform) -> None:
        """Bring one box to its place, and the handles, if they are its own."""
        edges = edges_of(box)
        start = transform.to_view(edges.left_px, edges.top_px)
        end = transform.to_view(edges.right_px, edges.bottom_px)
        for item in (self._halos[number], self._lines[number]):
            self._canvas.coords(item, start.x_view, start.y_view, end.x_view, end.y_view)
        if number == self._selected and self._visible and self._handles:
            self._place_handles(box, transform)

    def moved(self, dx_view: int, dy_view: int) -> None:
        """The view was pushed."""
        self._canvas.move("box", dx_view, dy_view)

    def set_visible(self, visible: bool) -> None:
        """Show or hide all; ``show`` must follow."""
        self._visible = visible

    def _add(self) -> None:
        for items, colour, width in ((self._halos, _HALO, 3), (self._lines, BOX_COLOUR, 1.5)):
            items.append(
                self._canvas.create_rectangle(
                    0, 0, 0, 0, outline=colour, width=self._px(width), state="hidden", tags=("box",)
                )
            )

    def _make_handles(self) -> None:
        if not self._handles:
            self._handles = [
                self._canvas.create_rectangle(
                    0, 0, 0, 0, fill="#ffffff", outline=SELECTED_COLOUR, width=self._px(1.5), tags=("box",)
                )
                for _ in HANDLES
            ]
        for item in self._handles:
            self._canvas.tag_raise(item)

    def _place_handles(self, box: MarkedBox, transform: ViewTransform) -> None:
        wide, high = box.width_px * transform.scale, box.height_px * transform.scale
        # What the box is about must be seen: small boxes get small handles, and only at the corners.
        reach = self._px(_HANDLE_VIEW if min(wide, high) >= self._px(_SMALL_BOX_VIEW) else _SMALL_HANDLE_VIEW)
        room = self._px(_SMALL_BOX_VIEW)
        for name, item in zip(HANDLES, self._handles, strict=True):
            crowded = (name in "ns" and wide < room) or (name in "we" and high < room)
            if crowded:
                self._canvas.itemconfigure(item, state="hidden")
                continue
            at = handle_place(box, name)
            middle = transform.to_view(at.x_px, at.y_px)
            self._canvas.coords(
                item, middle.x_view - reach, middle.y_view - reach, middle.x_view + reach, middle.y_view + reach
            )
            self._canvas.itemconfigure(item, state="normal")

    def _px(self, at_96_dpi: float) -> int:
        return max(round(at_96_dpi * self._unit), 1)
