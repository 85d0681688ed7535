"""What the mouse does on the canvas: draw, move, pull at a handle, push the picture, zoom."""

from __future__ import annotations

import sys
import tkinter as tk
from collections.abc import Callable
from typing import Literal

from annotate.boxes import Handle, box_at, drawn, edges_of, handle_at, handle_place, moved, resized
from annotate.edits import with_added, with_box
from annotate.records import MarkedBox
from annotate.window.canvas import PictureCanvas
from grounding.records import Point

_CURSORS: dict[Handle, str] = {
    "nw": "top_left_corner", "n": "sb_v_double_arrow", "ne": "top_right_corner", "e": "sb_h_double_arrow",
    "se": "bottom_right_corner", "s": "sb_v_double_arrow", "sw": "bottom_left_corner", "w": "sb_h_double_arrow",
}  # fmt: skip
_REACH_VIEW = 6
_STILL_VIEW = 3
"""A press that moves less than this is a click: it never moves a box and never draws one."""
_WHEEL_VIEW = 60

Doing = Literal["nothing", "pan", "draw", "move", "resize"]


class Mouse:
    """The hand on the canvas. A box in the hand is a preview; letting go makes it a change of the document.

    Args:
        canvas: Where the mouse is.
        on_menu: Called with the screen place of a right click on a box, which is then the selected one.
    """

    def __init__(self, canvas: PictureCanvas, on_menu: Callable[[int, int], object]) -> None:
        self._canvas, self._session = canvas, canvas.session
        self._on_menu = on_menu
        self._doing: Doing = "nothing"
        self._press_view = (0, 0)
        self._last_view = (0, 0)
        self._press = Point(x_px=0, y_px=0)
        self._box: MarkedBox | None = None
        self._number: int | None = None
        self._handle: Handle | None = None
        self._clicked: int | None = None
        self._far = False
        self._drawing_wanted = False
        self.pan_held = False
        self.panned_while_held = False
        canvas.bind("<ButtonPress-1>", self._pressed)
        canvas.bind("<B1-Motion>", self._dragged)
        canvas.bind("<ButtonRelease-1>", self._released)
        canvas.bind("<Double-Button-1>", self._double)
        # On a Mac the middle button is number 3.
        middle, right = (3, 2) if sys.platform == "darwin" else (2, 3)
        canvas.bind(f"<ButtonPress-{middle}>", self._pan_pressed)
        canvas.bind(f"<B{middle}-Motion>", self._dragged)
        canvas.bind(f"<ButtonRelease-{middle}>", self._released)
        canvas.bind(f"<ButtonPress-{right}>", self._menu)
        canvas.bind("<Motion>", self._hover)
        canvas.bind("<Leave>", lambda _event: canvas.pointer_left())
        canvas.bind("<Enter>", self._hover)
        self._bind_wheel()

    @property
    def busy(self) -> bool:
        """Whether a button is held and something is in the hand."""
        return self._doing != "nothing"

    def want_drawing(self, wanted: bool) -> None:
        """The next press draws a new box, wherever it is."""
        self._drawing_wanted = wanted
        self._canvas.magnifier.set_drawing(wanted)
        self._show_cursor(None)
        if wanted:
            self._session.status("Drag to draw a box; Escape leaves it")

    def cancel(self) -> bool:
        """Put back what is in the hand; False where nothing was."""
        was = self.busy or self._drawing_wanted
        self._drop()
        if self._drawing_wanted:
            self.want_drawing(False)
        return was

    # --- press, drag, release -------------------------------------------------------------------------------------

    def _pressed(self, event: tk.Event[tk.Canvas]) -> None:
        self._canvas.focus_set()
        self._session.finish_edits()
        if self.pan_held:
            self._pan_pressed(event)
            return
        self._start(event)
        if self._session.picture() is None:
            return
        boxes = self._session.entry.boxes if self._canvas.boxes_shown else ()
        reach = self._reach()
        selected = self._session.selected
        if not self._drawing_wanted:
            if selected is not None and selected < len(boxes):
                handle = handle_at(boxes[selected], self._press, reach)
                if handle is not None:
                    self._take("resize", selected, handle)
                    return
            under = box_at(boxes, self._press, reach)
            if under is not None:
                # A drag moves the selected box, even where a smaller one lies on it; a click selects that one.
                held = selected is not None and selected < len(boxes) and _covers(boxes[selected], self._press)
                if not held:
                    self._session.select(under)
                self._clicked = under
                self._take("move", selected if held and selected is not None else under, None)
                return
        self._doing, self._box, self._number = "draw", None, None
        self._canvas.magnifier.set_drawing(True)

    def _take(self, doing: Doing, number: int, handle: Handle | None) -> None:
        self._doing, self._number, self._handle = doing, number, handle
        self._box = self._session.entry.boxes[number]
        self._canvas.magnifier.set_drawing(doing == "resize")

    def _start(self, event: tk.Event[tk.Canvas]) -> None:
        self._press_view = self._last_view = (event.x, event.y)
        self._press = self._canvas.point_at(event.x, event.y)
        self._far = False

    def _pan_pressed(self, event: tk.Event[tk.Canvas]) -> None:
        self._drop()
        self._start(event)
        self._doing = "pan"
        self._canvas.configure(cursor="fleur")

    def _dragged(self, event: tk.Event[tk.Canvas]) -> None:
        if self._doing == "pan":
            self._canvas.pan(event.x - self._last_view[0], event.y - self._last_view[1])
            self._last_view = (event.x, event.y)
            self.panned_while_held = True
        elif self._doing != "nothing":
            self._pull(event.x, event.y)
        self._canvas.pointer_moved(event.x, event.y)

    def _pull(self, x_view: int, y_view: int) -> None:
        far = max(abs(x_view - self._press_view[0]), abs(y_view - self._press_view[1]))
        self._far = self._far or far >= _STILL_VIEW * self._canvas.style.unit
        size = self._session.picture_size()
        if not self._far or size is None:
            return
        point = self._canvas.point_at(x_view, y_view)
        dx, dy = point.x_px - self._press.x_px, point.y_px - self._press.y_px
        if self._doing == "draw":
            if not self._canvas.boxes_shown:
                self._session.perform("toggle-boxes")  # Nobody draws without seeing what.
            self._canvas.set_preview(drawn(self._press, point, size), None)
        elif self._box is not None and self._doing == "move":
            self._canvas.set_preview(moved(self._box, dx, dy, size), self._number)
        elif self._box is not None and self._handle is not None:
            # The edge goes as far as the hand does, whatever part of the handle it holds.
            at = handle_place(self._box, self._handle)
            to = Point(x_px=at.x_px + dx, y_px=at.y_px + dy)
            self._canvas.set_preview(resized(self._box, self._handle, to, size), self._number)

    def _released(self, event: tk.Event[tk.Canvas]) -> None:
        doing, self._doing = self._doing, "nothing"
        if doing in ("draw", "move", "resize"):
            self._doing = doing
            self._pull(event.x, event.y)
            self._doing = "nothing"
        box, number = self._canvas.preview, self._number
        self._canvas.magnifier.set_drawing(False)
        if doing == "draw":
            self._finish_drawing(box)
        elif box is not None and number is not None and doing in ("move", "resize"):
            self._canvas.set_preview(None, None)
            self._session.change(
                with_box(self._session.entry, number, box), "move box" if doing == "move" else "resize box"
            )
        elif doing == "move" and self._clicked != self._session.selected:
            self._session.select(self._clicked)
        self._hover(event)

    def _finish_drawing(self, box: MarkedBox | None) -> None:
        self._canvas.set_preview(None, None)
        if box is None:
            if not self._drawing_wanted:
                self._session.select(None)
            return
        entry = with_added(self._session.entry, [box])
        if entry == self._session.entry:
            self._session.status("There is a box at this very place already")
        else:
            self._session.change(entry, "draw box")
        if self._drawing_wanted:
            self.want_drawing(False)
        self._session.select(len(self._session.entry.boxes) - 1)

    def _drop(self) -> None:
        self._doing = "nothing"
        if self._canvas.preview is not None:
            self._canvas.set_preview(None, None)
        self._canvas.magnifier.set_drawing(self._drawing_wanted)

    def _double(self, event: tk.Event[tk.Canvas]) -> None:
        if not self._canvas.pick_overlay(self._canvas.point_at(event.x, event.y)):
            self._pressed(event)

    def _menu(self, event: tk.Event[tk.Canvas]) -> None:
        self._canvas.focus_set()
        if not self._canvas.boxes_shown:
            return
        under = box_at(self._session.entry.boxes, self._canvas.point_at(event.x, event.y), self._reach())
        if under is not None:
            self._session.select(under)
            self._on_menu(event.x_root, event.y_root)

    # --- the wheel ------------------------------------------------------------------------------------------------

    def _bind_wheel(self) -> None:
        self._canvas.bind("<MouseWheel>", lambda event: self._wheel(event, _clicks(event)))
        if sys.platform not in ("win32", "darwin"):
            self._canvas.bind("<Button-4>", lambda event: self._wheel(event, 1.0))
            self._canvas.bind("<Button-5>", lambda event: self._wheel(event, -1.0))

    def _wheel(self, event: tk.Event[tk.Canvas], clicks: float) -> None:
        state = event.state if isinstance(event.state, int) else 0
        control, shift = bool(state & 0x4), bool(state & 0x1)
        if sys.platform == "darwin":
            control = control or bool(state & 0x8)
        self._canvas.pointer_moved(event.x, event.y)
        if control:
            self._canvas.zoom_step(1 if clicks > 0 else -1)
            return
        distance = round(clicks * _WHEEL_VIEW * self._canvas.style.unit)
        self._canvas.pan(distance if shift else 0, 0 if shift else distance)

    # --- the cursor's shape ---------------------------------------------------------------------------------------

    def _hover(self, event: tk.Event[tk.Canvas]) -> None:
        self._canvas.pointer_moved(event.x, event.y)
        if self._doing == "nothing":
            self._show_cursor(self._canvas.point_at(event.x, event.y))

    def _show_cursor(self, point: Point | None) -> None:
        name = "tcross"
        selected = self._session.selected
        if self.pan_held:
            name = "fleur"
        elif point is not None and not self._drawing_wanted and self._canvas.boxes_shown:
            boxes = self._session.entry.boxes
            handle = None
            if selected is not None and selected < len(boxes):
                handle = handle_at(boxes[selected], point, self._reach())
            if handle is not None:
                name = _CURSORS[handle]
            elif selected is not None and selected < len(boxes) and _covers(boxes[selected], point):
                name = "fleur"
        if str(self._canvas["cursor"]) != name:
            self._canvas.configure(cursor=name)

    def _reach(self) -> float:
        return _REACH_VIEW * self._canvas.style.unit / self._canvas.transform.scale


def _covers(box: MarkedBox, point: Point) -> bool:
    edges = edges_of(box)
    return edges.left_px <= point.x_px <= edges.right_px and edges.top_px <= point.y_px <= edges.bottom_px


def _clicks(event: tk.Event[tk.Canvas]) -> float:
    """How far the wheel was turned: a click is 120 on Windows, 1 on a Mac."""
    return event.delta if sys.platform == "darwin" else event.delta / 120
