"""From keys to actions, without taking away a letter from anybody who types."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable
from tkinter import ttk

from ..core.keys import NAMED, Keymap, chord, types_text

_TAG = "AnnotateKeys"
_HELD = {"Shift": 0x1, "Mod": 0x4, "Alt": 0x8}
_NAMES = {
    "Prior": "PageUp", "Next": "PageDown", "ISO_Left_Tab": "Tab", "Enter": "Return", "Add": "+", "Subtract": "-",
    "plus": "+", "minus": "-", "equal": "=", "period": ".", "comma": ",", "bracketleft": "[", "bracketright": "]",
}  # fmt: skip
"""Tk's names of keys that are called otherwise here, and of signs, for which it tells no letter where Ctrl is held."""


def chord_of(keysym: str, char: str, state: int) -> str | None:
    """The key of an event of Tk; None for a modifier alone and for keys without a name here."""
    bare = keysym.removeprefix("KP_")
    key = _NAMES.get(bare, bare)
    if len(key) > 1 and key.lower() not in NAMED:
        key = char if char.isprintable() else ""
    return chord(key, [name for name, bit in _HELD.items() if state & bit]) if key else None


class Keyboard:
    """Does what the keymap says before any widget of a window does; in a text field, keys for typing stay its own."""

    def __init__(self, root: tk.Tk, keymap: Keymap, perform: Callable[[str], object]) -> None:
        self._root, self._keymap, self._perform = root, keymap, perform
        root.bind_class(_TAG, "<KeyPress>", self._pressed)
        # Every widget is taken in when it first gets the focus.
        root.bind_all("<FocusIn>", self._focused, add="+")

    def _focused(self, event: tk.Event[tk.Misc]) -> None:
        widget = event.widget
        # Tk names widgets of its own, such as the list of a combobox, by a text.
        if isinstance(widget, tk.Misc) and widget.winfo_toplevel() is self._root:
            tags = widget.bindtags()
            if _TAG not in tags:
                widget.bindtags((_TAG, *tags))

    def _pressed(self, event: tk.Event[tk.Misc]) -> str | None:
        state = event.state if isinstance(event.state, int) else 0
        key = chord_of(event.keysym, event.char, state)
        action = None if key is None else self._keymap.action_for(key)
        if key is None or action is None:
            return None
        typing = isinstance(event.widget, tk.Entry | ttk.Entry | tk.Text | ttk.Spinbox | tk.Spinbox)
        if typing and (not action.while_typing or types_text(key)):
            return None
        self._perform(action.name)
        return "break"
