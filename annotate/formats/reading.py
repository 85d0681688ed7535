"""Any of the formats in, one :class:`Reading` out: its pictures looked at, its problems in order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from annotate.formats import coco, csv_file, labelme, native, voc, yolo
from annotate.formats.detecting import coco_files, detect, tables
from annotate.formats.records import Finding, FormatName, Item, Reading, Sheet, VocEdges
from annotate.formats.source import Source
from grounding.errors import UserError
from grounding.loaders.images import ImageFault
from grounding.loaders.problems import shorten

_LABEL_FOLDERS = ("annotations", "labels")


def read_labels(
    path: Path, format_name: FormatName | None = None, *, deep: bool = False, voc_edges: VocEdges | None = None
) -> Reading:
    """Read a folder or file of labels and look at every picture that it names.

    Args:
        path: The folder; for COCO and CSV the file may be given instead.
        format_name: The format; None to find out.
        deep: Decode every picture to its last pixel.
        voc_edges: How to take the numbers of Pascal VOC files; None for what each file says itself.

    Raises:
        UserError: there is nothing that can be read.
    """
    name = format_name or detect(path)
    if not path.exists():
        raise UserError(f"{path}: there is no such file or folder")
    file = path if path.is_file() else None
    source = Source(_root(path), file=file, deep=deep, voc_edges=voc_edges)
    sheets = _read(name, source, path)
    if not any(sheet.items for sheet in sheets):
        raise UserError(f"{path}: no step was found in it, read as {name}")
    pictures = [item.picture for sheet in sheets for item in sheet.items if item.picture is not None]
    source.pictures.prefetch(pictures)
    reported: set[Path] = set()
    looked_at = tuple(
        Sheet(
            name=sheet.name,
            folder=sheet.folder,
            items=tuple(_with_size(source, item, name, reported) for item in sheet.items),
        )
        for sheet in sheets
    )
    return Reading(
        format=name,
        root=source.root,
        sheets=looked_at,
        findings=in_order([*(Finding(kind="field", problem=one) for one in source.problems), *source.findings]),
        losses=source.losses.losses(),
    )


def _root(path: Path) -> Path:
    """The folder that nothing leads out of: that of the file, or the one above a folder of labels."""
    if path.is_dir():
        return path
    return path.parent.parent if path.parent.name.casefold() in _LABEL_FOLDERS else path.parent


def _read(name: FormatName, source: Source, path: Path) -> list[Sheet]:
    match name:
        case "coco":
            return coco.read(source, path if path.is_file() else _only(coco_files(path), path, "COCO file"))
        case "csv":
            return csv_file.read(source, path if path.is_file() else _only(tables(path), path, "table"))
    if not path.is_dir():
        raise UserError(f"{path}: expected a folder to read as {name}")
    readers = {"native": native.read, "yolo": yolo.read, "voc": voc.read, "labelme": labelme.read}
    return readers[name](source, path)


def _only(files: Sequence[Path], folder: Path, what: str) -> Path:
    if not files:
        raise UserError(f"{folder}: there is no {what} in it")
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise UserError(f"{folder}: there are several ({names}); give the {what} to read")
    return files[0]


def _with_size(source: Source, item: Item, name: FormatName, reported: set[Path]) -> Item:
    """The item with its picture's size; a picture that can't be read is a problem, once for each file."""
    if item.picture is None:
        return item
    size = source.pictures.size(item.picture)
    picture, item = item.picture, msgspec.structs.replace(item, sha256=source.pictures.sha256(item.picture))
    if isinstance(size, ImageFault):
        if picture not in reported:
            reported.add(picture)
            field, value = _PICTURE_FIELDS[name], shorten(item.entry.image)
            # Some formats name no picture: then the file itself is the place.
            place = item.place if field else msgspec.structs.replace(item.place, file=str(item.picture), line=None)
            what = f"the file {size.what}" if field else size.what
            problem = place.problem(what, size.fix, field=field, value=value if field else "")
            missing = not picture.exists()
            source.findings.append(Finding(kind="missing-image" if missing else "broken-image", problem=problem))
        return msgspec.structs.replace(item, damaged=True)
    if item.stated is not None and item.stated != size:
        problem = item.place.problem(
            f"states {item.stated.width} x {item.stated.height} pixels, and its picture has {size.width} x "
            f"{size.height}: the boxes belong to another picture or another scale",
            "label the picture that is there, or put the one back that was labelled",
            field=_SIZE_FIELDS[name],
        )
        source.findings.append(Finding(kind="size-mismatch", problem=problem))
        return msgspec.structs.replace(item, size=size, damaged=True)
    return msgspec.structs.replace(item, size=size)


_PICTURE_FIELDS: dict[FormatName, str] = {
    "native": "final_image",
    "coco": "file_name",
    "yolo": "",
    "voc": "filename",
    "labelme": "imagePath",
    "csv": "image",
}
_SIZE_FIELDS: dict[FormatName, str] = {
    "native": "",
    "coco": "width, height",
    "yolo": "",
    "voc": "size",
    "labelme": "imageWidth, imageHeight",
    "csv": "image_width, image_height",
}


def in_order(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """By file in the order in which files came up, item by item and line by line."""
    rank: dict[str, int] = {}
    for finding in findings:
        rank.setdefault(finding.problem.file, len(rank))

    def key(finding: Finding) -> tuple[int, int, int]:
        problem = finding.problem
        return rank[problem.file], -1 if problem.item is None else problem.item, problem.line or -1

    return tuple(sorted(findings, key=key))
