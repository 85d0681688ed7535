"""One step of a questions file in the release layout: a JSON object in, an ``Entry`` out, and back.

Fields that this program does not know, and those that nobody changed, stay as they are. Its fields (the release's own:
protocol of RealWebAssist's evaluator)::

    task, instruction, action, final_image      text (task also a whole number)
    bounding_box                                absent: nobody has looked; null: not a click; an object or a list of
                                                objects with x, y, width, height, and perhaps type ("text", "icon")
    annotation                                  ours: verified, comment, annotator, at
"""

import json
from typing import Any

from msgspec.structs import replace

from grounding.data.fields import LARGEST_PX, Problem, read_rows
from grounding.records import Record

from .records import KINDS, AnnotatedStep, MarkedBox, nearest_whole

BOXES, ANNOTATION = "bounding_box", "annotation"
KNOWN = ("task", "instruction", "action", "final_image", BOXES, ANNOTATION)
_NUMBERS = ("x", "y", "width", "height")
ODD = "is not as this program writes it"
_NOTE = ("verified", "comment", "annotator", "at")


class NativeItem(Record, frozen=True, kw_only=True):
    """A step as a file has it, and what that says; ``odd`` names what is wrong in our own field, ``annotation``."""

    value: Any
    entry: AnnotatedStep
    odd: tuple[str, ...] = ()

    @property
    def is_object(self) -> bool:
        return isinstance(self.value, dict)


def read_item(value: object) -> NativeItem:
    """What a step says. What can't be read counts as absent, and is kept in the file."""
    if not isinstance(value, dict):
        return NativeItem(value=value, entry=AnnotatedStep(image=""))
    there, task, action = value.get(ANNOTATION, {}), value.get("task"), value.get("action")
    note = there if isinstance(there, dict) else {}
    odd = [f"{ANNOTATION}.{name}" for name, one in note.items() if name in _NOTE
           and not isinstance(one, bool if name == "verified" else str)]  # fmt: skip
    odd += [] if note is there else [ANNOTATION]
    boxes = _read_boxes(value)
    entry = AnnotatedStep(
        image=_text(value, "final_image"),
        state="boxes" if boxes else "no-click" if value.get(BOXES, ()) is None else "todo",
        boxes=boxes,
        instruction=_text(value, "instruction"),
        task=task if isinstance(task, str | int) and not isinstance(task, bool) else "",
        # The evaluator passes any value along; the loader shows one that is no text as its JSON.
        action=(action or "") if action is None or isinstance(action, str) else json.dumps(action, ensure_ascii=False),
        verified=note.get("verified") is True,
        **{name: _text(note, name) for name in _NOTE[1:]},
    )
    return NativeItem(value=value, entry=entry, odd=tuple(odd))


def _text(holder: dict[str, Any], name: str) -> str:
    found = holder.get(name)
    return found if isinstance(found, str) else ""


def read_issues(item: NativeItem) -> list[tuple[str, str]]:
    """Every odd field of a step, as the evaluation's loader reads them, and what is odd; a step may be still to do."""
    found: list[Problem] = []
    oddities: list[Problem] = []
    read_rows([{BOXES: None, **item.value} if item.is_object else item.value], "", found, oddities)
    found += [one for one in oddities if one.field.startswith(BOXES)]
    return [*((one.field, one.what) for one in found), *((field, ODD) for field in item.odd)]


def new_item(entry: AnnotatedStep) -> NativeItem:
    """The item of a step that is in no file yet: what the evaluator must find in every step, and the task if any."""
    fields: dict[str, object] = {} if entry.task == "" else {"task": entry.task}
    fields |= {"instruction": entry.instruction, "action": entry.action, "final_image": entry.image}
    return read_item(fields)


