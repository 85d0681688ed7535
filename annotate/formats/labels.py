"""What every format is read into and written from, and what its reader and writer work with.

Nothing outside the folder that was opened is looked at, whatever label files name. Everywhere a pixel is one of the
upright picture, edges count from 0 at the outer edge of the first pixel, and the right edge is ``x + width``.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from grounding.data.fields import ABSENT, LARGEST_PX, Problem, shorten
from grounding.data.folders import ImageLocator, natural_key
from grounding.data.images import COPY_AGAIN, ImageFault, probe_images
from grounding.errors import UserError
from grounding.records import Record, Size

from ..core.folders import upright_size
from ..core.native import NativeItem as NativeItem
from ..core.records import KINDS, AnnotatedStep, MarkedBox

FormatName = Literal["native", "coco", "yolo", "voc"]
FindingKind = Literal[
    "field", "missing-image", "broken-image", "size-mismatch", "zero-area", "outside", "over-edge", "fraction",
    "duplicate-box", "duplicate-image", "todo", "empty-instruction", "split-instruction", "similar-instruction",
    "orphan-image", "orphan-label",
]  # fmt: skip
"""Kinds of problems. ``field``: a label file says something that cannot be read, or that the loader would refuse."""

KEY = "grounding"
"""The key under which a COCO file's images hold what the format has no place for; other tools pass over it."""
TEXT_FIELDS = ("instruction", "transcript", "task", "action", "comment", "verified", "annotator", "at")
"""The fields of an entry beside its picture, its boxes and its state."""
CLASSES = tuple(kind.class_name for kind in KINDS)
"""The classes that are written, in this order: YOLO counts them from 0, COCO from 1."""
PICTURE_FOLDERS = ("images", "jpegimages")
MAX_BYTES = 500_000_000


class LabelPlace(Record, frozen=True, kw_only=True):
    """Where something stands: ``item`` counts from 0, ``line`` from 1; ``field`` is the path inside the item."""

    file: str
    item: int | None = None
    line: int | None = None
    field: str = ""

    def __str__(self) -> str:
        """As it is named from another place in the same file."""
        return f"item {self.item}" if self.item is not None else f"line {self.line}"


class Finding(Record, frozen=True, kw_only=True):
    """A problem, and its kind. A ``note`` is worth a look and no fault: it changes no exit code."""

    kind: FindingKind
    problem: Problem
    note: bool = False


def finding(
    place: LabelPlace, what: str, fix: str, *, kind: FindingKind = "field", field: str = "", value: object = ABSENT,
    note: bool = False,
) -> Finding:  # fmt: skip
    """Something at a place; ``field`` is put behind the place's own, ``value`` shown as shortened JSON."""
    path = ".".join(part for part in (place.field, field) if part)
    shown = "" if value is ABSENT else shorten(value)
    problem = Problem(file=place.file, item=place.item, line=place.line, field=path, value=shown, what=what, fix=fix)
    return Finding(kind=kind, problem=problem, note=note)


class LabelItem(Record, frozen=True, kw_only=True):
    """One step as it was read.

    ``entry.image`` is the picture's path inside the sheet, ``picture`` the file, None where it names none, ``size`` its
    upright size, None where it cannot be read; ``stated`` is the label file's. ``boxes_at`` has the place of each box.
    ``damaged``: a problem says what could not be read, and its boxes are not to be trusted.
    """

    entry: AnnotatedStep
    place: LabelPlace
    picture: Path | None = None
    size: Size | None = None
    stated: Size | None = None
    boxes_at: tuple[LabelPlace, ...] = ()
    damaged: bool = False
    native: NativeItem | None = None


class Sheet(Record, frozen=True, kw_only=True):
    name: str
    folder: Path
    items: tuple[LabelItem, ...]


class Reading(Record, frozen=True, kw_only=True):
    """All that was read of a source, and all that kept parts of it from being read."""

    format: FormatName
    root: Path
    sheets: tuple[Sheet, ...]
    findings: tuple[Finding, ...]

    @property
    def items(self) -> list[LabelItem]:
        return [item for sheet in self.sheets for item in sheet.items]


