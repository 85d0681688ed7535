"""A recording: X's RECORD extension tells what the person does, and steps come out."""

from __future__ import annotations

import queue
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from desktop_recording.accessibility import Accessibility, AccessibilityError, Element
from desktop_recording.focus import FocusWatch
from desktop_recording.gestures import MODIFIERS, Action, Button, Gestures, Key
from desktop_recording.keyboard import Keyboard
from desktop_recording.screens import Frame, Screens
from desktop_recording.trajectory import Step, png_bytes, stamp_name, write_task
from desktop_recording.windows import active_process, process_at

MASK = "********"
STOP_KEYS = {"ctrl", "shift", "f12"}
STOP_WORDS = "Ctrl+Shift+F12"
# Ctrl and C pressed this shortly before the interruption are what caused it.
_OWN_CTRL_C_S = 1.5
# The stamps of an X server are milliseconds in 32 bits.
_STAMPS_S = 2**32 / 1000
# An event that seems to have been on its way for longer was stamped by another clock.
_LATEST_S = 60.0


def happened_s(stamp_ms: int, received_s: float) -> float:
    """When an event happened (time.monotonic), however late it was read.

    An X server on Linux stamps events by the same clock; with any other clock it is the moment of reading.
    """
    late_s = (received_s - stamp_ms / 1000) % _STAMPS_S
    return received_s - late_s if late_s <= _LATEST_S else received_s


class RecordingError(Exception):
    """The session cannot be recorded; the message says what to do."""


@dataclass(frozen=True)
class Seen:
    """What was noted when an event came."""

    frame: Frame
    clock: datetime
    element: Element | None
    process: int | None


