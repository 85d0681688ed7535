"""What every format is read into and written from: steps with their boxes, and where in which file they stand."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from annotate.native_item import Item as NativeItem
from annotate.records import Entry
from grounding.loaders.problems import Problem
from grounding.records import Record, Size

FormatName = Literal["native", "coco", "yolo", "voc", "labelme", "csv"]

FORMAT_NAMES: tuple[FormatName, ...] = ("native", "coco", "yolo", "voc", "labelme", "csv")

VocEdges = Literal["labelimg", "devkit"]
"""What the four numbers of a Pascal VOC box mean; see :mod:`annotate.formats.voc`."""


class Place(Record, frozen=True, kw_only=True):
    """Where something stands, as :class:`grounding.loaders.problems.Problem` has it.

    ``item`` counts from 0, ``line`` from 1; ``field`` is the path inside the item.
    """

    file: str
    item: int | None = None
    line: int | None = None
    field: str = ""

    def problem(self, what: str, fix: str, *, field: str = "", value: str = "") -> Problem:
        """A problem at this place; ``field`` is put behind the place's own."""
        path = ".".join(part for part in (self.field, field) if part)
        return Problem(file=self.file, item=self.item, line=self.line, field=path, value=value, what=what, fix=fix)


class Item(Record, frozen=True, kw_only=True):
    """One step as it was read.

    ``entry.image`` is the picture's path inside the sheet. ``picture`` is the file it names, None where it cannot name
    one; ``size`` is that picture's true size, upright, None where the file cannot be read, and ``sha256`` the hash of
    its bytes in hex. ``stated`` is the size that the label file gives. ``boxes_at`` has the place of each box of the
    entry. ``damaged`` marks a step of which something could not be read: a problem says what, and its boxes are not to
    be trusted. ``native`` is the step's text where it comes from the native layout, so that fields which this program
    does not know go with it.
    """

    entry: Entry
    place: Place
    picture: Path | None = None
    size: Size | None = None
    sha256: str = ""
    stated: Size | None = None
    boxes_at: tuple[Place, ...] = ()
    damaged: bool = False
    native: NativeItem | None = None


class Sheet(Record, frozen=True, kw_only=True):
    """The steps of one folder, in order: a participant's in the native layout.

    ``name`` is the folder's name, "" where the labels know of no folders. ``folder`` is where it lies.
    """

    name: str
    folder: Path
    items: tuple[Item, ...]


LossHow = Literal["lost", "changed", "own field"]
"""``lost``: it is not in the new files. ``changed``: it is there in another form. ``own field``: it is there in fields
that this program reads back and others pass over."""


class Loss(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One kind of thing that a conversion does not carry over as it is, and how many there are of it."""

    what: str
    how: LossHow
    count: int
    note: str


FindingKind = Literal[
    "field",
    "missing-image",
    "broken-image",
    "size-mismatch",
    "zero-area",
    "outside",
    "over-edge",
    "fraction",
    "duplicate-box",
    "duplicate-image",
    "todo",
    "empty-instruction",
    "orphan-image",
    "orphan-label",
]
"""Kinds of problems. ``field``: a label file says something that cannot be read, or that the loader would refuse."""


class Finding(Record, frozen=True, kw_only=True):
    """A problem, and its kind."""

    kind: FindingKind
    problem: Problem


class Reading(Record, frozen=True, kw_only=True):
    """All that was read of a source, and all that kept parts of it from being read.

    ``losses`` is what the files hold and the annotation program has no place for.
    """

    format: FormatName
    root: Path
    sheets: tuple[Sheet, ...]
    findings: tuple[Finding, ...]
    losses: tuple[Loss, ...]
