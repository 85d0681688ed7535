"""The session cutter's window: everything put together, and what its keys and buttons do."""

from __future__ import annotations

import sys
import tkinter as tk
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tkinter import messagebox, ttk

import msgspec

from annotate.keys import Keymap
from annotate.recording import edits
from annotate.recording.propose import hear
from annotate.recording.records import CutPlan, Utterance
from annotate.recording.sound import Sound, read_sound
from annotate.recording.video import Recording
from annotate.recording.window.cut_commands import TAKE, CutCommands
from annotate.recording.window.cut_keys import CutKeyboard, key_list
from annotate.recording.window.cut_session import CutSession
from annotate.recording.window.form import Form
from annotate.recording.window.preview import Preview
from annotate.recording.window.step_rows import StepRows
from annotate.recording.window.timeline import Timeline
from annotate.recording.writing import Written, clip_bounds, write_participant
from annotate.transcripts.devices import open_device
from annotate.transcripts.player import SPEEDS, Player
from annotate.window.background import Background
from annotate.window.notices import Banners
from annotate.window.style import Style
from grounding.asr.recogniser import Recogniser
from grounding.errors import UserError
from grounding.loaders.realwebassist import QUESTIONS

TICK_MS = 40
STEP_BUTTONS = (("Merge", "merge"), ("Split", "split"), ("Drop", "drop"), ("Take this screen", "retime"))
WORD_BUTTONS = (("Same words", "same-words"), ("Split words", "split-words"), ("Join words", "join-words"))


