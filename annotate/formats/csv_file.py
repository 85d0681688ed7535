"""CSV: one line per box, in a table that spreadsheets open.

Ours has the columns of ``COLUMNS``: ``x``, ``y`` (top left), ``width``, ``height`` in pixels, as in the native layout,
and everything else of a step repeated on each of its lines; a step without boxes is a line without numbers. Text that a
spreadsheet would take for a formula, and a task that is text and looks like a number, get an apostrophe in front,
which is taken off again on the way back. Nothing is lost.

Read is also the table of TensorFlow's examples, which many tools export: ``filename,width,height,class,xmin,ymin,xmax,
ymax``, edges from 0, the right edge being ``xmax``. It lists boxes only: pictures of the folder that it does not name
are ``todo``.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import get_args

from annotate.formats.classes import kind_of
from annotate.formats.numbers import between, pixel_text, whole
from annotate.formats.paths import IMAGES, Namer, safe_name, split_sheet
from annotate.formats.pictures import walk_pictures
from annotate.formats.records import Item, Place, Sheet
from annotate.formats.source import Source, stated_size
from annotate.formats.target import Named, Target, name_items
from annotate.records import Entry, MarkedBox, State
from grounding.errors import UserError
from grounding.loaders.problems import shorten
from grounding.records import Size

FILE = "annotations.csv"
COLUMNS = (
    "participant", "step", "image", "image_width", "image_height", "state", "x", "y", "width", "height", "kind",
    "instruction", "transcript", "task", "action", "comment", "verified", "annotator", "at",
)  # fmt: skip
TENSORFLOW = ("filename", "width", "height", "class", "xmin", "ymin", "xmax", "ymax")
MAX_BYTES = 500_000_000

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_ADVICE = "correct it, or export the file again"

Row = dict[str, str]


def is_ours(header: Sequence[str]) -> bool:
    """Whether a header has all of our columns."""
    return set(COLUMNS) <= set(header)


def is_tensorflow(header: Sequence[str]) -> bool:
    """Whether a header has the columns of TensorFlow's examples."""
    return set(TENSORFLOW) <= set(header)


