"""What a format's writer works with: the new folder, names for the pictures, and the list of what gets lost."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec

from annotate.formats.losses import Tally
from annotate.formats.paths import Namer
from annotate.formats.pictures import natural_path
from annotate.formats.records import Item, Sheet, VocEdges
from annotate.records import Entry, State


class Target:
    """A new folder that is being written.

    Attributes:
        folder: The folder; it exists and is empty.
        losses: What the format can't hold.
        voc_edges: What the numbers of Pascal VOC files are to mean.
    """

    def __init__(self, folder: Path, *, copy_pictures: bool = True, voc_edges: VocEdges = "labelimg") -> None:
        self.folder = folder
        self.losses = Tally()
        self.voc_edges = voc_edges
        self._copy = copy_pictures
        self._placed: set[PurePosixPath] = set()

    def write(self, path: PurePosixPath | str, text: str) -> None:
        """Write a text file below the folder."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")

    def place(self, item: Item, path: PurePosixPath) -> None:
        """Copy an item's picture to ``path`` below the folder, once."""
        if not self._copy or item.picture is None or path in self._placed:
            return
        self._placed.add(path)
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(item.picture, file)


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """An item and the path that its picture gets below the new folder of pictures."""

    item: Item
    path: PurePosixPath


def name_items(sheet: Sheet, namer: Namer, losses: Tally) -> list[Named]:
    """The items of a sheet with their new names; pictures that had to be renamed are counted."""
    named = []
    for item in sheet.items:
        path = namer.name(sheet.name, item.entry.image)
        if path.name != PurePosixPath(item.entry.image.replace("\\", "/")).name:
            losses.add("picture name", "changed", "another picture of the folder would have the same")
        named.append(Named(item=item, path=path))
    return named


def one_per_picture(sheet: Sheet, namer: Namer, losses: Tally) -> list[Named]:
    """The items of a sheet for a format with one label file per picture, in the order of the file names.

    Steps that share a picture become one with the boxes of all of them; that, and an order of steps that is not the
    order of the names, is counted.
    """
    named = name_items(sheet, namer, losses)
    by_path: dict[PurePosixPath, Named] = {}
    for one in named:
        earlier = by_path.get(one.path)
        by_path[one.path] = one if earlier is None else Named(item=_joined(earlier.item, one.item), path=one.path)
    losses.add(
        "steps that share a picture",
        "lost",
        "this format has one label file per picture: their boxes are put together",
        len(named) - len(by_path),
    )
    ordered = sorted(by_path.values(), key=lambda one: natural_path(Path(one.path)))
    if [one.path for one in ordered] != list(by_path):
        losses.add("order of steps", "lost", "this format knows the order of the file names alone", len(ordered))
    return ordered


def _joined(first: Item, second: Item) -> Item:
    boxes = tuple(dict.fromkeys(box for item in (first, second) for box in item.entry.boxes))
    states: tuple[State, ...] = ("boxes", "no-click", "todo")
    state = next(one for one in states if one in (first.entry.state, second.entry.state))
    entry: Entry = msgspec.structs.replace(first.entry, boxes=boxes, state=state)
    return msgspec.structs.replace(first, entry=entry)


def all_items(sheets: Sequence[Sheet]) -> list[Item]:
    """The items of all sheets, in order."""
    return [item for sheet in sheets for item in sheet.items]
