"""Ctrl+A in a field of several lines marks all of it, as everywhere else; Tk on Unix goes to the line's start."""

from __future__ import annotations

import sys
import tkinter as tk


def mark_all_by_key(text: tk.Text) -> None:
    """Bind the key of this platform."""

    def mark(_event: tk.Event[tk.Misc]) -> str:
        text.tag_add("sel", "1.0", "end-1c")
        text.mark_set("insert", "end-1c")
        return "break"

    modifier = "Command" if sys.platform == "darwin" else "Control"
    for letter in ("a", "A"):
        text.bind(f"<{modifier}-{letter}>", mark)
