"""Counting what a folder of labels holds. Pure: a reading in, a report out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median

from annotate.formats.records import FormatName, Item, Reading
from annotate.records import MarkedBox
from grounding.records import Record

PER_STEP_TOP = 5
"""Steps with so many boxes or more are counted together."""


class FolderCounts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One participant's folder, or all of them. ``done_percent`` is None where there is no step.

    ``instructions`` counts what was said: runs of steps of one task with the same words (RealWebAssist, section 3.3).
    """

    name: str
    steps: int
    todo: int
    boxes_steps: int
    no_click: int
    verified: int
    done_percent: float | None
    boxes: int
    tasks: int
    instructions: int


class Spread(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The least, the middle and the largest of some lengths."""

    least: float
    median: float
    largest: float


class BoxCounts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """All boxes together. The spreads are None where there are no boxes.

    ``small`` counts boxes whose shorter side is below ``small_below_px``. ``per_step`` says how many of the steps with
    boxes have 1, 2 … of them, the last count being for :data:`PER_STEP_TOP` and more.
    """

    boxes: int
    per_step: dict[str, int]
    text: int
    icon: int
    unsaid: int
    width_px: Spread | None
    height_px: Spread | None
    share_percent: Spread | None
    small: int
    small_below_px: float
    between_pixels: int


class AnnotatorCounts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What one annotator changed last: steps, and the first and the last time (UTC)."""

    name: str
    steps: int
    first_at: str
    last_at: str


class StatsReport(Record, frozen=True, kw_only=True, omit_defaults=False):
    """All that is counted. ``damaged`` counts steps of which something could not be read."""

    format: FormatName
    total: FolderCounts
    folders: tuple[FolderCounts, ...]
    boxes: BoxCounts
    annotators: tuple[AnnotatorCounts, ...]
    pictures: dict[str, int]
    damaged: int


def count(reading: Reading, *, small_below_px: float) -> StatsReport:
    """Count.

    Args:
        reading: The steps.
        small_below_px: A box whose shorter side is below this many pixels is a small target.
    """
    folders = tuple(_folder(sheet.name or sheet.folder.name, sheet.items) for sheet in reading.sheets)
    items = [item for sheet in reading.sheets for item in sheet.items]
    sizes = Counter(f"{item.size.width} x {item.size.height}" for item in items if item.size is not None)
    return StatsReport(
        format=reading.format,
        total=_total(folders),
        folders=folders,
        boxes=_boxes(items, small_below_px),
        annotators=_annotators(items),
        pictures=dict(sizes.most_common()),
        damaged=sum(item.damaged for item in items),
    )


def _folder(name: str, items: Sequence[Item]) -> FolderCounts:
    from grounding.loaders.sequences import instruction_indices

    entries = [item.entry for item in items]
    states = Counter(entry.state for entry in entries)
    spoken = [entry for entry in entries if entry.instruction.strip()]
    numbers = instruction_indices([entry.task for entry in spoken], [entry.instruction for entry in spoken])
    said = {(entry.task, number) for entry, number in zip(spoken, numbers, strict=True)}
    return _counts(
        name=name,
        todo=states["todo"],
        boxes_steps=states["boxes"],
        no_click=states["no-click"],
        verified=sum(entry.verified for entry in entries),
        boxes=sum(len(entry.boxes) for entry in entries),
        tasks=len({entry.task for entry in entries if entry.task != ""}),
        instructions=len(said),
    )


def _total(folders: Sequence[FolderCounts]) -> FolderCounts:
    # A task belongs to its participant: the same label in two folders is two tasks.
    return _counts(
        name="all",
        **{
            field: sum(getattr(folder, field) for folder in folders)
            for field in ("todo", "boxes_steps", "no_click", "verified", "boxes", "tasks", "instructions")
        },
    )


def _counts(
    *, name: str, todo: int, boxes_steps: int, no_click: int, verified: int, boxes: int, tasks: int, instructions: int
) -> FolderCounts:
    steps = todo + boxes_steps + no_click
    return FolderCounts(
        name=name,
        steps=steps,
        todo=todo,
        boxes_steps=boxes_steps,
        no_click=no_click,
        verified=verified,
        done_percent=100 * (steps - todo) / steps if steps else None,
        boxes=boxes,
        tasks=tasks,
        instructions=instructions,
    )


def _boxes(items: Sequence[Item], small_below_px: float) -> BoxCounts:
    from annotate.formats.numbers import is_whole

    boxes = [box for item in items for box in item.entry.boxes]
    kinds = Counter(box.kind for box in boxes)
    shares = [
        100 * box.width_px * box.height_px / (item.size.width * item.size.height)
        for item in items
        if item.size is not None
        for box in item.entry.boxes
    ]
    return BoxCounts(
        boxes=len(boxes),
        per_step=_per_step(items),
        text=kinds["text"],
        icon=kinds["icon"],
        unsaid=kinds[""],
        width_px=_spread([box.width_px for box in boxes]),
        height_px=_spread([box.height_px for box in boxes]),
        share_percent=_spread(shares),
        small=sum(_shorter_side(box) < small_below_px for box in boxes),
        small_below_px=small_below_px,
        between_pixels=sum(not is_whole(box) for box in boxes),
    )


def _shorter_side(box: MarkedBox) -> float:
    return min(box.width_px, box.height_px)


def _per_step(items: Sequence[Item]) -> dict[str, int]:
    counts = Counter(min(len(item.entry.boxes), PER_STEP_TOP) for item in items if item.entry.boxes)
    return {f"{number}{'+' if number == PER_STEP_TOP else ''}": counts[number] for number in sorted(counts)}


def _spread(lengths: Sequence[float]) -> Spread | None:
    return Spread(least=min(lengths), median=median(lengths), largest=max(lengths)) if lengths else None


def _annotators(items: Sequence[Item]) -> tuple[AnnotatorCounts, ...]:
    times: dict[str, list[str]] = defaultdict(list)
    for item in items:
        if item.entry.annotator or item.entry.at:
            times[item.entry.annotator].append(item.entry.at)
    return tuple(
        AnnotatorCounts(
            name=name,
            steps=len(found),
            first_at=min((at for at in found if at), default=""),
            last_at=max(found),
        )
        for name, found in sorted(times.items())
    )
