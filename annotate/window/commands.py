"""What the window's own actions do: boxes by keys, copying, steps."""

from __future__ import annotations

import time
from functools import partial

from annotate.boxes import Handle, edge_nudged, moved
from annotate.edits import (
    DUPLICATE_SHIFT_PX,
    copies,
    next_kind,
    with_added,
    with_box,
    with_boxes,
    with_kind,
    without_box,
)
from annotate.records import MarkedBox
from annotate.window.canvas import PictureCanvas
from annotate.window.session import Session
from annotate.window.step_list import StepList
from grounding.errors import UserError
from grounding.records import Size

_SAME_MOVEMENT_S = 0.7
"""Nudges that follow each other so quickly are one movement, which one undo takes back."""


class BoxCommands:
    """What keys do to boxes. The selected box is the one that the handles are at."""

    def __init__(self, session: Session, canvas: PictureCanvas) -> None:
        self._session, self._canvas = session, canvas
        self._copied: tuple[MarkedBox, ...] = ()
        self._nudged: tuple[int, int | None, str] = (-1, None, "")
        self._nudged_at_s = 0.0
        session.watch(on_step=lambda _index: self._rest(), on_selection=lambda _box: self._rest())
        bind = session.bind_key
        for name, dx, dy in (("left", -1, 0), ("right", 1, 0), ("up", 0, -1), ("down", 0, 1)):
            bind(f"move-{name}", partial(self.move, dx, dy))
            bind(f"move-{name}-10", partial(self.move, 10 * dx, 10 * dy))
        edges: tuple[tuple[str, Handle, tuple[str, str]], ...] = (
            ("right", "e", ("left", "right")), ("left", "w", ("left", "right")),
            ("bottom", "s", ("up", "down")), ("top", "n", ("up", "down")),
        )  # fmt: skip
        for edge, handle, ways in edges:
            for by, way in zip((-1, 1), ways, strict=True):
                bind(f"{edge}-edge-{way}", partial(self.push_edge, handle, by))
        bind("next-box", lambda: self.cycle(1))
        bind("previous-box", lambda: self.cycle(-1))
        bind("delete-box", self.delete)
        bind("duplicate-box", self.duplicate)
        bind("copy-box", self.copy)
        bind("paste-box", self.paste)
        bind("copy-to-next", self.copy_to_next)
        bind("box-kind", self.next_kind)
        bind("zoom-box", self.zoom)

    def selected(self) -> MarkedBox | None:
        """The selected box; with a hint where there is none."""
        number = self._session.selected
        if number is None:
            if self._session.entry.boxes:
                keys = self._session.keymap.shown("next-box").split("  ")[0]
                self._session.status(f"No box is selected: click one, or press {keys}")
            else:
                self._session.status("This step has no box")
            return None
        return self._session.entry.boxes[number]

    def move(self, dx_px: int, dy_px: int) -> None:
        """Move the selected box by whole pixels."""
        box, size = self.selected(), self._session.picture_size()
        if box is not None and size is not None:
            self._nudge(moved(box, dx_px, dy_px, size), "move box")

    def push_edge(self, handle: Handle, by_px: int) -> None:
        """Move one edge of the selected box."""
        box, size = self.selected(), self._session.picture_size()
        if box is not None and size is not None:
            self._nudge(edge_nudged(box, handle, by_px, size), "resize box")

    def _nudge(self, box: MarkedBox, what: str) -> None:
        number = self._session.selected
        if number is None:
            return
        now = time.monotonic()
        this = (self._session.index, number, what)
        joined = this == self._nudged and now - self._nudged_at_s < _SAME_MOVEMENT_S
        self._session.change(with_box(self._session.entry, number, box), what, joined=joined)
        self._nudged, self._nudged_at_s = this, now

    def _rest(self) -> None:
        self._nudged = (-1, None, "")

    def cycle(self, direction: int) -> None:
        """Select the next box, and bring it into sight."""
        count = len(self._session.entry.boxes)
        if not count:
            self._session.status("This step has no box")
            return
        here = self._session.selected
        if here is None:
            here = -1 if direction > 0 else count
        chosen = (here + direction) % count
        self._session.select(chosen)
        self._canvas.bring_into_sight(self._session.entry.boxes[chosen])

    def delete(self) -> None:
        """Delete the selected box."""
        number = self._session.selected
        if self.selected() is not None and number is not None:
            entry = without_box(self._session.entry, number)
            self._session.select(None)
            self._session.change(entry, "delete box")
            self._session.status(f"Box deleted; {self._session.keymap.shown('undo')} brings it back")

    def duplicate(self) -> None:
        """Put a copy beside the selected box."""
        box = self.selected()
        if box is not None:
            self._add_shifted([box], "duplicate box")

    def copy(self) -> None:
        """Remember the selected box, or all of them."""
        box = self._session.entry.boxes if self._session.selected is None else (self.selected(),)
        self._copied = copies([one for one in box if one is not None], None)
        self._session.status(f"{_counted(len(self._copied))} copied" if self._copied else "This step has no box")

    def paste(self) -> None:
        """Put what was copied into this step, at the same place; beside it, where it is there already."""
        size = self._session.picture_size()
        if not self._copied or size is None:
            self._session.status("Nothing was copied yet")
            return
        boxes = copies(self._copied, size)
        if not boxes:
            self._session.status("What was copied lies outside this picture")
            return
        entry = with_added(self._session.entry, boxes)
        if entry == self._session.entry:
            self._add_shifted(boxes, "paste box")
        else:
            self._session.change(entry, "paste box")
            self._session.select(len(entry.boxes) - 1)
            self._session.status(f"{_counted(len(boxes))} pasted")

    def _add_shifted(self, boxes: list[MarkedBox] | tuple[MarkedBox, ...], what: str) -> None:
        size = self._session.picture_size()
        if size is not None:
            new = [_beside(box, size) for box in copies(boxes, size)]
            entry = with_boxes(self._session.entry, [*self._session.entry.boxes, *new])
            self._session.change(entry, what)
            self._session.select(len(entry.boxes) - 1)

    def copy_to_next(self) -> None:
        """Put this step's boxes into the next one, too, and go there."""
        index = self._session.index + 1
        entries = self._session.document.entries
        if index >= len(entries):
            self._session.status("This is the last step")
            return
        self._session.finish_edits()
        if not self._session.entry.boxes:
            self._session.status("This step has no box to copy")
            return
        try:
            size = self._session.document.image_size(index)
        except UserError as error:
            self._session.banner("picture", str(error))
            return
        boxes = copies(self._session.entry.boxes, size)
        self._session.change_at(index, with_added(entries[index], boxes), "copy boxes from the step before")
        self._session.go_to(index)
        self._session.status(f"{_counted(len(boxes))} copied here from step {index}")

    def next_kind(self) -> None:
        """Text, icon, not said, one after the other."""
        box, number = self.selected(), self._session.selected
        if box is not None and number is not None:
            kind = next_kind(box.kind)
            self._session.change(with_kind(self._session.entry, number, kind), "kind of box")
            self._session.status(f"Box {number + 1}: {kind or 'kind not said'}")

    def zoom(self) -> None:
        """Make the selected box large."""
        box = self.selected()
        if box is not None:
            self._canvas.zoom_to_box(box)


