"""What the window's own keys do: to boxes, among the steps, and to how the picture is looked at."""

import time
from functools import partial

from grounding.records import Point, Size

from ..core.records import KINDS, MIN_SIDE_PX, AnnotatedStep, MarkedBox, copies, with_added, with_box, with_kind
from .canvas import PictureCanvas
from .lists import StepList
from .mouse import Mouse
from .session import Handler, WindowSession

_SAME_MOVEMENT_S = 0.7  # Nudges that follow each other so quickly are one movement, which one undo takes back.
_WAYS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
_EDGES = {"narrower": (-1, 0), "wider": (1, 0), "lower": (0, -1), "higher": (0, 1)}


class Commands:
    def __init__(self, session: WindowSession, canvas: PictureCanvas, mouse: Mouse, steps: StepList) -> None:
        self._session, self._canvas, self._mouse, self._steps = session, canvas, mouse, steps
        self._copied: tuple[MarkedBox, ...] = ()
        self._nudged: tuple[int, AnnotatedStep] | None = None
        self._nudged_at_s = 0.0
        handlers: dict[str, Handler] = {
            "next-box": partial(self._cycle, 1), "previous-box": partial(self._cycle, -1), "delete-box": self._delete,
            "copy-box": self._copy, "paste-box": self._paste, "box-kind": self._next_kind,
            "next-step": partial(self._go, 1), "previous-step": partial(self._go, -1), "next-todo": self._next_todo,
            "first-step": lambda: session.go_to(steps.listed()[0]),
            "last-step": lambda: session.go_to(steps.listed()[-1]),
            "filter": steps.search, "new-box": mouse.want_drawing, "cancel": self._cancel, "fit": canvas.fit,
            "zoom-in": lambda: canvas.zoom_step(1), "zoom-out": lambda: canvas.zoom_step(-1),
            "zoom-100": lambda: canvas.zoom_to(1.0), "undo": session.undo, "redo": session.redo,
        }  # fmt: skip
        for way, (dx, dy) in _WAYS.items():
            handlers[f"move-{way}"] = partial(self._move, dx, dy)
            handlers[f"move-{way}-10"] = partial(self._move, 10 * dx, 10 * dy)
        handlers |= {name: partial(self._push_edge, dx, dy) for name, (dx, dy) in _EDGES.items()}
        session.bind_keys(handlers)

    def _selected(self) -> tuple[int, MarkedBox, Size] | None:
        session, number, size = self._session, self._session.selected, self._session.picture_size
        if number is not None and size is not None:
            return number, session.entry.boxes[number], size
        hint = f"No box is selected: click one, or press {session.key('next-box')}"
        session.status(hint if session.entry.boxes else "This step has no box")
        return None

    def _move(self, dx_px: int, dy_px: int) -> None:
        if found := self._selected():
            number, box, size = found
            self._nudge(number, box.moved(dx_px, dy_px, size), "move box")

    def _push_edge(self, dx_px: int, dy_px: int) -> None:
        if found := self._selected():
            number, box, size = found
            right = box.x_px + max(box.width_px + dx_px, MIN_SIDE_PX)
            bottom = box.y_px + max(box.height_px + dy_px, MIN_SIDE_PX)
            self._nudge(number, box.resized("se", Point(x_px=right, y_px=bottom), size), "resize box")

    def _nudge(self, number: int, box: MarkedBox, what: str) -> None:
        session, now_s = self._session, time.monotonic()
        joined = self._nudged == (session.index, session.entry) and now_s - self._nudged_at_s < _SAME_MOVEMENT_S
        session.change(with_box(session.entry, number, box), what, joined=joined)
        self._nudged, self._nudged_at_s = (session.index, session.entry), now_s

    def _cycle(self, direction: int) -> None:
        session, boxes, here = self._session, self._session.entry.boxes, self._session.selected
        if not boxes:
            session.status("This step has no box")
            return
        chosen = (((-1 if direction > 0 else 0) if here is None else here) + direction) % len(boxes)
        session.select(chosen)
        self._canvas.bring_into_sight(boxes[chosen])

    def _delete(self) -> None:
        if found := self._selected():
            session = self._session
            session.select(None)
            session.change(with_box(session.entry, found[0], None), "delete box")
            session.status(f"Box deleted; {session.key('undo')} brings it back")

    def _copy(self) -> None:
        boxes, number = self._session.entry.boxes, self._session.selected
        self._copied = copies(boxes if number is None else [boxes[number]], None)
        self._session.status(f"Boxes copied: {len(self._copied)}")

    def _paste(self) -> None:
        session, size = self._session, self._session.picture_size
        if size is None:
            return
        new = copies(self._copied, size)
        entry = with_added(session.entry, new)
        session.change(entry, "paste box")
        session.select(len(entry.boxes) - 1 if entry.boxes else None)
        session.status(f"Boxes pasted: {len(new)}")

    def _next_kind(self) -> None:
        if found := self._selected():
            names = [kind.name for kind in KINDS]
            kind = names[(names.index(found[1].kind) + 1) % len(names)]
            self._session.change(with_kind(self._session.entry, found[0], kind), "kind of box")
            self._session.status(f"Box {found[0] + 1}: {kind or 'kind not said'}")

    def _cancel(self) -> None:
        if self._mouse.cancel():
            return
        if self._session.root.focus_get() is not self._canvas:
            self._session.finish_edits()
            self._canvas.focus_set()
        else:
            self._session.select(None)

    def _go(self, direction: int) -> None:
        here = self._session.index
        ahead = [index for index in self._steps.listed()[::direction] if (index - here) * direction > 0]
        if ahead:
            self._session.go_to(ahead[0])
        else:
            self._session.status("This is the last step" if direction > 0 else "This is the first step")

    def _next_todo(self) -> None:
        entries, here = self._session.document.entries, self._session.index
        order = [*range(here + 1, len(entries)), *range(here + 1)]
        found = next((index for index in order if entries[index].state == "todo"), None)
        if found is None:
            self._session.status("Every step is done")
        else:
            self._session.go_to(found)
