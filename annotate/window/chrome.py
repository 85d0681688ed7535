"""What stands around the picture: the buttons above it, the status bar, messages, and the list of keys."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable, Sequence
from functools import partial
from tkinter import ttk
from typing import Literal

from ..core.keys import NAMED, Keymap, chord, types_text
from .canvas import PictureCanvas
from .panels import RowList
from .style import SURFACE, Style

_MESSAGE_MS = 8000
ButtonRow = Sequence[tuple[str, str]]
BUTTONS: ButtonRow = (
    ("Previous", "previous-step"), ("Next", "next-step"), ("Next to do", "next-todo"), ("", ""),
    ("New box", "new-box"), ("", ""), ("-", "zoom-out"), ("100 %", "zoom-100"), ("+", "zoom-in"), ("Fit", "fit"),
)  # fmt: skip
RIGHT_BUTTONS: ButtonRow = (("?", "help"), ("Redo", "redo"), ("Undo", "undo"))
MOUSE = (
    ("Draw a box", "Drag on a free place, or New box and drag"),
    ("Select a box", "Click in it; the smallest under the cursor is taken"),
    ("Move, resize", "Drag the selected box, or one of its handles"),
    ("Zoom at the cursor", "Ctrl and wheel"),
    ("Push the picture", "Middle button; wheel, with Shift sidewards"),
)


class Toolbar(ttk.Frame):
    """One row of buttons, by their actions. ``tell`` gets a button's keys when the mouse is there."""

    def __init__(
        self, parent: tk.Misc, style: Style, keymap: Keymap, perform: Callable[[str], object],
        tell: Callable[[str], object], left: ButtonRow, right: ButtonRow,
    ) -> None:  # fmt: skip
        super().__init__(parent, padding=(style.px(10), style.px(6)))
        self.buttons: dict[str, ttk.Button] = {}
        sides: tuple[tuple[Literal["left", "right"], ButtonRow], ...] = (("left", left), ("right", right))
        for side, (words, action) in ((side, pair) for side, row in sides for pair in row):
            if not action:
                ttk.Frame(self, width=style.px(16)).pack(side=side)
                continue
            look = "Accent.TButton" if action in ("new-box", "write") else "Tool.TButton"
            button = ttk.Button(self, text=words, style=look, takefocus=False, command=partial(perform, action))
            button.pack(side=side, padx=(0, style.px(4)))
            button.bind("<Enter>", partial(self._tell, tell, keymap.tip(action)))
            self.buttons[action] = button

    def _tell(self, tell: Callable[[str], object], words: str, _event: object) -> None:
        tell(words)


class StatusBar(ttk.Frame):
    """Message, cursor, box, and whether all is saved. All lengths are image pixels."""

    def __init__(self, parent: tk.Misc, style: Style) -> None:
        super().__init__(parent, padding=(style.px(10), style.px(3), style.px(10), style.px(4)))
        self._timer = ""
        self.saved, self._box, self._cursor, self._message = (
            ttk.Label(self, style="Status.TLabel", width=width) for width in (18, 32, 16, 1)
        )
        for label in (self.saved, self._box, self._cursor):
            label.pack(side="right", padx=(8, 0))
        self._message.pack(side="left", fill="x", expand=True)

    def say(self, text: str) -> None:
        if self._timer:
            self.after_cancel(self._timer)
        self._message.configure(text=text)
        self._timer = self.after(_MESSAGE_MS, lambda: self._message.configure(text=""))

    def show_view(self, canvas: PictureCanvas) -> None:
        point, number, boxes = canvas.cursor(), canvas.shown_selection(), canvas.boxes()
        at = "" if point is None else f"x {int(point.x_px)}   y {int(point.y_px)}"
        self._cursor.configure(text=at)
        words = ""
        if number is not None and number < len(boxes):
            x, y, wide, high = boxes[number].place
            words = f"box {number + 1}:  {wide:g} x {high:g} px at {x:g}, {y:g}"
        self._box.configure(text=words)


class Banners(ttk.Frame):
    """Messages above the picture, one below the other, each until it is closed."""

    def __init__(self, parent: tk.Misc, style: Style) -> None:
        super().__init__(parent)
        self._style = style
        self._strips: dict[str, tuple[ttk.Frame, tuple[object, ...]]] = {}
        # A frame without children keeps the height that it had last.
        ttk.Frame(self, height=1, style="Line.TFrame").pack(fill="x")

    def show(self, key: str, text: str, buttons: Sequence[tuple[str, Callable[[], object]]] = ()) -> None:
        shown = (text, *buttons)
        if key in self._strips and self._strips[key][1] == shown:
            return  # Somebody may just be about to press one of its buttons.
        self.clear(key)
        px = self._style.px
        strip = ttk.Frame(self, style="Banner.TFrame", padding=(px(12), px(7)))
        for words, handler in (("Close", lambda: None), *reversed(buttons)):
            command = partial(self._do, key, handler)
            button = ttk.Button(strip, text=words, style="Banner.TButton", takefocus=False, command=command)
            button.pack(side="right", anchor="n", padx=(px(6), 0))
        label = ttk.Label(strip, text=text, style="Banner.TLabel", justify="left")
        label.pack(side="left", fill="x", expand=True)
        label.bind("<Configure>", lambda event: label.configure(wraplength=max(event.width, px(120))))
        strip.pack(fill="x")
        self._strips[key] = (strip, shown)

    def clear(self, key: str) -> None:
        if key in self._strips:
            self._strips.pop(key)[0].destroy()

    def _do(self, key: str, handler: Callable[[], object]) -> None:
        self.clear(key)
        handler()


class KeyList:
    """The list of keys, in a window of its own that can stay open; ``closed`` is called when it goes."""

    def __init__(
        self, root: tk.Tk, style: Style, keymap: Keymap, mouse: Sequence[tuple[str, str]] = MOUSE,
        closed: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        self._root, self._style, self._keymap, self._mouse, self._closed = root, style, keymap, mouse, closed
        self._window: tk.Toplevel | None = None

    def toggle(self) -> None:
        if self._window is not None:
            self._window.destroy()
            self._window = None
            self._closed()
            return
        px = self._style.px
        window = self._window = tk.Toplevel(self._root, background=SURFACE, padx=px(12), pady=px(10))
        window.title("Keys")
        window.transient(self._root)
        window.protocol("WM_DELETE_WINDOW", self.toggle)
        for key in ("<Escape>", "<F1>", "<question>"):
            window.bind(key, lambda _event: self.toggle())
        hint = "Keys can be changed by a file: grounding annotate FOLDER --keys keys.yaml"
        ttk.Label(window, style="Soft.TLabel", background=SURFACE, text=hint).pack(side="bottom", anchor="w")
        rows: dict[tuple[str, str], list[str]] = {}
        for action in self._keymap.actions:
            rows.setdefault((action.group, action.words), []).append(self._keymap.shown(action.name) or "-")
        rows |= {("Mouse", words): [how] for words, how in self._mouse}
        columns = {"group": ("", 110), "words": ("", 360), "keys": ("", 300)}
        room = (window.winfo_screenheight() - px(140)) // px(26)
        table = RowList(window, columns, rows=min(len(rows), room), px=self._style.unit, headings=False)
        for number, ((group, words), keys) in enumerate(sorted(rows.items(), key=lambda row: row[0][0])):
            table.insert("", "end", iid=str(number), values=(group, words, "  ".join(keys)))
        window.focus_set()


# --- keys ---------------------------------------------------------------------------------------------------------

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
