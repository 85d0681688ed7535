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
        self, parent: tk.Misc, style: Style, duration_s: float,
        choose: Callable[[int], object], move: Callable[[float], object],
    ) -> None:  # fmt: skip
        super().__init__(
            parent, height=style.px(112), background=SURFACE, highlightthickness=1, highlightbackground=LINE,
            highlightcolor=ACCENT, takefocus=1,
        )  # fmt: skip
        self._style, self._choose, self._move = style, choose, move
        self._plan, self._index, self._cursor_s = CutPlan(video="", sha256="", duration_s=duration_s), 0, 0.0
        self._whole_s = max(duration_s, LEAST_SPAN_S)
        self._start_s, self._span_s = 0.0, self._whole_s
        self._ruler_y, self._words_y, self._end_y = (style.px(one) for one in (20, 28, 84))
        self.bind("<Configure>", lambda _event: self._draw())
        self.bind("<Button-1>", self._pressed)
        self.bind("<B1-Motion>", lambda event: move(self._time_at(event.x)))
        self.bind("<Button-4>", lambda _event: self._look(-1 / 8))
        self.bind("<Button-5>", lambda _event: self._look(1 / 8))
        self.bind("<MouseWheel>", lambda event: self._look(-1 / 8 if event.delta > 0 else 1 / 8))

    def show(self, plan: CutPlan, index: int, cursor_s: float) -> None:
        self._plan, self._index, self._cursor_s = plan, index, cursor_s
        away = (cursor_s - self._start_s) / self._span_s
        self._look(0 if 0 <= away <= 1 else away - 0.2)

    def zoom(self, factor: float) -> None:
        """Show ``factor`` times less, the cursor where it is; 0 shows all of the recording."""
        share = min(max(0.0, (self._cursor_s - self._start_s) / self._span_s), 1.0)
        span_s = min(max(LEAST_SPAN_S, self._span_s / factor), self._whole_s) if factor else self._whole_s
        self._start_s, self._span_s = self._start_s + share * (self._span_s - span_s), span_s
        self._look(0)

    def _look(self, spans: float) -> None:
        self._start_s = min(max(0.0, self._start_s + spans * self._span_s), self._whole_s - self._span_s)
        self._draw()

    def _to_x(self, time_s: float) -> float:
        return (time_s - self._start_s) / self._span_s * self.winfo_width()

    def _time_at(self, x_px: float) -> float:
        return self._start_s + x_px / self.winfo_width() * self._span_s

    def _draw(self) -> None:
        self.delete("all")
        px, wide = self._style.px, self.winfo_width()
        self.create_line(0, self._ruler_y, wide, self._ruler_y, fill=LINE)
        apart_s = next((one for one in TICKS_S if one / self._span_s * wide >= px(64)), TICKS_S[-1])
        for number in range(int(self._start_s / apart_s), int((self._start_s + self._span_s) / apart_s) + 1):
            x, words = self._to_x(number * apart_s), clock(number * apart_s, 1 if self._span_s < 8 else 0)
            self.create_line(x, self._ruler_y - px(5), x, self._ruler_y, fill=SOFT_INK)
            self._text(x + px(3), self._ruler_y - px(9), words, SOFT_INK)
        chosen = [step.instruction for step in self._plan.steps[self._index : self._index + 1]]
        for one in (one for one in self._plan.instructions if one.is_spoken):
            left, right = self._to_x(one.start_s), self._to_x(one.end_s)
            ground, edge = UNUSED if one.id in self._plan.unused else SAID
            colour, width = (ACCENT, 2) if one.id in chosen else (edge, 1)
            self.create_rectangle(left, self._words_y, right, self._end_y, fill=ground, outline=colour, width=width)
            if right - left > px(32):
                text, ink = (one.wording, INK) if one.wording else ("no words", SOFT_INK)
                self._text(left + px(5), self._words_y + px(4), text, ink, "nw", right - left - px(8))
        # What does not fit into the lines that there are.
        self.create_rectangle(0, self._end_y + 1, wide, self.winfo_height(), fill=SURFACE, outline="")
        top, last_x = self._end_y + px(4), float("-inf")
        for index, step in enumerate(self._plan.steps):
            x, is_chosen = self._to_x(step.screenshot_s), index == self._index
            colour = ACCENT if is_chosen else MARK
            self.create_line(x, self._ruler_y, x, top, fill=colour, width=2 if is_chosen else 1)
            self.create_line(x, top, self._to_x(step.action_s), top, fill=colour, width=3)
            if is_chosen or x - last_x > px(20):
                half = px(5 + 4 * len(str(index + 1)))
                self.create_rectangle(x - half, top, x + half, top + px(18), fill=colour, outline=SURFACE)
                self._text(x, top + px(9), str(index + 1), SURFACE, "center")
                last_x = x
        x, size = self._to_x(self._cursor_s), px(5)
        self.create_line(x, 0, x, self.winfo_height(), fill=INK, dash=(3, 2))
        self.create_polygon(x - size, 0, x + size, 0, x, size * 1.6, fill=INK)

    def _text(self, x: float, y: float, text: str, fill: str, anchor: Any = "w", width: float = 0) -> None:
        self.create_text(x, y, text=text, anchor=anchor, fill=fill, width=width, font=self._style.small)

    def _pressed(self, event: tk.Event[tk.Misc]) -> None:
        self.focus_set()
        away = [abs(self._to_x(step.screenshot_s) - event.x) for step in self._plan.steps]
        if event.y > self._end_y and away and min(away) < self._style.px(10):
            self._choose(away.index(min(away)))
        else:
            self._move(self._time_at(event.x))
