"""The cut window: the steps, the screen at the cursor, what was said, and all of it over time."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tkinter import messagebox, ttk
from typing import Any

from PIL import Image, ImageTk

from grounding.data.layouts.realwebassist import QUESTIONS

from ..core.keys import Keymap, read_actions
from ..core.sound import Player, Sound
from ..window.chrome import RIGHT_BUTTONS, Banners, Keyboard, KeyList, Toolbar
from ..window.fields import make_text
from ..window.panels import RowList
from ..window.session import Background, tell_of
from ..window.style import ACCENT, CANVAS, CANVAS_WORDS, INK, LINE, SOFT_INK, SURFACE, Style
from . import plan as edits
from .plan import CutPlan, CutStep, clip_bounds, save_plan, write_participant
from .video import Recording

LEAST_SPAN_S = 1.0
SAID, UNUSED = ("#e3f0e5", "#4c9a5b"), ("#f0f0f0", "#a8adb5")
"""Ground and edge of words that steps carry out, and of others."""
MARK = "#c2410c"
TICKS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600)


def clock(time_s: float, digits: int = 1) -> str:
    """A time as people read it, in minutes and seconds.

    >>> clock(725.31)
    '12:05.3'
    """
    minutes, seconds = divmod(round(time_s, digits), 60)
    return f"{minutes:.0f}:{seconds:0{3 + digits if digits else 2}.{digits}f}"


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
        carried = [step.instruction for step in self._plan.steps]
        chosen = carried[self._index : self._index + 1]
        for one in (one for one in self._plan.instructions if one.is_spoken):
            left, right = self._to_x(one.start_s), self._to_x(one.end_s)
            ground, edge = SAID if one.id in carried else UNUSED
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
        x = self._to_x(self._cursor_s)
        self.create_line(x, 0, x, self._end_y, fill=INK, width=2, dash=(3, 2))

    def _text(self, x: float, y: float, text: str, fill: str, anchor: Any = "w", width: float = 0) -> None:
        self.create_text(x, y, text=text, anchor=anchor, fill=fill, width=width, font=self._style.small)

    def _pressed(self, event: tk.Event[tk.Misc]) -> None:
        self.focus_set()
        away = [abs(self._to_x(step.screenshot_s) - event.x) for step in self._plan.steps]
        if event.y > self._end_y and away and min(away) < self._style.px(10):
            self._choose(away.index(min(away)))
        else:
            self._move(self._time_at(event.x))


CUT_ACTIONS = read_actions(Path(__file__).with_name("keys.yaml"))
MOUSE = (("Put the cursor", "Click or drag on the time line"), ("Move along the time line", "Wheel"))
BUTTONS = (
    ("Play words", "play-words"), ("Merge", "merge"), ("Split", "split"), ("Drop", "drop"),
    ("Take this screen", "retime"), ("Same words", "same-words"), ("Write folder", "write"),
)  # fmt: skip
SOON_MS = 60  # A cursor that is being dragged asks for one picture when it rests, not for each on the way.


class CutWindow:
    """One cut in one window; every change of it is kept in the folder's ``cuts.json``, and can be undone in here.

    Raises SaveFailed: the folder cannot be written.
    """

    def __init__(self, plan: CutPlan, recording: Recording, folder: Path) -> None:
        save_plan(folder, plan)
        self.root, self.recording, self.folder = tk.Tk(className="Annotate"), recording, folder
        root = self.root
        # What was done, and the plan that came of it; undo and redo move to and fro in them.
        self._states, self._now = [("", plan)], 0
        self._index, self._cursor_s = 0, 0.0
        self._put = ""
        self._picture: Image.Image | None = None
        self._picture_s, self._asked, self._no_picture = -1.0, False, "reading the picture …"
        self._sound: Sound | None = None
        root.report_callback_exception = lambda _kind, error, _trace: self._failed(error)
        self._style, self._background, self._player = Style(root), Background(root), Player()
        handlers, keymap = self._make_handlers(), Keymap(CUT_ACTIONS)
        self._perform = lambda action: handlers[action]()
        self._build(keymap)
        self._keys = KeyList(root, self._style, keymap, MOUSE, self._timeline.focus_set)
        Keyboard(root, keymap, self._perform)
        root.protocol("WM_DELETE_WINDOW", self._close)
        wide, high, px = root.winfo_screenwidth(), root.winfo_screenheight(), self._style.px
        root.geometry(f"{min(px(1320), wide)}x{min(px(860), high - px(40))}+0+0")
        if plan.notes:
            self._banners.show("notes", ". ".join(note[:1].upper() + note[1:] for note in plan.notes) + ".")
        self._choose(0)
        self._timeline.focus_set()
        if recording.has_audio:
            self._background.run(recording.sound, partial(setattr, self, "_sound"), self._failed)

    @property
    def _plan(self) -> CutPlan:
        return self._states[self._now][1]

    @property
    def _step(self) -> CutStep | None:
        return self._plan.steps[self._index] if self._index < len(self._plan.steps) else None

    def _make_handlers(self) -> dict[str, Callable[[], object]]:
        return {
            "next-step": lambda: self._choose(self._index + 1),
            "previous-step": lambda: self._choose(self._index - 1),
            "first-step": lambda: self._choose(0),
            "last-step": lambda: self._choose(len(self._plan.steps) - 1),
            "merge": partial(self._edit, "merge steps", edits.merge_with_next),
            "split": self._split,
            "drop": partial(self._edit, "drop step", edits.drop),
            "retime": partial(self._edit, "take this screen", lambda plan, at: edits.retime(plan, at, self._cursor_s)),
            "same-words": partial(self._edit, "same words", edits.same_words),
            "edit-words": lambda: self._words.focus_set(),
            "play-words": self._play_words,
            "back": lambda: self._move(self._cursor_s - self.recording.frame_s),
            "forward": lambda: self._move(self._cursor_s + self.recording.frame_s),
            "zoom-in": lambda: self._timeline.zoom(1.6),
            "zoom-out": lambda: self._timeline.zoom(1 / 1.6),
            "fit": lambda: self._timeline.zoom(0),
            "cancel": lambda: self._timeline.focus_set(),
            "undo": partial(self._undo, -1),
            "redo": partial(self._undo, 1),
            "write": self._write_folder,
            "help": lambda: self._keys.toggle(),
            "quit": self._close,
        }

    def _build(self, keymap: Keymap) -> None:
        root, style, px = self.root, self._style, self._style.px
        root.columnconfigure(0, weight=1)
        root.rowconfigure(1, weight=1)
        bar = Toolbar(root, style, keymap, self._perform, self._say, BUTTONS, RIGHT_BUTTONS)
        self._write = bar.buttons["write"]
        panes = ttk.Panedwindow(root, orient="horizontal")
        left, middle = ttk.Frame(panes, padding=px(8)), ttk.Frame(panes)
        right = ttk.Frame(panes, padding=(px(12), px(8)))
        columns = {"at": ("Step", 130), "words": ("Instruction", 190)}
        self._rows = RowList(left, columns, rows=4, px=style.unit, chosen=self._choose)
        self._banners = Banners(middle, style)
        self._banners.pack(fill="x")
        self._preview = tk.Canvas(middle, background=CANVAS, highlightthickness=0, takefocus=0)
        self._preview.bind("<Configure>", lambda _event: self._draw_preview())
        self._preview.pack(fill="both", expand=True)
        ttk.Label(right, text="Instruction   I", style="Soft.TLabel").pack(fill="x")
        self._words = make_text(right, style, 2 if style.low else 5)
        self._words.bind("<FocusOut>", lambda _event: self._commit())
        self._words.pack(fill="x", pady=(px(3), px(4)))
        self._heard = ttk.Label(right, style="Soft.TLabel", justify="left")
        self._heard.pack(fill="x")
        self._heard.bind("<Configure>", lambda event: self._heard.configure(wraplength=event.width - px(12)))
        for pane, width in ((left, 330), (middle, 0), (right, 280)):
            panes.add(pane, weight=0 if width else 1)
            if width:
                pane.configure(width=px(width * 0.8 if style.narrow else width))
                pane.pack_propagate(False)
        self._timeline = Timeline(root, style, self._plan.duration_s, self._choose, self._move)
        self._status = ttk.Label(root, style="Status.TLabel", anchor="w", padding=(px(10), px(3)))
        for row, widget in enumerate((bar, panes, self._timeline, self._status)):
            widget.grid(row=row, column=0, sticky="nsew" if widget is panes else "ew")

    def _say(self, text: str) -> None:
        self._status.configure(text=text)

    def _failed(self, error: BaseException) -> None:
        self._write.state(["!disabled"])
        tell_of(error, lambda words: self._banners.show("error", words), self.root.destroy)

    def _close(self) -> None:
        try:
            self._commit()
        finally:
            self._player.stop()
            self._background.close()
            self.root.destroy()

    def _choose(self, index: int) -> None:
        self._commit()
        self._index = index
        self._show()
        if self._step is not None:
            self._move(self._step.screenshot_s)

    def _edit(self, what: str, edit: Callable[[CutPlan, int], CutPlan]) -> None:
        self._commit()
        if self._step is not None:
            self._change(what, edit(self._plan, self._index))
            self._choose(self._index)

    def _split(self) -> None:
        self._commit()
        time_s = self._cursor_s
        self._change("new step", edits.split_at(self._plan, time_s))
        self._choose(sum(step.screenshot_s < time_s for step in self._plan.steps))

    def _commit(self) -> None:
        """Put what was typed into the plan; raises SaveFailed where it could not be kept on the disk."""
        text = " ".join(self._words.get("1.0", "end-1c").split())
        if self._step is not None and text != self._put:
            self._put = text
            self._change("correct instruction", edits.write_words(self._plan, self._index, text))

    def _change(self, what: str, plan: CutPlan) -> None:
        if plan == self._plan:
            self._say(f"{what}: nothing to change here")
        else:
            self._states[self._now + 1 :] = [(what, plan)]
            self._go(self._now + 1, f"{what} · kept")

    def _undo(self, by: int) -> None:
        self._commit()
        state, words = self._now + by, "undone" if by < 0 else "done again"
        if 0 <= state < len(self._states):
            self._go(state, f"{words}: {self._states[max(state, self._now)][0]}")
        else:
            self._say(f"nothing left to be {words}")

    def _go(self, state: int, words: str) -> None:
        self._now = state
        self._say(words)
        try:
            save_plan(self.folder, self._plan)
        finally:
            self._show()

    def _show(self) -> None:
        plan = self._plan
        self._index = index = min(max(0, self._index), max(0, len(plan.steps) - 1))
        self._rows.clear()
        for row, step in enumerate(plan.steps):
            said = plan.instruction(step.instruction)
            at, words = f"{row + 1} · {clock(step.screenshot_s)} · {step.action}", said.wording if said else ""
            self._rows.insert("", "end", iid=str(row), values=(at, words or "no words"))
        self._rows.mark(index)
        said = None if self._step is None else plan.instruction(self._step.instruction)
        self._words.configure(state="normal")
        self._words.replace("1.0", "end", said.wording if said else "")
        self._put = " ".join(said.wording.split()) if said else ""
        self._words.edit_reset()
        self._words.configure(state="disabled" if self._step is None else "normal")
        heard = f"Heard by {plan.recogniser or 'nobody'}: {said.heard or 'nothing'}" if said else "No words."
        steps = sum(said is not None and one.instruction == said.id for one in plan.steps)
        self._heard.configure(text=heard + (f"\nThe instruction of {steps} steps." if steps > 1 else ""))
        self._draw_preview()
        self._timeline.show(plan, index, self._cursor_s)
        self.root.title(f"{Path(plan.video).name} · {len(plan.steps)} steps · annotate segment")

    def _move(self, time_s: float) -> None:
        self._cursor_s = min(max(0.0, time_s), self._plan.duration_s)
        self._timeline.show(self._plan, self._index, self._cursor_s)
        self._say(f"cursor at {clock(self._cursor_s, 2)}")
        if not self._asked and self._cursor_s != self._picture_s:
            self._asked = True
            self.root.after(SOON_MS, self._ask_picture)

    def _ask_picture(self) -> None:
        came = partial(self._came, self._cursor_s)
        self._background.run(partial(self.recording.picture_at, self._cursor_s), came, came)

    def _came(self, time_s: float, found: Any) -> None:
        self._asked, self._picture_s = False, time_s
        self._picture = None if isinstance(found, Exception) else Image.fromarray(found)
        self._no_picture = str(found)
        self._draw_preview()
        if self._cursor_s != time_s:
            self._move(self._cursor_s)

    def _draw_preview(self) -> None:
        canvas, picture, step = self._preview, self._picture, self._step
        canvas.delete("all")
        wide, high = canvas.winfo_width(), canvas.winfo_height()
        if picture is None:
            canvas.create_text(wide / 2, high / 2, text=self._no_picture, fill=CANVAS_WORDS, width=wide * 0.8)
            return
        shown = picture.copy()
        shown.thumbnail((wide, high), Image.Resampling.BILINEAR)
        self._shown = ImageTk.PhotoImage(shown, master=canvas)
        left, top, scale = (wide - shown.width) // 2, (high - shown.height) // 2, shown.width / picture.width
        canvas.create_image(left, top, image=self._shown, anchor="nw")
        if step is not None and step.pointer is not None and abs(step.screenshot_s - self._picture_s) <= 0.05:
            x, y = left + step.pointer.x_px * scale, top + step.pointer.y_px * scale
            for colour, width in (("#ffffff", 4), (ACCENT, 2)):
                canvas.create_oval(x - 12, y - 12, x + 12, y + 12, outline=colour, width=width)

    def _play_words(self) -> None:
        plan = self._plan
        said = None if self._step is None else plan.instruction(self._step.instruction)
        if self._player.playing():
            self._player.stop()
        elif said is None or not said.is_spoken:
            self._say("nothing was said for this step")
        elif self._sound is None:
            self._say("the sound is still being read" if self.recording.has_audio else "there is no sound")
        else:
            self._player.play(self._sound.between(*clip_bounds(said, plan.instructions, plan.duration_s)))

    def _write_folder(self) -> None:
        self._commit()
        questions = self.folder / QUESTIONS
        overwrite = questions.exists()
        words = f"{questions} is there: replace its steps? Their boxes will only be in {questions.name}.previous."
        ask = partial(messagebox.askokcancel, "Replace the steps?", words, parent=self.root, default="cancel")
        if self._write.instate(["disabled"]) or (overwrite and not ask()):
            return
        self._write.state(["disabled"])
        self._say("writing …")

        def written(what: str) -> None:
            self._write.state(["!disabled"])
            self._say("written")
            words = f"{what} are in {self.folder}. Draw the boxes with: grounding annotate {self.folder}"
            self._banners.show("written", words)

        work = partial(write_participant, self._plan, self.recording, self.folder, overwrite=overwrite)
        self._background.run(work, written, self._failed)
