"""JSON files of a data set to typed values; what is wrong is said so that its owner can put it right.

Every problem names file, item, field and value, says what is wrong and what to do. After a problem a reader gives a
harmless stand-in, which nobody uses: who finds problems builds nothing.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from grounding.errors import UserError
from grounding.records import Box, Record, Size, TaskLabel

SHOWN_PROBLEMS, _SHOWN_CHARS = 50, 60
LARGEST_PX = 1_000_000_000
ABSENT = object()
Four = tuple[float, float, float, float]


class Problem(Record, frozen=True, kw_only=True):
    """One thing to put right, or an oddity: then ``fix`` says what follows from it.

    ``file`` can be opened from where the program runs. ``item`` is the position in the file's list, from 0; ``line``
    that in a file of JSON lines, from 1; both None where the whole file or folder is meant. ``field`` is a path inside
    the item (``bounding_box[0].width``), ``value`` what stands there, as shortened JSON.
    """

    file: str
    what: str
    fix: str
    item: int | None = None
    line: int | None = None
    field: str = ""
    value: str = ""

    def __str__(self) -> str:
        place = [self.file]
        place += [] if self.item is None else [f"item {self.item}"]
        place += [] if self.line is None else [f"line {self.line}"]
        if self.field or self.value:
            place.append(" = ".join(part for part in (self.field, self.value) if part))
        return f"{': '.join(place)}: {self.what}; {self.fix}"


def counted(oddities: Sequence[Problem]) -> tuple[str, ...]:
    """One sentence on how many annotations are odd, by field; none where none are."""
    if not oddities:
        return ()
    fields = Counter(one.field.partition(".")[0].partition("[")[0] or Path(one.file).name for one in oddities)
    kinds = ", ".join(f"{count} {field}" for field, count in fields.items())
    return (f"odd annotations, used as they stand: {len(oddities)} ({kinds}); `grounding check` lists them",)


class DatasetProblems(UserError):
    """A data set cannot be used. ``problems`` are all that was found; the message lists the first 50. ``oddities`` are
    what would not have kept it from being used.
    """

    def __init__(self, problems: Sequence[Problem], oddities: Sequence[Problem] = ()) -> None:
        self.problems = tuple(problems)
        self.oddities = tuple(oddities)
        super().__init__(self.problems)

    def __str__(self) -> str:
        count = len(self.problems)
        lines = [f"the data set has {count} problem{'' if count == 1 else 's'}:"]
        lines += [f"  {problem}" for problem in self.problems[:SHOWN_PROBLEMS]]
        lines += [f"  … and {count - SHOWN_PROBLEMS} more"] if count > SHOWN_PROBLEMS else []
        return "\n".join(lines)


def shorten(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if not text.isprintable():
        text = json.dumps(value)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


@dataclass
class Fields:
    """Reads one object of a JSON list or of JSON lines; ``prefix`` stands before its fields' names in problems.
    ``picture`` is where the picture was put that came in the object itself, as in a row of parquet.
    """

    file: str
    item: int | None
    values: dict[str, Any]
    problems: list[Problem]
    prefix: str = ""
    line: int | None = None
    oddities: list[Problem] | None = None
    picture: Path | None = None

    def nested(self, values: dict[str, Any], prefix: str) -> Fields:
        return replace(self, values=values, prefix=prefix)

    def report(self, field: str, what: str, fix: str, value: object = ABSENT) -> None:
        shown = "" if value is ABSENT else shorten(value)
        self.problems.append(
            Problem(
                file=self.file,
                item=self.item,
                line=self.line,
                field=self.prefix + field,
                value=shown,
                what=what,
                fix=fix,
            )
        )

    def remark(self, field: str, what: str, so: str, value: object) -> None:
        """Add an oddity: the value can be read and is used; ``so`` says what follows from it."""
        if self.oddities is not None:
            replace(self, problems=self.oddities).report(field, what, so, value)

    def has(self, field: str) -> bool:
        return field in self.values

    def raw(self, field: str, fix: str) -> object:
        """The value whatever its type; a problem and ABSENT where there is none."""
        value = self.values.get(field, ABSENT)
        if value is ABSENT:
            self.report(field, "is missing", fix)
        return value

    def text(self, field: str, fix: str, *, blank: str = "") -> str:
        """A text that is more than blanks, kept as it is; ``blank`` says what follows where it may be less."""
        value = self.raw(field, fix)
        if not isinstance(value, str):
            if value is not ABSENT:
                self.report(field, "must be text", fix, value)
            return ""
        if not value.strip() and blank:
            self.remark(field, "is empty", blank, value)
        elif not value.strip():
            self.report(field, "is empty", fix, value)
        return value

    def optional_text(self, field: str, fix: str) -> str:
        value = self.values.get(field)
        if value is None or isinstance(value, str):
            return value or ""
        self.report(field, "must be text", fix, value)
        return ""

    def json_text(self, field: str) -> str:
        """A text as it is, any other value as its JSON text, "" where there is none or null."""
        value = self.values.get(field)
        if value is None or isinstance(value, str):
            return value or ""
        return msgspec.json.encode(value).decode("utf-8")

    def pixels(self, field: str, fix: str) -> float | None:
        """A number of pixels, integer or not, kept as it is; None after a problem."""
        value = self.raw(field, fix)
        if value is ABSENT:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.report(field, "must be a number", fix, value)
            return None
        if abs(value) > LARGEST_PX:
            self.report(field, f"must be a number of pixels, at most {LARGEST_PX:,}", fix, value)
            return None
        return value

    def numbers(self, field: str) -> list[float] | None:
        """A list of finite numbers of pixels; None after a problem."""
        value = self.raw(field, "add it")
        if value is ABSENT:
            return None
        if not isinstance(value, list) or not all(
            isinstance(one, int | float) and not isinstance(one, bool) and math.isfinite(one) and abs(one) <= LARGEST_PX
            for one in value
        ):
            self.report(field, "must be a list of numbers", "correct it", value)
            return None
        return [float(one) for one in value]

    def four(self, field: str) -> Four | None:
        numbers = self.numbers(field)
        if numbers is None:
            return None
        if len(numbers) != 4:
            self.report(field, "must be a list of four numbers", "correct it", numbers)
            return None
        return (numbers[0], numbers[1], numbers[2], numbers[3])


def read_items(values: Iterable[object], file: Path, problems: list[Problem]) -> Iterator[Fields]:
    for item, value in enumerate(values):
        if isinstance(value, dict):
            yield Fields(str(file), item, value, problems)
        else:
            fix = "correct or remove it"
            problems.append(Problem(file=str(file), item=item, value=shorten(value), what="must be an object", fix=fix))


# --- the steps of RealWebAssist's questions files -----------------------------------------------------------------

IMAGE_FIELD, BOX_FIELD = "final_image", "bounding_box"
_CORRECT_BOX = "correct it: null is for a step without a click, which is not scored"
_NO_HIT = "it is scored as it stands: no click can hit it"


class NamedBox(Record, frozen=True, kw_only=True):
    """A gold box in pixels of the original screenshot, and the path of the field it came from."""

    field: str
    box: Box


class QuestionRow(Record, frozen=True, kw_only=True):
    """What one item of a questions file says, before its screenshot is looked at.

    ``image`` is the path inside the participant's folder in its shortest form, "" where the item has none that can be
    used. ``boxes`` is None for a step without a click.
    """

    item: int
    task: TaskLabel
    instruction: str
    action: str
    image: str
    boxes: tuple[NamedBox, ...] | None


def read_rows(
    items: Sequence[object], file: str, problems: list[Problem], oddities: list[Problem]
) -> list[QuestionRow]:
    """A row for every item; after a problem the row holds stand-ins.

    As the official evaluator reads them: ``instruction``, ``final_image`` and ``bounding_box`` are needed; ``task``
    may be absent and is ``unknown_<position>`` then; ``action`` is only passed along, "" where absent or null and as
    its JSON text where it is no text. Other fields are not read.
    """
    rows = []
    for item, value in enumerate(items):
        if not isinstance(value, dict):
            what, fix = "must be an object with instruction, final_image and bounding_box", "correct or remove it"
            problems.append(Problem(file=file, item=item, value=shorten(value), what=what, fix=fix))
            rows.append(QuestionRow(item=item, task="", instruction="", action="", image="", boxes=None))
            continue
        fields = Fields(file, item, value, problems, oddities=oddities)
        image = fields.text(IMAGE_FIELD, "name the screenshot, like images/12.png")
        rows.append(
            QuestionRow(
                item=item,
                task=_read_task(fields, item),
                instruction=fields.text("instruction", "write what the user said", blank="models are told no words"),
                action=fields.json_text("action"),
                image=str(PurePosixPath(image)) if image.strip() else "",
                boxes=_read_boxes(fields),
            )
        )
    return rows


def _read_task(fields: Fields, item: int) -> TaskLabel:
    value = fields.values.get("task", f"unknown_{item}")
    if isinstance(value, str | int) and not isinstance(value, bool):
        return value
    if isinstance(value, list | dict):
        fields.report("task", "must be text or a whole number", "correct it or leave the field out", value)
        return ""
    fields.remark("task", "is no text and no whole number", "it is a label all the same", value)
    # As keys in Python, and so in the official evaluator, true and 2.0 are 1 and 2.
    if isinstance(value, bool | float) and value == int(value):
        return int(value)
    return json.dumps(value)


def _read_boxes(fields: Fields) -> tuple[NamedBox, ...] | None:
    """The gold boxes of an item, None for a step without a click.

    A box is ``x``, ``y`` (top left), ``width``, ``height`` in pixels of the original screenshot. The right edge is
    ``x + width`` as the official scorer computes it, so that a point on the edge scores the same here. An empty list
    and a box without extent are scored there, and are here: oddities, not problems.
    """
    value = fields.raw(BOX_FIELD, "add it, with null for a step without a click")
    if value is None or value is ABSENT:
        return None
    if value == []:
        fields.remark(BOX_FIELD, "is an empty list", _NO_HIT, value)
    boxes = []
    for index, one in enumerate(value if isinstance(value, list) else [value]):
        name = f"{BOX_FIELD}[{index}]" if isinstance(value, list) else BOX_FIELD
        if not isinstance(one, dict):
            what = "must be null, an object with x, y, width and height, or a list of such"
            fields.report(name, what, _CORRECT_BOX, one)
        elif box := _read_box(fields.nested(one, f"{name}.")):
            boxes.append(NamedBox(field=name, box=box))
    return tuple(boxes)


def _read_box(fields: Fields) -> Box | None:
    x, y = fields.pixels("x", _CORRECT_BOX), fields.pixels("y", _CORRECT_BOX)
    width, height = fields.pixels("width", _CORRECT_BOX), fields.pixels("height", _CORRECT_BOX)
    if x is None or y is None or width is None or height is None:
        return None
    for name, length in (("width", width), ("height", height)):
        if length < 0:
            fields.remark(name, "is below 0", _NO_HIT, length)
        elif length == 0:
            fields.remark(name, "is 0", "it is scored as it stands: only a click on that very line hits it", length)
    return Box(left_px=float(x), top_px=float(y), right_px=float(x + width), bottom_px=float(y + height))


def check_inside(named: NamedBox, size: Size, file: str, item: int | None, oddities: list[Problem]) -> None:
    """See whether the centre of a box lies on its screenshot.

    Boxes are drawn by hand over the picture and may hang over its edge; the official scorer takes them as they are,
    and so do we. Where the centre lies outside, the annotation belongs to another picture or another scale.
    """
    box, center = named.box, named.box.center
    if 0 <= center.x_px <= size.width and 0 <= center.y_px <= size.height:
        return
    edges = f"({box.left_px:g}, {box.top_px:g} to {box.right_px:g}, {box.bottom_px:g})"
    what = f"has its centre outside its screenshot of {size.width} x {size.height} pixels"
    fix = "it is scored as it stands"
    oddities.append(Problem(file=file, item=item, field=named.field, value=edges, what=what, fix=fix))


# --- files --------------------------------------------------------------------------------------------------------

_DOWNLOAD = "download the file again"
_CORRECT = "correct it there, or download the file again"


class _Unusable(Exception):
    def __init__(self, what: str, fix: str, value: str = "") -> None:
        super().__init__(what)
        self.what, self.fix, self.value = what, fix, value


def read_json_list(path: Path, problems: list[Problem]) -> list[object] | None:
    """The items of a UTF-8 JSON file whose top level is a list; None after adding one problem. A byte order mark is
    passed over. NaN and Infinity, which are not JSON, and numbers beyond a double are refused.
    """
    try:
        found = _decoded(_content(path))
        if not isinstance(found, list):
            raise _Unusable("must hold a list, one element per step", "put [ and ] around it", shorten(found))
        if not found:
            raise _Unusable("holds an empty list", _DOWNLOAD)
        return found
    except _Unusable as error:
        problems.append(Problem(file=str(path), value=error.value, what=error.what, fix=error.fix))
        return None


class JsonLine(Record, frozen=True, kw_only=True):
    """The object on a line, and the line's number, counted from 1."""

    number: int
    values: dict[str, Any]


