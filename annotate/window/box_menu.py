"""The menu of the right mouse button on a box."""

from __future__ import annotations

import tkinter as tk
from functools import partial

from annotate.edits import with_kind
from annotate.records import BoxKind
from annotate.window.session import Session

_KINDS: tuple[tuple[BoxKind, str], ...] = (("text", "Text"), ("icon", "Icon"), ("", "Kind not said"))
_ACTIONS = (("Zoom to it", "zoom-box"), ("Copy", "copy-box"), ("Duplicate", "duplicate-box"), ("Delete", "delete-box"))


def show_box_menu(session: Session, x_screen: int, y_screen: int) -> None:
    """Offer what can be done with the selected box, at a place of the screen."""
    menu = tk.Menu(session.root, tearoff=False)
    for kind, words in _KINDS:
        menu.add_command(label=words, command=partial(_set_kind, session, kind))
    menu.add_separator()
    for words, action in _ACTIONS:
        keys = session.keymap.shown(action).split("  ")[0]
        menu.add_command(label=words, accelerator=keys, command=partial(session.perform, action))
    try:
        menu.tk_popup(x_screen, y_screen)
    finally:
        menu.grab_release()


def _set_kind(session: Session, kind: BoxKind) -> None:
    number = session.selected
    if number is not None:
        session.change(with_kind(session.entry, number, kind), "kind of box")
