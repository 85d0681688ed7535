"""The tab with what was said: the machine's words, the person's, and the sound of both, slower and again if need be."""

from __future__ import annotations

import tkinter as tk
from functools import partial
from pathlib import Path
from tkinter import ttk
from typing import TYPE_CHECKING

import msgspec

from annotate.actions import Action
from annotate.recording.sound import Sound
from annotate.recording.window.time_view import clock
from annotate.transcripts.clip_sounds import clip_sound
from annotate.transcripts.clips import AUDIO
from annotate.transcripts.corrections import Corrected
from annotate.transcripts.desk import Desk
from annotate.transcripts.devices import open_device
from annotate.transcripts.marking import mark_all_by_key
from annotate.transcripts.player import SPEEDS, Player
from annotate.transcripts.words import Placed, place_words, time_of, word_at
from annotate.window.panels import WindowOptions
from annotate.window.style import ACCENT, CHOSEN, GROUND, INK, LINE, SURFACE
from grounding.errors import UserError

if TYPE_CHECKING:
    from annotate.window.session import Session

ACTIONS = (
    Action(
        name="speech-play",
        words="Play the clip or the marked words; stop",
        keys=("F5",),
        group="Speech",
        while_typing=True,
    ),
    Action(name="speech-repeat", words="Repeat it, or not any more", keys=("F6",), group="Speech", while_typing=True),
    Action(
        name="speech-speed", words="Slower, and back to full speed", keys=("F7",), group="Speech", while_typing=True
    ),
    Action(name="speech-correct", words="Correct the words", keys=("F8",), group="Speech", while_typing=True),
)
TICK_MS = 40
KEEP_AFTER_MS = 1000
NO_CLIP = "No recording goes with this step."


def make_panel(options: WindowOptions) -> SpeechPanel | None:
    """For ``annotate.window.panels``: only where the folder has recordings."""
    return SpeechPanel(options.folder) if (options.folder / AUDIO).is_dir() else None


