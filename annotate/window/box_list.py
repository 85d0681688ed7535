"""What the step is (to do, boxes, not a click; verified) and the list of its boxes."""

from __future__ import annotations

import tkinter as tk
from tkinter import ttk
from typing import Literal

import msgspec

from annotate.edits import as_no_click, as_todo, with_kind
from annotate.records import BoxKind, MarkedBox
from annotate.window.session import Session
from annotate.window.style import Style

_COLUMNS = (("x", 52), ("y", 52), ("width", 54), ("height", 54), ("kind", 44))
_KIND_WORDS: tuple[tuple[BoxKind, str], ...] = (("", "Not said"), ("text", "Text"), ("icon", "Icon"))


class StepState(ttk.Frame):
    """Buttons that show the step's state and change it."""

    def __init__(self, parent: tk.Misc, session: Session, style: Style) -> None:
        super().__init__(parent)
        self._session = session
        self._state = tk.StringVar(self)
        self._verified = tk.BooleanVar(self)
        keys = session.keymap
        row = ttk.Frame(self)
        row.pack(fill="x")
        for column, (value, words, handler) in enumerate((
            ("todo", "To do", self.make_todo), ("boxes", "Boxes", self._ask_for_boxes),
            ("no-click", _with_key("Not a click", keys.shown("no-click")), self.make_no_click),
        )):  # fmt: skip
            row.columnconfigure(column, weight=1)
            ttk.Radiobutton(
                row, text=words, value=value, variable=self._state, command=handler, style="Toolbutton", takefocus=False
            ).grid(row=0, column=column, sticky="ew", padx=(0 if column == 0 else style.px(4), 0))
        ttk.Checkbutton(
            self, text=_with_key("Verified", keys.shown("verify")), variable=self._verified,
            command=self.toggle_verified, style="Toolbutton", takefocus=False,
        ).pack(fill="x", pady=(style.px(4), 0))  # fmt: skip
        session.watch(on_step=self._show, on_change=self._show)

    def _show(self, _index: int) -> None:
        self._state.set(self._session.entry.state)
        self._verified.set(self._session.entry.verified)

    def toggle_verified(self) -> None:
        """Verified, or not any more. What nobody looked at can't be verified."""
        self._session.finish_edits()
        entry = self._session.entry
        if entry.state == "todo" and not entry.verified:
            self._session.status("Draw a box or say that it is not a click first: then the step can be verified")
        else:
            what = "verify" if not entry.verified else "take back verified"
            self._session.change(msgspec.structs.replace(entry, verified=not entry.verified), what)
        self._show(self._session.index)

    def toggle_no_click(self) -> None:
        """Not a click; or to do again, where it is that already."""
        if self._session.entry.state == "no-click":
            self.make_todo()
        else:
            self.make_no_click()

    def make_no_click(self) -> None:
        """This step is not a click, or its target is not on the screen."""
        self._session.finish_edits()
        gone = len(self._session.entry.boxes)
        self._session.select(None)
        self._session.change(as_no_click(self._session.entry), "not a click")
        self._say(gone)

    def make_todo(self) -> None:
        """Nobody has looked at this step."""
        self._session.finish_edits()
        gone = len(self._session.entry.boxes)
        self._session.select(None)
        self._session.change(as_todo(self._session.entry), "to do again")
        self._say(gone)

    def _say(self, gone: int) -> None:
        if gone:
            undo = self._session.keymap.shown("undo")
            self._session.status(f"{gone} {'box' if gone == 1 else 'boxes'} taken away; {undo} brings them back")
        self._show(self._session.index)

    def _ask_for_boxes(self) -> None:
        if not self._session.entry.boxes:
            self._session.perform("new-box")
        self._show(self._session.index)