class StepCommands:
    """What keys do to go about the steps."""

    def __init__(self, session: Session, steps: StepList) -> None:
        self._session, self._steps = session, steps
        bind = session.bind_key
        bind("next-step", lambda: self.go(1))
        bind("previous-step", lambda: self.go(-1))
        bind("first-step", lambda: session.go_to(steps.ends()[0]))
        bind("last-step", lambda: session.go_to(steps.ends()[1]))
        bind("next-todo", self.next_todo)
        bind("first-todo", self.first_todo)
        bind("filter", steps.search)

    def go(self, direction: int) -> None:
        """The next step in the list, in this direction."""
        index = self._steps.neighbour(direction)
        if index == self._session.index:
            self._session.status("This is the last step" if direction > 0 else "This is the first step")
        else:
            self._session.go_to(index)

    def next_todo(self) -> None:
        """The next step that is still to do, from here and around."""
        entries, here = self._session.document.entries, self._session.index
        order = [*range(here + 1, len(entries)), *range(here + 1)]
        found = next((index for index in order if entries[index].state == "todo"), None)
        self._jump(found)

    def first_todo(self) -> None:
        """The first step that is still to do."""
        self._jump(self._session.document.first_todo())

    def _jump(self, index: int | None) -> None:
        if index is None:
            self._session.status("Every step is done")
        else:
            self._session.go_to(index)


def _beside(box: MarkedBox, size: Size) -> MarkedBox:
    other = moved(box, DUPLICATE_SHIFT_PX, DUPLICATE_SHIFT_PX, size)
    # In the bottom right corner there is room only on the other side.
    at_same_place = (other.x_px, other.y_px) == (box.x_px, box.y_px)
    return moved(box, -DUPLICATE_SHIFT_PX, -DUPLICATE_SHIFT_PX, size) if at_same_place else other


def _counted(number: int) -> str:
    return "1 box" if number == 1 else f"{number} boxes"
