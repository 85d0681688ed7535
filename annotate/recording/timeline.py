"""The time line of the cut window: ruler, what was said, where the steps are, and the cursor."""

from __future__ import annotations

import tkinter as tk
from typing import Any

from ..window.style import ACCENT, INK, LINE, SOFT_INK, SURFACE, Style
from .plan import CutSession, Instruction

LEAST_SPAN_S = 1.0
SAID, UNUSED = ("#e3f0e5", "#4c9a5b"), ("#f0f0f0", "#a8adb5")
"""Ground and edge of words that steps carry out, and of others."""
MARK, HEARD = "#c2410c", "#1a7f37"
TICKS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600)


def clock(time_s: float, digits: int = 1) -> str:
    """A time as people read it: ``12:05.3``, with the hour where there is one.

    >>> clock(725.31)
    '12:05.3'
    """
    minutes, seconds = divmod(round(time_s, digits), 60)
    hours, minutes = divmod(int(minutes), 60)
    # With the point, where there are digits after it.
    text = f"{seconds:0{3 + digits if digits else 2}.{digits}f}"
    return f"{hours}:{minutes:02d}:{text}" if hours else f"{minutes}:{text}"


class Timeline(tk.Canvas):
    """The lower part of the window: ``span_s`` seconds from ``start_s`` on, never beyond the recording's ends."""

    def __init__(self, parent: tk.Misc, session: CutSession, style: Style) -> None:
        super().__init__(
            parent, height=style.px(112), background=SURFACE, highlightthickness=1, highlightbackground=LINE,
            highlightcolor=ACCENT, takefocus=1,
        )  # fmt: skip
        self._session, self._style = session, style
        self._whole_s = max(session.plan.duration_s, LEAST_SPAN_S)
        self.start_s, self.span_s = 0.0, self._whole_s
        self._heard_s: float | None = None
        self._ruler_y, self._words_y, self._end_y = (style.px(one) for one in (20, 28, 84))
        self.bind("<Configure>", lambda _event: self.draw())
        self.bind("<Button-1>", self._pressed)
        self.bind("<B1-Motion>", lambda event: session.move_cursor(self._time_at(event.x)))
        self.bind("<Button-4>", lambda event: self._wheel(event, 1))
        self.bind("<Button-5>", lambda event: self._wheel(event, -1))
        self.bind("<MouseWheel>", lambda event: self._wheel(event, 1 if event.delta > 0 else -1))

    def show_position(self, time_s: float | None) -> None:
        """Show what is being heard; None for nothing."""
        if time_s != self._heard_s:
            self._heard_s = time_s
            self._draw_lines()

    def zoom(self, factor: float, x_px: float | None = None) -> None:
        """Show ``factor`` times less, what is at a place (or the cursor) where it is; 0 shows all of the recording."""
        x_px = min(max(0.0, self.to_x(self._session.cursor_s)), self.winfo_width()) if x_px is None else x_px
        span_s = min(max(LEAST_SPAN_S, self.span_s / factor), self._whole_s) if factor else self._whole_s
        self._look(self.start_s + x_px / self.winfo_width() * (self.span_s - span_s), span_s)

    def to_x(self, time_s: float) -> float:
        """Pixels from the left edge; outside of it for a time that is not shown."""
        return (time_s - self.start_s) / self.span_s * self.winfo_width()

    def show_cursor(self) -> None:
        """Show the cursor, and bring it into view."""
        cursor_s = self._session.cursor_s
        if self.start_s <= cursor_s <= self.start_s + self.span_s:
            self._draw_lines()
        else:
            self._look(cursor_s - self.span_s / 5, self.span_s)

    def draw(self) -> None:
        """Draw everything anew."""
        self.delete("all")
        self._draw_ruler()
        for one in self._session.plan.instructions:
            self._draw_band(one)
        self._draw_steps()
        self._draw_lines()

    def _look(self, start_s: float, span_s: float) -> None:
        self.start_s, self.span_s = min(max(0.0, start_s), self._whole_s - span_s), span_s
        self.draw()

    def _text(self, x: float, y: float, text: str, fill: str = SOFT_INK, anchor: Any = "w", width: float = 0) -> int:
        return self.create_text(x, y, text=text, anchor=anchor, fill=fill, width=width, font=self._style.small)

    def _draw_ruler(self) -> None:
        px, wide = self._style.px, self.winfo_width()
        self.create_line(0, self._ruler_y, wide, self._ruler_y, fill=LINE)
        apart_s = next((one for one in TICKS_S if one / self.span_s * wide >= px(64)), TICKS_S[-1])
        for number in range(int(self.start_s / apart_s), int((self.start_s + self.span_s) / apart_s) + 1):
            x = self.to_x(number * apart_s)
            self.create_line(x, self._ruler_y - px(5), x, self._ruler_y, fill=SOFT_INK)
            self._text(x + px(3), self._ruler_y - px(9), clock(number * apart_s, 1 if self.span_s < 8 else 0))

    def _draw_band(self, one: Instruction) -> None:
        px, session = self._style.px, self._session
        left, right = self.to_x(one.start_s), self.to_x(one.end_s)
        if right < 0 or left > self.winfo_width() or not one.is_spoken:
            return
        ground, edge = UNUSED if one.id in session.plan.unused else SAID
        chosen = session.instruction is not None and session.instruction.id == one.id
        colour, width = (ACCENT, 2) if chosen else (edge, 1)
        self.create_rectangle(left, self._words_y, right, self._end_y, fill=ground, outline=colour, width=width)
        room = right - left - px(8)
        if room > px(24):
            text, ink = (one.wording, INK) if one.wording else ("no words", SOFT_INK)
            item = self._text(left + px(5), self._words_y + px(4), text, ink, "nw", room)
            # What does not fit into two lines would run over the edge.
            while text and self.bbox(item)[3] > self._end_y - px(1):
                text = text[: int(len(text) * 0.8)]
                self.itemconfigure(item, text=f"{text} …")

    def _draw_steps(self) -> None:
        px, top, last_x = self._style.px, self._end_y + self._style.px(4), float("-inf")
        for index, step in enumerate(self._session.plan.steps):
            x, action_x = self.to_x(step.screenshot_s), self.to_x(step.action_s)
            chosen = index == self._session.index
            colour = ACCENT if chosen else MARK
            self.create_line(x, self._ruler_y, x, top, fill=colour, width=2 if chosen else 1)
            if action_x - x > 2:
                self.create_line(x, top, action_x, top, fill=colour, width=3)
            if chosen or x - last_x > px(20):
                half = px(5 + 4 * len(str(index + 1)))
                self.create_rectangle(x - half, top, x + half, top + px(18), fill=colour, outline=SURFACE)
                self._text(x, top + px(9), str(index + 1), SURFACE, "center")
                last_x = x

    def _draw_lines(self) -> None:
        self.delete("line")
        x, size = self.to_x(self._session.cursor_s), self._style.px(5)
        self.create_line(x, 0, x, self.winfo_height(), fill=INK, dash=(3, 2), tags="line")
        self.create_polygon(x - size, 0, x + size, 0, x, size * 1.6, fill=INK, tags="line")
        if self._heard_s is not None:
            x = self.to_x(self._heard_s)
            self.create_line(x, self._ruler_y, x, self._end_y, fill=HEARD, width=2, tags="line")

    def _time_at(self, x_px: float) -> float:
        return self.start_s + x_px / self.winfo_width() * self.span_s

    def _pressed(self, event: tk.Event[tk.Misc]) -> None:
        self.focus_set()
        away = [abs(self.to_x(step.screenshot_s) - event.x) for step in self._session.plan.steps]
        if event.y > self._end_y and away and min(away) < self._style.px(10):
            self._session.choose(away.index(min(away)))
        else:
            self._session.move_cursor(self._time_at(event.x))

    def _wheel(self, event: tk.Event[tk.Misc], way: int) -> None:
        if isinstance(event.state, int) and event.state & 0x4:
            self.zoom(1.25**way, event.x)
        else:
            self._look(self.start_s - way * self.span_s / 8, self.span_s)
