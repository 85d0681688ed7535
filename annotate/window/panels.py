"""How a part of the program hangs itself into the window: a tab beside the picture, keys of its own, an overlay.

Tabs are made by ``make_panel(options)`` of the modules in ``PANELS``; None where there is nothing to show.
"""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from tkinter import ttk
from typing import TYPE_CHECKING, Protocol

from ..core.keys import ACTIONS, KeyAction, Keymap, read_overrides
from ..display import WindowOptions

if TYPE_CHECKING:
    from .session import WindowSession

PANELS = ("review.panel", "proposals.panel", "agreement.panel")
"""The tabs that there are besides the window's own, in their order."""


class PanelTab(Protocol):
    """A tab beside the picture; ``actions`` are what its keys do, which the user's file of keys can change."""

    title: str
    actions: tuple[KeyAction, ...]

    def build(self, parent: tk.Misc, session: WindowSession) -> ttk.Frame:
        """Make the tab's content; here it calls ``session.bind_keys`` and ``session.watch``."""


def make_panels(options: WindowOptions) -> tuple[tuple[PanelTab, ...], Keymap]:
    """The tabs that have something to show, and all keys with the user's own. Raises UserError: bad keys, or no run."""
    modules = [import_module(f"..{name}", __package__) for name in PANELS]
    panels = tuple(panel for panel in (module.make_panel(options) for module in modules) if panel is not None)
    # A file of keys may name the actions of tabs that are not here now.
    every = [*ACTIONS, *(action for module in modules for action in module.ACTIONS)]
    overrides = {} if options.keys is None else read_overrides(options.keys)
    keymap = Keymap(every, overrides, source=str(options.keys))
    here = {*ACTIONS, *(action for panel in panels for action in panel.actions)}
    keymap.actions = tuple(action for action in every if action in here)
    return panels, keymap


class RowList(ttk.Treeview):
    """A list in a frame with a scrollbar, filling the rest of its parent.

    ``columns`` are heading and width of each column; the widest takes what room there is. ``rows`` are shown at least.
    ``chosen`` is called with the row that a hand chooses, not with one that ``mark`` does.
    """

    def __init__(
        self, parent: tk.Misc, columns: Mapping[str, tuple[str, int]], *, rows: int, px: float = 1.0,
        headings: bool = True, chosen: Callable[[int], object] = lambda _row: None,
    ) -> None:  # fmt: skip
        frame = ttk.Frame(parent, style="Line.TFrame", padding=1)
        frame.pack(fill="both", expand=True)
        show: Sequence[str] = [*(["tree"] if "#0" in columns else []), *(["headings"] if headings else [])]
        names = tuple(name for name in columns if name != "#0")
        super().__init__(frame, columns=names, show=show, selectmode="browse", takefocus=False, height=rows)  # type: ignore[arg-type]
        widest = max(width for _, width in columns.values())
        for name, (heading, width) in columns.items():
            self.heading(name, text=heading, anchor="w")
            self.column(name, width=round(width * px), minwidth=round(min(width, 60) * px), stretch=width == widest)
        bar = ttk.Scrollbar(frame, command=self.yview)
        self.configure(yscrollcommand=bar.set)
        bar.pack(side="right", fill="y")
        self.pack(side="left", fill="both", expand=True)
        self._chosen, self._marked = chosen, ""
        self.bind("<<TreeviewSelect>>", self._selected)

    def clear(self) -> None:
        self.delete(*self.get_children())

    def mark(self, row: int | None) -> None:
        self._marked = str(row) if self.exists(str(row)) else ""
        self.selection_set((self._marked,) if self._marked else ())
        if self._marked:
            self.see(self._marked)

    def _selected(self, _event: object) -> None:
        # Tk tells of a new selection when it is idle; the one that was marked is ours.
        rows = self.selection()
        if rows and rows[0] != self._marked:
            self._marked = ""
            self._chosen(int(rows[0]))