class SpeechPanel:
    """The tab for one participant's folder.

    Args:
        folder: The participant's folder.
        player: What plays; by default whatever this computer has.
    """

    title = "Speech"
    actions: tuple[Action, ...] = ACTIONS

    def __init__(self, folder: Path, player: Player | None = None) -> None:
        self._folder = folder
        self.player = player or Player(open_device)
        self._desk: Desk | None = None
        self._clip: Corrected | None = None
        self._sound: Sound | None = None
        self._placed: list[Placed] = []
        self._timer: str | None = None

    # --- building -------------------------------------------------------------------------------------------------

    def build(self, parent: tk.Misc, session: Session) -> ttk.Frame:
        """Make the tab; see ``annotate.window.panels.Panel``."""
        self._session = session
        frame = self._frame = ttk.Frame(parent, padding=8)
        try:
            self._desk = Desk(self._folder)
        except UserError as error:
            ttk.Label(frame, text=str(error), wraplength=260, justify="left").pack(anchor="w", fill="x")
            return frame
        self._title = ttk.Label(frame, style="Title.TLabel")
        self._title.pack(anchor="w", fill="x")
        self._about = ttk.Label(frame, style="Soft.TLabel")
        self._about.pack(anchor="w", fill="x", pady=(0, 6))
        self._build_player(frame)
        row = ttk.Frame(frame)
        row.pack(fill="x", pady=(8, 3))
        ttk.Label(row, text="Heard by", style="Heading.TLabel").pack(side="left")
        self._who = ttk.Combobox(row, values=self._desk.recognisers, state="readonly", takefocus=False, width=16)
        self._who.pack(side="left", padx=(6, 0), fill="x", expand=True)
        self._who.set(next(iter(self._desk.recognisers), "nobody yet"))
        self._who.bind("<<ComboboxSelected>>", lambda _event: self._show_heard())
        self._heard = self._text(frame, 4, ground=GROUND)
        self._heard.tag_configure("spoken", background=CHOSEN)
        self._heard.configure(cursor="xterm")
        # Can be marked to be played, not changed: nobody's hand writes what a machine heard.
        self._heard.bind("<Key>", self._no_typing)
        self._heard.bind("<Double-Button-1>", lambda _event: self._heard.after_idle(self._play))
        ttk.Label(frame, text="Mark words and press F5 to hear only them.", style="Soft.TLabel").pack(
            anchor="w", fill="x", pady=(2, 8)
        )
        ttk.Label(frame, text="What was said", style="Heading.TLabel").pack(anchor="w", fill="x", pady=(0, 3))
        self._words = self._text(frame, 4, ground=SURFACE)
        self._words.bind("<KeyRelease>", lambda _event: self._keep_soon())
        self._words.bind("<FocusOut>", lambda _event: self._keep())
        row = ttk.Frame(frame)
        row.pack(fill="x", pady=(4, 0))
        self._right = ttk.Button(row, text="It is right", command=partial(self._keep, checked=True), takefocus=False)
        self._right.pack(side="left")
        self._take = ttk.Button(row, text="Take the machine's", command=self._take_heard, takefocus=False)
        self._take.pack(side="left", padx=(6, 0))
        self._use = ttk.Button(
            frame, text="Make it the instruction of its steps", command=self._make_instruction, takefocus=False
        )
        self._use.pack(anchor="w", pady=(6, 0))
        self._state = ttk.Label(frame, style="Soft.TLabel")
        self._state.pack(anchor="w", fill="x", pady=(6, 0))
        self._bind_all(session)
        return frame

    def _build_player(self, frame: ttk.Frame) -> None:
        row = ttk.Frame(frame)
        row.pack(fill="x")
        self._play_button = ttk.Button(row, text="Play", width=6, command=self._play_or_stop, takefocus=False)
        self._play_button.pack(side="left")
        self._speed = ttk.Combobox(
            row, values=[_percent(one) for one in SPEEDS], state="readonly", width=6, takefocus=False
        )
        self._speed.set(_percent(SPEEDS[0]))
        self._speed.pack(side="left", padx=(6, 6))
        self._again = tk.BooleanVar(frame)
        ttk.Checkbutton(row, text="Repeat", style="Toolbutton", variable=self._again, takefocus=False).pack(side="left")
        self._position = ttk.Label(row, style="Soft.TLabel")
        self._position.pack(side="right")

    @staticmethod
    def _text(frame: ttk.Frame, lines: int, *, ground: str) -> tk.Text:
        text = tk.Text(
            frame, height=lines, width=30, wrap="word", undo=True, font="TkTextFont", background=ground, foreground=INK,
            relief="flat", highlightthickness=1, highlightbackground=LINE, highlightcolor=ACCENT, padx=6, pady=4,
            exportselection=False,
        )  # fmt: skip
        text.pack(fill="x")
        mark_all_by_key(text)
        return text

    def _bind_all(self, session: Session) -> None:
        session.bind_key("speech-play", self._play_or_stop)
        session.bind_key("speech-repeat", lambda: self._again.set(not self._again.get()))
        session.bind_key("speech-speed", self._next_speed)
        session.bind_key("speech-correct", lambda: session.focus_on(self._words))
        session.before_leaving(self._keep)
        session.on_close(self.player.stop)

    # --- the step -------------------------------------------------------------------------------------------------

    def on_step(self, index: int) -> None:
        """Show the clip of this step; see ``annotate.window.panels.Panel``."""
        if self._desk is None:
            return
        clip = self._desk.clip_for(self._session.document.entries[index].image)
        if clip is not None and self._clip is not None and clip.audio == self._clip.audio:
            self._clip = clip
            self._show()
            return
        self.player.stop()
        self._clip, self._sound = clip, None
        self._show()
        if clip is not None:
            path, audio = self._desk.path(clip), clip.audio
            self._session.in_background(lambda: clip_sound(path), partial(self._came, audio), what="the recording")

    def on_change(self, index: int) -> None:
        """Nothing: the words of a clip lie in a file of their own."""

    def _came(self, audio: str, sound: Sound) -> None:
        if self._clip is not None and self._clip.audio == audio:
            self._sound = sound
            self._about.configure(text=f"{clock(sound.seconds, 1)} · {_steps(self._clip)}")

    def _show(self) -> None:
        clip = self._clip
        self._title.configure(text=NO_CLIP if clip is None else clip.audio)
        self._about.configure(text="" if clip is None else f"reading … · {_steps(clip)}")
        for button in (self._play_button, self._right, self._use):
            button.state(["disabled" if clip is None else "!disabled"])
        self._words.configure(state="normal")
        _put(self._words, "" if clip is None else clip.text)
        self._words.configure(state="disabled" if clip is None else "normal")
        self._show_heard()
        self._show_state()

    def _show_heard(self) -> None:
        heard = self._transcript_text()
        self._placed = []
        if self._clip is not None and self._desk is not None:
            found = self._desk.heard(self._clip, self._who.get())
            self._placed = [] if found is None else place_words(found.text, found.words)
        _put(self._heard, heard)
        self._take.state(["!disabled" if heard else "disabled"])

    def _transcript_text(self) -> str:
        if self._clip is None or self._desk is None:
            return ""
        found = self._desk.heard(self._clip, self._who.get())
        return "" if found is None else found.text

    def _show_state(self) -> None:
        if self._desk is None:
            return
        done, of = self._desk.checked()
        mine = "" if self._clip is None else ("Checked. " if self._clip.checked else "Not checked yet. ")
        self._state.configure(text=f"{mine}{done} of {of} clips are checked.")

    # --- words ----------------------------------------------------------------------------------------------------

    def _correct(self) -> None:
        """Bring the tab to the front and put the cursor into its words."""
        tabs = self._frame.master
        if isinstance(tabs, ttk.Notebook):
            tabs.select(str(self._frame))  # type: ignore[no-untyped-call]
        self._words.focus_set()

    def _keep_soon(self) -> None:
        if self._timer is not None:
            self._words.after_cancel(self._timer)
        self._timer = self._words.after(KEEP_AFTER_MS, self._keep)

    def _keep(self, *, checked: bool = False) -> None:
        """Put the words into the file of corrections, where they are others, or were found to be right."""
        if self._timer is not None:
            self._words.after_cancel(self._timer)
            self._timer = None
        if self._clip is None or self._desk is None:
            return
        text = " ".join(self._words.get("1.0", "end-1c").split())
        if text == self._clip.text and not (checked and not self._clip.checked):
            return
        try:
            self._clip = self._desk.correct(self._clip, text)
        except UserError as error:
            self._session.banner("speech", f"The words are not kept: {error}")
            return
        self._session.clear_banner("speech")
        self._show_state()

    def _take_heard(self) -> None:
        _put(self._words, self._transcript_text())
        self._keep()

    def _make_instruction(self) -> None:
        """All steps of the clip: an instruction that needs several steps is the same at each."""
        self._keep()
        clip = self._clip
        if clip is None:
            return
        changed = 0
        for index, entry in enumerate(self._session.document.entries):
            if entry.image in clip.steps and entry.instruction != clip.text:
                self._session.change_at(index, msgspec.structs.replace(entry, instruction=clip.text), "as said")
                changed += 1
        self._session.status(f"instruction of {changed} step{'' if changed == 1 else 's'} changed")

    # --- sound ----------------------------------------------------------------------------------------------------

    def _play_or_stop(self) -> None:
        if self.player.playing:
            self.player.stop()
        else:
            self._play()

    def _play(self) -> None:
        if self._sound is None:
            self._session.status("There is no sound to play for this step" if self._clip is None else "Still reading")
            return
        span = self._marked()
        start_s, end_s = (0.0, None) if span is None else span
        speed = next(one for one in SPEEDS if _percent(one) == self._speed.get())
        try:
            self.player.play(self._sound, start_s, end_s, speed=speed, again=self._again.get())
        except UserError as error:
            self._session.banner("player", str(error))
            return
        self._session.clear_banner("player")
        self._tick()

    def _marked(self) -> tuple[float, float] | None:
        ranges = self._heard.tag_ranges("sel")
        if not ranges:
            return None
        first, end = (len(self._heard.get("1.0", str(place))) for place in ranges[:2])
        return time_of(self._placed, first, end)

    def _tick(self) -> None:
        try:
            position_s = self.player.position_s()
        except UserError as error:
            self._session.banner("player", str(error))
            position_s = None
        self._play_button.configure(text="Stop" if self.player.playing else "Play")
        self._position.configure(text="" if position_s is None else clock(position_s, 1))
        self._heard.tag_remove("spoken", "1.0", "end")
        word = None if position_s is None else word_at(self._placed, position_s)
        if word is not None:
            self._heard.tag_add("spoken", f"1.0+{word.first}c", f"1.0+{word.end}c")
        if self.player.playing:
            self._heard.after(TICK_MS, self._tick)

    def _next_speed(self) -> None:
        names = [_percent(one) for one in SPEEDS]
        self._speed.set(names[(names.index(self._speed.get()) + 1) % len(names)])

    @staticmethod
    def _no_typing(event: tk.Event[tk.Misc]) -> str | None:
        state = event.state if isinstance(event.state, int) else 0
        moves = event.keysym in ("Left", "Right", "Up", "Down", "Home", "End", "Tab", "ISO_Left_Tab")
        copies = bool(state & 0x4) and event.keysym.lower() in ("c", "a")
        return None if moves or copies else "break"


def _put(text: tk.Text, words: str) -> None:
    if text.get("1.0", "end-1c") != words:
        text.delete("1.0", "end")
        text.insert("1.0", words)
        text.edit_reset()


def _percent(speed: float) -> str:
    return f"{speed * 100:.0f} %"


def _steps(clip: Corrected) -> str:
    return "no step" if not clip.steps else "1 step" if len(clip.steps) == 1 else f"{len(clip.steps)} steps"
