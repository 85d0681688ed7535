"""The cut window: the steps, the screen at the cursor, what was said, and all of it over time."""

from __future__ import annotations

import contextlib
import tkinter as tk
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tkinter import messagebox, ttk
from typing import Any

from PIL import Image, ImageTk

from grounding.data.layouts.realwebassist import QUESTIONS

from ..core.keys import Keymap, read_actions
from ..window.chrome import RIGHT_BUTTONS, Banners, KeyList, Toolbar
from ..window.fields import make_text
from ..window.keyboard import Keyboard
from ..window.panels import RowList
from ..window.session import Background, tell_of
from ..window.style import ACCENT, CANVAS, CANVAS_WORDS, Style
from . import plan as edits
from .plan import CutPlan, CutSession
from .sound import Player, Sound, read_sound
from .timeline import Timeline, clock
from .video import Recording
from .writing import clip_bounds, write_participant

CUT_ACTIONS = read_actions(Path(__file__).with_name("keys.yaml"))
MOUSE = (("Put the cursor", "Click or drag on the time line"), ("Zoom, move along", "Ctrl and wheel, wheel"))
BUTTONS = (
    ("Play", "play"), ("Play words", "play-words"), ("Merge", "merge"), ("Split", "split"), ("Drop", "drop"),
    ("Take this screen", "retime"), ("Same words", "same-words"), ("Write folder", "write"),
)  # fmt: skip
EDITS = {
    "merge": ("merge steps", edits.merge_with_next),
    "drop": ("drop step", edits.drop),
    "same-words": ("same words", edits.same_words),
}
TICK_MS = 40
SOON_MS = 60
"""A cursor that is being dragged asks for one picture when it rests, not for each on the way."""
MOST_HEARD_S = 120.0


class Preview(tk.Canvas):
    """The screen at the cursor, and a ring where the pointer was."""

    def __init__(self, parent: tk.Misc, session: CutSession, recording: Recording, background: Background) -> None:
        super().__init__(parent, background=CANVAS, highlightthickness=0, takefocus=0)
        self._session, self._recording, self._background = session, recording, background
        self._picture: Any = None
        self._shown: Any = None
        self._of_s, self._busy, self._words = -1.0, False, "reading the picture …"
        self.bind("<Configure>", lambda _event: self.draw())

    def show_cursor(self) -> None:
        """Ask for the picture at the cursor, once it rests."""
        if not self._busy and self._session.cursor_s != self._of_s:
            self._busy = True
            self.after(SOON_MS, self._ask)

    def draw(self) -> None:
        """Draw everything anew."""
        self.delete("all")
        wide, high, step = self.winfo_width(), self.winfo_height(), self._session.step
        if self._picture is None:
            self.create_text(wide / 2, high / 2, text=self._words, fill=CANVAS_WORDS, width=wide * 0.8)
            return
        scale = min(wide / self._picture.width, high / self._picture.height, 1.0)
        size = max(1, round(self._picture.width * scale)), max(1, round(self._picture.height * scale))
        self._shown = ImageTk.PhotoImage(self._picture.resize(size, Image.Resampling.BILINEAR), master=self)
        left, top = (wide - size[0]) // 2, (high - size[1]) // 2
        self.create_image(left, top, image=self._shown, anchor="nw")
        if step is not None and step.pointer is not None and abs(step.screenshot_s - self._of_s) <= 0.05:
            x, y = left + step.pointer.x_px * scale, top + step.pointer.y_px * scale
            for colour, width in (("#ffffff", 4), (ACCENT, 2)):
                self.create_oval(x - 12, y - 12, x + 12, y + 12, outline=colour, width=width)

    def _ask(self) -> None:
        time_s = self._session.cursor_s
        came = partial(self._came, time_s)
        self._background.run(partial(self._recording.picture_at, time_s), came, came)

    def _came(self, time_s: float, found: Any) -> None:
        self._busy, self._of_s = False, time_s
        failed = isinstance(found, Exception)
        self._picture, self._words = (None, str(found)) if failed else (Image.fromarray(found), "")
        self.draw()
        self.show_cursor()


