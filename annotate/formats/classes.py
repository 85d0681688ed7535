"""Class names: other formats call each box something; this program knows ``text``, ``icon`` and boxes of no kind."""

from __future__ import annotations

from annotate.formats.losses import Tally
from annotate.records import BoxKind

UNNAMED = "target"
CLASSES: tuple[str, ...] = (UNNAMED, "text", "icon")
"""The classes that are written, in this order: YOLO counts them from 0, COCO from 1."""

_SHOWN_CHARS = 40


def class_of(kind: BoxKind) -> str:
    """The class that a box is written as."""
    return kind or UNNAMED


def kind_of(name: str, losses: Tally) -> BoxKind:
    """The kind that a class stands for; a name that is none of ours is counted as lost."""
    match name.strip().casefold():
        case "text":
            return "text"
        case "icon":
            return "icon"
        case unnamed if unnamed == UNNAMED:
            return ""
    shown = "".join(letter if letter.isprintable() else "?" for letter in name)[:_SHOWN_CHARS]
    losses.add(f"class {shown}", "lost", "a box has no other kinds here than text and icon")
    return ""
