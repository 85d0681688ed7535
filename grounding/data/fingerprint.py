"""One hash for the content of a data set: sessions in, SHA-256 in hex out.

What is hashed: the line ``grounding-dataset-1``, then for every step, participants in sorted order and each one's
steps in session order, one line of compact JSON::

    [participant, id, task, instruction_index, instruction, action, boxes, polygons, screenshot sha256, history entry]

with boxes as ``[left, top, right, bottom]``, polygons as lists of ``[x, y]``, both null for a step that is not scored,
and the history entry as ``[instruction, action]`` or null. A step whose target is absent, that is independent or that
belongs to groups has one more element, ``[absent, independent, [[kind, name], …]]``. The name of the data set, where
its files lie, in which order they lie there and how the JSON was written do not count.

One hash for the content of a desktop data set: tasks in, SHA-256 in hex out.

What is hashed: the line ``grounding-desktop-1``, then for every step, tasks in order of their ids and each one's steps
in order, one line of compact JSON::

    [task id, kind, category, step id, gold text, thought, first instruction, second instruction, element, rectangle,
     other users' actions, screenshot sha256]

with the rectangle as ``[left, top, right, bottom]`` or null and actions in PERCU's wording. The name of the data set,
where its files lie and how the JSON was written do not count.
"""

import hashlib
from collections.abc import Iterable

import msgspec

from grounding.actions.kinds import print_action
from grounding.data.desktop_records import DesktopStep, DesktopTask
from grounding.records import Region, Session, Step

SHOWN_CHARS = 12
_VERSION_LINE = b"grounding-dataset-1\n"


def fingerprint(sessions: Iterable[Session]) -> str:
    """SHA-256 of the canonical content, 64 hex digits; people are shown the first 12 (``short_fingerprint``)."""
    digest = hashlib.sha256(_VERSION_LINE)
    encoder = msgspec.json.Encoder()
    for session in sorted(sessions, key=lambda one: one.participant):
        for step in session.steps:
            digest.update(encoder.encode(_canonical(step)))
            digest.update(b"\n")
    return digest.hexdigest()


def short_fingerprint(full: str) -> str:
    return full[:SHOWN_CHARS]


def _canonical(step: Step) -> tuple[object, ...]:
    boxes, polygons = (None, None) if step.region is None else _shapes(step.region)
    entry = step.history_entry
    labels = tuple((label.kind, label.name) for label in step.groups)
    marks = (step.target_absent, step.independent, labels)
    return (
        step.participant,
        step.id,
        step.task,
        step.instruction_index,
        step.instruction,
        step.action,
        boxes,
        polygons,
        step.screenshot.sha256,
        None if entry is None else (entry.instruction, entry.action),
        # Data sets without these marks keep the hash that they had before there were any.
        *((marks,) if any(marks) else ()),
    )


def _shapes(region: Region) -> tuple[list[tuple[float, ...]], list[list[tuple[float, float]]]]:
    boxes = [tuple(map(float, (b.left_px, b.top_px, b.right_px, b.bottom_px))) for b in region.boxes]
    polygons = [[(float(point.x_px), float(point.y_px)) for point in shape.points] for shape in region.polygons]
    return boxes, polygons


_DESKTOP_FINGERPRINT_VERSION_LINE = b"grounding-desktop-1\n"


def desktop_fingerprint(tasks: Iterable[DesktopTask]) -> str:
    digest = hashlib.sha256(_DESKTOP_FINGERPRINT_VERSION_LINE)
    encoder = msgspec.json.Encoder()
    for task in sorted(tasks, key=lambda one: one.id):
        for step in task.steps:
            digest.update(encoder.encode(_desktop_fingerprint_canonical(task, step)))
            digest.update(b"\n")
    return digest.hexdigest()


def _desktop_fingerprint_canonical(task: DesktopTask, step: DesktopStep) -> tuple[object, ...]:
    rect = step.rect
    return (
        task.id,
        task.kind,
        task.category,
        step.id,
        step.gold_text,
        step.thought,
        step.first_instruction,
        step.second_instruction,
        step.element,
        None if rect is None else [float(side) for side in (rect.left_px, rect.top_px, rect.right_px, rect.bottom_px)],
        [print_action(action) for action in step.other_users],
        step.screenshot.sha256,
    )
