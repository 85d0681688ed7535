"""Proposals in the window: shown on demand, taken with one key, and snapping of boxes that were drawn by hand."""

from __future__ import annotations

import tkinter as tk
from functools import partial
from tkinter import ttk
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from grounding.records import Point

from ..core.keys import actions
from ..core.records import AnnotatedStep, with_added, with_box
from ..display import WindowOptions
from ..window.session import Background
from ..window.shapes import OverlayBox
from .regions import Frame, find_regions, frame_of, in_order, next_best, snap

if TYPE_CHECKING:
    from PIL import Image

    from ..window.session import WindowSession

COLOUR, _OVERLAY = "#2563eb", "proposals"
_PICTURE_MS = 40  # How often a picture is waited for that is still being decoded.
ACTIONS = actions(
    "Proposals",
    ("proposals", "Show proposals, or hide them", "P"),
    ("take-proposal", "Box around what is under the cursor, or the next best; again: the one after it", "B"),
    ("snap-box", "Snap the box to the nearest edges", "S"),
)


def make_panel(options: WindowOptions) -> ProposalPanel:
    del options
    return ProposalPanel()


class ProposalPanel:
    """The tab with what was found on the screenshot. It is looked at in a thread: the window never waits for it."""

    title = "Proposals"
    actions = ACTIONS

    def __init__(self) -> None:
        self._found: tuple[Frame, ...] | None = None
        self._looked_at: Image.Image | None = None
        """The picture that is being looked at, or was."""
        self._taking = False
        self._wanted_at: Point | None = None
        self._tried: list[Frame] = []
        self._last: tuple[int, AnnotatedStep, Point | None] | None = None

    def build(self, parent: tk.Misc, session: WindowSession) -> ttk.Frame:
        self._session, self._background = session, Background(session.root)
        frame = ttk.Frame(parent, padding=8)
        self._shown = tk.BooleanVar(frame, value=False)
        ttk.Checkbutton(
            frame, text=session.with_key("Show on the picture", "proposals"), variable=self._shown, takefocus=False,
            command=self._show,
        ).pack(anchor="w")  # fmt: skip
        self._words = ttk.Label(frame, style="Soft.TLabel", justify="left")
        self._words.pack(anchor="w", fill="x", pady=(4, 6))
        self._words.bind("<Configure>", lambda event: self._words.configure(wraplength=max(event.width, 80)))
        for words, action in (("Take", "take-proposal"), ("Snap box", "snap-box")):
            session.button(frame, words, action).pack(anchor="w", pady=(0, 6))
        session.bind_keys({
            "proposals": self._toggle, "take-proposal": self._take_at_cursor,
            "snap-box": partial(snap_selected, session),
        })  # fmt: skip
        session.watch(step=self._stepped, change=self._changed, close=self._background.close)
        self._refresh()
        return frame

    def _stepped(self, index: int) -> None:
        del index
        self._found = self._looked_at = None
        self._taking = False
        self._show()

    def _changed(self, index: int) -> None:
        if index == self._session.index:
            # Whoever went on by hand does not want a box to come after all.
            self._taking = False

    def _toggle(self) -> None:
        self._shown.set(not self._shown.get())
        self._show()

    def _show(self) -> None:
        if self._shown.get():
            self._look()
        self._refresh()

    def _look(self) -> None:
        picture = self._session.picture
        if picture is None and (self._shown.get() or self._taking):
            self._session.root.after(_PICTURE_MS, self._look)
        elif picture is not None and picture is not self._looked_at:
            self._looked_at, session = picture, self._session
            self._background.run(lambda: find_regions(np.asarray(picture)), partial(self._arrived, picture),
                                 lambda error: session.status(f"nothing could be found: {error}"))  # fmt: skip

    def _arrived(self, picture: Image.Image, found: tuple[Frame, ...]) -> None:
        if picture is self._looked_at:
            self._found = found
            self._refresh()
            if self._taking:
                self._take(self._wanted_at)

    def _take_at_cursor(self) -> None:
        cursor = self._session.canvas.cursor()
        if self._found is None:
            # Looked at now; the box comes as soon as something is found there.
            self._taking, self._wanted_at = True, cursor
            self._look()
        else:
            self._take(cursor)

    def _take(self, cursor: Point | None) -> None:
        session = self._session
        # Where nothing has happened since the last one was taken, the next one comes in its place.
        if self._last != (session.index, session.entry, cursor):
            self._tried = []
        boxes = session.entry.boxes[:-1] if self._tried else session.entry.boxes
        self._keep(next_best(in_order(self._found or (), cursor), boxes, self._tried))
        self._last = (session.index, session.entry, cursor)

    def _take_number(self, number: int) -> None:
        """One that was pointed at: whatever was taken before stays."""
        if self._found is not None:
            self._tried = []
            self._keep(next_best([self._found[number]], self._session.entry.boxes))

    def _keep(self, chosen: Frame | None) -> None:
        session, entry = self._session, self._session.entry
        self._taking = False
        if chosen is None:
            session.status("nothing is left that could be proposed here")
            return
        if self._tried:
            session.change(with_box(entry, len(entry.boxes) - 1, chosen.as_box()), "take the next proposal")
        else:
            session.change(with_added(entry, [chosen.as_box()]), "take a proposal")
        self._tried.append(chosen)
        session.select(len(session.entry.boxes) - 1)
        session.status(f"taken; {session.key('take-proposal')} again takes the next best instead")

    def _refresh(self) -> None:
        found = self._found if self._shown.get() else ()
        shapes = [OverlayBox(box=one.as_box().box, colour=COLOUR, dashed=False, halo=False) for one in found or ()]
        self._session.canvas.show_overlay(_OVERLAY, shapes, on_pick=self._take_number)
        words = "Widgets and lines of text by their edges; a key or a double click turns one into a box."
        if self._shown.get():
            words = "Looking at the screenshot …" if found is None else f"{len(found)} found"
        self._words.configure(text=words)


def snap_selected(session: WindowSession) -> None:
    """What the key does: snap the selected box, or the only one there is, and say so where that is not possible."""
    picture, boxes = session.picture, session.entry.boxes
    number = session.selected if session.selected is not None else 0 if len(boxes) == 1 else None
    if number is None or picture is None:
        session.status("Select a box first: then it can be snapped to the nearest edges")
        return
    rough = frame_of(boxes[number])
    try:
        found = snap(np.asarray(picture), rough)
    except ValueError:
        session.status("The box lies outside the picture")
        return
    x, y, wide, high = found.left_px, found.top_px, found.width_px, found.height_px
    box = replace(boxes[number], x_px=x, y_px=y, width_px=wide, height_px=high)
    if found != rough:
        session.change(with_box(session.entry, number, box), "snap box")
        session.select(number)
    session.status("Snapped to the nearest edges" if found != rough else "No nearer edges: the box stays as it is")
