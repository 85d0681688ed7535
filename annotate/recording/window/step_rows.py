"""The list of steps with small pictures, made one after the other while the window is used."""

from __future__ import annotations

import tkinter as tk
from tkinter import ttk
from typing import Any

from annotate.recording.window.cut_session import CutSession
from annotate.recording.window.time_view import clock
from annotate.window.background import Background
from annotate.window.style import Style

THUMB_WIDTH, THUMB_HEIGHT = 112, 63


class StepRows(ttk.Frame):
    """The left side of the window."""

    def __init__(self, parent: tk.Misc, session: CutSession, style: Style, background: Background) -> None:
        super().__init__(parent, padding=(style.px(10), style.px(8), style.px(6), style.px(8)))
        self._session, self._style, self._background = session, style, background
        self._thumbs: dict[float, Any] = {}
        self._making = False
        self._choosing = False
        self._count = ttk.Label(self, style="Title.TLabel")
        self._count.pack(fill="x", pady=(0, style.px(6)))
        frame = ttk.Frame(self, style="Line.TFrame", padding=1)
        frame.pack(fill="both", expand=True)
        ttk.Style(self).configure("Cut.Treeview", rowheight=style.px(THUMB_HEIGHT + 9))
        self._tree = ttk.Treeview(
            frame, columns=("words",), show="tree", selectmode="browse", style="Cut.Treeview", takefocus=False
        )
        self._tree.column("#0", width=style.px(THUMB_WIDTH + 18), stretch=False)
        self._tree.column("words", width=style.px(170), stretch=True)
        bar = ttk.Scrollbar(frame, command=self._tree.yview)
        self._tree.configure(yscrollcommand=bar.set)
        bar.pack(side="right", fill="y")
        self._tree.pack(side="left", fill="both", expand=True)
        self._tree.bind("<<TreeviewSelect>>", self._chosen)
        self._empty = self._blank()
        session.watch(on_plan=self.fill, on_step=self._mark)
        self.fill()

    def fill(self) -> None:
        """List the steps as they are now; small pictures that are there already stay."""
        steps = self._session.plan.steps
        self._count.configure(text=f"{len(steps)} step{'' if len(steps) == 1 else 's'}")
        there = len(self._tree.get_children())
        for index in range(len(steps), there):
            self._tree.delete(str(index))
        texts = {one.id: one.wording for one in self._session.plan.instructions}
        before: int | None = None
        for index, step in enumerate(steps):
            if index >= there:
                self._tree.insert("", "end", iid=str(index))
            said = "" if step.instruction is None else texts[step.instruction]
            words = "″ same words" if index and step.instruction == before and said else said or "no words"
            before = step.instruction
            task = f" · {step.task}" if step.task and (index == 0 or steps[index - 1].task != step.task) else ""
            # A cell holds lines of its own only where the text is broken by hand.
            lines = [
                f"{index + 1} · {clock(step.screenshot_s)} · {step.action}{task}",
                *_broken(words, 17 if self._style.narrow else 25, 2),
            ]
            self._tree.item(
                str(index), image=self._thumbs.get(step.screenshot_s, self._empty), values=("\n".join(lines),)
            )
        self._mark()
        self._make_next()

    def _mark(self) -> None:
        iid = str(self._session.index)
        if not self._tree.exists(iid):
            return
        if self._tree.selection() != (iid,):
            self._choosing = True
            self._tree.selection_set(iid)
        self._tree.see(iid)

    def _chosen(self, _event: object) -> None:
        chosen = self._tree.selection()
        if self._choosing:
            self._choosing = False
        elif chosen and int(chosen[0]) != self._session.index:
            self._session.choose(int(chosen[0]))
        elif chosen and self._session.step is not None:
            self._session.move_cursor(self._session.step.screenshot_s)

    def _make_next(self) -> None:
        if self._making:
            return
        first = self._tree.identify_row(0)
        start = int(first) if first else 0
        order = [*range(start, len(self._session.plan.steps)), *range(start)]
        wanted = [
            self._session.plan.steps[index].screenshot_s for index in order if index < len(self._session.plan.steps)
        ]
        time_s = next((one for one in wanted if one not in self._thumbs), None)
        if time_s is None:
            return
        self._making = True
        size = self._style.px(THUMB_WIDTH), self._style.px(THUMB_HEIGHT)
        self._background.run(
            lambda: _small(self._session.recording.picture_at(time_s), size),
            lambda picture: self._came(time_s, picture),
            lambda _error: self._came(time_s, None),
        )

    def _came(self, time_s: float, picture: Any) -> None:
        from PIL import ImageTk

        self._making = False
        # A time without a readable picture keeps the empty one; the preview says why.
        self._thumbs[time_s] = self._empty if picture is None else ImageTk.PhotoImage(picture, master=self)
        for index, step in enumerate(self._session.plan.steps):
            if step.screenshot_s == time_s:
                self._tree.item(str(index), image=self._thumbs[time_s])
        self._make_next()

    def _blank(self) -> Any:
        from PIL import Image, ImageTk

        size = self._style.px(THUMB_WIDTH), self._style.px(THUMB_HEIGHT)
        return ImageTk.PhotoImage(Image.new("RGB", size, "#e8ebef"), master=self)


def _small(picture: Any, size: tuple[int, int]) -> Any:
    from PIL import Image, ImageOps

    return ImageOps.pad(Image.fromarray(picture), size, color="#e8ebef")


def _broken(text: str, width: int, most: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width, max_lines=most, placeholder=" …")
