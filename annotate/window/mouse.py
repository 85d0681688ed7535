"""What the mouse does on the canvas: draw, move, pull at a handle, push the picture, zoom."""

import tkinter as tk
from typing import Literal

from grounding.records import Point

from ..core.records import Handle, MarkedBox, box_at, drawn, with_added, with_box
from ..core.view import ViewPoint
from .canvas import PictureCanvas

_CURSORS: dict[Handle, str] = {
    "nw": "top_left_corner", "n": "sb_v_double_arrow", "ne": "top_right_corner", "e": "sb_h_double_arrow",
    "se": "bottom_right_corner", "s": "sb_v_double_arrow", "sw": "bottom_left_corner", "w": "sb_h_double_arrow",
}  # fmt: skip
_REACH_VIEW = 6
_STILL_VIEW = 3  # A press that moves less than this is a click: it never moves a box and never draws one.
_WHEEL_VIEW = 60

Doing = Literal["", "pan", "draw", "move box", "resize box"]
_Event = tk.Event


class Mouse:
    """The hand on the canvas. A box in the hand is a preview; letting go makes it a change of the document."""

    def __init__(self, canvas: PictureCanvas) -> None:
        self._canvas, self._session = canvas, canvas.session
        self._doing: Doing = ""
        self._press_view = self._last_view = (0, 0)
        self._press = Point(x_px=0, y_px=0)
        self._number: int | None = None
        self._box: MarkedBox | None = None
        self._handle: Handle | None = None
        self._clicked: int | None = None
        self._far = self._drawing_wanted = False
        # What is in the hand belongs to the step that was shown.
        self._session.watch(step=lambda _index: self.cancel())
        for event, work in {
            "<ButtonPress-1>": self._pressed, "<ButtonPress-2>": self._pan_pressed,
            "<B1-Motion>": self._dragged, "<B2-Motion>": self._dragged,
            "<ButtonRelease-1>": self._released, "<ButtonRelease-2>": self._released,
            "<Double-Button-1>": self._double, "<Motion>": self._hover, "<Enter>": self._hover,
            "<Leave>": lambda _event: canvas.pointer_moved(None),
            "<Button-4>": lambda event: self._wheel(event, 1), "<Button-5>": lambda event: self._wheel(event, -1),
            "<MouseWheel>": lambda event: self._wheel(event, 1 if event.delta > 0 else -1),
        }.items():  # fmt: skip
            canvas.bind(event, work)

    def want_drawing(self) -> None:
        self._drawing_wanted = True
        self._canvas.focus_set()
        self._session.status("Drag to draw a box; Escape leaves it")

    def cancel(self) -> bool:
        """Put back what is in the hand; False where nothing was."""
        was = bool(self._doing) or self._drawing_wanted
        self._doing, self._drawing_wanted = "", False
        self._number = self._box = self._handle = None
        self._canvas.set_preview(None, None)
        return was

    def _start(self, event: _Event, doing: Doing) -> None:
        self._press_view = self._last_view = (event.x, event.y)
        self._press = self._canvas.transform.to_image(event.x, event.y)
        self._far, self._doing = False, doing
        self._number = self._box = self._handle = None

    def _pressed(self, event: _Event) -> None:
        self._canvas.focus_set()
        self._session.finish_edits()
        session = self._session
        self._start(event, "draw" if session.picture is not None else "")
        boxes, reach, selected = session.entry.boxes, self._reach(), session.selected
        if session.picture is None or self._drawing_wanted:
            return
        if selected is not None:
            self._handle = boxes[selected].handle_at(self._press, reach)
        if self._handle is not None:
            self._doing, self._number = "resize box", selected
        elif (under := box_at(boxes, self._press, reach)) is not None:
            # A drag moves the selected box, even where a smaller one lies on it; a click selects that one.
            if selected is None or not boxes[selected].covers(self._press):
                session.select(under)
            self._clicked, self._doing, self._number = under, "move box", session.selected
        self._box = None if self._number is None else boxes[self._number]

    def _pan_pressed(self, event: _Event) -> None:
        self.cancel()
        self._start(event, "pan")
        self._canvas.configure(cursor="fleur")

    def _dragged(self, event: _Event) -> None:
        if self._doing == "pan":
            self._canvas.pan(event.x - self._last_view[0], event.y - self._last_view[1])
            self._last_view = (event.x, event.y)
        else:
            self._pull(event.x, event.y)
        self._canvas.pointer_moved(ViewPoint(event.x, event.y))

    def _pull(self, x_view: int, y_view: int) -> None:
        far = max(abs(x_view - self._press_view[0]), abs(y_view - self._press_view[1]))
        self._far = self._far or far >= _STILL_VIEW * self._canvas.style.unit
        size = self._session.picture_size
        if not self._far or size is None:
            return
        point = self._canvas.transform.to_image(x_view, y_view)
        dx, dy = point.x_px - self._press.x_px, point.y_px - self._press.y_px
        if self._doing == "draw":
            self._canvas.set_preview(drawn(self._press, point, size), None)
        elif self._box is not None and self._handle is not None:
            # The edge goes as far as the hand does, whatever part of the handle it holds.
            at = self._box.handle_place(self._handle)
            to = Point(x_px=at.x_px + dx, y_px=at.y_px + dy)
            self._canvas.set_preview(self._box.resized(self._handle, to, size), self._number)
        elif self._box is not None:
            self._canvas.set_preview(self._box.moved(dx, dy, size), self._number)

    def _released(self, event: _Event) -> None:
        session, doing = self._session, self._doing
        if doing != "pan":
            self._pull(event.x, event.y)
        box, self._doing = self._canvas.preview, ""
        self._canvas.set_preview(None, None)
        if doing == "draw":
            self._finish_drawing(box)
        elif box is not None and self._number is not None:
            session.change(with_box(session.entry, self._number, box), doing)
        elif doing == "move box" and self._clicked != session.selected:
            session.select(self._clicked)
        self._hover(event)

    def _finish_drawing(self, box: MarkedBox | None) -> None:
        session = self._session
        if box is None:
            if not self._drawing_wanted:
                session.select(None)
            return
        self._drawing_wanted = False
        entry = with_added(session.entry, [box])
        if entry == session.entry:
            session.status("There is a box at this very place already")
        session.change(entry, "draw box")
        session.select(len(session.entry.boxes) - 1)

    def _double(self, event: _Event) -> None:
        if not self._canvas.pick_overlay(self._canvas.transform.to_image(event.x, event.y)):
            self._pressed(event)

    def _wheel(self, event: _Event, direction: int) -> None:
        state = int(event.state)
        self._canvas.pointer_moved(ViewPoint(event.x, event.y))
        if state & 0x4:
            self._canvas.zoom_step(direction)
            return
        distance, shift = round(direction * _WHEEL_VIEW * self._canvas.style.unit), bool(state & 0x1)
        self._canvas.pan(distance if shift else 0, 0 if shift else distance)

    def _hover(self, event: _Event) -> None:
        self._canvas.pointer_moved(ViewPoint(event.x, event.y))
        if self._doing:
            return
        name, selected = "tcross", self._session.selected
        if selected is not None and not self._drawing_wanted:
            box, point = self._session.entry.boxes[selected], self._canvas.transform.to_image(event.x, event.y)
            handle = box.handle_at(point, self._reach())
            name = _CURSORS[handle] if handle is not None else "fleur" if box.covers(point) else name
        if str(self._canvas["cursor"]) != name:
            self._canvas.configure(cursor=name)

    def _reach(self) -> float:
        return _REACH_VIEW * self._canvas.style.unit / self._canvas.transform.scale
