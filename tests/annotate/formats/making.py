"""Readings to write: random steps over real pictures, and what a format should give back of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from hypothesis import strategies as st
from PIL import Image

from annotate.core.records import AnnotatedStep, MarkedBox
from annotate.formats.labels import LabelItem, LabelPlace, Reading, Sheet
from grounding.records import Size

SIZES = (Size(width=800, height=600), Size(width=1366, height=768), Size(width=2560, height=1440))

_LETTERS = "abzAZ019 &'()-_é日+"
names = st.text(_LETTERS, min_size=1, max_size=8).map(str.strip).filter(lambda name: name and not name.startswith("__"))
texts = st.text(max_size=20).filter(lambda text: "\0" not in text)
lengths = st.integers(1, 400)
places = st.integers(-20, 900)
kinds = st.sampled_from(["", "text", "icon"])
whole_boxes = st.builds(MarkedBox, x_px=places, y_px=places, width_px=lengths, height_px=lengths, kind=kinds)


def eighths(numbers: st.SearchStrategy[int]) -> st.SearchStrategy[float]:
    """Numbers between pixels that a double holds exactly."""
    return numbers.map(lambda number: number / 8)


parts = {"x_px": places, "y_px": places, "width_px": lengths, "height_px": lengths}
fraction_boxes = st.builds(MarkedBox, kind=kinds, **{name: eighths(numbers) for name, numbers in parts.items()})


@st.composite
def entries(draw: st.DrawFn, image: str, boxes: st.SearchStrategy[MarkedBox] = whole_boxes) -> AnnotatedStep:
    state = draw(st.sampled_from(["todo", "boxes", "no-click"]))
    drawn = draw(st.lists(boxes, min_size=1, max_size=4)) if state == "boxes" else []
    return AnnotatedStep(
        image=image,
        state=state,  # type: ignore[arg-type]
        boxes=tuple(drawn),
        instruction=draw(texts),
        transcript=draw(texts),
        task=draw(st.one_of(texts, st.integers(-(10**17), 10**17))),
        action=draw(texts),
        comment=draw(texts),
        verified=draw(st.booleans()),
        annotator=draw(texts),
        at=draw(st.sampled_from(["", "2026-01-31T09:00:00Z"])),
    )


@st.composite
def sheets(draw: st.DrawFn, boxes: st.SearchStrategy[MarkedBox] = whole_boxes) -> list[tuple[str, list[AnnotatedStep]]]:
    """Folders with their steps, one picture for each step, in natural order of the names."""
    from grounding.data.folders import natural_key

    folders = draw(st.lists(names, min_size=1, max_size=3, unique_by=str.casefold))
    made = []
    for folder in sorted(folders, key=natural_key):
        images = draw(st.lists(names, min_size=1, max_size=4, unique_by=str.casefold))
        ordered = sorted((f"{name}.png" for name in images), key=natural_key)
        made.append((folder, [draw(entries(f"images/{name}", boxes)) for name in ordered]))
    return made


class Gallery:
    """Pictures to point at, one file for each size."""

    def __init__(self, folder: Path) -> None:
        self._files: dict[Size, Path] = {}
        for size in SIZES:
            file = folder / f"{size.width}.png"
            Image.new("L", (size.width, size.height)).save(file)
            self._files[size] = file

    def reading(self, made: Sequence[tuple[str, Sequence[AnnotatedStep]]], root: Path) -> Reading:
        """A reading of these steps; the pictures take turns."""
        sheets = []
        for name, several in made:
            items = tuple(self._item(entry, number, root) for number, entry in enumerate(several))
            sheets.append(Sheet(name=name, folder=root / name, items=items))
        return Reading(format="coco", root=root, sheets=tuple(sheets), findings=())

    def _item(self, entry: AnnotatedStep, number: int, root: Path) -> LabelItem:
        size = SIZES[number % len(SIZES)]
        place = LabelPlace(file=str(root / "made"), item=number)
        at = tuple(place for _ in entry.boxes)
        return LabelItem(entry=entry, place=place, picture=self._files[size], size=size, boxes_at=at)


def read_back(reading: Reading) -> list[tuple[str, list[AnnotatedStep]]]:
    """What was read, by folder, without the places of boxes in the file and without ``images/``."""
    return [(sheet.name, [plain(item.entry) for item in sheet.items]) for sheet in reading.sheets]


def expected(
    made: Sequence[tuple[str, Sequence[AnnotatedStep]]],
    keep: Callable[[AnnotatedStep], AnnotatedStep] = lambda entry: entry,
) -> list[tuple[str, list[AnnotatedStep]]]:
    """What a format should give back: ``keep`` says what is left of a step."""
    return [(name, [plain(keep(entry)) for entry in several]) for name, several in made]


def plain(entry: AnnotatedStep) -> AnnotatedStep:
    boxes = tuple(msgspec.structs.replace(box, source=None) for box in entry.boxes)
    return msgspec.structs.replace(entry, image=entry.image.removeprefix("images/"), boxes=boxes)