class BoxList(ttk.Frame):
    """The boxes by their numbers; choosing one selects it and brings it to the middle."""

    def __init__(self, parent: tk.Misc, session: Session, style: Style) -> None:
        super().__init__(parent)
        self._session = session
        self._choosing = False
        head = ttk.Frame(self)
        head.pack(fill="x", pady=(0, style.px(3)))
        ttk.Label(head, text="Boxes", style="Heading.TLabel").pack(side="left")
        self._kind = tk.StringVar(self)
        ttk.Label(head, text=session.keymap.shown("box-kind"), style="Soft.TLabel").pack(side="right")
        self._kind_buttons = []
        for kind, words in reversed(_KIND_WORDS):
            button = ttk.Radiobutton(
                head, text=words, value=kind or "-", variable=self._kind, style="Toolbutton", takefocus=False,
                command=self._kind_chosen,
            )  # fmt: skip
            button.pack(side="right", padx=(0, style.px(4)))
            self._kind_buttons.append(button)
        frame = ttk.Frame(self, style="Line.TFrame", padding=1)
        frame.pack(fill="both", expand=True)
        names = [name for name, _ in _COLUMNS]
        self._tree = ttk.Treeview(
            frame, columns=names, show="tree headings", selectmode="browse", takefocus=False, height=3
        )
        self._tree.column("#0", width=style.px(38), minwidth=style.px(34), stretch=False)
        for name, width in _COLUMNS:
            anchor: Literal["center", "e"] = "center" if name == "kind" else "e"
            self._tree.heading(name, text=name, anchor=anchor)
            self._tree.column(name, width=style.px(width), minwidth=style.px(width - 8), anchor=anchor)
        bar = ttk.Scrollbar(frame, command=self._tree.yview)
        self._tree.configure(yscrollcommand=bar.set)
        bar.pack(side="right", fill="y")
        self._tree.pack(side="left", fill="both", expand=True)
        self._tree.bind("<<TreeviewSelect>>", self._chosen)
        self._tree.bind("<ButtonRelease-1>", lambda _event: session.focus_canvas())
        session.watch(on_step=self._fill, on_change=self._changed, on_selection=self._selected)

    def _changed(self, index: int) -> None:
        if index == self._session.index:
            self._fill(index)

    def _fill(self, _index: int) -> None:
        boxes = self._session.entry.boxes
        rows = self._tree.get_children()
        for number, box in enumerate(boxes):
            values = _values(box)
            if number < len(rows):
                self._tree.item(rows[number], values=values)
            else:
                self._tree.insert("", "end", iid=str(number), text=str(number + 1), values=values)
        for row in rows[len(boxes) :]:
            self._tree.delete(row)
        self._selected(self._session.selected)

    def _selected(self, number: int | None) -> None:
        self._choosing = True
        if number is not None and self._tree.exists(str(number)):
            self._tree.selection_set(str(number))
            self._tree.see(str(number))
            self._kind.set(self._session.entry.boxes[number].kind or "-")
        else:
            self._tree.selection_set(())
            self._kind.set("")
        for button in self._kind_buttons:
            button.state(["!disabled" if number is not None else "disabled"])
        self.after_idle(self._chosen_over)

    def _chosen_over(self) -> None:
        self._choosing = False

    def _chosen(self, _event: object) -> None:
        rows = self._tree.selection()
        if not self._choosing and rows:
            self._session.select(int(rows[0]), centre=True)

    def _kind_chosen(self) -> None:
        number = self._session.selected
        if number is not None:
            chosen = self._kind.get()
            kind: BoxKind = "text" if chosen == "text" else "icon" if chosen == "icon" else ""
            self._session.change(with_kind(self._session.entry, number, kind), "kind of box")


def _values(box: MarkedBox) -> tuple[str, ...]:
    return (*(f"{value:g}" for value in (box.x_px, box.y_px, box.width_px, box.height_px)), box.kind or "-")


def _with_key(words: str, keys: str) -> str:
    return f"{words}   {keys.split('  ')[0]}" if keys else words
