"""What the annotation program speaks of: boxes in whole pixels, and the steps that they belong to.

A pixel is one of the picture as it is shown upright (its EXIF rotation applied), origin at the top left. A box covers
``x_px`` to ``x_px + width_px``: its right and bottom edges are the ones that the release layout's ``width`` and
``height`` give. Nothing here knows of files or windows.
"""

from __future__ import annotations

from typing import Literal

from grounding.records import Record

State = Literal["todo", "boxes", "no-click"]
"""``todo``: nobody has looked yet. ``boxes``: where a click is right. ``no-click``: the step is not a click, or its
target is not on the screen (``null`` in the release layout)."""

BoxKind = Literal["", "text", "icon"]
"""What the target is; empty where nobody said."""


class MarkedBox(Record, frozen=True, kw_only=True):
    """A rectangle somebody drew. Whole pixels, except in files that came with fractions and were not touched since.

    ``source`` is the place of the box in the file's list when it was read, so that fields which this program does not
    know stay with it; None for a box that was drawn here.
    """

    x_px: float
    y_px: float
    width_px: float
    height_px: float
    kind: BoxKind = ""
    source: int | None = None


class Entry(Record, frozen=True, kw_only=True):
    """One step as the annotator sees it: a screenshot, the words, where a click is right.

    ``image`` is the picture's path as the file has it, relative to the folder. ``transcript`` is what a recogniser
    heard, where there is one; ``instruction`` is what counts. ``at`` is when the entry was last changed, as UTC time
    such as 2026-01-31T09:00:00Z. ``boxes`` are empty unless ``state`` is ``boxes``.
    """

    image: str
    state: State = "todo"
    boxes: tuple[MarkedBox, ...] = ()
    instruction: str = ""
    transcript: str = ""
    task: str | int = ""
    action: str = ""
    comment: str = ""
    verified: bool = False
    annotator: str = ""
    at: str = ""


class Issue(Record, frozen=True, kw_only=True):
    """Something odd about a step that keeps nobody from working: ``index`` is the step's, from 0.

    ``field`` is the path inside the step (``bounding_box[0].width``), ``what`` a sentence's end: ``is missing``.
    """

    index: int
    what: str
    field: str = ""