def read_header(file: Path) -> tuple[str, ...]:
    """The first line's cells; none where the file can't be read as a table."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            return tuple(name.strip() for name in next(csv.reader(opened), []))
    except (OSError, UnicodeDecodeError, csv.Error):
        return ()


def read(source: Source, file: Path) -> list[Sheet]:
    """The steps of a table.

    Raises:
        UserError: the file is no table of one of the two kinds.
    """
    header, rows = _rows(file)
    if is_ours(header):
        return _read_ours(source, file, rows)
    if is_tensorflow(header):
        return _read_tensorflow(source, file, rows)
    raise UserError(
        f"{file}: expected the columns {', '.join(COLUMNS)}, or {', '.join(TENSORFLOW)}; it has {', '.join(header)}"
    )


def write(sheets: Sequence[Sheet], target: Target) -> None:
    """Write ``annotations.csv`` and the pictures."""
    namer = Namer(by_stem=False)
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, COLUMNS, lineterminator="\r\n")
    table.writeheader()
    for sheet in sheets:
        for step, named in enumerate(name_items(sheet, namer, target.losses)):
            target.place(named.item, PurePosixPath(IMAGES, named.path))
            if "\0" in "".join(_texts(named.item.entry)):
                target.losses.add("zero bytes in texts", "lost", "a table cannot hold them")
            for box in named.item.entry.boxes or (None,):
                table.writerow(_row(named, sheet.name, step, box))
    target.write(FILE, text.getvalue().replace("\0", ""))


def _texts(entry: Entry) -> tuple[str, ...]:
    return (
        entry.instruction,
        entry.transcript,
        str(entry.task),
        entry.action,
        entry.comment,
        entry.annotator,
        entry.at,
    )


def _row(named: Named, sheet: str, step: int, box: MarkedBox | None) -> dict[str, object]:
    entry, size = named.item.entry, named.item.size
    numbers: tuple[float | str, ...] = ("", "", "", "", "")
    if box is not None:
        numbers = (*(whole(value) for value in (box.x_px, box.y_px, box.width_px, box.height_px)), box.kind)
    texts = (entry.instruction, entry.transcript, _task(entry.task), entry.action, entry.comment)
    return dict(
        zip(
            COLUMNS,
            (
                _guarded(sheet),
                step,
                _guarded(str(PurePosixPath(IMAGES, named.path))),
                size.width if size else "",
                size.height if size else "",
                entry.state,
                *numbers,
                *(text if index == 2 else _guarded(str(text)) for index, text in enumerate(texts)),
                "yes" if entry.verified else "",
                _guarded(entry.annotator),
                _guarded(entry.at),
            ),
            strict=True,
        )
    )


def _guarded(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _unguarded(text: str) -> str:
    return text[1:] if text.startswith("'") else text


def _task(task: str | int) -> str:
    if not isinstance(task, str):
        return str(task)
    return f"'{task}" if _NUMBER.fullmatch(task) else _guarded(task)


def _read_task(cell: str) -> str | int:
    return int(cell) if _NUMBER.fullmatch(cell) else _unguarded(cell)


def _rows(file: Path) -> tuple[tuple[str, ...], list[tuple[int, Row]]]:
    """The header and the lines with their numbers, counted from 1 as editors do (a line's last one)."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise UserError(f"{file}: is larger than {MAX_BYTES:,} bytes")
        with file.open(encoding="utf-8-sig", newline="") as opened:
            table = csv.DictReader(opened, restkey="", restval="", strict=True)
            header = tuple(table.fieldnames or ())
            return header, [(table.line_num, {str(name): str(cell) for name, cell in row.items()}) for row in table]
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{file}: is not UTF-8 ({error.reason}); save it as CSV UTF-8") from error
    except csv.Error as error:
        raise UserError(f"{file}: is not CSV: {error}") from error


def _read_ours(source: Source, file: Path, rows: Sequence[tuple[int, Row]]) -> list[Sheet]:
    steps: dict[tuple[str, str], list[tuple[int, Row]]] = {}
    for line, row in rows:
        steps.setdefault((_unguarded(row["participant"]), row["step"]), []).append((line, row))
    items: dict[str, list[Item]] = {}
    for (participant, _), lines in steps.items():
        items.setdefault(safe_name(participant), []).append(_own_item(source, file, participant, lines))
    return [Sheet(name=name, folder=file.parent / name, items=tuple(found)) for name, found in items.items()]


def _own_item(source: Source, file: Path, participant: str, lines: Sequence[tuple[int, Row]]) -> Item:
    line, row = lines[0]
    place = Place(file=str(file), line=line)
    written = _unguarded(row["image"])
    picture = source.find(written, [file.parent, file.parent / IMAGES], place, "image")
    boxes: list[tuple[MarkedBox, Place]] = []
    damaged = False
    for number, one in lines:
        at = Place(file=str(file), line=number)
        if _unguarded(one["image"]) != written:
            what = "names another picture than the other lines of its step"
            source.problems.append(at.problem(what, "give it another step", field="image", value=shorten(one["image"])))
            damaged = True
        if any(one[name].strip() for name in ("x", "y", "width", "height")):
            box = _box(source, one, at, ("x", "y", "width", "height"), one["kind"], sizes=True)
            damaged = damaged or box is None
            if box is not None:
                boxes.append((box, at))
    parts = PurePosixPath(written.replace("\\", "/")).parts
    inner = [part for part in (parts[1:] if parts[:1] == (IMAGES,) else parts) if part not in ("/", "..")]
    inner = inner[1:] if len(inner) > 1 and inner[0] == safe_name(participant) else inner
    state = row["state"]
    if state not in get_args(State):
        what = f"must be one of {', '.join(get_args(State))}"
        source.problems.append(place.problem(what, "correct it", field="state", value=shorten(state)))
        damaged = True
    entry = Entry(
        image="/".join(inner) or written,
        state="no-click" if state == "no-click" else "todo",
        instruction=_unguarded(row["instruction"]),
        transcript=_unguarded(row["transcript"]),
        task=_read_task(row["task"]),
        action=_unguarded(row["action"]),
        comment=_unguarded(row["comment"]),
        verified=row["verified"].strip().casefold() in ("yes", "true", "1"),
        annotator=_unguarded(row["annotator"]),
        at=_unguarded(row["at"]),
    )
    return source.item(
        entry, boxes, place, picture, stated=_stated(row, "image_width", "image_height"), damaged=damaged
    )


def _read_tensorflow(source: Source, file: Path, rows: Sequence[tuple[int, Row]]) -> list[Sheet]:
    by_picture: dict[str, list[tuple[int, Row]]] = {}
    for line, row in rows:
        by_picture.setdefault(row["filename"], []).append((line, row))
    items: dict[str, list[Item]] = {}
    named: set[Path] = set()
    for written, lines in by_picture.items():
        place = Place(file=str(file), line=lines[0][0])
        folders = [file.parent, file.parent / IMAGES, file.parent.parent / IMAGES, file.parent.parent]
        inside = [folder for folder in folders if folder.is_relative_to(source.root)]
        picture = source.find(written, inside, place, "filename")
        boxes: list[tuple[MarkedBox, Place]] = []
        for number, row in lines:
            at = Place(file=str(file), line=number)
            box = _box(source, row, at, ("xmin", "ymin", "xmax", "ymax"), row["class"], sizes=False)
            if box is not None:
                boxes.append((box, at))
        if picture is not None:
            named.add(picture)
        sheet, path = split_sheet(_below_images(written))
        stated = _stated(lines[0][1], "width", "height")
        item = source.item(Entry(image=path), boxes, place, picture, stated=stated, damaged=len(boxes) < len(lines))
        items.setdefault(safe_name(sheet), []).append(item)
    for picture in walk_pictures(file.parent):
        if picture not in named:
            sheet, path = split_sheet(_below_images(str(picture.relative_to(file.parent))))
            item = source.item(Entry(image=path), [], Place(file=str(picture)), picture)
            items.setdefault(safe_name(sheet), []).append(item)
    return [Sheet(name=name, folder=file.parent / name, items=tuple(found)) for name, found in items.items()]


def _below_images(written: str) -> Path:
    parts = [part for part in PurePosixPath(written.replace("\\", "/")).parts if part not in ("/", "..", ".")]
    return Path(*(parts[1:] if len(parts) > 1 and parts[0] == IMAGES else parts or ["picture"]))


def _stated(row: Mapping[str, str], width: str, height: str) -> Size | None:
    return stated_size(pixel_text(row[width]), pixel_text(row[height]))


def _box(
    source: Source, row: Row, place: Place, columns: tuple[str, str, str, str], kind: str, *, sizes: bool
) -> MarkedBox | None:
    first, second, third, fourth = (pixel_text(row[name]) for name in columns)
    if first is None or second is None or third is None or fourth is None:
        values = ", ".join(row[name] for name in columns)
        what = f"must have numbers in {', '.join(columns)}"
        source.problems.append(place.problem(what, _ADVICE, value=shorten(values)))
        return None
    right, bottom = (first + third, second + fourth) if sizes else (third, fourth)
    return between(first, second, right, bottom, kind=kind_of(kind, source.losses) if kind else "")
