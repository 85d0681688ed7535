"""What an annotator does to a step: an entry in, the changed entry out. Pure; the document keeps them.

"Not a click" and "nobody has looked yet" are two states: the first is an answer, written as ``null``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from annotate.records import BoxKind, Entry, MarkedBox
from grounding.records import Record, Size

KINDS: tuple[BoxKind, ...] = ("", "text", "icon")
DUPLICATE_SHIFT_PX = 12
"""By how much a duplicate lies beside its original, so that both can be seen."""


class Progress(Record, frozen=True, kw_only=True):
    """How far a folder is: ``done`` counts boxes and not-a-click alike, ``verified`` those that somebody checked."""

    steps: int
    done: int
    verified: int


def progress(entries: Iterable[Entry]) -> Progress:
    """Count what is done."""
    steps = done = verified = 0
    for entry in entries:
        steps += 1
        done += entry.state != "todo"
        verified += entry.verified
    return Progress(steps=steps, done=done, verified=verified)


def with_boxes(entry: Entry, boxes: Sequence[MarkedBox]) -> Entry:
    """The entry with these boxes; without any it is to do again."""
    return msgspec.structs.replace(entry, boxes=tuple(boxes), state="boxes" if boxes else "todo")


def with_added(entry: Entry, boxes: Sequence[MarkedBox]) -> Entry:
    """The entry with more boxes; one that is there already, at the same place, is not added again."""
    there = [_place(box) for box in entry.boxes]
    return with_boxes(entry, [*entry.boxes, *(box for box in boxes if _place(box) not in there)])


def with_box(entry: Entry, number: int, box: MarkedBox) -> Entry:
    """The entry with one box replaced."""
    return with_boxes(entry, [box if at == number else other for at, other in enumerate(entry.boxes)])


def without_box(entry: Entry, number: int) -> Entry:
    """The entry without one box; without the last one it is to do again."""
    return with_boxes(entry, [other for at, other in enumerate(entry.boxes) if at != number])


def with_kind(entry: Entry, number: int, kind: BoxKind) -> Entry:
    """The entry with another kind for one box."""
    return with_box(entry, number, msgspec.structs.replace(entry.boxes[number], kind=kind))


def next_kind(kind: BoxKind) -> BoxKind:
    """Not said, text, icon, and around."""
    return KINDS[(KINDS.index(kind) + 1) % len(KINDS)]


def answered_anew(before: Entry, after: Entry) -> Entry:
    """``after``, which is not verified any more where its answer is another than the one that was verified."""
    if (before.state, before.boxes) == (after.state, after.boxes) or not (before.verified and after.verified):
        return after
    return msgspec.structs.replace(after, verified=False)


def as_no_click(entry: Entry) -> Entry:
    """The entry as an answer of its own: not a click, or no target on this screen. Its boxes go."""
    return msgspec.structs.replace(entry, boxes=(), state="no-click")


def as_todo(entry: Entry) -> Entry:
    """The entry as if nobody had looked at it; words stay."""
    return msgspec.structs.replace(entry, boxes=(), state="todo", verified=False)


def copies(boxes: Sequence[MarkedBox], picture: Size | None) -> tuple[MarkedBox, ...]:
    """Boxes for another step: nothing of the file's own fields, inside that step's picture where its size is known.

    A box that lies wholly outside the picture is left out.
    """
    made = []
    for box in boxes:
        plain = MarkedBox(x_px=box.x_px, y_px=box.y_px, width_px=box.width_px, height_px=box.height_px, kind=box.kind)
        if picture is not None:
            left, top = max(box.x_px, 0), max(box.y_px, 0)
            right = min(box.x_px + box.width_px, picture.width)
            bottom = min(box.y_px + box.height_px, picture.height)
            if right <= left or bottom <= top:
                continue
            plain = msgspec.structs.replace(plain, x_px=left, y_px=top, width_px=right - left, height_px=bottom - top)
        made.append(plain)
    return tuple(made)


def task_from_text(text: str, before: str | int) -> str | int:
    """A typed task label; a number stays a number where it was one."""
    text = text.strip()
    if isinstance(before, int) and text.lstrip("-").isdecimal() and text.isascii():
        return int(text)
    return text


def _place(box: MarkedBox) -> tuple[float, float, float, float]:
    return (box.x_px, box.y_px, box.width_px, box.height_px)