def read_table(path: Path, problems: list[Problem]) -> list[dict[str, Any]]:
    """The rows of a UTF-8 CSV file by the names in its first line; a cell that begins with ``[`` is a list in JSON."""
    try:
        text = _content(path).decode("utf-8")
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
        return [
            {name: _decoded(cell.encode()) if str(cell).startswith("[") else cell for name, cell in row.items()}
            for row in rows
        ]
    except UnicodeDecodeError:
        error = _Unusable("is not UTF-8", "save the file as UTF-8")
    except csv.Error as wrong:
        error = _Unusable(f"is not CSV: {wrong}", _CORRECT)
    except _Unusable as wrong:
        error = wrong
    problems.append(Problem(file=str(path), value=error.value, what=error.what, fix=error.fix))
    return []


def read_json_lines(path: Path, problems: list[Problem]) -> list[JsonLine]:
    """The sound objects of a UTF-8 file of JSON lines; everything wrong is added to ``problems``. Blank lines and a
    byte order mark are passed over.
    """
    lines = []
    try:
        # Only line feeds part the lines: JSON allows the other line separators of Unicode inside its texts.
        content = _content(path).split(b"\n")
    except _Unusable as error:
        problems.append(Problem(file=str(path), what=error.what, fix=error.fix))
        return []
    for number, line in enumerate(content, start=1):
        if not line.strip():
            continue
        try:
            values = _decoded(line)
            if not isinstance(values, dict):
                raise _Unusable("must hold an object, { … }", _CORRECT, shorten(values))
            lines.append(JsonLine(number=number, values=values))
        except _Unusable as error:
            shown = error.value or shorten(line.decode("utf-8", errors="replace").strip())
            problems.append(Problem(file=str(path), line=number, value=shown, what=error.what, fix=error.fix))
    return lines


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise _Unusable(f"cannot be read ({error.strerror})", "see to the file and its permissions") from error
    if not content.strip():
        raise _Unusable("is empty", _DOWNLOAD)
    return content


def _decoded(content: bytes) -> object:
    try:
        return msgspec.json.decode(content)
    except UnicodeDecodeError as error:
        raise _Unusable("is not UTF-8", "save the file as UTF-8") from error
    except msgspec.ValidationError as error:
        raise _Unusable(f"holds a number out of range: {error}", _CORRECT) from error
    except msgspec.DecodeError as error:
        at = re.search(r" \(byte (\d+)\)", str(error))
        before = content[: int(at[1]) if at else len(content)].decode("utf-8", "replace").split("\n")
        place = f"line {len(before)}, column {len(before[-1]) + 1}"
        raise _Unusable(f"is not JSON: {place}: {str(error).partition(' (byte')[0]}", _CORRECT) from error
    except RecursionError as error:
        raise _Unusable("is nested too deeply", _CORRECT) from error