class Session:
    """Records one task."""

    def __init__(self, display: str, out: Path, kind: str, name: str | None, unknown_fields: bool) -> None:
        begin = datetime.now()
        self._events = out / "data" / "events"
        self.path = out / "final_data" / f"{kind}_task" / f"{name or begin.strftime('task_%Y%m%d_%H%M%S')}.jsonl"
        if self.path.exists():
            raise RecordingError(f"{self.path} is there already: choose another --name")
        self.warnings: list[str] = []
        self._unknown_fields = unknown_fields
        self._raw: queue.Queue[Any] = queue.Queue()
        self._gestures: Gestures[Seen] = Gestures()
        self._done: list[Action[Seen]] = []
        self._held: set[str] = set()
        self._open_display(display)
        self._open_accessibility()
        self._screens = Screens(display)

    def _open_display(self, display: str) -> None:
        try:
            from Xlib import X
            from Xlib import display as xdisplay
            from Xlib.error import DisplayError
            from Xlib.ext import record
        except ImportError as error:
            raise RecordingError(f"{error}: pip install python-xlib") from error
        try:
            self._listening, self._asking = xdisplay.Display(display), xdisplay.Display(display)
        except (DisplayError, OSError) as error:
            raise RecordingError(f"display {display}: {error}; it has to be an X11 session") from error
        if not self._listening.has_extension("RECORD"):
            raise RecordingError(f"display {display} has no RECORD extension, which this needs")
        self._keyboard = Keyboard(self._asking)
        ranges = {
            "core_requests": (0, 0), "core_replies": (0, 0), "ext_requests": (0, 0, 0, 0),
            "ext_replies": (0, 0, 0, 0), "delivered_events": (0, 0), "device_events": (X.KeyPress, X.ButtonRelease),
            "errors": (0, 0), "client_started": False, "client_died": False,
        }  # fmt: skip
        self._context = self._listening.record_create_context(0, [record.AllClients], [ranges])
        self._recorder = threading.Thread(target=self._listen, daemon=True)

    def _open_accessibility(self) -> None:
        self._tree: Accessibility | None = None
        self._focus: FocusWatch | None = None
        try:
            self._tree = Accessibility()
            self._focus = FocusWatch(Accessibility())
        except AccessibilityError as error:
            self.warnings.append(f"no accessibility here ({error}): no elements, and password fields cannot be told.")
            if not self._unknown_fields:
                self.warnings.append("All typed text will be replaced by stars.")

    def run(self, stopped: threading.Event) -> None:
        """Take events until the stop keys are pressed or the flag is set from elsewhere."""
        self._recorder.start()
        while not stopped.is_set():
            with suppress(queue.Empty):
                if self._take(*self._raw.get(timeout=0.1)):
                    break
        self._asking.record_disable_context(self._context)
        self._asking.flush()
        self._screens.close()

    def finish(self, first: str, second: str, *, failed: bool, interrupted: bool) -> list[Step]:
        """Write the task and return its steps; the last one says finish or fail.

        Raises:
            RecordingError: Nothing was done.
        """
        self._done += self._gestures.end()
        last = self._done[-1] if self._done else None
        own = last is not None and last.written == "hotkey (Ctrl, c)" and time.monotonic() - last.end_s < _OWN_CTRL_C_S
        if interrupted and own:
            self._done.pop()
        if not self._done:
            raise RecordingError("nothing was recorded: no click and no key came before the end")
        steps = [self._step(number, action) for number, action in enumerate(self._done, 1)]
        now = datetime.now()
        name = stamp_name(now, len(steps) + 1)
        self._save(self._screens.last, name)
        steps.append(Step("fail" if failed else "finish", name, now, thought=""))
        write_task(self.path, steps, first, second)
        if self._focus is not None:
            self._focus.close()
        return steps

    def _listen(self) -> None:
        self._listening.record_enable_context(self._context, self._received)
        self._listening.record_free_context(self._context)

    def _received(self, reply: Any) -> None:
        """RECORD's callback: note the moment and the screen, leave the rest to the other thread."""
        from Xlib.ext import record
        from Xlib.protocol import rq

        if reply.category != record.FromServer or reply.client_swapped or not reply.data:
            return
        data = reply.data
        while data:
            event, data = rq.EventField(None).parse_binary_value(data, self._listening.display, None, None)
            moment_s = happened_s(event.time, time.monotonic())
            self._raw.put((event, moment_s, datetime.now(), self._screens.last))

    def _take(self, event: Any, time_s: float, clock: datetime, frame: Frame) -> bool:
        """Work one event in; True for the stop keys."""
        from Xlib import X

        down = event.type in (X.KeyPress, X.ButtonPress)
        if event.type in (X.ButtonPress, X.ButtonRelease):
            element = process = None
            if down and event.detail <= 3:
                process = process_at(self._asking, event.root_x, event.root_y)
                element = self._element(event.root_x, event.root_y, process)
            seen = Seen(frame, clock, element, process)
            self._done += self._gestures.feed(Button(time_s, event.detail, down, event.root_x, event.root_y, seen))
            return False
        name, char = self._keyboard.read(event.detail, event.state)
        (self._held.add if down else self._held.discard)(name)
        if self._held >= STOP_KEYS:
            return True
        process = active_process(self._asking) if down and name not in MODIFIERS else None
        self._done += self._gestures.feed(Key(time_s, name, down, char, Seen(frame, clock, None, process)))
        return False

    def _element(self, x_px: int, y_px: int, process: int | None) -> Element | None:
        if self._tree is None:
            return None
        try:
            return self._tree.at(x_px, y_px, process)
        except AccessibilityError:
            return None

    def _step(self, number: int, action: Action[Seen]) -> Step:
        seen = action.seen
        name = stamp_name(seen.clock, number)
        self._save(seen.frame, name)
        written = action.written
        if action.text is not None and not self._may_keep(action):
            written = f"type text: {MASK}"
        if not action.pointed:
            return Step(written, name, seen.clock, thought="")
        found = seen.element
        if found is None:
            return Step(written, name, seen.clock, "Unknown", thought="")
        rect = found.rect.clipped(*seen.frame.picture.size)
        return Step(written, name, seen.clock, found.name.strip() or found.role, rect, thought="")

    def _may_keep(self, action: Action[Seen]) -> bool:
        if self._focus is None:
            return self._unknown_fields
        return self._focus.may_keep(action.start_s, action.end_s, action.seen.process, self._unknown_fields)

    def _save(self, frame: Frame, name: str) -> None:
        path = self._events / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png_bytes(frame.picture))
