"""The words of a step: instruction, transcript, task, action, comment. Typing becomes a change after a short rest."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable
from tkinter import ttk

import msgspec

from annotate.edits import task_from_text
from annotate.window.session import Session
from annotate.window.style import GROUND, LINE, SOFT_INK, Style

_COMMIT_AFTER_MS = 400
_MOST_CHOICES = 40
_LABEL_WIDTH = 88
_NAMES = ("instruction", "transcript", "task", "action", "comment")


class Fields(ttk.Frame):
    """The text fields of the shown step."""

    def __init__(self, parent: tk.Misc, session: Session, style: Style) -> None:
        super().__init__(parent)
        self._session, self._style = session, style
        self._timer: str | None = None
        # What this program put into each field: whatever else is there was typed.
        self._put = dict.fromkeys(_NAMES, "")
        self._shown: int | None = None
        self.instruction = self._text("Instruction", "edit-instruction", 2 if style.low else 3)
        self.transcript = self._text("Transcript", "edit-transcript", 1 if style.low else 2)
        pair = ttk.Frame(self)
        pair.pack(fill="x")
        pair.columnconfigure(0, weight=3, uniform="pair")
        pair.columnconfigure(1, weight=2, uniform="pair")
        self.task = self._choice(pair, "Task", "edit-task", 0)
        self.action = self._choice(pair, "Action", "edit-action", 1)
        self.comment = self._text("Comment", "edit-comment", 1 if style.low else 2)
        session.watch(on_step=self._fill, on_change=self._changed)
        session.before_leaving(self.commit)

    def focus_on(self, name: str) -> None:
        """Put the cursor at the end of a field: ``instruction``, ``task`` and so on.

        Where there are recordings, what a recogniser heard is only read here and corrected in the tab beside.
        """
        if name == "transcript" and self._session.transcript_editor is None:
            if not self._session.perform("speech-correct"):
                self._session.status("The transcript is what a recogniser heard; what counts is the instruction")
            return
        field: tk.Text | ttk.Combobox = getattr(self, name)
        self._session.focus_on(field)
        if isinstance(field, tk.Text):
            field.mark_set("insert", "end-1c")
        else:
            field.icursor("end")
            field.selection_range(0, "end")

    def commit(self) -> None:
        """Put the typed words into the document, field by field, and leave alone what nobody typed into."""
        if self._timer is not None:
            self.after_cancel(self._timer)
            self._timer = None
        # Before the first step the fields are empty, which says nothing about any step.
        if self._shown != self._session.index:
            return
        for name in _NAMES:
            text = self._text_of(name)
            if text == self._put[name]:
                continue
            self._put[name] = text
            entry = self._session.entry
            before = getattr(entry, name)
            if name == "transcript":
                if self._session.transcript_editor is not None and text.strip() != before:
                    self._session.transcript_editor(self._session.index, text.strip())
                continue
            value = before if text == str(before) else text.strip()
            if name == "task":
                value = before if text == str(before) else task_from_text(text, before)
            if value != before:
                self._session.change(msgspec.structs.replace(entry, **{name: value}), f"edit {name}")

    def _text_of(self, name: str) -> str:
        field: tk.Text | ttk.Combobox = getattr(self, name)
        return field.get("1.0", "end-1c") if isinstance(field, tk.Text) else field.get()

    def _changed(self, index: int) -> None:
        if index == self._session.index:
            self._fill(index)

    def _fill(self, index: int) -> None:
        """Show the entry's words; a field that is being typed into, or shows them already, keeps what it has."""
        entry = self._session.entry
        another, self._shown = self._shown != index, index
        self.transcript.configure(state="normal")
        for name in _NAMES:
            text, wanted = self._text_of(name), str(getattr(entry, name))
            # Somebody types a word, and the space after it is not in the entry.
            same = text == wanted or (not another and text.strip() == wanted)
            if not another and text != self._put[name]:
                continue
            if not same:
                self._show(name, wanted)
            self._put[name] = self._text_of(name)
        if self._session.transcript_editor is None:
            self.transcript.configure(state="disabled", foreground=SOFT_INK, background=GROUND)

    def _show(self, name: str, text: str) -> None:
        field: tk.Text | ttk.Combobox = getattr(self, name)
        if isinstance(field, tk.Text):
            field.delete("1.0", "end")
            field.insert("1.0", text)
        else:
            field.set(text)

    # --- making the fields ----------------------------------------------------------------------------------------

    def _label(self, parent: tk.Misc, words: str, action: str) -> ttk.Frame:
        head = ttk.Frame(parent)
        ttk.Label(head, text=words, style="Heading.TLabel").pack(side="left")
        ttk.Label(head, text=self._session.keymap.shown(action), style="Soft.TLabel").pack(side="right")
        return head

    def _text(self, words: str, action: str, lines: int) -> tk.Text:
        px = self._style.px
        place = ttk.Frame(self)
        place.pack(fill="x", pady=(0, px(8)))
        head = self._label(place, words, action)
        # Where the screen is low, the boxes below need the room.
        beside = self._style.low and lines == 1
        if beside:
            head.configure(width=px(_LABEL_WIDTH))
            head.pack_propagate(False)
            head.pack(side="left", fill="y", padx=(0, px(8)))
        else:
            head.pack(fill="x", pady=(0, px(3)))
        field = tk.Text(
            place, height=lines, width=20, wrap="word", font=self._style.font, relief="flat", borderwidth=0,
            highlightthickness=1, highlightbackground=LINE, highlightcolor=self._style.accent, padx=px(6), pady=px(4),
            insertwidth=px(2), undo=False, background="#ffffff", spacing1=px(1),
        )  # fmt: skip
        field.pack(side="left", fill="x", expand=True)
        _add_scrollbar(field)
        name = words.lower()
        field.bind("<<Modified>>", lambda _event: self._modified(field, name))
        field.bind("<Return>", self._leave)
        field.bind("<KP_Enter>", self._leave)
        field.bind("<Shift-Return>", lambda _event: None)
        field.bind("<Tab>", _to_next)
        for keys in ("<Shift-Tab>", "<ISO_Left_Tab>"):
            if keys != "<ISO_Left_Tab>" or self.tk.call("tk", "windowingsystem") == "x11":
                field.bind(keys, _to_previous)
        field.bind("<FocusOut>", lambda _event: self.commit())
        _select_all_on(field, self._style_mod())
        return field

    def _choice(self, parent: tk.Misc, words: str, action: str, column: int) -> ttk.Combobox:
        px = self._style.px
        cell = ttk.Frame(parent)
        cell.grid(row=0, column=column, sticky="ew", padx=(0, px(8)) if column == 0 else 0)
        self._label(cell, words, action).pack(fill="x", pady=(0, px(3)))
        field = ttk.Combobox(cell, width=8)
        field.pack(fill="x", pady=(0, px(8)))
        name = words.lower()
        field.configure(postcommand=lambda: field.configure(values=self._choices(name)))
        field.bind("<KeyRelease>", lambda _event: self._typed(name))
        field.bind("<<ComboboxSelected>>", lambda _event: self.commit())
        field.bind("<Return>", self._leave)
        field.bind("<FocusOut>", lambda _event: self.commit())
        field.bind("<MouseWheel>", lambda _event: "break")
        for wheel in ("<Button-4>", "<Button-5>"):
            field.bind(wheel, lambda _event: "break")
        return field

    def _style_mod(self) -> str:
        return "Command" if self.tk.call("tk", "windowingsystem") == "aqua" else "Control"

    def _choices(self, name: str) -> list[str]:
        """The values that other steps have, the most recent first."""
        here = self._session.index
        entries = self._session.document.entries
        values = [str(getattr(entry, name)) for entry in (*reversed(entries[: here + 1]), *entries[here + 1 :])]
        return [value for value in dict.fromkeys(values) if value][:_MOST_CHOICES]

    def _modified(self, field: tk.Text, name: str) -> None:
        """Tk tells of every change of a text field, this program's own included, some time later."""
        if field.edit_modified():
            field.edit_modified(False)
            self._typed(name)

    def _typed(self, name: str) -> None:
        if self._text_of(name) != self._put[name]:
            self._commit_soon()

    def _commit_soon(self) -> None:
        if self._timer is not None:
            self.after_cancel(self._timer)
        self._timer = self.after(_COMMIT_AFTER_MS, self.commit)

    def _leave(self, event: tk.Event[tk.Misc]) -> str | None:
        if isinstance(event.state, int) and event.state & 0x1:
            return None
        self.commit()
        self._session.focus_canvas()
        return "break"


def _add_scrollbar(field: tk.Text) -> None:
    """A scrollbar beside a field, there only while the field has more words than it shows."""
    bar = ttk.Scrollbar(field.master, command=field.yview, takefocus=False)

    def scrolled(first: float, last: float) -> None:
        bar.set(first, last)
        if float(first) <= 0 and float(last) >= 1:
            bar.pack_forget()
        elif not bar.winfo_manager():
            bar.pack(side="right", fill="y", before=field)

    field.configure(yscrollcommand=scrolled)


def _to_next(event: tk.Event[tk.Text]) -> str:
    following = event.widget.tk_focusNext()
    if following is not None:
        following.focus_set()
    return "break"


def _to_previous(event: tk.Event[tk.Text]) -> str:
    before = event.widget.tk_focusPrev()
    if before is not None:
        before.focus_set()
    return "break"


def _select_all_on(field: tk.Text, modifier: str) -> None:
    def select_all(_event: object) -> str:
        field.tag_add("sel", "1.0", "end-1c")
        return "break"

    handler: Callable[[object], str] = select_all
    field.bind(f"<{modifier}-a>", handler)
