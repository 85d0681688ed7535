"""The words of a step, and playing what was said. Typing becomes a change after a short rest.

An instruction that several steps carry out is edited in all of them; a key edits that of one step alone.
"""

import tkinter as tk
from collections.abc import Callable
from functools import partial
from tkinter import ttk

from msgspec.structs import replace

from grounding.asr.audio import SAMPLE_RATE_HZ, UnreadableAudio, read_audio
from grounding.errors import UserError

from ..core.records import same_instruction
from ..core.sound import Player, Sound
from ..core.words import ClipWords, clip_path, clips_of, correct
from .session import WindowSession
from .style import ACCENT, INK, LINE, SURFACE, Style

_COMMIT_AFTER_MS, _TICK_MS = 400, 40
_LINES = {"instruction": 3, "transcript": 2, "task": 1, "action": 1, "comment": 2}
"""Each field with its height; task and action stand side by side."""


class Speech(ttk.Frame):
    """Buttons below the transcript where a recording goes with the step; ``keep`` puts its words away as a person's."""

    def __init__(self, parent: tk.Misc, session: WindowSession, style: Style, keep: Callable[[str], object]) -> None:
        super().__init__(parent)
        self._session, self._keep = session, keep
        self._player = Player()
        self._clip: ClipWords | None = None
        self._play_button = session.button(self, "Play", "speech-play")
        right = session.button(self, "It is right", "speech-right")
        instruction = session.button(self, "As instruction", "speech-instruction")
        for at, button in enumerate((self._play_button, right, instruction)):
            button.grid(
                row=at // 2,
                column=at % 2,
                columnspan=1 + at // 2,
                sticky="w",
                padx=(0, style.px(4)),
                pady=(style.px(4), 0),
            )
        session.bind_keys({
            "speech-play": self._play_or_stop, "speech-right": self._is_right,
            "speech-instruction": self._make_instruction,
        })  # fmt: skip
        session.watch(step=self._show_step, close=self._player.stop)

    def _show_step(self, _index: int) -> None:
        try:
            clips = clips_of(self._session.document.folder, self._session.entry.image)
        except UserError as error:
            self._session.banner("speech", str(error))
            clips = []
        if not clips or self._clip is None or clips[0].audio != self._clip.audio:
            self._player.stop()
        self._clip = clips[0] if clips else None
        if clips:
            self.pack(fill="x")
        else:
            self.pack_forget()

    def _is_right(self) -> None:
        self._session.finish_edits()
        self._keep(self._session.entry.transcript)

    def _make_instruction(self) -> None:
        session = self._session
        session.finish_edits()
        entries, here = session.document.entries, session.entry
        images = {here.image, *(self._clip.steps if self._clip is not None else ())}
        run = [at for at, entry in enumerate(entries) if entry.image in images]
        session.change_together({at: replace(entries[at], instruction=here.transcript) for at in run}, "as said")

    def _play_or_stop(self) -> None:
        if self._player.playing():
            self._player.stop()
        elif self._clip is None:
            self._session.status("No recording goes with this step")
        else:
            path = clip_path(self._session.document.folder, self._clip.audio)
            try:
                samples = read_audio(path).samples
            except UnreadableAudio as error:
                raise UserError(f"{path}: can't be played: {error}") from error
            self._player.play(Sound(rate_hz=SAMPLE_RATE_HZ, samples=samples))
            self._tick()

    def _tick(self) -> None:
        playing = False
        try:
            playing = self._player.playing()
        finally:
            self._play_button.configure(text=self._session.with_key("Stop" if playing else "Play", "speech-play"))
        if playing:
            self.after(_TICK_MS, self._tick)


