"""One step of a questions file in the release layout: its JSON text in, an ``Entry`` out, and back.

Text that an entry says nothing new about is kept byte for byte: fields this program does not know, their order, the
form of numbers. Fields (the release's own: protocol of RealWebAssist's evaluator)::

    task, instruction, action, final_image      text (task also a whole number)
    bounding_box                                absent: nobody has looked; null: not a click; an object or a list of
                                                objects with x, y, width, height, and perhaps type ("text", "icon")
    annotation                                  ours: verified, comment, annotator, at
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from annotate.json_text import (
    Layout,
    deeper,
    elements,
    indent,
    layout_of,
    members,
    remove_member,
    set_member,
    write_list,
    write_value,
)
from annotate.records import BoxKind, Entry, Issue, MarkedBox, State
from grounding.loaders.fields import LARGEST_PX
from grounding.records import Record

BOXES = "bounding_box"
ANNOTATION = "annotation"
ORDER = ("task", "instruction", "action", "final_image", BOXES, ANNOTATION)
_BOX_ORDER = ("x", "y", "width", "height", "type")
_KINDS: tuple[BoxKind, ...] = ("text", "icon")


class Item(Record, frozen=True, kw_only=True):
    """A step as the file has it: its text, and what that text says.

    ``issues`` have the step's position when it was read. ``is_object`` is false for an element that is none, which
    nothing can be changed of.
    """

    text: str
    entry: Entry
    issues: tuple[Issue, ...] = ()
    is_object: bool = True


def read_item(value: object, text: str, index: int) -> Item:
    """What a step says, ``value`` being its decoded ``text``. What can't be read is an issue, and kept in the file."""
    if not isinstance(value, dict):
        issue = Issue(index=index, what="is not an object with instruction, final_image and bounding_box")
        return Item(text=text, entry=Entry(image=""), issues=(issue,), is_object=False)
    return _Reader(value, text, index).item()


def new_item(entry: Entry, layout: Layout) -> Item:
    """The item of a step that is in no file yet: what the evaluator must find in every step, and the task if any.

    What else the entry says is not in the item's text; ``write_item`` adds it. ``layout`` is that of the item.
    """
    fields: dict[str, object] = {} if entry.task == "" else {"task": entry.task}
    fields |= {"instruction": entry.instruction, "action": entry.action, "final_image": entry.image}
    bare = Entry(image=entry.image, task=entry.task, instruction=entry.instruction, action=entry.action)
    return Item(text=write_value(fields, layout), entry=bare)


def write_item(item: Item, entry: Entry, layout: Layout) -> str:
    """The item's text with what ``entry`` says; exactly ``item.text`` where it says nothing new.

    Args:
        item: The step as it was read.
        entry: The step as it shall be; the ``source`` of its boxes counts in ``item``.
        layout: How a part of the file's list is set out, for what ``item.text`` does not show.
    """
    old, text = item.entry, item.text
    if entry == old:
        return text
    own = layout_of(text, layout)
    for field, before, after in (
        ("task", old.task, entry.task),
        ("instruction", old.instruction, entry.instruction),
        ("action", old.action, entry.action),
        ("final_image", old.image, entry.image),
    ):
        if before != after:
            text = set_member(text, field, write_value(after, own), ORDER, own)
    if (old.state, old.boxes) != (entry.state, entry.boxes):
        text = _with_boxes(text, item, entry, own)
    if _annotation(old) != _annotation(entry):
        text = _with_annotation(text, old, entry, own)
    return text


def same_place(box: MarkedBox, other: MarkedBox) -> bool:
    """Whether both have the same four numbers."""
    return (box.x_px, box.y_px, box.width_px, box.height_px) == (
        other.x_px,
        other.y_px,
        other.width_px,
        other.height_px,
    )


