"""From keys to actions in the cutter's window, and the list of them."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable
from tkinter import ttk

from annotate.keys import Keymap
from annotate.window.keyboard import chord_of
from annotate.window.style import SURFACE, Style

_TAG = "CutKeys"
_MOUSE = (
    ("Put the cursor", "Click or drag on the time line"),
    ("Move a step", "Drag its number"),
    ("Move a clip's ends", "Drag the edges of its band"),
    ("Zoom, move along", "Ctrl and wheel, wheel"),
)


class CutKeyboard:
    """Stands before every widget; in a text field only keys that are not for typing are taken.

    Args:
        root: The window.
        keymap: Its keys.
        perform: Does an action by its name.
    """

    def __init__(self, root: tk.Tk, keymap: Keymap, perform: Callable[[str], object]) -> None:
        self._root, self._keymap, self._perform = root, keymap, perform
        root.bind_class(_TAG, "<KeyPress>", self._pressed)
        self._adopt(root)
        root.bind_all("<FocusIn>", self._focused, add="+")

    def _adopt(self, widget: tk.Misc) -> None:
        tags = widget.bindtags()
        if _TAG not in tags:
            widget.bindtags((_TAG, *tags))
        for child in widget.winfo_children():
            if not isinstance(child, tk.Toplevel | tk.Menu):
                self._adopt(child)

    def _focused(self, event: tk.Event[tk.Misc]) -> None:
        widget = event.widget
        # Tk names widgets of its own, such as the list of a combobox, by a text.
        if isinstance(widget, tk.Misc) and widget.winfo_toplevel() is self._root:
            self._adopt(widget)

    def _pressed(self, event: tk.Event[tk.Misc]) -> str | None:
        state = event.state if isinstance(event.state, int) else 0
        chord = chord_of(event.keysym, event.char, state)
        action = None if chord is None else self._keymap.action_for(chord)
        if chord is None or action is None:
            return None
        typing = isinstance(event.widget, tk.Entry | ttk.Entry | tk.Text)
        if typing and (not action.while_typing or chord.types_text):
            return None
        self._perform(action.name)
        return "break"


def key_list(root: tk.Tk, style: Style, keymap: Keymap) -> None:
    """Show all keys in a window of its own."""
    window = tk.Toplevel(root, background=SURFACE)
    window.title("Keys")
    window.transient(root)
    for key in ("<Escape>", "<F1>", "<question>"):
        window.bind(key, lambda _event: window.destroy())
    px = style.px
    groups: dict[str, list[tuple[str, str]]] = {}
    for action in keymap.actions:
        groups.setdefault(action.group, []).append((action.words, keymap.shown(action.name)))
    groups["Mouse"] = list(_MOUSE)
    columns = [["Steps", "Mouse"], ["Words", "Window"], ["Time"]]
    for column, names in enumerate(columns):
        cell = ttk.Frame(window, style="Card.TFrame", padding=px(16))
        cell.grid(row=0, column=column, sticky="n")
        row = 0
        for name in names:
            label = ttk.Label(cell, text=name, style="Title.TLabel", background=SURFACE)
            label.grid(row=row, column=0, columnspan=2, sticky="w", pady=(px(10) if row else 0, px(3)))
            for words, keys in groups[name]:
                row += 1
                ttk.Label(cell, text=words, background=SURFACE, wraplength=px(230)).grid(row=row, column=0, sticky="nw")
                ttk.Label(cell, text=keys, background=SURFACE, style="Soft.TLabel", wraplength=px(150)).grid(
                    row=row, column=1, sticky="ne", padx=(px(14), 0)
                )
            row += 1
    window.update_idletasks()
    left = root.winfo_rootx() + (root.winfo_width() - window.winfo_reqwidth()) // 2
    top = root.winfo_rooty() + (root.winfo_height() - window.winfo_reqheight()) // 2
    window.geometry(f"+{max(left, 0)}+{max(top, 0)}")
    window.focus_set()
