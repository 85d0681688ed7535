"""From keys to actions, without taking away a letter from anybody who types."""

from __future__ import annotations

import sys
import tkinter as tk
from collections.abc import Callable
from tkinter import ttk

from annotate.keys import Chord
from annotate.window.session import Session

_TAG = "AnnotateKeys"
_SHIFT, _CONTROL = 0x1, 0x4
_MAC = sys.platform == "darwin"
_MOD = 0x8 if _MAC else _CONTROL
_ALT = 0x10 if _MAC else 0x20000 if sys.platform == "win32" else 0x8
_KEYS = {
    "Prior": "PageUp", "Next": "PageDown", "BackSpace": "Backspace", "space": "Space", "ISO_Left_Tab": "Tab",
    "KP_Enter": "Return", "KP_Delete": "Delete", "KP_Left": "Left", "KP_Right": "Right", "KP_Up": "Up",
    "KP_Down": "Down", "KP_Home": "Home", "KP_End": "End", "KP_Prior": "PageUp", "KP_Next": "PageDown",
    "KP_Insert": "Insert",
}  # fmt: skip
_SIGNS = {
    "plus": "+", "minus": "-", "equal": "=", "period": ".", "comma": ",", "slash": "/", "question": "?",
    "bracketleft": "[", "bracketright": "]", "semicolon": ";", "colon": ":", "apostrophe": "'", "quoteright": "'",
    "numbersign": "#", "less": "<", "greater": ">", "backslash": "\\", "grave": "`", "quoteleft": "`",
    "underscore": "_", "asterisk": "*", "exclam": "!", "KP_Add": "+", "KP_Subtract": "-", "KP_Multiply": "*",
    "KP_Divide": "/", "KP_Decimal": ".", **{f"KP_{digit}": str(digit) for digit in range(10)},
}  # fmt: skip
_SCRIPTS = {"Cyrillic", "Greek", "Ukrainian", "Serbian", "Macedonia", "Byelorussian", "Arabic", "hebrew", "Armenian"}
"""How Tk's names of letters begin where the layout is not Latin."""
_LATIN_AT = {
    first + place: letter
    for first, row in ((24, "QWERTYUIOP"), (38, "ASDFGHJKL"), (52, "ZXCVBNM"))
    for place, letter in enumerate(row)
} if sys.platform.startswith("linux") else {}  # fmt: skip
"""The letters of a Latin keyboard by the numbers of its keys under X."""
_RELEASE_MS = 60
"""A key that is held sends releases between its presses: a release counts when no press follows it."""


def chord_of(keysym: str, char: str, state: int, keycode: int = 0) -> Chord | None:
    """The key of an event of Tk; None for a modifier alone and for keys without a name here.

    On a layout without Latin letters the key that has the letter elsewhere counts, as far as ``keycode`` tells it.
    """
    key = _KEYS.get(keysym) or _SIGNS.get(keysym)
    if key is None and (keysym.partition("_")[0] in _SCRIPTS or (char.isalpha() and not char.isascii())):
        key = _LATIN_AT.get(keycode)
    if key is None:
        if len(keysym) == 1:
            key = keysym.upper()
        elif keysym in (
            "Left",
            "Right",
            "Up",
            "Down",
            "Home",
            "End",
            "Delete",
            "Insert",
            "Escape",
            "Return",
            "Tab",
        ) or (keysym[:1] == "F" and keysym[1:].isdecimal()):
            key = keysym
        elif len(char) == 1 and char.isprintable():
            key = char.upper()
        else:
            return None
    counts_shift = len(key) > 1 or key.isalpha()
    return Chord(
        key=key,
        mod=bool(state & _MOD),
        alt=bool(state & _ALT),
        shift=counts_shift and (bool(state & _SHIFT) or keysym == "ISO_Left_Tab"),
    )


class Keyboard:
    """Stands before every widget of the window and does what the keymap says.

    In a text field only those keys are taken that are not for typing. The key for pushing the picture about is held:
    what else it does, it does when it is let go without a push.

    Args:
        session: Does the actions.
        hold: Called with True when the space bar is pressed on the canvas, with False when it is let go; the second
            call answers whether the picture was pushed meanwhile.
    """

    def __init__(self, session: Session, hold: Callable[[bool], bool]) -> None:
        self._session, self._keymap, self._hold = session, session.keymap, hold
        self._held = False
        self._release: str | None = None
        root = session.root
        root.bind_class(_TAG, "<KeyPress>", self._pressed)
        root.bind_class(_TAG, "<KeyRelease-space>", self._let_go)
        self.adopt(root)
        # Widgets that come later are taken in when they first get the focus.
        root.bind_all("<FocusIn>", self._focused, add="+")

    def adopt(self, widget: tk.Misc) -> None:
        """Stand before a widget and all that is in it."""
        tags = widget.bindtags()
        if _TAG not in tags:
            widget.bindtags((_TAG, *tags))
        for child in widget.winfo_children():
            if not isinstance(child, tk.Toplevel | tk.Menu):
                self.adopt(child)

    def _focused(self, event: tk.Event[tk.Misc]) -> None:
        widget = event.widget
        # Tk names widgets of its own, such as the list of a combobox, by a text.
        if isinstance(widget, tk.Misc) and widget.winfo_toplevel() is self._session.root:
            tags = widget.bindtags()
            if _TAG not in tags:
                widget.bindtags((_TAG, *tags))

    def _pressed(self, event: tk.Event[tk.Misc]) -> str | None:
        state = event.state if isinstance(event.state, int) else 0
        chord = chord_of(event.keysym, event.char, state, event.keycode)
        if chord is None:
            return None
        action = self._keymap.action_for(chord)
        typing = isinstance(event.widget, tk.Entry | ttk.Entry | tk.Text | ttk.Spinbox | tk.Spinbox)
        if typing and (action is None or not action.while_typing or chord.types_text):
            return None
        if chord == Chord(key="Space") and not typing:
            self._hold_down()
            return "break"
        if action is None:
            return None
        return "break" if self._session.perform(action.name) else None

    def _hold_down(self) -> None:
        if self._release is not None:
            self._session.root.after_cancel(self._release)
            self._release = None
        if not self._held:
            self._held = True
            self._hold(True)

    def _let_go(self, _event: object) -> None:
        if self._held and self._release is None:
            self._release = self._session.root.after(_RELEASE_MS, self._really_let_go)

    def _really_let_go(self) -> None:
        self._release = None
        self._held = False
        pushed = self._hold(False)
        action = self._keymap.action_for(Chord(key="Space"))
        if action is not None and not pushed:
            self._session.perform(action.name)