class _Reader:
    def __init__(self, value: dict[str, Any], text: str, index: int) -> None:
        self._value = value
        self._text = text
        self._index = index
        self._issues: list[Issue] = []

    def item(self) -> Item:
        state, boxes = self._boxes()
        note = self._value.get(ANNOTATION, {})
        if not isinstance(note, dict):
            self._report(ANNOTATION, "is not an object")
            note = {}
        verified = note.get("verified", False)
        if not isinstance(verified, bool):
            self._report(f"{ANNOTATION}.verified", "is neither true nor false")
            verified = False
        entry = Entry(
            image=self._string(self._value, "final_image", needed=True),
            state=state,
            boxes=boxes,
            instruction=self._string(self._value, "instruction", needed=True),
            task=self._task(),
            action=self._action(),
            verified=verified,
            comment=self._string(note, "comment", f"{ANNOTATION}."),
            annotator=self._string(note, "annotator", f"{ANNOTATION}."),
            at=self._string(note, "at", f"{ANNOTATION}."),
        )
        return Item(text=self._text, entry=entry, issues=tuple(self._issues))

    def _report(self, field: str, what: str) -> None:
        self._issues.append(Issue(index=self._index, field=field, what=what))

    def _string(self, holder: dict[str, Any], field: str, prefix: str = "", *, needed: bool = False) -> str:
        value = holder.get(field)
        if isinstance(value, str):
            return value
        if field in holder:
            self._report(prefix + field, "is not text")
        elif needed:
            self._report(prefix + field, "is missing")
        return ""

    def _task(self) -> str | int:
        value = self._value.get("task", "")
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        self._report("task", "is neither text nor a whole number")
        return ""

    def _action(self) -> str:
        # The evaluator passes any value along; the loader shows one that is no text as its JSON.
        value = self._value.get("action")
        if value is None or isinstance(value, str):
            return value or ""
        return json.dumps(value, ensure_ascii=False)

    def _boxes(self) -> tuple[State, tuple[MarkedBox, ...]]:
        if BOXES not in self._value:
            return "todo", ()
        value = self._value[BOXES]
        if value is None:
            return "no-click", ()
        if value == []:
            self._report(BOXES, "is an empty list, which no click can hit")
            return "todo", ()
        several = isinstance(value, list)
        found = []
        for place, one in enumerate(value if isinstance(value, list) else [value]):
            box = self._box(one, f"{BOXES}[{place}]" if several else BOXES, place)
            if box is not None:
                found.append(box)
        return ("boxes", tuple(found)) if found else ("todo", ())

    def _box(self, value: object, field: str, place: int) -> MarkedBox | None:
        if not isinstance(value, dict):
            self._report(field, "is no box: an object with x, y, width and height")
            return None
        numbers = [self._number(value, name, f"{field}.") for name in _BOX_ORDER[:4]]
        if any(number is None for number in numbers):
            return None
        x_px, y_px, width_px, height_px = (float(number or 0) for number in numbers)
        for name, length in (("width", width_px), ("height", height_px)):
            if length <= 0:
                self._report(f"{field}.{name}", "is not above 0")
        kind = value.get("type", "")
        if kind not in _KINDS:
            kind = ""
        return MarkedBox(x_px=x_px, y_px=y_px, width_px=width_px, height_px=height_px, kind=kind, source=place)

    def _number(self, holder: dict[str, Any], name: str, prefix: str) -> float | None:
        value = holder.get(name)
        if name not in holder:
            self._report(prefix + name, "is missing")
        elif isinstance(value, bool) or not isinstance(value, int | float):
            self._report(prefix + name, "is not a number")
        elif not (math.isfinite(value) and abs(value) <= LARGEST_PX):
            self._report(prefix + name, f"is not a number of pixels, at most {LARGEST_PX:,}")
        else:
            return value
        return None


def _with_boxes(text: str, item: Item, entry: Entry, layout: Layout) -> str:
    if entry.state == "no-click":
        return set_member(text, BOXES, "null", ORDER, layout)
    if entry.state == "todo":
        return remove_member(text, BOXES)
    member = next((member for member in reversed(members(text)) if member.key == BOXES), None)
    old = "" if member is None else text[member.element.start : member.element.end]
    list_layout = deeper(layout)
    if old.startswith("{") and len(entry.boxes) == 1:
        return set_member(text, BOXES, _write_boxes([old], item, entry, list_layout)[0], ORDER, layout)
    parts = []
    if old.startswith("["):
        list_layout = layout_of(old, list_layout)
        parts = [old[part.start : part.end] for part in elements(old)]
    elif old.startswith("{"):
        parts = [indent(old, list_layout.unit)]
    written = write_list(_write_boxes(parts, item, entry, deeper(list_layout)), list_layout)
    return set_member(text, BOXES, written, ORDER, layout)


def _write_boxes(parts: Sequence[str], item: Item, entry: Entry, fallback: Layout) -> list[str]:
    """The texts of an entry's boxes; elements of the file's list that are no boxes keep their place among them."""
    known = {box.source: box for box in item.entry.boxes}
    sample = next((part for part in parts if part.startswith("{")), "")
    layout = layout_of(sample, fallback) if sample else fallback
    strange = [place for place in range(len(parts)) if place not in known]
    written = []
    for box in entry.boxes:
        before = known.get(box.source)
        while strange and before is not None and before.source is not None and strange[0] < before.source:
            written.append(parts[strange.pop(0)])
        part = "{}" if before is None or before.source is None else parts[before.source]
        written.append(_write_box(box, before, part, layout))
    return written + [parts[place] for place in strange]


def _write_box(box: MarkedBox, before: MarkedBox | None, text: str, layout: Layout) -> str:
    if before is None or not same_place(box, before):
        for name, value in zip(_BOX_ORDER, (box.x_px, box.y_px, box.width_px, box.height_px), strict=False):
            number = int(value) if value == int(value) else value
            text = set_member(text, name, json.dumps(number), _BOX_ORDER, layout)
    if before is None or box.kind != before.kind:
        text = (
            set_member(text, "type", json.dumps(box.kind), _BOX_ORDER, layout)
            if box.kind
            else remove_member(text, "type")
        )
    return text


def _annotation(entry: Entry) -> dict[str, object]:
    return {
        "verified": entry.verified,
        "comment": entry.comment,
        "annotator": entry.annotator,
        "at": entry.at,
    }


def _with_annotation(text: str, old: Entry, entry: Entry, layout: Layout) -> str:
    member = next((member for member in reversed(members(text)) if member.key == ANNOTATION), None)
    inside = deeper(layout)
    new, before = _annotation(entry), _annotation(old)
    if member is None or not isinstance(member.element.value, dict):
        return set_member(text, ANNOTATION, write_value(new, inside), ORDER, layout)
    note = text[member.element.start : member.element.end]
    inside = layout_of(note, inside)
    for name, value in new.items():
        if value != before[name]:
            note = set_member(note, name, write_value(value, inside), tuple(new), inside)
    return set_member(text, ANNOTATION, note, ORDER, layout)