def write_item(item: NativeItem, entry: AnnotatedStep) -> Any:
    """The item's JSON with what ``entry`` says; ``item.value`` itself where it says nothing new."""
    old = item.entry
    if entry == old:
        return item.value
    value = dict(item.value)
    for field, name in (("task",) * 2, ("instruction",) * 2, ("action",) * 2, ("final_image", "image")):
        if getattr(old, name) != getattr(entry, name):
            value[field] = getattr(entry, name)
    if (old.state, old.boxes) != (entry.state, entry.boxes):
        if entry.state == "todo":
            value.pop(BOXES, None)
        else:
            value[BOXES] = None if entry.state == "no-click" else _write_boxes(item, entry)
    changed = {name: getattr(entry, name) for name in _NOTE if getattr(old, name) != getattr(entry, name)}
    if changed:
        there = value.get(ANNOTATION)
        kept = there if isinstance(there, dict) else {}
        value[ANNOTATION] = {**kept, **{name: getattr(entry, name) for name in _NOTE if name not in kept}, **changed}
    return value


def settle(entry: AnnotatedStep, item: NativeItem) -> AnnotatedStep:
    """The entry as it is kept: a box that is where the file has it keeps its numbers, others get whole pixels.

    A box whose ``source`` is no box of the file, or another one's already, is a box of its own. ``boxes`` without a box
    is ``todo``. Raises ValueError: boxes on a step whose state is not ``boxes``, or numbers that are no pixels.
    """
    if entry.boxes and entry.state != "boxes":
        raise ValueError(f"a step with boxes can't be {entry.state!r}")
    if entry.state == "boxes" and not entry.boxes:
        return replace(entry, state="todo")
    known = {box.source: box for box in item.entry.boxes}
    settled = []
    for box in entry.boxes:
        before = known.pop(box.source, None)
        if before is None:
            box = replace(box, source=None)
        settled.append(box if before is not None and box.place == before.place else whole_box(box))
    return replace(entry, boxes=tuple(settled))


def whole_box(box: MarkedBox) -> MarkedBox:
    """The box with its edges on the nearest whole pixels, one at least each way. Raises ValueError: no pixels."""
    if not all(map(_is_length, box.place)):
        raise ValueError(f"not a box in pixels: {box}")
    edges = box.box
    left, top = nearest_whole(edges.left_px), nearest_whole(edges.top_px)
    width, height = nearest_whole(edges.right_px) - left, nearest_whole(edges.bottom_px) - top
    return replace(box, x_px=left, y_px=top, width_px=max(1, width), height_px=max(1, height))


def _is_length(number: float) -> bool:
    return abs(number) <= LARGEST_PX


def _read_boxes(value: dict[str, Any]) -> tuple[MarkedBox, ...]:
    listed = value.get(BOXES)
    read = (_read_box(one, place) for place, one in enumerate(listed if isinstance(listed, list) else [listed]))
    return tuple(box for box in read if box is not None)


def _read_box(value: Any, place: int) -> MarkedBox | None:
    numbers: list[Any] = [value.get(name) for name in _NUMBERS] if isinstance(value, dict) else [None]
    if not all(isinstance(one, int | float) and not isinstance(one, bool) and _is_length(one) for one in numbers):
        return None
    x_px, y_px, width_px, height_px = map(float, numbers)
    kind = value.get("type", "")
    kind = kind if kind in [one.name for one in KINDS] else ""
    return MarkedBox(x_px=x_px, y_px=y_px, width_px=width_px, height_px=height_px, kind=kind, source=place)


def _write_boxes(item: NativeItem, entry: AnnotatedStep) -> Any:
    """The boxes of an entry; elements of the file's list that are no boxes stay, behind them."""
    old = item.value.get(BOXES)
    parts = old if isinstance(old, list) else [] if old is None else [old]
    known = {box.source: box for box in item.entry.boxes}
    written = []
    for box in entry.boxes:
        before = known.get(box.source)
        value = dict(parts[before.source]) if before is not None and before.source is not None else {}
        if before is None or box.place != before.place:
            value |= {name: int(number) if number == int(number) else number
                      for name, number in zip(_NUMBERS, box.place, strict=True)}  # fmt: skip
        if before is None or box.kind != before.kind:
            value.pop("type", None)
            value |= {"type": box.kind} if box.kind else {}
        written.append(value)
    written += [part for place, part in enumerate(parts) if place not in known]
    return written[0] if isinstance(old, dict) and len(written) == 1 else written
