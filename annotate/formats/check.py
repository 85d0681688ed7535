"""What can be wrong with steps that were read without trouble. Pure, but for orphaned pictures."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import pairwise

from grounding.data.folders import natural_key
from grounding.records import Size

from ..core.folders import SUFFIXES
from ..core.records import MarkedBox
from .labels import Finding, FindingKind, FormatName, LabelItem, LabelPlace, Reading, Sheet, finding

WHOLE_PIXELS: frozenset[FormatName] = frozenset({"voc"})
"""Formats whose numbers are whole pixels by definition; elsewhere a fraction is a note."""
SIMILAR = 0.8  # From this likeness on (of words, 0 to 1) two neighbouring instructions may have been one.


def check_reading(reading: Reading) -> Iterator[Finding]:
    # Formats for boxes alone have no instructions.
    has_words = reading.format == "native" or any(item.entry.instruction.strip() for item in reading.items)
    for sheet in reading.sheets:
        for item in sheet.items:
            yield from _check_item(item, has_words, reading.format not in WHOLE_PIXELS)
        yield from _check_neighbours(sheet)
    yield from _orphans(reading)


def _check_item(item: LabelItem, has_words: bool, fractions_are_notes: bool) -> Iterator[Finding]:
    if item.entry.state == "todo" and not item.damaged:
        what = "is still to do: nobody has drawn a box, or said that it is no click"
        yield finding(item.place, what, "open its folder in the window", kind="todo")
    if has_words and not item.entry.instruction.strip():
        fix = "write what the user said"
        yield finding(item.place, "has no words", fix, kind="empty-instruction", field="instruction")
    seen: dict[tuple[float, float, float, float], LabelPlace] = {}
    for box, place in zip(item.entry.boxes, item.boxes_at, strict=True):
        yield from _check_box(box, place, item.size, fractions_are_notes)
        same = seen.setdefault(box.place, place)
        if same is not place:
            what = f"is the same box as {same.field or same}"
            yield finding(place, what, "take one of the two out", kind="duplicate-box", value=box.place)


def _check_box(box: MarkedBox, place: LabelPlace, size: Size | None, fractions_are_notes: bool) -> Iterator[Finding]:
    edges, centre = box.box, box.centre
    if box.width_px <= 0 or box.height_px <= 0:
        what, fix = "has no area: width and height must be above 0", "draw it again or take it out"
        yield finding(place, what, fix, kind="zero-area", value=box.place)
        return
    if not all(float(value).is_integer() for value in box.place):
        what, fix = "lies between pixels", "move it in the window, where that counts"
        yield finding(place, what, fix, kind="fraction", value=box.place, note=fractions_are_notes)
    if size is None:
        return
    picture = f"its picture of {size.width} x {size.height} pixels"
    over = max(-edges.left_px, -edges.top_px, edges.right_px - size.width, edges.bottom_px - size.height)
    if not (0 <= centre.x_px <= size.width and 0 <= centre.y_px <= size.height):
        what, fix = f"has its centre outside {picture}", "it is scored as it stands"
        yield finding(place, what, fix, kind="outside", value=box.place)
    elif over > 0:
        what = f"hangs {over:g} px over the edge of {picture}"
        yield finding(place, what, "cut it at the edge", kind="over-edge", value=box.place)


def _check_neighbours(sheet: Sheet) -> Iterator[Finding]:
    """Steps with one picture, and neighbours whose words differ where one instruction was probably meant for both."""
    first: dict[object, LabelItem] = {}
    for item in sheet.items:
        if item.picture is not None and (earlier := first.setdefault(item.picture, item)) is not item:
            what, fix = f"has the same picture as {earlier.place}", "give it its own screenshot, or take one out"
            yield finding(item.place, what, fix, kind="duplicate-image", value=item.entry.image)
    for one, other in pairwise(sheet.items):
        before, after, fix = one.entry, other.entry, "edit it once, as one instruction, or let it be two on purpose"
        words = _plain(before.instruction), _plain(after.instruction)
        if before.task != after.task or before.instruction == after.instruction or not all(words):
            continue
        what, note = "", False
        if words[0] == words[1]:
            what = f"differs from {one.place} by blanks, capitals or stops alone, which makes two instructions"
        elif before.transcript and before.transcript == after.transcript:
            what = f"was said with the words of {one.place}, and the two are instructions of their own"
        elif SequenceMatcher(None, *words).ratio() >= SIMILAR:
            what, note = f"is nearly what {one.place} says: one instruction that became two?", True
        if what:
            shown = after.instruction
            kind: FindingKind = "similar-instruction" if note else "split-instruction"
            yield finding(other.place, what, fix, kind=kind, field="instruction", value=shown, note=note)


def _plain(words: str) -> list[str]:
    return "".join(letter if letter.isalnum() else " " for letter in words.casefold()).split()


def _orphans(reading: Reading) -> Iterator[Finding]:
    """The pictures in the folders of the steps' pictures that no step names; other folders hold other things."""
    named = {item.picture for item in reading.items if item.picture is not None}
    for folder in dict.fromkeys(picture.parent for picture in named):
        for file in sorted(folder.iterdir(), key=lambda path: natural_key(path.name)) if folder.is_dir() else ():
            if file.suffix.casefold() in SUFFIXES and not file.name.startswith(".") and file not in named:
                what, fix = "is a picture that no step names", "add a step for it, or take it out"
                yield finding(LabelPlace(file=str(file)), what, fix, kind="orphan-image")