class Named(Record, frozen=True, kw_only=True):
    """An item that is to be written, where its picture goes in the new folder, and the name of its sheet."""

    item: LabelItem
    path: PurePosixPath
    sheet: str


def whole(value_px: float) -> float:
    return int(value_px) if float(value_px).is_integer() else float(value_px)


def pixel_numbers(texts: Sequence[object], count: int = 4) -> list[float] | None:
    """So many texts as finite numbers of pixels of a sensible size; None for anything else."""
    try:
        numbers = [float(str(one)) for one in texts]
    except ValueError:
        return None
    fits = len(numbers) == count and all(abs(one) <= LARGEST_PX for one in numbers)
    return [whole(one) for one in numbers] if fits else None


def between(left_px: float, top_px: float, right_px: float, bottom_px: float, kind: str = "") -> MarkedBox:
    """The box between four edges. A right edge left of the left one makes a negative width, which a check reports."""
    width, height = whole(round(right_px - left_px, 6)), whole(round(bottom_px - top_px, 6))
    return MarkedBox(x_px=whole(left_px), y_px=whole(top_px), width_px=width, height_px=height, kind=kind)


def kind_of(class_name: str) -> str:
    """The kind that a class stands for; "" for a name that is none of ours."""
    return next((kind.name for kind in KINDS if kind.class_name == class_name.strip().casefold()), "")


def class_index(box: MarkedBox) -> int:
    """The place in ``CLASSES`` of the class that a box is written as."""
    return [kind.name for kind in KINDS].index(box.kind)


def stated_size(width: object, height: object) -> Size | None:
    """The size that a label file gives, None where it gives none that a picture can have."""
    sides = pixel_numbers([width, height], 2)
    return Size(width=int(sides[0]), height=int(sides[1])) if sides and min(sides) >= 1 else None


def natural_path(path: PurePath) -> tuple[object, ...]:
    """Sort key of a path: folder by folder, 2 before 10."""
    return tuple(natural_key(part) for part in path.parts)


def safe_name(name: str) -> str:
    """A name that is read again on any system, unchanged where it is one already; "" for "" alone."""
    clean = "".join(letter if letter.isprintable() and letter not in '/\\:*?"<>|' else "_" for letter in name)
    if clean and not clean.strip(". "):
        return "_"
    # Folders and files with such names are passed over wherever labels are read.
    return f"x{clean}" if clean.startswith((".", "__")) else clean


def sheet_of(written: str | PurePath) -> tuple[str, str]:
    """The first folder of a picture's path, "" for none, and the path inside; ``images`` and the like do not count."""
    plain = PurePosixPath(str(written).replace("\\", "/"))
    parts = [part for part in plain.parts if part not in ("/", ".", "..")]
    at = next((index for index, part in enumerate(parts[:-1]) if part.casefold() in PICTURE_FOLDERS), None)
    if at is not None:
        del parts[at]
    return (parts[0], "/".join(parts[1:])) if len(parts) > 1 else ("", parts[0] if parts else "picture")


def walk(root: Path, *suffixes: str) -> list[Path]:
    """Every file below a folder that has one of the suffixes (in lower case), in natural order of its path. Hidden
    names, folders with ``__`` and names that are not UTF-8 are passed over, links to folders not followed.
    """
    found: list[Path] = []
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if not name.startswith((".", "__")) and _is_text(name)]
        found += [Path(folder, name) for name in names if not name.startswith(".") and _is_text(name)]
    found = [path for path in found if path.suffix.casefold() in suffixes]
    return sorted(found, key=lambda path: natural_path(path.relative_to(root)))


def _is_text(name: str) -> bool:
    return name.encode("utf-8", "replace").decode("utf-8") == name


