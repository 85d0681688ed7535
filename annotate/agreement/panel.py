"""The tab of the disagreements: a list to go through, the other's boxes over the picture, one key to take them."""

from __future__ import annotations

import tkinter as tk
from functools import partial
from tkinter import ttk
from typing import TYPE_CHECKING

import msgspec

from annotate.actions import Action
from annotate.agreement.comparing import differ
from annotate.agreement.opening import ComparingOptions, OtherVersion
from annotate.edits import copies
from annotate.records import Entry
from annotate.window.panels import OverlayBox, WindowOptions
from grounding.records import Box

if TYPE_CHECKING:
    from annotate.window.session import Session

OVERLAY = "other annotator"
COLOUR = "#a21caf"

ACTIONS = (
    Action(name="next-disagreement", words="Next disagreement", keys=("Z",), group="Two annotators"),
    Action(name="previous-disagreement", words="Disagreement before", keys=("Shift+Z",), group="Two annotators"),
    Action(name="take-theirs", words="Take the other one's answer for this step", keys=("O",), group="Two annotators"),
)


def make_panel(options: WindowOptions) -> AgreementPanel | None:
    """For ``annotate.window.panels``: only where two annotators are compared."""
    return AgreementPanel(options.other) if isinstance(options, ComparingOptions) else None