class StepFields(ttk.Frame):
    def __init__(self, parent: tk.Misc, session: WindowSession, style: Style) -> None:
        super().__init__(parent)
        self._session, self._style = session, style
        self._timer = ""
        # What this program put into each field: whatever else is there was typed.
        self._put = dict.fromkeys(_LINES, "")
        self._shown: int | None = None
        self._run = range(0)
        """The steps whose instruction is edited together."""
        self._heads: dict[str, ttk.Label] = {}
        self.fields: dict[str, tk.Text] = {}
        pair = ttk.Frame(self)
        for name, lines in _LINES.items():
            if name == "task":
                pair.pack(fill="x")
            place = self._add(pair if lines == 1 else self, name)
            if name == "transcript":
                self.speech = Speech(place, session, style, self._keep_transcript)
        session.bind_keys({
            **{f"edit-{name}": partial(self.focus_on, name) for name in _LINES}, "split-instruction": self._split,
        })  # fmt: skip
        session.watch(step=self._fill, change=self._changed, leaving=self.commit)

    def focus_on(self, name: str) -> None:
        field = self.fields[name]
        tab: tk.Misc = self
        while not isinstance(tab.master, ttk.Notebook):
            tab = tab.master  # type: ignore[assignment] # The fields are always in a tab.
        # Tk gives the keyboard to nothing that can't be seen.
        tab.master.select(str(tab))  # type: ignore[no-untyped-call]
        tab.master.update_idletasks()
        field.focus_set()
        field.mark_set("insert", "end-1c")

    def commit(self) -> None:
        """Put the typed words into the document, field by field, and leave alone what nobody typed into."""
        if self._timer:
            self.after_cancel(self._timer)
            self._timer = ""
        session = self._session
        # Before the first step the fields are empty, which says nothing about any step.
        for name in _LINES if self._shown == session.index else ():
            typed = self._text_of(name)
            if typed == self._put[name]:
                continue
            self._put[name] = typed
            before, value = getattr(session.entry, name), typed.strip()
            if name == "task" and isinstance(before, int) and value.isascii() and value.isdecimal():
                value = int(value)  # type: ignore[assignment] # A number stays a number where it was one.
            if value == before or typed == str(before):
                continue
            if name == "transcript":
                self._keep_transcript(value)
            else:
                run = self._run if name == "instruction" else (session.index,)
                entries = session.document.entries
                session.change_together({at: replace(entries[at], **{name: value}) for at in run}, f"edit {name}")

    def _split(self) -> None:
        self.commit()
        self._run = range(self._session.index, self._session.index + 1)
        self._name_heads()
        self.focus_on("instruction")
        self._session.status("The words of this step alone are edited: it becomes an instruction of its own")

    def _keep_transcript(self, text: str) -> None:
        session = self._session
        try:
            reformatted = correct(session.document.folder, session.entry.image, text)
            session.document.reload_transcripts()
        except UserError as error:
            session.banner("transcript", f"The transcript is not kept: {error}")
            return
        session.clear_banner("transcript")
        if reformatted:
            session.status("The file of transcripts was set out in another way and is reformatted, this once")
        session.tell("change", session.index)

    def _text_of(self, name: str) -> str:
        return self.fields[name].get("1.0", "end-1c")

    def _changed(self, index: int) -> None:
        if index == self._session.index:
            self._fill(index)

    def _fill(self, index: int) -> None:
        entry = self._session.entry
        another, self._shown = self._shown != index, index
        if another or self.focus_displayof() is not self.fields["instruction"]:
            self._run = same_instruction(self._session.document.entries, index)
        self._name_heads()
        for name, field in self.fields.items():
            text, wanted = self._text_of(name), str(getattr(entry, name))
            if not another and text != self._put[name]:
                continue
            # Somebody types a word, and the space after it is not in the entry.
            if text != wanted and (another or text.strip() != wanted):
                field.delete("1.0", "end")
                field.insert("1.0", wanted)
            self._put[name] = self._text_of(name)

    def _name_heads(self) -> None:
        run, index = self._run, self._session.index
        several = f" · steps {run[0] + 1} to {run[-1] + 1}" if len(run) > 1 else ""
        if len(run) == 1 and len(same_instruction(self._session.document.entries, index)) > 1:
            several = " · this step alone"
        source = self._session.document.transcript_source(index)
        for name, words in (("instruction", several), ("transcript", f" · {source}" if source else "")):
            self._heads[name].configure(text=name.capitalize() + words)

    def _add(self, parent: tk.Misc, name: str) -> ttk.Frame:
        px, beside = self._style.px, _LINES[name] == 1
        place, session = ttk.Frame(parent), self._session
        place.pack(fill="x", pady=(0, px(8)), side="left" if beside else "top", expand=beside, padx=(0, px(4) * beside))
        head = ttk.Frame(place)
        head.pack(fill="x", pady=(0, px(3)))
        self._heads[name] = ttk.Label(head, text=name.capitalize(), style="Heading.TLabel")
        self._heads[name].pack(side="left")
        ttk.Label(head, text=session.keymap.shown(f"edit-{name}"), style="Soft.TLabel").pack(side="right")
        # Where the screen is low, the boxes below need the room.
        field = self.fields[name] = make_text(place, self._style, max(_LINES[name] - self._style.low, 1))
        field.configure(undo=False, width=8 if beside else 20)
        field.pack(fill="x")
        field.bind("<<Modified>>", lambda _event: self._modified(field, name))
        field.bind("<Shift-Return>", lambda _event: None)
        field.bind("<Tab>", lambda _event: _go_to(field.tk_focusNext()))
        for keys in ("<Shift-Tab>", "<ISO_Left_Tab>"):
            field.bind(keys, lambda _event: _go_to(field.tk_focusPrev()))
        for keys in ("<Return>", "<KP_Enter>"):
            field.bind(keys, self._leave)
        field.bind("<FocusOut>", lambda _event: self.commit())
        return place

    def _modified(self, field: tk.Text, name: str) -> None:
        """Tk tells of every change of a text field, this program's own included, some time later."""
        if field.edit_modified():
            field.edit_modified(False)
            if self._text_of(name) != self._put[name]:
                if self._timer:
                    self.after_cancel(self._timer)
                self._timer = self.after(_COMMIT_AFTER_MS, self.commit)

    def _leave(self, _event: object) -> str:
        self.commit()
        self._session.focus_canvas()
        return "break"


def _go_to(widget: tk.Misc | None) -> str:
    if widget is not None:
        widget.focus_set()
    return "break"


def make_text(parent: tk.Misc, style: Style, lines: int, ground: str = SURFACE) -> tk.Text:
    """A field of several lines. Ctrl+A in it marks all, as everywhere else; Tk on Unix goes to the line's start."""
    px = style.px
    field = tk.Text(
        parent, height=lines, width=20, wrap="word", font=style.font, relief="flat", borderwidth=0, undo=True,
        highlightthickness=1, highlightbackground=LINE, highlightcolor=ACCENT, padx=px(6), pady=px(4),
        insertwidth=px(2), background=ground, foreground=INK, spacing1=px(1), exportselection=False,
    )  # fmt: skip

    def select_all(_event: object) -> str:
        field.tag_add("sel", "1.0", "end-1c")
        field.mark_set("insert", "end-1c")
        return "break"

    for letter in ("a", "A"):
        field.bind(f"<Control-{letter}>", select_all)
    return field