def read_text(path: Path) -> str:
    """The text of a label file. Raises UserError, with no path in the message: unreadable, too large or not UTF-8."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"is larger than {MAX_BYTES:,} bytes")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UserError(f"is not UTF-8 ({error.reason}); save it as UTF-8") from error


class LabelFolder:
    """One folder of label files that is being read; ``findings`` are in the order in which they were found."""

    def __init__(self, root: Path, *, deep: bool = False) -> None:
        self.root = root
        self.findings: list[Finding] = []
        self._deep = deep
        self._locator = ImageLocator(root, root)
        self._looks: dict[Path, Size | ImageFault] = {}

    def report(
        self, place: LabelPlace, what: str, fix: str = "correct it, or export the file again", **more: Any
    ) -> None:
        """Something that is wrong; see ``finding``."""
        self.findings.append(finding(place, what, fix, **more))

    def find(self, written: str, folders: Sequence[Path], place: LabelPlace, field: str) -> Path | None:
        """The file that ``written`` names, seen from the first of ``folders`` where there is one; None after a problem.
        A path may climb with ``..`` as long as it stays inside the root. Where no folder has the file, the first path.
        """
        plain = written.replace("\\", "/").strip()
        faults: list[ImageFault] = []
        missing: Path | None = None
        for folder in (one for one in folders if one.is_relative_to(self.root)):
            inner = os.path.normpath(PurePosixPath(folder.relative_to(self.root), plain)) if plain else ""
            try:
                found = self._locator.locate(inner)
                if isinstance(found, ImageFault):
                    faults.append(found)
                elif found.is_file():
                    return found
                else:
                    missing = missing or found
            except (OSError, RuntimeError, ValueError):  # Too long a name, or links that lead in a circle.
                faults.append(ImageFault(what="cannot be a file's path", fix="write it like images/12.png"))
        if missing is None:
            self.report(place, faults[0].what, faults[0].fix, field=field, value=written)
        return missing

    def item(
        self,
        entry: AnnotatedStep,
        boxes: Iterable[tuple[MarkedBox, LabelPlace]],
        place: LabelPlace,
        picture: Path | None,
        **more: Any,
    ) -> LabelItem:
        """The item of a step. Boxes make the state ``boxes``; the picture is looked at later, with the others."""
        boxes = tuple(boxes)
        for box, at in boxes:
            if any(abs(number) > LARGEST_PX for number in box.place):
                self.report(at, f"has numbers that are no pixels, at most {LARGEST_PX:,}", value=box.place)
                more["damaged"] = True
        if boxes:
            entry = replace(entry, state="boxes", boxes=tuple(box for box, _ in boxes))
        more["damaged"] = more.get("damaged", False) or picture is None
        return LabelItem(entry=entry, place=place, picture=picture, boxes_at=tuple(at for _, at in boxes), **more)

    def look(self, *paths: Path) -> Size | ImageFault:
        """The upright size of the first of some pictures, or what is wrong with it; all are looked at, at a time."""
        new = [path for path in dict.fromkeys(paths) if path not in self._looks]
        for path, found in zip(new, probe_images(new, deep=self._deep), strict=True):
            try:
                self._looks[path] = found if isinstance(found, ImageFault) else upright_size(path)[0]
            except UserError as error:
                self._looks[path] = ImageFault(what=str(error).removeprefix(f"{path}: "), fix=COPY_AGAIN)
        return self._looks[paths[0]]


def own_fields(named: Named) -> dict[str, Any]:
    """What stands under ``KEY``: all that an entry says beside its picture and boxes, and its participant's name."""
    entry = named.item.entry
    words = {"participant": named.sheet, **{name: getattr(entry, name) for name in TEXT_FIELDS}}
    return {"state": entry.state, **{name: text for name, text in words.items() if text != "" and text is not False}}


def read_own(source: LabelFolder, value: Any, entry: AnnotatedStep, place: LabelPlace) -> tuple[AnnotatedStep, str]:
    """The entry with what stands under our key, and its participant's name; without it after a problem."""
    if value is None:
        return entry, ""
    try:
        given = msgspec.convert(value, type=dict[str, Any])
        words = {name: given[name] for name in ("state", *TEXT_FIELDS) if name in given}
        said = msgspec.convert({"image": entry.image, **words}, type=AnnotatedStep)
        participant = msgspec.convert(given.get("participant", ""), type=str)
    except msgspec.ValidationError as error:
        source.report(place, str(error), "correct it or take the key out", field=KEY, value=value)
        return entry, ""
    # Boxes are what they are, whatever it says of them.
    return replace(said, state="todo") if said.state == "boxes" else said, participant