class AgreementPanel:
    """The tab with the disagreements of the open folder.

    Args:
        other: The other annotator's version of it.
    """

    title = "Differences"
    actions: tuple[Action, ...] = ACTIONS

    def __init__(self, other: OtherVersion) -> None:
        self._other = other
        self._rows = {one.index_a: one for one in other.disagreements if one.index_a is not None}

    def build(self, parent: tk.Misc, session: Session) -> ttk.Frame:
        """Make the tab; see ``annotate.window.panels.Panel``."""
        self._session = session
        frame = ttk.Frame(parent, padding=8)
        head = f"Dashed boxes: {self._other.name} (B). Yours are A."
        for words in (head, f"Same from IoU {self._other.threshold:g} on."):
            ttk.Label(frame, text=words, style="Soft.TLabel").pack(anchor="w", fill="x")
        self._left = ttk.Label(frame, style="Title.TLabel")
        self._left.pack(anchor="w", fill="x", pady=(8, 4))
        holder = ttk.Frame(frame, style="Line.TFrame", padding=1)
        holder.pack(fill="both", expand=True)
        self._list = ttk.Treeview(
            holder, columns=("step", "kinds"), show="headings", selectmode="browse", takefocus=False, height=8
        )
        self._list.heading("step", text="Step", anchor="w")
        self._list.heading("kinds", text="What differs", anchor="w")
        self._list.column("step", width=56, stretch=False)
        self._list.column("kinds", width=180, stretch=True)
        bar = ttk.Scrollbar(holder, command=self._list.yview)
        self._list.configure(yscrollcommand=bar.set)
        bar.pack(side="right", fill="y")
        self._list.pack(side="left", fill="both", expand=True)
        for index in self._rows:
            self._list.insert("", "end", iid=str(index))
        self._list.bind("<<TreeviewSelect>>", self._chosen)
        self._list.bind("<ButtonRelease-1>", lambda _event: session.focus_canvas())
        self._words = ttk.Label(frame, justify="left")
        self._words.pack(anchor="w", fill="x", pady=(8, 0))
        self._words.bind("<Configure>", lambda event: self._words.configure(wraplength=max(event.width, 80)))
        buttons = ttk.Frame(frame)
        buttons.pack(fill="x", pady=(8, 0))
        names = (("Before", "previous-disagreement"), ("Next", "next-disagreement"), ("Take theirs", "take-theirs"))
        for words, action in names:
            perform = partial(session.perform, action)
            ttk.Button(buttons, text=words, takefocus=False, command=perform).pack(side="left", padx=(0, 6))
        session.bind_key("next-disagreement", lambda: self._go(1))
        session.bind_key("previous-disagreement", lambda: self._go(-1))
        session.bind_key("take-theirs", self._take)
        for index in self._rows:
            self._show_row(index)
        self._show_left()
        if isinstance(parent, ttk.Notebook):
            # Who asked for the disagreements wants to see them first; the tab is added after this returns.
            parent.after_idle(parent.select, frame)
        return frame

    def on_step(self, index: int) -> None:
        """See ``annotate.window.panels.Panel``."""
        theirs = self._theirs(index)
        shapes = (
            [] if theirs is None else [_shape(theirs, number, self._other.name) for number in range(len(theirs.boxes))]
        )
        self._session.show_overlay(OVERLAY, shapes)
        row = str(index)
        if self._list.exists(row):
            self._list.selection_set(row)
            self._list.see(row)
        else:
            self._list.selection_set(())
        self._say(index)

    def on_change(self, index: int) -> None:
        """See ``annotate.window.panels.Panel``."""
        if index in self._rows:
            self._show_row(index)
            self._show_left()
        if index == self._session.index:
            self._say(index)

    def _theirs(self, index: int) -> Entry | None:
        return self._other.entries.get(index)

    def _difference(self, index: int) -> str:
        """What still differs at a step, "" where nothing does."""
        theirs = self._theirs(index)
        if theirs is None:
            return self._rows[index].what if index in self._rows else ""
        if theirs.state == "todo":
            return ""
        return differ(self._session.document.entries[index], theirs, threshold=self._other.threshold).what

    def _kinds(self, index: int) -> str:
        theirs = self._theirs(index)
        if theirs is None or theirs.state == "todo":
            return ", ".join(self._rows[index].kinds)
        entry = self._session.document.entries[index]
        return ", ".join(differ(entry, theirs, threshold=self._other.threshold).kinds) or "✓ agree now"

    def _show_row(self, index: int) -> None:
        self._list.item(str(index), values=(index + 1, self._kinds(index)))

    def _show_left(self) -> None:
        left = sum(bool(self._difference(index)) for index in self._rows)
        self._left.configure(text=f"{left} of {len(self._rows)} steps differ")

    def _say(self, index: int) -> None:
        theirs = self._theirs(index)
        if theirs is None:
            words = f"{self._other.name} does not have this step."
        elif theirs.state == "todo":
            words = f"{self._other.name} has yet to do this step."
        else:
            words = self._difference(index) or "Both agree on this step."
        self._words.configure(text=words[:1].upper() + words[1:])

    def _chosen(self, _event: object) -> None:
        chosen = self._list.selection()
        if chosen and int(chosen[0]) != self._session.index:
            self._session.go_to(int(chosen[0]))

    def _go(self, direction: int) -> None:
        """To the next step that still differs, or the one before; around at the ends."""
        here = self._session.index
        open_rows = [index for index in self._rows if self._difference(index)]
        ahead = [index for index in open_rows if (index - here) * direction > 0]
        rest = [index for index in open_rows if index not in ahead]
        wanted = sorted(ahead, key=lambda index: index * direction) + sorted(rest, key=lambda index: index * direction)
        if wanted:
            self._session.go_to(wanted[0])
        else:
            self._session.status("no step differs any more")

    def _take(self) -> None:
        index = self._session.index
        theirs = self._theirs(index)
        if theirs is None or theirs.state == "todo":
            self._session.status(f"{self._other.name} has no answer for this step")
            return
        boxes = copies(theirs.boxes, self._session.picture_size())
        entry = msgspec.structs.replace(self._session.entry, state=theirs.state, boxes=boxes)
        self._session.change(entry, f"take {self._other.name}'s answer")


def _shape(entry: Entry, number: int, name: str) -> OverlayBox:
    box = entry.boxes[number]
    edges = Box(left_px=box.x_px, top_px=box.y_px, right_px=box.x_px + box.width_px, bottom_px=box.y_px + box.height_px)
    return OverlayBox(box=edges, colour=COLOUR, label=f"B {name}" if number == 0 else "B")
