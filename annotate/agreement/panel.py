"""The tab of the disagreements: a list to go through, the other's boxes over the picture, one key to take them."""

from __future__ import annotations

import tkinter as tk
from functools import partial
from tkinter import ttk
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..core.keys import actions
from ..core.records import AnnotatedStep, copies
from ..display import WindowOptions
from ..window.panels import RowList
from ..window.shapes import OverlayBox
from .commands import ComparingOptions
from .compare import DisagreementKind, differ

if TYPE_CHECKING:
    from ..window.session import WindowSession

OVERLAY = "other annotator"
COLOUR = "#a21caf"

ACTIONS = actions(
    "Two annotators",
    ("next-disagreement", "Next disagreement", "Z"),
    ("previous-disagreement", "Disagreement before", "Shift+Z"),
    ("take-theirs", "Take the other one's answer for this step", "O"),
)


def make_panel(options: WindowOptions) -> AgreementPanel | None:
    return AgreementPanel(options) if isinstance(options, ComparingOptions) else None


class AgreementPanel:
    title = "Differences"
    actions = ACTIONS

    def __init__(self, other: ComparingOptions) -> None:
        self._other = other
        self._rows = [index for index, step in other.steps.items() if step.kinds]

    def build(self, parent: tk.Misc, session: WindowSession) -> ttk.Frame:
        self._session = session
        frame = ttk.Frame(parent, padding=8)
        head = f"Dashed boxes: {self._other.other} (B). Yours are A.\nSame from IoU {self._other.threshold:g} on."
        ttk.Label(frame, text=head, style="Soft.TLabel").pack(anchor="w", fill="x")
        self._left = ttk.Label(frame, style="Title.TLabel")
        self._left.pack(anchor="w", fill="x", pady=(8, 4))
        columns = {"step": ("Step", 56), "kinds": ("What differs", 180)}
        self._list = RowList(frame, columns, rows=8, chosen=session.go_to)
        for index in self._rows:
            self._list.insert("", "end", iid=str(index))
        self._list.bind("<ButtonRelease-1>", lambda _event: session.focus_canvas())
        self._words = ttk.Label(frame, justify="left")
        self._words.pack(anchor="w", fill="x", pady=8)
        self._words.bind("<Configure>", lambda event: self._words.configure(wraplength=max(event.width, 80)))
        buttons = ttk.Frame(frame)
        buttons.pack(fill="x")
        names = (("Before", "previous-disagreement"), ("Next", "next-disagreement"), ("Take theirs", "take-theirs"))
        for words, action in names:
            perform = partial(session.perform, action)
            ttk.Button(buttons, text=words, takefocus=False, command=perform).pack(side="left", padx=(0, 6))
        session.bind_keys({
            "next-disagreement": partial(self._go, 1), "previous-disagreement": partial(self._go, -1),
            "take-theirs": self._take,
        })  # fmt: skip
        session.watch(step=self._stepped, change=self._changed)
        # Who asked for the disagreements wants to see them first; the tab is added after this returns.
        parent.after_idle(lambda: parent.select(frame))  # type: ignore[attr-defined]
        return frame

    def _stepped(self, index: int) -> None:
        theirs = self._theirs(index)
        shapes = [
            OverlayBox(box=box.box, colour=COLOUR, label="B" if number else f"B {self._other.other}")
            for number, box in enumerate(theirs.boxes if theirs is not None else ())
        ]
        self._session.canvas.show_overlay(OVERLAY, shapes)
        self._changed(index)
        self._list.mark(index)

    def _changed(self, index: int) -> None:
        found = {row: self._difference(row) for row in self._rows}
        for row, (kinds, _) in found.items():
            self._list.item(str(row), values=(row + 1, ", ".join(kinds) or "✓ agree now"))
        left = sum(bool(kinds) for kinds, _ in found.values())
        self._left.configure(text=f"{left} of {len(self._rows)} steps differ")
        if index == self._session.index:
            words = self._difference(index)[1] or "Both agree on this step, or one has yet to do it."
            self._words.configure(text=words[:1].upper() + words[1:])

    def _theirs(self, index: int) -> AnnotatedStep | None:
        step = self._other.steps.get(index)
        return None if step is None or step.b is None or step.b.entry.state == "todo" else step.b.entry

    def _difference(self, index: int) -> tuple[tuple[DisagreementKind, ...], str]:
        theirs, step = self._theirs(index), self._other.steps.get(index)
        if theirs is None:
            return (step.kinds, step.what) if step is not None else ((), "")
        return differ(self._session.document.entries[index], theirs, threshold=self._other.threshold)

    def _go(self, direction: int) -> None:
        """To the next step that still differs, or the one before; around at the ends."""
        here = self._session.index
        open_rows = [index for index in self._rows if self._difference(index)[0]]
        if not open_rows:
            self._session.status("no step differs any more")
            return
        ahead = [index for index in open_rows if (index - here) * direction > 0]
        self._session.go_to(min(ahead or open_rows, key=lambda index: index * direction))

    def _take(self) -> None:
        theirs = self._theirs(self._session.index)
        if theirs is None:
            self._session.status(f"{self._other.other} has no answer for this step")
            return
        boxes = copies(theirs.boxes, self._session.picture_size)
        entry = replace(self._session.entry, state=theirs.state, boxes=boxes)
        self._session.change(entry, f"take {self._other.other}'s answer")