class CutWindow:
    """One cut in one window; every change of it is kept in the folder's ``cuts.json``."""

    def __init__(self, root: tk.Tk, plan: CutPlan, recording: Recording, folder: Path) -> None:
        self.root, self.recording = root, recording
        root.report_callback_exception = lambda _kind, error, _trace: self._failed(error)
        self.session = session = CutSession(plan, folder)
        self._style, self._background, self._player = Style(root), Background(root), Player()
        self._sound: Sound | None = None
        keymap = Keymap(CUT_ACTIONS)
        self._build(keymap)
        session.status = lambda text: self._status.configure(text=text)
        session.show, session.show_cursor = self._show, self._show_cursor
        self._keys = KeyList(root, self._style, keymap, MOUSE, self._timeline.focus_set)
        self._handlers = self._make_handlers()
        Keyboard(root, keymap, self.perform)
        root.protocol("WM_DELETE_WINDOW", self.close)
        wide, high, px = root.winfo_screenwidth(), root.winfo_screenheight(), self._style.px
        root.geometry(f"{min(px(1320), wide)}x{min(px(860), high - px(40))}+0+0")
        if plan.notes:
            self._banners.show("notes", ". ".join(note[:1].upper() + note[1:] for note in plan.notes) + ".", ())
        session.choose(0)
        # Before a step was shown the field had nothing to put into the plan.
        session.commit = self._commit
        self._words.bind("<FocusOut>", lambda _event: self._commit())
        self._timeline.focus_set()
        if recording.has_audio:
            self._background.run(partial(read_sound, recording.path), partial(setattr, self, "_sound"), self._failed)
        self._tick()

    def perform(self, action: str) -> None:
        """Do an action of the keymap."""
        self._handlers[action]()

    def close(self) -> None:
        """Keep what was typed, and close the window."""
        try:
            self.session.commit()
        finally:
            self._player.stop()
            self._background.close()
            self.root.destroy()

    def _failed(self, error: BaseException) -> None:
        self._write.state(["!disabled"])
        tell_of(error, lambda words: self._banners.show("error", words, ()), self.root.destroy)

    def _build(self, keymap: Keymap) -> None:
        root, style, px, session = self.root, self._style, self._style.px, self.session
        root.columnconfigure(0, weight=1)
        root.rowconfigure(1, weight=1)
        bar = Toolbar(root, style, keymap, self.perform, lambda text: session.status(text), BUTTONS, RIGHT_BUTTONS)
        self._play, self._write = bar.buttons["play"], bar.buttons["write"]
        panes = ttk.Panedwindow(root, orient="horizontal")
        left, middle = ttk.Frame(panes, padding=px(8)), ttk.Frame(panes)
        right = ttk.Frame(panes, padding=(px(12), px(8)))
        columns = {"at": ("Step", 130), "words": ("Instruction", 190)}
        self._rows = RowList(left, columns, rows=4, px=style.unit, chosen=session.choose)
        self._banners = Banners(middle, style)
        self._banners.pack(fill="x")
        self._preview = Preview(middle, session, self.recording, self._background)
        self._preview.pack(fill="both", expand=True)
        self._title = ttk.Label(right, style="Title.TLabel")
        self._title.pack(fill="x")
        ttk.Label(right, text="Instruction   I", style="Soft.TLabel").pack(fill="x", pady=(px(8), 0))
        self._words = make_text(right, style, 2 if style.low else 5)
        self._words.pack(fill="x", pady=(px(3), px(4)))
        self._heard = ttk.Label(right, style="Soft.TLabel", justify="left")
        self._heard.pack(fill="x")
        self._heard.bind("<Configure>", lambda event: self._heard.configure(wraplength=event.width - px(12)))
        for pane, width in ((left, 330), (middle, 0), (right, 280)):
            panes.add(pane, weight=0 if width else 1)
            if width:
                pane.configure(width=px(width * 0.8 if style.narrow else width))
                pane.pack_propagate(False)
        self._timeline = Timeline(root, session, style)
        self._status = ttk.Label(root, style="Status.TLabel", anchor="w", padding=(px(10), px(3)))
        for row, widget in enumerate((bar, panes, self._timeline, self._status)):
            widget.grid(row=row, column=0, sticky="nsew" if widget is panes else "ew")

    def _make_handlers(self) -> dict[str, Callable[[], object]]:
        session, line = self.session, self._timeline
        frame_s = self.recording.frame_s
        ways_s = {"back": -frame_s, "forward": frame_s, "back-second": -1.0, "forward-second": 1.0}
        return {
            **{name: partial(session.edit, *edit) for name, edit in EDITS.items()},
            **{name: partial(self._move, by_s) for name, by_s in ways_s.items()},
            "next-step": lambda: session.choose(session.index + 1),
            "previous-step": lambda: session.choose(session.index - 1),
            "first-step": lambda: session.choose(0),
            "last-step": lambda: session.choose(len(session.plan.steps) - 1),
            "split": session.split,
            "retime": lambda: session.edit("take this screen", partial(edits.retime, screenshot_s=session.cursor_s)),
            "edit-words": self._words.focus_set,
            "play": self._play_from_cursor,
            "play-words": self._play_words,
            "zoom-in": lambda: line.zoom(1.6),
            "zoom-out": lambda: line.zoom(1 / 1.6),
            "fit": lambda: line.zoom(0),
            "cancel": line.focus_set,
            "undo": session.undo,
            "redo": session.redo,
            "write": self._write_folder,
            "help": self._keys.toggle,
            "quit": self.close,
        }

    def _move(self, by_s: float) -> None:
        self.session.move_cursor(self.session.cursor_s + by_s)

    # --- showing --------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        session, plan = self.session, self.session.plan
        self._rows.clear()
        for index, step in enumerate(plan.steps):
            said = plan.instruction(step.instruction)
            shared = index and said is not None and step.instruction == plan.steps[index - 1].instruction
            words = "″ same words" if shared else said.wording if said else ""
            at = f"{index + 1} · {clock(step.screenshot_s)} · {step.action}"
            self._rows.insert("", "end", iid=str(index), values=(at, words or "no words"))
        self._rows.mark(session.index)
        instruction = session.instruction
        self._words.configure(state="normal")
        self._words.replace("1.0", "end", instruction.wording if instruction is not None else "")
        self._words.edit_reset()
        self._words.configure(state="normal" if session.step is not None else "disabled")
        self._title.configure(text=f"Step {session.index + 1} of {len(plan.steps)}" if session.step else "No step")
        heard = "No words."
        if instruction is not None:
            steps = sum(one.instruction == instruction.id for one in plan.steps)
            heard = f"Heard by {plan.recogniser or 'nobody'}: {instruction.heard or 'nothing'}"
            heard += f"\nThe instruction of {steps} steps." if steps > 1 else ""
        self._heard.configure(text=heard)
        self._preview.draw()
        self._timeline.draw()
        self.root.title(f"{Path(plan.video).name} · {len(plan.steps)} steps · annotate segment")

    def _show_cursor(self) -> None:
        self._preview.show_cursor()
        self._timeline.show_cursor()
        self._status.configure(text=f"cursor at {clock(self.session.cursor_s, 2)}")

    def _commit(self) -> None:
        """Put what was typed into the plan; raises SaveFailed where it could not be kept on the disk."""
        session = self.session
        text = " ".join(self._words.get("1.0", "end-1c").split())
        if session.step and text != ("" if session.instruction is None else session.instruction.wording):
            session.change(edits.write_words(session.plan, session.index, text), "correct instruction")

    # --- hearing --------------------------------------------------------------------------------------------------

    def _play_from_cursor(self) -> None:
        if self._player.playing:
            self._player.stop()
        else:
            self._hear(self.session.cursor_s, self.session.cursor_s + MOST_HEARD_S)

    def _play_words(self) -> None:
        instruction, plan = self.session.instruction, self.session.plan
        if instruction is None or not instruction.is_spoken:
            self.session.status("nothing was said for this step")
        else:
            self._hear(*clip_bounds(instruction, plan.instructions, plan.duration_s))

    def _hear(self, start_s: float, end_s: float) -> None:
        if self._sound is None:
            self.session.status("the sound is still being read" if self.recording.has_audio else "there is no sound")
        else:
            self._player.play(self._sound, start_s, end_s)

    def _tick(self) -> None:
        self.root.after(TICK_MS, self._tick)
        self._play.configure(text="Stop" if self._player.playing else "Play")
        self._timeline.show_position(self._player.position_s())

    # --- writing --------------------------------------------------------------------------------------------------

    def _write_folder(self) -> None:
        session = self.session
        session.commit()
        questions = session.folder / QUESTIONS
        question = (
            f"{questions} is there already.\n\nReplace its steps? Boxes that were drawn in them will only be in "
            f"{questions.name}.previous."
        )
        ask = partial(messagebox.askokcancel, parent=self.root, default="cancel", icon="warning")
        overwrite = questions.exists()
        if self._write.instate(["disabled"]) or (overwrite and not ask("Replace the steps?", question)):
            return
        self._write.state(["disabled"])
        session.status("writing …")
        work = partial(write_participant, session.plan, self.recording, session.folder, overwrite=overwrite)
        self._background.run(work, self._written, self._failed)

    def _written(self, what: str) -> None:
        self._write.state(["!disabled"])
        folder = self.session.folder
        self._banners.show("written", f"{what} are in {folder}. Draw the boxes with: grounding annotate {folder}", ())
        self.session.status("written")


def open_window(plan: CutPlan, recording: Recording, folder: Path) -> None:
    """Show a cut until its window is closed. Raises UserError: the folder cannot be written."""
    root = tk.Tk(className="Annotate")
    try:
        CutWindow(root, plan, recording, folder)
        root.mainloop()
    finally:
        with contextlib.suppress(tk.TclError):  # It was closed.
            root.destroy()
