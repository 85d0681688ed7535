"""The status bar, and the strip for messages that must not be overlooked and stop nobody."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable, Sequence
from functools import partial
from tkinter import ttk

from annotate.boxes import edges_of
from annotate.window.canvas import PictureCanvas
from annotate.window.style import Style

_MESSAGE_MS = 8000


class StatusBar(ttk.Frame):
    """Message, cursor, box, zoom and whether all is saved. All lengths are image pixels."""

    def __init__(self, parent: tk.Misc, style: Style) -> None:
        super().__init__(parent, padding=(style.px(10), style.px(3), style.px(10), style.px(4)))
        self._timer: str | None = None
        self.saved = self._cell(18, "e")
        self.zoom = self._cell(8, "e")
        self.box = self._cell(32, "w")
        self.cursor = self._cell(16, "w")
        self._message = ttk.Label(self, style="Status.TLabel", anchor="w", width=1)
        self._message.pack(side="left", fill="x", expand=True)

    def say(self, text: str) -> None:
        """Show a message for some seconds."""
        if self._timer is not None:
            self.after_cancel(self._timer)
        self._message.configure(text=text)
        self._timer = self.after(_MESSAGE_MS, self._forget)

    def show_view(self, canvas: PictureCanvas) -> None:
        """Show cursor, box and zoom as they are on the canvas now."""
        point = canvas.cursor()
        _put(self.cursor, "" if point is None else f"x {int(point.x_px)}   y {int(point.y_px)}")
        number = canvas.shown_selection()
        boxes = canvas.boxes()
        if number is not None and number < len(boxes):
            edges = edges_of(boxes[number])
            wide, high = edges.right_px - edges.left_px, edges.bottom_px - edges.top_px
            _put(self.box, f"box {number + 1}:  {wide:g} x {high:g} px at {edges.left_px:g}, {edges.top_px:g}")
        else:
            _put(self.box, "")
        _put(self.zoom, f"{canvas.transform.scale * 100:.0f} %")

    def _cell(self, width: int, anchor: str) -> ttk.Label:
        label = ttk.Label(self, style="Status.TLabel", width=width, anchor=anchor)  # type: ignore[arg-type]
        label.pack(side="right", padx=(8, 0))
        return label

    def _forget(self) -> None:
        self._timer = None
        self._message.configure(text="")


class Banners(ttk.Frame):
    """Messages above the picture, one below the other, each until it is closed."""

    def __init__(self, parent: tk.Misc, style: Style) -> None:
        super().__init__(parent)
        self._style = style
        self._strips: dict[str, ttk.Frame] = {}
        self._shown: dict[str, tuple[object, ...]] = {}
        # A frame without children keeps the height that it had last.
        self._empty = ttk.Frame(self, height=1, style="Line.TFrame")
        self._empty.pack(fill="x")

    def show(self, key: str, text: str, buttons: Sequence[tuple[str, Callable[[], object]]]) -> None:
        """Show a message, in place of the one with the same key."""
        shown = (text, *buttons)
        if key in self._strips and self._shown[key] == shown:
            return  # Somebody may just be about to press one of its buttons.
        self.clear(key)
        self._shown[key] = shown
        px = self._style.px
        strip = ttk.Frame(self, style="Banner.TFrame", padding=(px(12), px(7)))
        ttk.Button(strip, text="Close", style="Banner.TButton", takefocus=False, command=lambda: self.clear(key)).pack(
            side="right", anchor="n", padx=(px(6), 0)
        )
        for words, handler in reversed(buttons):
            ttk.Button(
                strip, text=words, style="Banner.TButton", takefocus=False,
                command=partial(self._do, key, handler),
            ).pack(side="right", anchor="n", padx=(px(6), 0))  # fmt: skip
        label = ttk.Label(strip, text=text, style="Banner.TLabel", justify="left")
        label.pack(side="left", fill="x", expand=True)
        label.bind("<Configure>", lambda event: label.configure(wraplength=max(event.width, px(120))))
        strip.pack(fill="x")
        self._strips[key] = strip

    def clear(self, key: str) -> None:
        """Take a message away, if it is there."""
        strip = self._strips.pop(key, None)
        if strip is not None:
            strip.destroy()

    def _do(self, key: str, handler: Callable[[], object]) -> None:
        self.clear(key)
        handler()


class NoticeBoard:
    """Both together, as a session asks for them."""

    def __init__(self, bar: StatusBar, banners: Banners) -> None:
        self._bar, self._banners = bar, banners

    def status(self, text: str) -> None:
        """Show a short message."""
        self._bar.say(text)

    def banner(self, key: str, text: str, buttons: Sequence[tuple[str, Callable[[], object]]]) -> None:
        """Show a message until it is closed."""
        self._banners.show(key, text, buttons)

    def clear_banner(self, key: str) -> None:
        """Take a message away."""
        self._banners.clear(key)


def _put(label: ttk.Label, text: str) -> None:
    if label.cget("text") != text:
        label.configure(text=text)
