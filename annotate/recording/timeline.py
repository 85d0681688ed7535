"""The time line of the cut window: ruler, what was said, where the steps are, and the cursor."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable
from typing import Any

from ..window.style import ACCENT, INK, LINE, SOFT_INK, SURFACE, Style
from .plan import CutPlan

LEAST_SPAN_S = 1.0
SAID, UNUSED = ("#e3f0e5", "#4c9a5b"), ("#f0f0f0", "#a8adb5")
"""Ground and edge of words that steps carry out, and of others."""
MARK = "#c2410c"
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
    """``span_s`` seconds from ``start_s`` on; ``choose`` is called with a step, ``move`` with a time for the cursor."""

    def __init__(
        self, parent: tk.Misc, style: Style, choose: Callable[[int], object], move: Callable[[float], object]
    ) -> None:
        super().__init__(
            parent, height=style.px(112), background=SURFACE, highlightthickness=1, highlightbackground=LINE,
            highlightcolor=ACCENT, takefocus=1,
        )  # fmt: skip
        self._style, self._choose, self._move = style, choose, move
        self._plan, self._index, self._cursor_s = CutPlan(video="", sha256="", duration_s=0.0), 0, 0.0
        self._start_s = self._span_s = 0.0
        self._ruler_y, self._words_y, self._end_y = (style.px(one) for one in (20, 28, 84))
        self.bind("<Configure>", lambda _event: self.draw())
        self.bind("<Button-1>", self._pressed)
        self.bind("<B1-Motion>", lambda event: move(self._time_at(event.x)))
        for button, way in ((4, -1), (5, 1)):
            self.bind(f"<Button-{button}>", lambda _event, way=way: self._look(way / 8))  # type: ignore[misc]
        self.bind("<MouseWheel>", lambda event: self._look(-1 / 8 if event.delta > 0 else 1 / 8))

    def show(self, plan: CutPlan, index: int, cursor_s: float) -> None:
        """Show this cut with the chosen step, and the cursor, which comes into view."""
        anew = (plan, index) != (self._plan, self._index)
        self._plan, self._index, self._cursor_s = plan, index, cursor_s
        self._span_s = self._span_s or self._whole_s
        if not self._start_s <= cursor_s <= self._start_s + self._span_s:
            self._look((cursor_s - self._start_s) / self._span_s - 0.2)
        elif anew:
            self.draw()
        else:
            self._draw_cursor()

    def zoom(self, factor: float) -> None:
        """Show ``factor`` times less, the cursor where it is; 0 shows all of the recording."""
        x_share = min(max(0.0, self._to_x(self._cursor_s) / self.winfo_width()), 1.0)
        span_s = min(max(LEAST_SPAN_S, self._span_s / factor), self._whole_s) if factor else self._whole_s
        self._start_s, self._span_s = self._start_s + x_share * (self._span_s - span_s), span_s
        self._look(0)

    def draw(self) -> None:
        self.delete("all")
        if not self._span_s:
            return
        self._draw_ruler()
        self._draw_words()
        self._draw_steps()
        self._draw_cursor()

    @property
    def _whole_s(self) -> float:
        return max(self._plan.duration_s, LEAST_SPAN_S)

    def _look(self, spans: float) -> None:
        """Move along by so many spans, as far as the recording goes."""
        self._start_s = min(max(0.0, self._start_s + spans * self._span_s), self._whole_s - self._span_s)
        self.draw()

    def _to_x(self, time_s: float) -> float:
        """Pixels from the left edge; outside of it for a time that is not shown."""
        return (time_s - self._start_s) / self._span_s * self.winfo_width()

    def _time_at(self, x_px: float) -> float:
        return self._start_s + x_px / self.winfo_width() * self._span_s

    def _text(self, x: float, y: float, text: str, fill: str = SOFT_INK, anchor: Any = "w", width: float = 0) -> int:
        return self.create_text(x, y, text=text, anchor=anchor, fill=fill, width=width, font=self._style.small)

    def _draw_ruler(self) -> None:
        px, wide = self._style.px, self.winfo_width()
        self.create_line(0, self._ruler_y, wide, self._ruler_y, fill=LINE)
        apart_s = next((one for one in TICKS_S if one / self._span_s * wide >= px(64)), TICKS_S[-1])
        for number in range(int(self._start_s / apart_s), int((self._start_s + self._span_s) / apart_s) + 1):
            x = self._to_x(number * apart_s)
            self.create_line(x, self._ruler_y - px(5), x, self._ruler_y, fill=SOFT_INK)
            self._text(x + px(3), self._ruler_y - px(9), clock(number * apart_s, 1 if self._span_s < 8 else 0))

    def _draw_words(self) -> None:
        px, plan = self._style.px, self._plan
        chosen = [step.instruction for step in plan.steps[self._index : self._index + 1]]
        for one in plan.instructions:
            left, right = self._to_x(one.start_s), self._to_x(one.end_s)
            if right < 0 or left > self.winfo_width() or not one.is_spoken:
                continue
            ground, edge = UNUSED if one.id in plan.unused else SAID
            colour, width = (ACCENT, 2) if one.id in chosen else (edge, 1)
            self.create_rectangle(left, self._words_y, right, self._end_y, fill=ground, outline=colour, width=width)
            room = right - left - px(8)
            if room > px(24):
                text, ink = (one.wording, INK) if one.wording else ("no words", SOFT_INK)
                item = self._text(left + px(5), self._words_y + px(4), text, ink, "nw", room)
                # What does not fit into the lines that there are would run over the edge.
                while text and self.bbox(item)[3] > self._end_y - px(1):
                    text = text[: int(len(text) * 0.8)]
                    self.itemconfigure(item, text=f"{text} …")

    def _draw_steps(self) -> None:
        px, top, last_x = self._style.px, self._end_y + self._style.px(4), float("-inf")
        for index, step in enumerate(self._plan.steps):
            x, action_x = self._to_x(step.screenshot_s), self._to_x(step.action_s)
            chosen = index == self._index
            colour = ACCENT if chosen else MARK
            self.create_line(x, self._ruler_y, x, top, fill=colour, width=2 if chosen else 1)
            self.create_line(x, top, action_x, top, fill=colour, width=3)
            if chosen or x - last_x > px(20):
                half = px(5 + 4 * len(str(index + 1)))
                self.create_rectangle(x - half, top, x + half, top + px(18), fill=colour, outline=SURFACE)
                self._text(x, top + px(9), str(index + 1), SURFACE, "center")
                last_x = x

    def _draw_cursor(self) -> None:
        self.delete("cursor")
        x, size = self._to_x(self._cursor_s), self._style.px(5)
        self.create_line(x, 0, x, self.winfo_height(), fill=INK, dash=(3, 2), tags="cursor")
        self.create_polygon(x - size, 0, x + size, 0, x, size * 1.6, fill=INK, tags="cursor")

    def _pressed(self, event: tk.Event[tk.Misc]) -> None:
        self.focus_set()
        away = [abs(self._to_x(step.screenshot_s) - event.x) for step in self._plan.steps]
        if event.y > self._end_y and away and min(away) < self._style.px(10):
            self._choose(away.index(min(away)))
        else:
            self._move(self._time_at(event.x))
