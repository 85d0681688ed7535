"""The buttons that label a case, and the note that goes with the label."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable
from functools import partial
from tkinter import ttk
from typing import TYPE_CHECKING

from annotate.review.keys import LABEL_KEYS

if TYPE_CHECKING:
    from annotate.window.session import Session


class LabelBar(ttk.Frame):
    """Labels, accepting, the note, and whether a label goes on to the next case.

    Args:
        parent: Where it stands.
        session: Does the actions.
        note_done: Called when Return is pressed in the note.
    """

    def __init__(self, parent: tk.Misc, session: Session, note_done: Callable[[], object]) -> None:
        super().__init__(parent)
        grid = ttk.Frame(self)
        grid.pack(fill="x", pady=(6, 0))
        grid.columnconfigure((0, 1), weight=1, uniform="labels")
        self._buttons: dict[str, ttk.Button] = {}
        for place, (name, words, _key) in enumerate(LABEL_KEYS):
            button = action_button(grid, session, words, f"label-{name}")
            button.grid(row=place // 2, column=place % 2, sticky="ew", padx=1, pady=1)
            self._buttons[name] = button
        for column, (words, action) in enumerate((("Accept", "accept-case"), ("Click right", "accept-click"))):
            button = action_button(grid, session, words, action)
            button.grid(row=len(LABEL_KEYS) // 2, column=column, sticky="ew", padx=1, pady=1)
        line = ttk.Frame(self)
        line.pack(fill="x", pady=(6, 0))
        ttk.Label(line, text="Note", style="Soft.TLabel").pack(side="left", padx=(0, 6))
        self._note = tk.StringVar(self)
        self._field = ttk.Entry(line, textvariable=self._note)
        self._field.pack(side="left", fill="x", expand=True)
        self._field.bind("<Return>", lambda _event: note_done())
        self._onwards = tk.BooleanVar(self, value=True)
        onwards = ttk.Checkbutton(self, text="Go on after a label", variable=self._onwards, takefocus=False)
        onwards.pack(anchor="w", pady=(6, 0))

    @property
    def note(self) -> str:
        """What the note says."""
        return self._note.get()

    @note.setter
    def note(self, words: str) -> None:
        self._note.set(words)

    @property
    def goes_on(self) -> bool:
        """Whether the next case is shown after a label."""
        return self._onwards.get()

    def edit_note(self) -> None:
        """Put the cursor into the note."""
        self._field.focus_set()
        self._field.selection_range(0, "end")

    def mark(self, label: str | None) -> None:
        """Show which label was given."""
        for name, button in self._buttons.items():
            button.state(["pressed" if name == label else "!pressed"])


def action_button(parent: tk.Misc, session: Session, words: str, action: str) -> ttk.Button:
    """A button that does an action and says its key."""
    keys = session.keymap.shown(action).split("  ")[0]
    text = f"{words}  {keys}" if keys else words
    return ttk.Button(parent, text=text, takefocus=False, command=partial(session.perform, action))
