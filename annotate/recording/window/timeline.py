"""The time line: ruler, waveform, what was said, where the steps are. Steps and ends of clips can be dragged."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable
from typing import Literal

from annotate.recording import edits
from annotate.recording.records import CutPlan, Instruction
from annotate.recording.sound import Sound, peaks
from annotate.recording.window.cut_session import CutSession
from annotate.recording.window.time_view import TimeView, clock
from annotate.window.style import ACCENT, INK, LINE, SOFT_INK, SURFACE, Style

WAVE = "#8fb4e8"
WORDS = "#e3f0e5"
WORDS_EDGE = "#4c9a5b"
UNUSED = "#f0f0f0"
UNUSED_EDGE = "#a8adb5"
MARK = "#c2410c"
BROKEN = "#fbe3e3"
LEAST_CLIP_S = 0.1
Grab = tuple[Literal["step", "start", "end"], int]
"""What the mouse holds: a step's mark by its position, or an end of an instruction by its id."""


class Timeline(tk.Canvas):
    """The lower part of the window.

    Args:
        parent: Where it is.
        session: What is cut.
        style: Sizes and fonts.
        guarded: Runs something and shows what goes wrong in it.
    """

    def __init__(
        self, parent: tk.Misc, session: CutSession, style: Style, guarded: Callable[[Callable[[], object]], object]
    ) -> None:
        super().__init__(
            parent,
            height=style.px(176),
            background=SURFACE,
            highlightthickness=1,
            highlightbackground=LINE,
            highlightcolor=ACCENT,
            takefocus=1,
        )
        self._session, self._style, self._guarded = session, style, guarded
        self.view = TimeView(duration_s=session.plan.duration_s, width_px=1)
        self._sound: Sound | None = None
        self._loud: tuple[TimeView, list[float]] | None = None
        self._grab: Grab | None = None
        self._dragged = False
        self._picked_up = session.plan
        self._heard_s: float | None = None
        px = style.px
        self._ruler_y, self._wave_y, self._words_y, self._end_y = px(20), px(52), px(112), px(150)
        self.bind("<Configure>", self._resized)
        self.bind("<Button-1>", self._pressed)
        self.bind("<B1-Motion>", self._moved)
        self.bind("<ButtonRelease-1>", self._released)
        self.bind("<Motion>", self._hovered)
        self.bind("<Button-4>", lambda event: self._wheel(event, 1))
        self.bind("<Button-5>", lambda event: self._wheel(event, -1))
        self.bind("<MouseWheel>", lambda event: self._wheel(event, 1 if event.delta > 0 else -1))
        session.watch(on_plan=self.draw, on_step=self._show_step, on_cursor=self._show_cursor)

    def set_sound(self, sound: Sound | None) -> None:
        """Show the waveform of the recording's sound."""
        self._sound, self._loud = sound, None
        self.draw()

    def show_position(self, time_s: float | None) -> None:
        """Show what is being heard; None for nothing."""
        self._heard_s = time_s
        self._draw_lines()

    def zoom(self, factor: float) -> None:
        """Zoom at the cursor; less than 1 zooms out."""
        x_px = self.view.to_x(self._session.cursor_s)
        self.view = self.view.zoomed(factor, min(max(0.0, x_px), self.view.width_px))
        self.draw()

    def fit(self) -> None:
        """Show all of the recording."""
        self.view = TimeView(duration_s=self.view.duration_s, width_px=self.view.width_px)
        self.draw()

    def draw(self) -> None:
        """Draw everything anew."""
        self.delete("all")
        self._draw_wave()
        self._draw_words()
        self._draw_marks()
        self._draw_ruler()
        self._draw_lines()

    # --- drawing --------------------------------------------------------------------------------------------------

    def _draw_ruler(self) -> None:
        px, view = self._style.px, self.view
        digits = 1 if view.shown_s < 8 else 0
        self.create_line(0, self._ruler_y, view.width_px, self._ruler_y, fill=LINE)
        for time_s in view.ticks(px(64)):
            x = view.to_x(time_s)
            self.create_line(x, self._ruler_y - px(5), x, self._ruler_y, fill=SOFT_INK)
            self.create_text(
                x + px(3), self._ruler_y - px(9), text=clock(time_s, digits), anchor="w", fill=SOFT_INK,
                font=self._style.small,
            )  # fmt: skip
        broke = self._session.plan.broke
        if broke is not None:
            x = view.to_x(broke.at_s)
            self.create_rectangle(x, 0, view.width_px + 2, self._end_y, fill=BROKEN, outline="")
            self.create_text(
                x + px(4), self._wave_y, text=f"the recording breaks off at {broke.at_s:.1f} s", anchor="w",
                fill=MARK, font=self._style.small,
            )  # fmt: skip

    def _draw_wave(self) -> None:
        middle, px = self._wave_y + self._style.px(14), self._style.px
        height = px(34)
        if self._sound is None or not len(self._sound.samples):
            words = "reading the sound …" if self._session.recording.facts.has_audio else "the recording has no sound"
            self.create_text(px(8), middle, text=words, anchor="w", fill=SOFT_INK, font=self._style.small)
            return
        view = self.view
        part = self._sound.between(view.start_s, view.start_s + view.shown_s)
        # The sound may end before what is shown does.
        columns = max(1, round(part.seconds / view.shown_s * view.width_px))
        if self._loud is None or self._loud[0] != view:
            self._loud = (view, peaks(part, columns))
        loud = self._loud[1]
        most = max(0.05, max(loud, default=0.0))
        outline = [(x, middle - value / most * height) for x, value in enumerate(loud)]
        outline += [(x, middle + value / most * height) for x, value in reversed(list(enumerate(loud)))]
        if len(outline) >= 4:
            self.create_polygon(*(place for point in outline for place in point), fill=WAVE, outline="")
        self.create_line(0, middle, view.width_px, middle, fill=WAVE)

    def _draw_words(self) -> None:
        chosen = self._session.instruction
        unused = set(self._session.plan.unused)
        for one in self._session.plan.instructions:
            left, right = self.view.to_x(one.start_s), self.view.to_x(one.end_s)
            if right < 0 or left > self.view.width_px or one.end_s <= one.start_s:
                continue
            self._draw_band(
                one, left, right, chosen=chosen is not None and chosen.id == one.id, unused=one.id in unused
            )

    def _draw_band(self, one: Instruction, left: float, right: float, *, chosen: bool, unused: bool) -> None:
        px = self._style.px
        edge = UNUSED_EDGE if unused else WORDS_EDGE
        self.create_rectangle(
            left, self._words_y, right, self._end_y, fill=UNUSED if unused else WORDS,
            outline=ACCENT if chosen else edge, width=2 if chosen else 1,
        )  # fmt: skip
        room = right - left - px(8)
        if room > px(24):
            text = one.wording or ("leads to no step" if unused else "no words") if room > px(90) else one.wording
            item = self.create_text(
                left + px(5), self._words_y + px(4), text=text, anchor="nw", width=room, font=self._style.small,
                fill=INK if one.wording else SOFT_INK,
            )  # fmt: skip
            # What does not fit into two lines would run over the edge.
            while text and self.bbox(item)[3] > self._end_y - px(1):
                text = text[: int(len(text) * 0.8)]
                self.itemconfigure(item, text=f"{text} …")

    def _draw_marks(self) -> None:
        px = self._style.px
        top = self._end_y + px(4)
        last_x = float("-inf")
        for index, step in enumerate(self._session.plan.steps):
            x = self.view.to_x(step.screenshot_s)
            if not -px(20) <= x <= self.view.width_px + px(20):
                continue
            chosen = index == self._session.index
            colour = ACCENT if chosen else MARK
            self.create_line(x, self._ruler_y, x, top, fill=colour, width=2 if chosen else 1)
            if self.view.to_x(step.action_s) - x > 2:
                self.create_line(x, top, self.view.to_x(step.action_s), top, fill=colour, width=3)
            if chosen or x - last_x > px(20):
                self._draw_number(index, x, top, colour)
                last_x = x

    def _draw_number(self, index: int, x: float, top: int, colour: str) -> None:
        px = self._style.px
        text = str(index + 1)
        half = px(5 + 4 * len(text))
        self.create_rectangle(x - half, top, x + half, top + px(18), fill=colour, outline=SURFACE)
        self.create_text(x, top + px(9), text=text, fill=SURFACE, font=self._style.small)

    def _draw_lines(self) -> None:
        self.delete("line")
        x = self.view.to_x(self._session.cursor_s)
        self.create_line(x, 0, x, self.winfo_height(), fill=INK, dash=(3, 2), tags="line")
        size = self._style.px(5)
        self.create_polygon(x - size, 0, x + size, 0, x, size * 1.6, fill=INK, tags="line")
        if self._heard_s is not None:
            x = self.view.to_x(self._heard_s)
            self.create_line(x, self._ruler_y, x, self._end_y, fill="#1a7f37", width=2, tags="line")

    # --- the mouse ------------------------------------------------------------------------------------------------

    def _resized(self, event: tk.Event[tk.Misc]) -> None:
        self.view = self.view.as_wide(max(1, event.width))
        self.draw()

    def _what_is_at(self, x_px: float, y_px: float) -> Grab | None:
        reach = self._style.px(5)
        if y_px >= self._end_y:
            found = [
                (abs(self.view.to_x(step.screenshot_s) - x_px), index)
                for index, step in enumerate(self._session.plan.steps)
            ]
            nearest = min(found, default=(reach * 4, 0))
            return ("step", nearest[1]) if nearest[0] <= reach * 2 else None
        if y_px >= self._words_y:
            for one in self._session.plan.instructions:
                if abs(self.view.to_x(one.start_s) - x_px) <= reach:
                    return ("start", one.id)
                if abs(self.view.to_x(one.end_s) - x_px) <= reach:
                    return ("end", one.id)
        return None

    def _hovered(self, event: tk.Event[tk.Misc]) -> None:
        self.configure(cursor="sb_h_double_arrow" if self._what_is_at(event.x, event.y) else "")

    def _pressed(self, event: tk.Event[tk.Misc]) -> None:
        self.focus_set()
        self._session.finish_typing()
        self._picked_up = self._session.plan
        self._grab, self._dragged = self._what_is_at(event.x, event.y), False
        if self._grab is not None and self._grab[0] == "step":
            self._session.choose(self._grab[1])
        elif self._grab is None:
            time_s = self.view.to_s(event.x)
            if event.y >= self._words_y:
                self._choose_words(time_s)
            self._session.move_cursor(time_s)

    def _choose_words(self, time_s: float) -> None:
        """The first step of the instruction that was clicked on."""
        plan = self._session.plan
        said = [one.id for one in plan.instructions if one.start_s <= time_s <= one.end_s]
        steps = [index for index, step in enumerate(plan.steps) if step.instruction in said]
        if steps:
            self._session.choose(steps[0], cursor=False)

    def _moved(self, event: tk.Event[tk.Misc]) -> None:
        time_s = self.view.to_s(event.x)
        if self._grab is None:
            self._session.move_cursor(time_s)
            return
        what, which = self._grab
        # From where it was picked up: words that were pushed out of a clip come back when it is drawn out again.
        plan = self._picked_up
        if what == "step":
            self._drag(edits.retime(plan, which, time_s), "move step")
        else:
            one = edits.instruction_of(plan, which)
            start_s, end_s = (time_s, one.end_s) if what == "start" else (one.start_s, time_s)
            if end_s - start_s > LEAST_CLIP_S:
                self._drag(edits.retime_instruction(plan, which, start_s, end_s), "move end of clip")
        self._session.move_cursor(time_s)

    def _drag(self, plan: CutPlan, what: str) -> None:
        joined, self._dragged = self._dragged, True
        self._session.change(plan, what, joined=joined, keep=False)

    def _released(self, _event: tk.Event[tk.Misc]) -> None:
        if self._dragged:
            self._guarded(self._session.history.keep)
            step = self._session.step
            if self._grab is not None and self._grab[0] == "step" and step is not None:
                self._session.move_cursor(step.screenshot_s)
        self._grab, self._dragged = None, False

    def _wheel(self, event: tk.Event[tk.Misc], way: int) -> None:
        state = event.state if isinstance(event.state, int) else 0
        if state & 0x4:
            self.view = self.view.zoomed(1.25**way, event.x)
        else:
            self.view = self.view.moved(-way * self.view.shown_s / 8)
        self.draw()

    def _show_step(self) -> None:
        step = self._session.step
        if step is not None:
            self.view = self.view.with_time(step.screenshot_s)
        self.draw()

    def _show_cursor(self) -> None:
        view = self.view.with_time(self._session.cursor_s)
        if view is not self.view:
            self.view = view
            self.draw()
        else:
            self._draw_lines()
