"""One :class:`Reading` in, a new folder in any of the formats out: all of it or nothing."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from annotate.formats import coco, csv_file, labelme, native, voc, yolo
from annotate.formats.losses import Tally
from annotate.formats.numbers import is_whole, rounded
from annotate.formats.records import FormatName, Item, Loss, Reading, Sheet, VocEdges
from annotate.formats.target import Target
from grounding.errors import UserError
from grounding.records import Record


class Written(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a conversion wrote.

    ``left_out`` counts steps whose picture is missing or broken: no format can hold them. ``to_do_again`` counts steps
    whose boxes could not be read, or have no area: they are ``todo`` in the new files.
    """

    format: FormatName
    folder: str
    steps: int
    boxes: int
    left_out: int
    to_do_again: int
    losses: tuple[Loss, ...]


def write_labels(
    reading: Reading,
    folder: Path,
    format_name: FormatName,
    *,
    copy_pictures: bool = True,
    whole_pixels: bool = False,
    voc_edges: VocEdges = "labelimg",
) -> Written:
    """Write all steps that can be written.

    Args:
        reading: What to write.
        folder: A folder that is not there yet, or is empty.
        format_name: The format.
        copy_pictures: Copy the pictures, too; else the labels alone are written, with the same paths in them.
        whole_pixels: Put the edges of boxes on whole pixels.
        voc_edges: What the numbers of Pascal VOC files are to mean.

    Raises:
        UserError: the folder is not empty, lies in the source, or can't be written.
    """
    _check_place(folder, reading.root)
    losses = Tally()
    sheets, left_out, to_do_again = _usable(reading.sheets)
    if whole_pixels:
        sheets = [_rounded(sheet, losses) for sheet in sheets]
    if format_name != "native":
        for item in (item for sheet in sheets for item in sheet.items):
            for field in native.unknown_fields(item.native) if item.native else ():
                losses.add(f"field {field}", "lost", "a field of the questions file that this program does not know")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as holder:
            made = Path(holder) / "new"
            made.mkdir()
            target = Target(made, copy_pictures=copy_pictures, voc_edges=voc_edges)
            _WRITERS[format_name](sheets, target)
            made.replace(folder)
    except (OSError, shutil.Error) as error:
        raise UserError(f"{folder}: cannot be written: {error}") from error
    items = [item for sheet in sheets for item in sheet.items]
    return Written(
        format=format_name,
        folder=str(folder),
        steps=len(items),
        boxes=sum(len(item.entry.boxes) for item in items),
        left_out=left_out,
        to_do_again=to_do_again,
        losses=(*reading.losses, *losses.losses(), *target.losses.losses()),
    )


_WRITERS = {
    "native": native.write,
    "coco": coco.write,
    "yolo": yolo.write,
    "voc": voc.write,
    "labelme": labelme.write,
    "csv": csv_file.write,
}


def _check_place(folder: Path, root: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: is there already; give a folder that is not there yet, or is empty")
    if folder.resolve().is_relative_to(root.resolve()):
        raise UserError(f"{folder}: lies in the folder that is read ({root}); give a folder beside it")


def _usable(sheets: Sequence[Sheet]) -> tuple[list[Sheet], int, int]:
    kept, left_out, to_do_again = [], 0, 0
    for sheet in sheets:
        items: list[Item] = []
        for item in sheet.items:
            if item.picture is None or item.size is None:
                left_out += 1
                continue
            if item.damaged or any(box.width_px <= 0 or box.height_px <= 0 for box in item.entry.boxes):
                to_do_again += 1
                entry = msgspec.structs.replace(item.entry, state="todo", boxes=(), verified=False)
                item = msgspec.structs.replace(item, entry=entry, boxes_at=())
            items.append(item)
        kept.append(msgspec.structs.replace(sheet, items=tuple(items)))
    return kept, left_out, to_do_again


def _rounded(sheet: Sheet, losses: Tally) -> Sheet:
    items = []
    for item in sheet.items:
        changed = sum(not is_whole(box) for box in item.entry.boxes)
        losses.add("boxes between pixels", "changed", "put on whole pixels", changed)
        boxes = tuple(rounded(box) if not is_whole(box) else box for box in item.entry.boxes)
        items.append(msgspec.structs.replace(item, entry=msgspec.structs.replace(item.entry, boxes=boxes)))
    return msgspec.structs.replace(sheet, items=tuple(items))
