"""A folder in any of the formats in, and a folder in any of them out, all of it or nothing."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath

from msgspec.structs import replace

from grounding.data.images import ImageFault
from grounding.errors import UserError
from grounding.records import Record

from . import native, others
from .labels import (
    PICTURE_FOLDERS,
    Finding,
    FormatName,
    LabelFolder,
    LabelItem,
    LabelPlace,
    Named,
    Reading,
    Sheet,
    natural_path,
    safe_name,
)  # fmt: skip


class Format(Record, frozen=True, kw_only=True):
    """How a format is read and written.

    ``place`` is where a picture goes: by the name of its sheet and its path in there. ``keeps`` says what it holds
    beside boxes. With ``one_each`` there is a label file a picture. ``picture`` and ``size`` are its fields for these.
    """

    read: Callable[[LabelFolder, Path], Iterable[tuple[str, LabelItem]]]
    write: Callable[[Sequence[Named], Path], None]
    place: Callable[[str, PurePosixPath], PurePosixPath] = lambda sheet, path: PurePosixPath("images", sheet, path)
    keeps: str = "nothing of the words"
    opened: str = "a folder"
    one_each: bool = False
    picture: str = ""
    size: str = ""


FORMATS: dict[FormatName, Format] = {
    "native": Format(
        read=native.read,
        write=native.write,
        place=lambda sheet, path: PurePosixPath(sheet, "images", path),
        keeps="all but transcripts and other files",
        picture="final_image",
    ),
    "coco": Format(
        read=others.read_coco,
        write=others.write_coco,
        keeps="all words, but fields of other programs",
        opened="the file, such as annotations.json",
        picture="file_name",
        size="width, height",
    ),
    "yolo": Format(read=others.read_yolo, write=others.write_yolo, one_each=True),
    "voc": Format(
        read=others.read_voc,
        write=others.write_voc,
        place=lambda sheet, path: PurePosixPath("JPEGImages", sheet, path),
        keeps="no words, but whether a step is verified",
        one_each=True,
        picture="filename",
        size="size",
    ),
}


def read_labels(path: Path, format_name: FormatName | None = None, *, deep: bool = False) -> Reading:
    """Read a folder of labels, or a COCO file, and look at its pictures; with ``deep`` at every pixel. Raises
    UserError: there is nothing to read, or it is another format.
    """
    if not path.exists():
        raise UserError(f"{path}: there is no such file or folder")
    name: FormatName = format_name or ("coco" if path.is_file() else "native")
    if path.is_file() != (name == "coco"):
        raise UserError(f"{path}: COCO is a file and other formats are folders: give {FORMATS[name].opened}")
    root = path if path.is_dir() else path.parent
    # A file in a folder of annotations has its pictures beside that folder.
    root = root.parent if path.is_file() and root.name.casefold() in ("annotations", "labels") else root
    source, used = LabelFolder(root, deep=deep), FORMATS[name]
    by_sheet: dict[str, list[LabelItem]] = {}
    for sheet, item in used.read(source, path):
        by_sheet.setdefault(sheet if name == "native" else safe_name(sheet), []).append(item)
    if not by_sheet:
        raise UserError(f"{path}: no step was found in it, read as {name}")
    pictures = [item.picture for items in by_sheet.values() for item in items if item.picture is not None]
    if pictures:
        source.look(*pictures)
    reported: set[Path] = set()
    sheets = tuple(
        Sheet(
            name=sheet,
            # A participant's folder may be the one that was opened.
            folder=root / sheet if (root / sheet).is_dir() else root,
            items=tuple(_with_size(source, item, used, reported) for item in items),
        )
        for sheet, items in by_sheet.items()
    )
    return Reading(format=name, root=root, sheets=sheets, findings=in_order(source.findings))


def _with_size(source: LabelFolder, item: LabelItem, used: Format, reported: set[Path]) -> LabelItem:
    """The item with its picture's size; a picture that can't be read is a problem, once for each file."""
    picture = item.picture
    if picture is None:
        return item
    size = source.look(picture)
    if isinstance(size, ImageFault):
        if picture not in reported:
            reported.add(picture)
            # Some formats name no picture: then the file itself is the place.
            place = item.place if used.picture else LabelPlace(file=str(picture))
            kind = "broken-image" if picture.exists() else "missing-image"
            shown = {"field": used.picture, "value": item.entry.image} if used.picture else {}
            source.report(place, f"the file {size.what}", size.fix, kind=kind, **shown)
        return replace(item, damaged=True)
    if item.stated is not None and item.stated != size:
        what = (
            f"states {item.stated.width} x {item.stated.height} pixels, and its picture has {size.width} x "
            f"{size.height}: the boxes belong to another picture or another scale"
        )
        fix = "label the picture that is there, or put the one back that was labelled"
        source.report(item.place, what, fix, field=used.size, kind="size-mismatch")
        return replace(item, size=size, damaged=True)
    return replace(item, size=size)


def in_order(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """By file in the order in which files came up, item by item and line by line."""
    rank = {name: place for place, name in enumerate(dict.fromkeys(one.problem.file for one in findings))}

    def key(one: Finding) -> tuple[int, int, int]:
        problem = one.problem
        return rank[problem.file], -1 if problem.item is None else problem.item, problem.line or -1

    return tuple(sorted(findings, key=key))


class Conversion(Record, frozen=True, kw_only=True):
    """``left_out``: steps whose picture can't be read. ``to_do_again``: steps whose boxes can't, or have no area."""

    steps: int
    boxes: int
    left_out: int
    to_do_again: int


def write_labels(reading: Reading, folder: Path, format_name: FormatName) -> Conversion:
    """Write all steps that can be. Raises UserError: the folder is not empty, lies in the source, or fails."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: is there already; give a folder that is not there yet, or is empty")
    if folder.resolve().is_relative_to(reading.root.resolve()):
        raise UserError(f"{folder}: lies in the folder that is read ({reading.root}); give a folder beside it")
    used, to_do_again = FORMATS[format_name], 0
    items: list[tuple[str, LabelItem]] = []
    for name, item in ((sheet.name, item) for sheet in reading.sheets for item in sheet.items):
        if not item.picture or not item.size:
            continue
        entry = item.entry
        if item.damaged or any(box.width_px <= 0 or box.height_px <= 0 for box in entry.boxes):
            to_do_again += 1
            item = replace(item, entry=replace(entry, state="todo", boxes=(), verified=False), boxes_at=())
        items.append((name, item))
    named = _named(items, used)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as holder:
            made = Path(holder) / "new"
            made.mkdir()
            for path, picture in {one.path: one.item.picture for one in named}.items():
                (made / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(str(picture), made / path)
            used.write(named, made)
            made.replace(folder)
    except (OSError, shutil.Error) as error:
        raise UserError(f"{folder}: cannot be written: {error}") from error
    return Conversion(
        steps=len(items),
        boxes=sum(len(item.entry.boxes) for _, item in items),
        left_out=len(reading.items) - len(items),
        to_do_again=to_do_again,
    )


def _named(items: Sequence[tuple[str, LabelItem]], used: Format) -> list[Named]:
    """The items with the places of their pictures: their own names, made safe and unlike all others but for a suffix.
    In a format with one label file a picture, steps that share a picture become one with the boxes of all of them.
    """
    places: dict[tuple[str, str], PurePosixPath] = {}
    taken: set[str] = set()
    made: dict[object, Named] = {}
    for sheet, item in items:
        key = (sheet, item.entry.image)
        if key not in places:
            places[key] = _new_place(sheet, item.entry.image, used, taken)
        one = Named(item=item, path=places[key], sheet=sheet)
        mark: object = one.path if used.one_each else len(made)
        made[mark] = _together(made[mark], one) if mark in made else one
    return sorted(made.values(), key=lambda one: natural_path(one.path)) if used.one_each else list(made.values())


def _new_place(sheet: str, image: str, used: Format, taken: set[str]) -> PurePosixPath:
    parts = PurePosixPath(image.replace("\\", "/")).parts
    plain = [safe_name(part) for part in parts if part not in ("/", ".", "..")] or ["picture"]
    plain = plain[1:] if len(plain) > 1 and plain[0] == "images" else plain
    # Not by the names by which formats tell pictures from labels.
    marks = (*PICTURE_FOLDERS, "labels", "annotations")
    folder, *inner = (f"{one}_" if one.casefold() in marks else one for one in (safe_name(sheet), *plain[:-1]))
    path = candidate = used.place(folder, PurePosixPath(*inner, plain[-1]))
    number = 1
    # Not every file system tells A.png from a.png.
    while str(candidate.with_suffix("")).casefold() in taken:
        number += 1
        candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")
    taken.add(str(candidate.with_suffix("")).casefold())
    return candidate


def _together(first: Named, second: Named) -> Named:
    entries = (first.item.entry, second.item.entry)
    boxes = tuple(dict.fromkeys(box for entry in entries for box in entry.boxes))
    no_click = "no-click" in [entry.state for entry in entries]
    entry = replace(entries[0], boxes=boxes, state="boxes" if boxes else "no-click" if no_click else "todo")
    return replace(first, item=replace(first.item, entry=entry))
