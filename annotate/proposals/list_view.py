"""The proposals as a list, for those who would rather read than point."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable, Sequence
from tkinter import ttk

from annotate.proposals.records import Proposal

NAMES = {"widget": "region", "text": "text", "click": "click"}


class ProposalList(ttk.Frame):
    """Words, kind and size of each proposal.

    Args:
        parent: Where it stands.
        chosen: Called with the place of the row that was chosen, None for none.
        taken: Called with the place of a row that was double-clicked.
    """

    def __init__(self, parent: tk.Misc, chosen: Callable[[int | None], object], taken: Callable[[int], object]) -> None:
        super().__init__(parent, style="Line.TFrame", padding=1)
        self._taken = taken
        tree = self._tree = ttk.Treeview(
            self, columns=("what", "size"), show="tree headings", selectmode="browse", takefocus=False, height=6
        )
        tree.heading("#0", text="text", anchor="w")
        tree.heading("what", text="what", anchor="w")
        tree.heading("size", text="px", anchor="e")
        tree.column("#0", width=150, minwidth=60)
        tree.column("what", width=60, minwidth=50, stretch=False)
        tree.column("size", width=84, minwidth=70, stretch=False, anchor="e")
        bar = ttk.Scrollbar(self, command=tree.yview)
        tree.configure(yscrollcommand=bar.set)
        bar.pack(side="right", fill="y")
        tree.pack(side="left", fill="both", expand=True)
        tree.bind("<<TreeviewSelect>>", lambda _event: chosen(self._chosen()))
        tree.bind("<Double-1>", self._double)

    def fill(self, proposals: Sequence[Proposal]) -> None:
        """Show these in place of those that were shown."""
        self._tree.delete(*self._tree.get_children())
        for number, one in enumerate(proposals):
            size = f"{one.frame.width_px} x {one.frame.height_px}"
            self._tree.insert("", "end", iid=str(number), text=one.words or "-", values=(NAMES[one.origin], size))

    def _chosen(self) -> int | None:
        rows = self._tree.selection()
        return int(rows[0]) if rows else None

    def _double(self, _event: object) -> None:
        number = self._chosen()
        if number is not None:
            self._taken(number)
