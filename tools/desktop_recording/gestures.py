"""From single presses and releases to the actions of a trajectory: clicks, drags, scrolls, chords, typed text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from desktop_recording.trajectory import NOTCH, chord

# The recorded upstream data merge a press and a release into a click up to this distance (|dx| + |dy|).
CLICK_PX = 10
DOUBLE_S, TEXT_PAUSE_S, SCROLL_PAUSE_S = 0.4, 2.0, 0.7
MODIFIERS = ("ctrl", "alt", "shift", "win", "altgr")
_CHORD_ORDER = ("ctrl", "alt", "win", "shift")

Seen = TypeVar("Seen")


@dataclass(frozen=True)
class Button(Generic[Seen]):
    """A mouse button goes down or up. ``seen`` is whatever was noted at that moment, such as the screen."""

    time_s: float
    number: int
    down: bool
    x_px: int
    y_px: int
    seen: Seen


@dataclass(frozen=True)
class Key(Generic[Seen]):
    """A key goes down or up; ``char`` is what it types, None if nothing."""

    time_s: float
    name: str
    down: bool
    char: str | None
    seen: Seen


@dataclass(frozen=True)
class Action(Generic[Seen]):
    """A finished action, what was noted when it began, and when it began and ended.

    ``text`` is the typed text for typing, None otherwise; ``pointed`` tells whether it began at the pointer.
    """

    written: str
    seen: Seen
    start_s: float
    end_s: float
    text: str | None = None
    pointed: bool = False


class Gestures(Generic[Seen]):
    """Takes events in the order of their times and gives back the actions that each of them completes."""

    def __init__(self) -> None:
        self._held: list[str] = []
        self._pressed: Button[Seen] | None = None
        self._click: tuple[Button[Seen], float] | None = None
        self._wheel: tuple[Button[Seen], int, float] | None = None
        self._text: tuple[Key[Seen], str, float] | None = None

    def feed(self, event: Button[Seen] | Key[Seen]) -> list[Action[Seen]]:
        """Take one event; the actions that it completes are returned."""
        done = self._paused(event.time_s)
        return done + (self._button(event) if isinstance(event, Button) else self._key(event))

    def _paused(self, now_s: float) -> list[Action[Seen]]:
        """What ended by a pause, told by the events' own times: a busy machine may hand them over late."""
        done: list[Action[Seen]] = []
        if self._click and now_s - self._click[1] > DOUBLE_S:
            done += self._end_click()
        if self._wheel and now_s - self._wheel[2] > SCROLL_PAUSE_S:
            done += self._end_wheel()
        if self._text and now_s - self._text[2] > TEXT_PAUSE_S:
            done += self._end_text()
        return done

    def end(self) -> list[Action[Seen]]:
        """Everything that is still open."""
        return [*self._end_click(), *self._end_wheel(), *self._end_text()]

    def _button(self, event: Button[Seen]) -> list[Action[Seen]]:
        done = self._end_text()
        if event.number in (4, 5):
            done += self._end_click()
            if event.down:
                done += self._turn(event, 1 if event.number == 4 else -1)
            return done
        done += self._end_wheel()
        if event.number not in (1, 3):
            return done + self._end_click()
        if event.down:
            if self._click and not _near(self._click[0], event):
                done += self._end_click()
            self._pressed = event
            return done
        start, self._pressed = self._pressed, None
        if start is None or start.number != event.number:
            return done
        if not _near(start, event):
            done += self._end_click()
            if event.number == 1:
                written = f"drag from ({start.x_px}, {start.y_px}) to ({event.x_px}, {event.y_px})"
                done.append(Action(written, start.seen, start.time_s, event.time_s, pointed=True))
            return done
        if event.number == 3:
            written = f"right click ({start.x_px}, {start.y_px})"
            return [*done, *self._end_click(), Action(written, start.seen, start.time_s, event.time_s, pointed=True)]
        if self._click and start.time_s - self._click[1] <= DOUBLE_S:
            first, self._click = self._click[0], None
            written = f"double click ({first.x_px}, {first.y_px})"
            return [*done, Action(written, first.seen, first.time_s, event.time_s, pointed=True)]
        done += self._end_click()
        self._click = (start, event.time_s)
        return done

    def _turn(self, event: Button[Seen], notch: int) -> list[Action[Seen]]:
        if self._wheel and (self._wheel[1] > 0) == (notch > 0) and event.time_s - self._wheel[2] <= SCROLL_PAUSE_S:
            self._wheel = (self._wheel[0], self._wheel[1] + notch, event.time_s)
            return []
        done = self._end_wheel()
        self._wheel = (event, notch, event.time_s)
        return done

    def _key(self, event: Key[Seen]) -> list[Action[Seen]]:
        if event.name in MODIFIERS:
            if event.down and event.name not in self._held:
                self._held.append(event.name)
            elif not event.down and event.name in self._held:
                self._held.remove(event.name)
            return []
        if not event.down:
            return []
        done = [*self._end_click(), *self._end_wheel()]
        strong = [name for name in _CHORD_ORDER if name in self._held and name != "shift"]
        if event.char is not None and not strong:
            if self._text and event.time_s - self._text[2] > TEXT_PAUSE_S:
                done += self._end_text()
            begun = self._text or (event, "", 0.0)
            self._text = (begun[0], begun[1] + event.char, event.time_s)
            return done
        held = [name for name in _CHORD_ORDER if name in self._held]
        if event.name == "backspace" and not held and self._text and len(self._text[1]) > 1:
            self._text = (self._text[0], self._text[1][:-1], event.time_s)
            return done
        done += self._end_text()
        # A trajectory knows chords of two and three keys; of more, the last ones count.
        names = [*held, event.name][-3:]
        done.append(Action(chord(names), event.seen, event.time_s, event.time_s))
        return done

    def _end_click(self) -> list[Action[Seen]]:
        if self._click is None:
            return []
        (start, end_s), self._click = self._click, None
        return [Action(f"click ({start.x_px}, {start.y_px})", start.seen, start.time_s, end_s, pointed=True)]

    def _end_wheel(self) -> list[Action[Seen]]:
        if self._wheel is None:
            return []
        (start, notches, end_s), self._wheel = self._wheel, None
        return [Action(f"scroll ({notches * NOTCH})", start.seen, start.time_s, end_s)]

    def _end_text(self) -> list[Action[Seen]]:
        if self._text is None:
            return []
        (start, text, end_s), self._text = self._text, None
        return [Action(f"type text: {text}", start.seen, start.time_s, end_s, text=text)]


def _near(one: Button[Seen], other: Button[Seen]) -> bool:
    return abs(one.x_px - other.x_px) + abs(one.y_px - other.y_px) <= CLICK_PX
