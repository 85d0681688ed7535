"""The list of steps with their states, a filter over it, and how far the folder is."""

from __future__ import annotations

import tkinter as tk
from tkinter import font as tkfont
from tkinter import ttk

from annotate.edits import progress
from annotate.records import Entry
from annotate.window.elide import Elider
from annotate.window.icons import make_icons, sign_of
from annotate.window.session import Session
from annotate.window.style import Style

_FILTERS = {
    "All steps": "", "To do": "todo", "With boxes": "boxes", "Not a click": "no-click", "Verified": "verified",
    "Not verified": "not verified",
}  # fmt: skip
_SEARCH_AFTER_MS = 200
_CUT_AFTER_MS = 60
_CELL_PADDING_VIEW = 8
"""What ttk leaves free of a cell, on both sides together."""


class StepList(ttk.Frame):
    """The left side of the window."""

    def __init__(self, parent: tk.Misc, session: Session, style: Style) -> None:
        super().__init__(parent, padding=(style.px(10), style.px(10), style.px(6), style.px(8)))
        self._session = session
        self._icons = make_icons(self, style)
        self._timer: str | None = None
        self._cutting: str | None = None
        self._words_width = 0
        self._elider = Elider(tkfont.nametofont(style.font, root=self).measure)
        self._shown: list[int] = []
        self._known = 0
        self._choosing = False
        self._progress = ttk.Label(self, style="Title.TLabel")
        self._progress.pack(fill="x")
        self._verified = ttk.Label(self, style="Soft.TLabel")
        self._verified.pack(fill="x")
        self._bar = ttk.Progressbar(self, maximum=1.0)
        self._bar.pack(fill="x", pady=(style.px(5), style.px(10)))
        self._state = ttk.Combobox(self, values=list(_FILTERS), state="readonly", takefocus=False, width=12)
        self._state.set("All steps")
        self._state.pack(fill="x")
        self._state.bind("<<ComboboxSelected>>", self._state_chosen)
        self._search = ttk.Entry(self)
        self._search.pack(fill="x", pady=(style.px(6), style.px(8)))
        self._hint = ttk.Label(
            self._search, text="Search words, task, comment", style="Soft.TLabel", background="#ffffff", cursor="xterm"
        )
        self._hint.bind("<Button-1>", lambda _event: self.search())
        self._search.bind("<FocusIn>", lambda _event: self._hint.place_forget())
        self._search.bind("<FocusOut>", lambda _event: self._show_hint())
        self._search.bind("<KeyRelease>", self._typed)
        self._search.bind("<Return>", lambda _event: session.focus_canvas())
        self._show_hint()
        frame = ttk.Frame(self, style="Line.TFrame", padding=1)
        frame.pack(fill="both", expand=True)
        self._tree = ttk.Treeview(frame, columns=("words",), show="tree", selectmode="browse", takefocus=False)
        self._tree.column("#0", width=style.px(92), minwidth=style.px(70), stretch=False)
        self._tree.column("words", width=style.px(150), minwidth=style.px(60), stretch=True)
        bar = ttk.Scrollbar(frame, command=self._tree.yview)
        self._tree.configure(yscrollcommand=bar.set)
        bar.pack(side="right", fill="y")
        self._tree.pack(side="left", fill="both", expand=True)
        self._tree.bind("<<TreeviewSelect>>", self._chosen)
        self._tree.bind("<Configure>", self._resized)
        # The keys of the program go to the canvas, not to the list.
        self._tree.bind("<ButtonRelease-1>", lambda _event: session.focus_canvas())
        session.watch(on_step=self._step, on_change=self._changed, on_refresh=self.fill)
        self.fill()

    def search(self) -> None:
        """Put the cursor into the search field."""
        self._search.focus_set()
        self._search.selection_range(0, "end")

    def fill(self) -> None:
        """List the steps that the filter lets through."""
        entries = self._session.document.entries
        self._known = len(entries)
        self._tree.delete(*self._tree.get_children())
        self._shown = [index for index, entry in enumerate(entries) if self._passes(entry)]
        for index in self._shown:
            self._tree.insert("", "end", iid=str(index))
            self._show_row(index)
        self._mark()
        self._count()

    def words(self, index: int) -> str:
        """What the list says of a step that the filter lets through."""
        return str(self._tree.set(str(index), "words"))

    def neighbour(self, direction: int) -> int:
        """The next step that the filter lets through, in this direction; the shown one where there is none."""
        here = self._session.index
        if direction > 0:
            return next((index for index in self._shown if index > here), here)
        return next((index for index in reversed(self._shown) if index < here), here)

    def ends(self) -> tuple[int, int]:
        """The first and the last step that the filter lets through; the shown one where there is none."""
        here = self._session.index
        return (self._shown[0], self._shown[-1]) if self._shown else (here, here)

    def _passes(self, entry: Entry) -> bool:
        wanted = _FILTERS[self._state.get()]
        if wanted == "verified" and not entry.verified:
            return False
        if wanted == "not verified" and entry.verified:
            return False
        if wanted in ("todo", "boxes", "no-click") and entry.state != wanted:
            return False
        words = self._search.get().strip().casefold()
        text = " ".join(
            (entry.instruction, entry.transcript, str(entry.task), entry.comment, entry.image, entry.action)
        )
        return all(word in text.casefold() for word in words.split())

    def _show_row(self, index: int) -> None:
        entry = self._session.document.entries[index]
        several = f" ·{len(entry.boxes)}" if len(entry.boxes) > 1 else ""
        words = " ".join(entry.instruction.split()) or entry.image
        words = self._elider.cut(words, self._words_width - _CELL_PADDING_VIEW) if self._words_width else words[:120]
        self._tree.item(str(index), text=f" {index + 1}{several}", image=self._icons[sign_of(entry)], values=(words,))

    def _resized(self, _event: object) -> None:
        # While the border is dragged, once in a while is enough.
        if self._cutting is None:
            self._cutting = self.after(_CUT_AFTER_MS, self._cut_words)

    def _cut_words(self) -> None:
        self._cutting = None
        # Not the column's own width: where there is too little room it is cut off, and not made narrower.
        width = self._tree.winfo_width() - int(self._tree.column("#0", "width"))
        if width != self._words_width:
            self._words_width = width
            for index in self._shown:
                self._show_row(index)

    def _changed(self, index: int) -> None:
        if self._tree.exists(str(index)):
            self._show_row(index)
        self._count()

    def _step(self, _index: int) -> None:
        if len(self._session.document.entries) != self._known:
            self.fill()
        self._mark()

    def _mark(self) -> None:
        row = str(self._session.index)
        self._choosing = True
        if self._tree.exists(row):
            self._tree.selection_set(row)
            self._tree.see(row)
        else:
            self._tree.selection_set(())
        # Tk tells of the new selection when it is idle; that one is ours.
        self.after_idle(self._chosen_over)

    def _chosen_over(self) -> None:
        self._choosing = False

    def _chosen(self, _event: object) -> None:
        rows = self._tree.selection()
        if not self._choosing and rows and int(rows[0]) != self._session.index:
            self._session.go_to(int(rows[0]))

    def _state_chosen(self, _event: object) -> None:
        self._state.selection_clear()
        self.fill()
        self._session.focus_canvas()

    def _typed(self, _event: object) -> None:
        if self._timer is not None:
            self.after_cancel(self._timer)
        self._timer = self.after(_SEARCH_AFTER_MS, self._searched)

    def _searched(self) -> None:
        self._timer = None
        self.fill()

    def _show_hint(self) -> None:
        if not self._search.get():
            self._hint.place(relx=0, rely=0.5, x=7, anchor="w")

    def _count(self) -> None:
        found = progress(self._session.document.entries)
        share = found.done / found.steps if found.steps else 0.0
        self._progress.configure(text=f"{found.done} of {found.steps} done ({int(share * 100)} %)")
        hidden = found.steps - len(self._shown)
        more = f" · {len(self._shown)} listed" if hidden else ""
        self._verified.configure(text=f"{found.verified} verified{more}")
        self._bar.configure(value=share)
