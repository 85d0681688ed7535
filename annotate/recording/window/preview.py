"""The screen at the cursor's time, as large as there is room, with the pointer that was seen there."""

from __future__ import annotations

import tkinter as tk
from typing import Any

from annotate.recording.window.cut_session import CutSession
from annotate.recording.window.time_view import clock
from annotate.window.background import Background
from annotate.window.style import ACCENT, CANVAS, CANVAS_WORDS, Style

SOON_MS = 60
"""A cursor that is being dragged asks for one picture when it rests, not for each on the way."""


class Preview(tk.Canvas):
    """The middle of the window."""

    def __init__(self, parent: tk.Misc, session: CutSession, style: Style, background: Background) -> None:
        super().__init__(parent, background=CANVAS, highlightthickness=0, takefocus=0)
        self._session, self._style, self._background = session, style, background
        self._picture: Any = None
        self._shown: Any = None
        self._of_s = -1.0
        self._wanted_s = session.cursor_s
        self._timer: str | None = None
        self._reading = False
        self._words = "reading the picture …"
        self.bind("<Configure>", lambda _event: self._draw())
        session.watch(on_cursor=self._ask_soon, on_step=self._draw, on_plan=self._draw)
        self._ask_soon()

    def _ask_soon(self) -> None:
        self._wanted_s = self._session.cursor_s
        if self._timer is None:
            self._timer = self.after(SOON_MS, self._ask)
        self._draw_words()

    def _ask(self) -> None:
        self._timer = None
        if self._reading or self._wanted_s == self._of_s:
            return
        self._reading = True
        time_s = self._wanted_s
        self._background.run(
            lambda: self._session.recording.picture_at(time_s), lambda found: self._came(time_s, found), self._failed
        )

    def _came(self, time_s: float, picture: Any) -> None:
        from PIL import Image

        self._reading = False
        self._picture, self._of_s = Image.fromarray(picture), time_s
        self._draw()
        if self._wanted_s != time_s:
            self._ask()

    def _failed(self, error: Exception) -> None:
        self._reading = False
        self._picture, self._words = None, str(error)
        self._of_s = self._wanted_s
        self._draw()

    def _draw(self) -> None:
        from PIL import Image, ImageTk

        self.delete("all")
        wide, high = self.winfo_width(), self.winfo_height()
        if self._picture is None:
            self.create_text(wide / 2, high / 2, text=self._words, fill=CANVAS_WORDS, width=wide * 0.8)
            return
        scale = min(wide / self._picture.width, high / self._picture.height, 1.0)
        size = max(1, round(self._picture.width * scale)), max(1, round(self._picture.height * scale))
        self._shown = ImageTk.PhotoImage(self._picture.resize(size, Image.Resampling.BILINEAR), master=self)
        left, top = (wide - size[0]) // 2, (high - size[1]) // 2
        self.create_image(left, top, image=self._shown, anchor="nw")
        self._draw_pointer(left, top, scale)
        self._draw_words()

    def _draw_pointer(self, left: int, top: int, scale: float) -> None:
        step = self._session.step
        if step is None or step.pointer is None or abs(step.screenshot_s - self._of_s) > 0.05:
            return
        x, y, px = left + step.pointer.x_px * scale, top + step.pointer.y_px * scale, self._style.px
        for colour, width in (("#ffffff", px(4)), (ACCENT, px(2))):
            self.create_oval(x - px(12), y - px(12), x + px(12), y + px(12), outline=colour, width=width)

    def _draw_words(self) -> None:
        self.delete("words")
        px = self._style.px
        step, cursor_s = self._session.step, self._session.cursor_s
        words = f"{clock(cursor_s, 2)}"
        if step is not None and abs(step.screenshot_s - cursor_s) < 0.005:
            words += f" · screenshot of step {self._session.index + 1}"
        item = self.create_text(
            px(8), self.winfo_height() - px(8), text=words, anchor="sw", fill=CANVAS_WORDS, font=self._style.small,
            tags="words",
        )  # fmt: skip
        left, top, right, bottom = self.bbox(item)
        ground = self.create_rectangle(
            left - px(5), top - px(3), right + px(5), bottom + px(3), fill=CANVAS, outline="", tags="words"
        )
        self.tag_raise(item, ground)