class CutWindow:
    """One cut in one window.

    Args:
        root: The window, empty.
        plan: The cut to begin with.
        recording: What is cut.
        folder: Where it is kept and written.
        keymap: The keys of ``CUT_ACTIONS``.
        recogniser: Who hears a clip again; None for nobody.
        scale: How large everything is; None for what the display says.
    """

    def __init__(
        self,
        root: tk.Tk,
        plan: CutPlan,
        recording: Recording,
        folder: Path,
        *,
        keymap: Keymap,
        recogniser: Recogniser | None = None,
        scale: float | None = None,
    ) -> None:
        self.root, self.keymap = root, keymap
        self._recogniser = recogniser
        root.report_callback_exception = self._failed
        self.session = CutSession(plan, recording, folder)
        style = self._style = Style(root, scale)
        self._background = Background(root)
        self._sound: Sound | None = None
        self.player = Player(open_device)
        self._writing = False
        self._build()
        self.session.status = self.say
        self.session.watch(on_plan=self._retitle, on_step=self._retitle)
        self._handlers = self._make_handlers()
        self.keyboard = CutKeyboard(root, keymap, self.perform)
        root.protocol("WM_DELETE_WINDOW", self.close)
        wide, high = root.winfo_screenwidth(), root.winfo_screenheight()
        root.geometry(f"{min(style.px(1320), wide)}x{min(style.px(860), high - style.px(40))}+0+0")
        self._retitle()
        self._show_notes()
        self.session.choose(0)
        self.timeline.focus_set()
        if recording.facts.has_audio:
            self._background.run(lambda: read_sound(recording.path), self._sound_came, self._sound_failed)
        self._tick()

    def perform(self, action: str) -> None:
        """Do an action of the keymap; what goes wrong is said in the window."""
        self.guarded(self._handlers[action])

    def guarded(self, work: Callable[[], object]) -> object:
        """Do something; an error of the user's is shown above the picture."""
        try:
            return work()
        except UserError as error:
            self.banners.show("error", str(error), ())
            return None

    def say(self, text: str) -> None:
        """Show a line of text at the bottom."""
        self._status.configure(text=text)

    def close(self) -> None:
        """Keep what was typed, and close the window."""
        self.guarded(self.session.finish_typing)
        self.player.stop()
        self._background.close()
        self.root.destroy()

    # --- building -------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        root, style, px = self.root, self._style, self._style.px
        root.columnconfigure(0, weight=1)
        root.rowconfigure(2, weight=1)
        tools = ttk.Frame(root)
        tools.columnconfigure(0, weight=1)
        tools.grid(row=0, column=0, sticky="ew")
        bar = ttk.Frame(tools, padding=(px(10), px(6)))
        bar.grid(row=0, column=0, sticky="ew")
        ttk.Frame(root, height=1, style="Line.TFrame").grid(row=1, column=0, sticky="ew")
        panes = ttk.Panedwindow(root, orient="horizontal")
        panes.grid(row=2, column=0, sticky="nsew")
        rows = StepRows(panes, self.session, style, self._background)
        middle = ttk.Frame(panes)
        middle.rowconfigure(1, weight=1)
        middle.columnconfigure(0, weight=1)
        self.banners = Banners(middle, style)
        self.banners.grid(row=0, column=0, sticky="ew")
        self.preview = Preview(middle, self.session, style, self._background)
        self.preview.grid(row=1, column=0, sticky="nsew")
        self.form = Form(panes, self.session, style, self.guarded)
        rows.configure(width=px(270 if style.narrow else 330))
        rows.pack_propagate(False)
        self.form.configure(width=px(250 if style.narrow else 300))
        self.form.pack_propagate(False)
        panes.add(rows, weight=0)
        panes.add(middle, weight=1)
        panes.add(self.form, weight=0)
        self.timeline = Timeline(root, self.session, style, self.guarded)
        self.timeline.grid(row=3, column=0, sticky="ew")
        self._status = ttk.Label(root, style="Status.TLabel", anchor="w", padding=(px(10), px(3)))
        self._status.grid(row=4, column=0, sticky="ew")
        self._fill_bar(bar)

    def _fill_bar(self, bar: ttk.Frame) -> None:
        px = self._style.px
        self._play = self._button(bar, "Play", "play")
        self._button(bar, "Play words", "play-words")
        self._speed = ttk.Combobox(
            bar, values=[_percent(one) for one in SPEEDS], state="readonly", width=6, takefocus=False
        )
        self._speed.set(_percent(1.0))
        self._speed.pack(side="left", padx=(0, px(4)))
        self._again = tk.BooleanVar(self.root)
        again = ttk.Checkbutton(bar, text="Repeat", style="Toolbutton", variable=self._again, takefocus=False)
        again.pack(side="left", padx=(0, px(14)))
        # On a narrow screen the buttons take two rows, so that none is cut off.
        lower = ttk.Frame(bar.master, padding=(px(10), 0, px(10), px(6))) if self._style.narrow else bar
        if lower is not bar:
            lower.grid(row=1, column=0, sticky="ew")
        self._write = self._button(lower, "Write folder", "write", "Accent.TButton", side="right")
        self._button(lower, "?", "help", side="right")
        self._button(lower, "Redo", "redo", side="right")
        self._button(lower, "Undo", "undo", side="right")
        for words, action in STEP_BUTTONS:
            self._button(bar, words, action)
        if lower is bar:
            ttk.Frame(bar, width=px(10)).pack(side="left")
        for words, action in WORD_BUTTONS:
            self._button(lower, words, action)

    def _button(
        self, bar: ttk.Frame, words: str, action: str, kind: str = "Tool.TButton", side: str = "left"
    ) -> ttk.Button:
        button = ttk.Button(bar, text=words, style=kind, takefocus=False, command=partial(self.perform, action))
        button.pack(side=side, padx=(0, self._style.px(4)))  # type: ignore[arg-type]
        words = next(one.words for one in self.keymap.actions if one.name == action)
        keys = self.keymap.shown(action).split("  ")[0]
        button.bind("<Enter>", lambda _event: self.say(f"{words}{f'  ({keys})' if keys else ''}"))
        return button

    def _make_handlers(self) -> dict[str, Callable[[], object]]:
        session, line = self.session, self.timeline
        commands = CutCommands(session)
        return {
            "next-step": lambda: session.choose(session.index + 1),
            "previous-step": lambda: session.choose(session.index - 1),
            "first-step": lambda: session.choose(0),
            "last-step": lambda: session.choose(len(session.plan.steps) - 1),
            "merge": lambda: commands.edit("merge steps", edits.merge_with_next),
            "split": commands.split,
            "drop": lambda: commands.edit("drop step", edits.drop),
            "retime": lambda: commands.edit(TAKE, lambda plan, index: edits.retime(plan, index, session.cursor_s)),
            "split-words": commands.split_words,
            "join-words": commands.join_words,
            "same-words": commands.same_words,
            "start-words": lambda: commands.move_words(start=True),
            "end-words": lambda: commands.move_words(start=False),
            "hear-again": self._hear_again,
            "edit-words": self.form.words.focus_set,
            "edit-task": self.form.task.focus_set,
            "play": self._play_from_cursor,
            "play-words": self._play_words,
            "back": lambda: self._move(-self._frame_s()),
            "forward": lambda: self._move(self._frame_s()),
            "back-second": lambda: self._move(-1.0),
            "forward-second": lambda: self._move(1.0),
            "zoom-in": lambda: line.zoom(1.6),
            "zoom-out": lambda: line.zoom(1 / 1.6),
            "fit": line.fit,
            "cancel": self._leave_field,
            "undo": session.undo,
            "redo": session.redo,
            "write": self._write_folder,
            "help": lambda: key_list(self.root, self._style, self.keymap),
            "quit": self.close,
        }

    # --- hearing and time ---------------------------------------------------------------------------------------------

    def _hear_again(self) -> None:
        instruction, sound, recogniser = self.session.instruction, self._sound, self._recogniser
        if recogniser is None:
            raise UserError(
                "no recogniser was chosen: start again with --asr pocketsphinx, or correct the words by hand"
            )
        if instruction is None or sound is None:
            return
        self.say(f"{recogniser.name} is listening …")
        part = Utterance(start_s=instruction.start_s, end_s=instruction.end_s)
        name = self.session.recording.path.name

        def listen() -> Utterance:
            return hear(sound, [part], recogniser, store=None, name=name, progress=lambda *_: None)[0]

        def came(heard: Utterance) -> None:
            if heard.failure:
                raise UserError(f"not recognised: {heard.failure}")
            plan = self.session.plan
            if not any(one.id == instruction.id for one in plan.instructions):
                return
            now = edits.instruction_of(plan, instruction.id)
            again = msgspec.structs.replace(now, heard=heard.text, words=heard.words)
            instructions = tuple(again if one.id == again.id else one for one in plan.instructions)
            changed = msgspec.structs.replace(plan, instructions=instructions, recogniser=recogniser.name)
            self.session.change(changed, "hear again")

        self._background.run(listen, lambda heard: self.guarded(lambda: came(heard)), self._told)

    # --- time and sound -------------------------------------------------------------------------------------------

    def _frame_s(self) -> float:
        fps = self.session.recording.facts.mean_fps or 30.0
        return 1.0 / min(max(fps, 5.0), 60.0)

    def _move(self, by_s: float) -> None:
        self.session.move_cursor(self.session.cursor_s + by_s)

    def _play_from_cursor(self) -> None:
        if self.player.playing:
            self.player.stop()
        else:
            self._start(self.session.cursor_s, None)

    def _play_words(self) -> None:
        instruction = self.session.instruction
        if instruction is None or instruction.end_s <= instruction.start_s:
            self.say("nothing was said for this step")
            return
        plan = self.session.plan
        self._start(*clip_bounds(instruction, plan.instructions, plan.duration_s))

    def _start(self, start_s: float, end_s: float | None) -> None:
        if self._sound is None:
            words = "the sound is still being read" if self.session.recording.facts.has_audio else "there is no sound"
            self.say(words)
            return
        speed = next(one for one in SPEEDS if _percent(one) == self._speed.get())
        # Half an hour is not stretched at once: what is heard from the cursor ends after two minutes.
        end_s = min(start_s + 120.0, self._sound.seconds) if end_s is None else end_s
        self.player.play(self._sound, start_s, end_s, speed=speed, again=self._again.get())

    def _tick(self) -> None:
        self.root.after(TICK_MS, self._tick)
        position_s = self.guarded(self.player.position_s)
        self._play.configure(text="Stop" if self.player.playing else "Play")
        self.timeline.show_position(position_s if isinstance(position_s, float) else None)

    def _sound_came(self, sound: Sound | None) -> None:
        self._sound = sound
        self.timeline.set_sound(sound)

    def _sound_failed(self, error: Exception) -> None:
        self._told(error)

    # --- writing --------------------------------------------------------------------------------------------------

    def _write_folder(self) -> None:
        session = self.session
        session.finish_typing()
        if self._writing:
            return
        overwrite = False
        questions = session.folder / QUESTIONS
        if questions.exists():
            overwrite = messagebox.askokcancel(
                "Replace the steps?",
                f"{questions} is there already.\n\nReplace its steps? Boxes that were drawn in them will only be in "
                f"{questions.name}.previous.",
                parent=self.root,
                default="cancel",
                icon="warning",
            )
            if not overwrite:
                return
        self._writing = True
        self._write.state(["disabled"])
        self.say("writing …")
        plan = session.plan
        self._background.run(
            lambda: write_participant(
                plan, session.recording, session.folder, overwrite=overwrite, progress=lambda *_: None
            ),
            self._written,
            self._told,
        )

    def _written(self, written: Written) -> None:
        self._writing = False
        self._write.state(["!disabled"])
        self.banners.show(
            "written",
            f"{written.steps} steps and {written.clips} clips are in {written.folder}. Draw the boxes with: "
            f"python -m annotate {written.folder}",
            (),
        )
        self.say("written")

    def _told(self, error: Exception) -> None:
        self._writing = False
        self._write.state(["!disabled"])
        if not isinstance(error, UserError | OSError):
            raise error
        self.banners.show("error", str(error), ())

    # --- the rest -------------------------------------------------------------------------------------------------

    def _show_notes(self) -> None:
        plan = self.session.plan
        notes = list(plan.notes)
        if plan.broke is not None:
            notes.insert(0, f"The recording breaks off at {plan.broke.at_s:.2f} s: {plan.broke.message}")
        if notes:
            self.banners.show("notes", ". ".join(note[:1].upper() + note[1:] for note in notes) + ".", ())

    def _leave_field(self) -> None:
        self.session.finish_typing()
        self.timeline.focus_set()

    def _retitle(self) -> None:
        plan = self.session.plan
        self.root.title(f"{Path(plan.video).name} · {len(plan.steps)} steps · annotate segment")

    def _failed(self, _kind: type[BaseException], error: BaseException, _trace: object) -> None:
        if isinstance(error, KeyboardInterrupt):
            self.close()
        elif isinstance(error, UserError):
            self.banners.show("error", str(error), ())
        else:
            traceback.print_exception(error, file=sys.stderr)
            self.banners.show(
                "error",
                f"Something went wrong in this program ({type(error).__name__}: {error}). Your work is kept; the "
                "terminal shows where it happened.",
                (),
            )


def _percent(speed: float) -> str:
    return f"{speed * 100:.0f} %"
