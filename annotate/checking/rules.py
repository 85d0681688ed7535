"""The checks on one step at a time, and on the steps of a folder together: items in, findings out. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from annotate.formats.numbers import is_whole
from annotate.formats.records import Finding, FormatName, Item, Place, Reading, Sheet
from annotate.records import MarkedBox
from grounding.loaders.boxes import NamedBox, check_inside
from grounding.loaders.problems import Problem, shorten
from grounding.records import Box, Size

_LABELLED_WITH_WORDS: frozenset[FormatName] = frozenset({"native"})


def check_reading(reading: Reading) -> Iterator[Finding]:
    """Everything that is odd about what was read, beside what kept it from being read."""
    items = [item for sheet in reading.sheets for item in sheet.items]
    has_words = reading.format in _LABELLED_WITH_WORDS or any(item.entry.instruction.strip() for item in items)
    for sheet in reading.sheets:
        for item in sheet.items:
            yield from check_item(item, has_words=has_words)
        yield from _shared_pictures(sheet)


def check_item(item: Item, *, has_words: bool) -> Iterator[Finding]:
    """The checks on one step.

    Args:
        item: The step.
        has_words: Whether these labels have instructions at all; formats for boxes alone have none.
    """
    if item.entry.state == "todo" and not item.damaged:
        what = "is still to do: nobody has drawn a box, or said that it is no click"
        yield _finding("todo", item.place, what, "open its folder in the window")
    if has_words and not item.entry.instruction.strip():
        yield _finding("empty-instruction", item.place, "has no words", "write what the user said", field="instruction")
    seen: dict[tuple[float, float, float, float], Place] = {}
    for box, place in zip(item.entry.boxes, item.boxes_at, strict=True):
        yield from _check_box(box, place, item.size)
        same = seen.setdefault((box.x_px, box.y_px, box.width_px, box.height_px), place)
        if same is not place:
            first = same.field or f"line {same.line}"
            what = f"is the same box as {first}"
            yield _finding("duplicate-box", place, what, "take one of the two out", value=_shown(box))


def _check_box(box: MarkedBox, place: Place, size: Size | None) -> Iterator[Finding]:
    if box.width_px <= 0 or box.height_px <= 0:
        what, fix = "has no area: width and height must be above 0", "draw it again or take it out"
        yield _finding("zero-area", place, what, fix, value=_shown(box))
        return
    if not is_whole(box):
        what, fix = "lies between pixels", "move it, or convert with --round"
        yield _finding("fraction", place, what, fix, value=_shown(box))
    if size is None:
        return
    problems: list[Problem] = []
    check_inside(NamedBox(field=place.field, box=_edges(box)), size, place.file, place.item or 0, problems)
    for problem in problems:
        # The loader's check knows of items alone, not of lines.
        yield _finding("outside", place, problem.what, problem.fix.partition(":")[0], value=problem.value)
    edges = _edges(box)
    over = max(-edges.left_px, -edges.top_px, edges.right_px - size.width, edges.bottom_px - size.height)
    if over > 0 and not problems:
        what = f"hangs {over:g} px over the edge of its picture of {size.width} x {size.height} pixels"
        yield _finding("over-edge", place, what, "cut it at the edge", value=_shown(box))


def _shared_pictures(sheet: Sheet) -> Iterator[Finding]:
    first: dict[object, Item] = {}
    for item in sheet.items:
        if item.picture is None:
            continue
        earlier = first.setdefault(item.picture, item)
        if earlier is not item:
            where = f"item {earlier.place.item}" if earlier.place.item is not None else f"line {earlier.place.line}"
            what = f"has the same picture as {where}"
            fix = "give it its own screenshot, or take one of the two out"
            yield _finding("duplicate-image", item.place, what, fix, value=shorten(item.entry.image))


def _edges(box: MarkedBox) -> Box:
    return Box(left_px=box.x_px, top_px=box.y_px, right_px=box.x_px + box.width_px, bottom_px=box.y_px + box.height_px)


def _shown(box: MarkedBox) -> str:
    return f"(x {box.x_px:g}, y {box.y_px:g}, {box.width_px:g} x {box.height_px:g})"


def _finding(kind: str, place: Place, what: str, fix: str, *, field: str = "", value: str = "") -> Finding:
    return Finding(kind=kind, problem=place.problem(what, fix, field=field, value=value))  # type: ignore[arg-type]
