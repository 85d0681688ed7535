"""The list of keys, in a window of its own that can stay open beside the work."""

from __future__ import annotations

import tkinter as tk
from functools import partial
from tkinter import ttk

from annotate.actions import Action
from annotate.window.session import Session
from annotate.window.style import SURFACE, Style

_MOUSE = (
    ("Draw a box", "Drag on a free place, or New box and drag"),
    ("Select a box", "Click in it; the smallest under the cursor is taken"),
    ("Move, resize", "Drag the selected box, or one of its handles"),
    ("Kind, copy, delete", "Right button on a box"),
    ("Zoom at the cursor", "{mod} and wheel"),
    ("Push the picture", "Middle button, or hold Space and drag; wheel"),
)
_TOGETHER = {
    "move-left": "Move 1 px", "move-left-10": "Move 10 px", "right-edge-left": "Right edge 1 px",
    "bottom-edge-up": "Bottom edge 1 px", "left-edge-left": "Left edge 1 px", "top-edge-up": "Top edge 1 px",
}  # fmt: skip
"""Actions that begin a row for themselves and those of the same group that follow."""
_COLUMNS, _COLUMNS_ON_NARROW_SCREENS = 3, 2


class KeyList:
    """Shows and hides the list."""

    def __init__(self, session: Session, style: Style) -> None:
        self._session, self._style = session, style
        self._window: tk.Toplevel | None = None

    def toggle(self) -> None:
        """Show the list, or close it where it is open."""
        if self._window is not None:
            self._close()
            return
        px = self._style.px
        window = self._window = tk.Toplevel(self._session.root, background=SURFACE)
        window.title("Keys")
        window.transient(self._session.root)
        window.protocol("WM_DELETE_WINDOW", self._close)
        for key in ("<Escape>", "<F1>", "<question>"):
            window.bind(key, lambda _event: self._close())
        # On a small display the list is longer than the screen.
        sheet = tk.Canvas(window, background=SURFACE, highlightthickness=0)
        bar = ttk.Scrollbar(window, command=sheet.yview)
        sheet.configure(yscrollcommand=bar.set)
        frame = ttk.Frame(sheet, style="Card.TFrame", padding=px(18))
        sheet.create_window(0, 0, anchor="nw", window=frame)
        self._fill(frame)
        window.update_idletasks()
        wide, high = frame.winfo_reqwidth(), frame.winfo_reqheight()
        room = window.winfo_screenheight() - px(70)
        sheet.configure(width=wide, height=min(high, room), scrollregion=(0, 0, wide, high))
        if high > room:
            bar.pack(side="right", fill="y")
            for event, by in (("<Button-4>", -1), ("<Button-5>", 1), ("<Prior>", -8), ("<Next>", 8)):
                window.bind(event, partial(self._scroll, sheet, by))
            window.bind("<MouseWheel>", lambda event: self._scroll(sheet, -1 if event.delta > 0 else 1))
        sheet.pack(side="left", fill="both", expand=True)
        self._centre(window)
        window.focus_set()

    def _fill(self, frame: ttk.Frame) -> None:
        px = self._style.px
        for column, groups in enumerate(self._columns()):
            cell = ttk.Frame(frame, style="Card.TFrame")
            cell.grid(row=0, column=column, sticky="n", padx=(0 if column == 0 else px(24), 0))
            row = 0
            for heading, lines in groups:
                label = ttk.Label(cell, text=heading, style="Title.TLabel", background=SURFACE)
                label.grid(row=row, column=0, columnspan=2, sticky="w", pady=(px(10) if row else 0, px(3)))
                row += 1
                for words, keys in lines:
                    ttk.Label(cell, text=words, background=SURFACE, wraplength=px(210)).grid(
                        row=row, column=0, sticky="nw", pady=px(1)
                    )
                    ttk.Label(
                        cell, text=keys, background=SURFACE, style="Soft.TLabel", wraplength=px(165), justify="right"
                    ).grid(row=row, column=1, sticky="ne", padx=(px(14), 0), pady=px(1))
                    row += 1
        ttk.Label(
            frame,
            style="Soft.TLabel",
            background=SURFACE,
            text="Keys can be changed by a file: python -m annotate FOLDER --keys keys.yaml",
        ).grid(row=1, column=0, columnspan=_COLUMNS, sticky="w", pady=(px(14), 0))

    @staticmethod
    def _scroll(sheet: tk.Canvas, by: int, _event: object = None) -> None:
        sheet.yview_scroll(by, "units")

    def _rows(self, actions: list[Action]) -> list[tuple[str, str]]:
        rows: list[tuple[str, str]] = []
        for action in actions:
            keys = self._session.keymap.shown(action.name)
            words = _TOGETHER.get(action.name, "" if action.group == "Nudging" else action.words)
            if words or not rows:
                rows.append((words or action.words, keys))
            else:
                rows[-1] = (rows[-1][0], f"{rows[-1][1]}  {keys}".strip())
        return rows

    def _columns(self) -> list[list[tuple[str, list[tuple[str, str]]]]]:
        """The groups, spread over columns of about the same length."""
        keymap = self._session.keymap
        by_group: dict[str, list[Action]] = {}
        for action in keymap.actions:
            by_group.setdefault(action.group, []).append(action)
        mod = keymap.shown("save").removesuffix("S").removesuffix("+") or "Ctrl"
        groups = [(name, self._rows(actions)) for name, actions in by_group.items()]
        groups.append(("Mouse", [(words, how.format(mod=mod)) for words, how in _MOUSE]))
        count = _COLUMNS_ON_NARROW_SCREENS if self._style.narrow else _COLUMNS
        columns: list[list[tuple[str, list[tuple[str, str]]]]] = [[] for _ in range(count)]
        lengths = [0] * count
        for group in sorted(groups, key=lambda one: -len(one[1])):
            shortest = lengths.index(min(lengths))
            columns[shortest].append(group)
            lengths[shortest] += len(group[1]) + 2
        return columns

    def _centre(self, window: tk.Toplevel) -> None:
        window.update_idletasks()
        root = self._session.root
        left = root.winfo_rootx() + (root.winfo_width() - window.winfo_reqwidth()) // 2
        top = root.winfo_rooty() + (root.winfo_height() - window.winfo_reqheight()) // 2
        window.geometry(f"+{max(left, 0)}+{max(top, 0)}")

    def _close(self) -> None:
        if self._window is not None:
            self._window.destroy()
            self._window = None
        self._session.focus_canvas()
