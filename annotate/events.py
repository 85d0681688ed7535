"""What can happen to a document, as the lines of its journal have it."""

from __future__ import annotations

import json
from typing import Literal

import msgspec

from annotate.records import Entry
from grounding.records import Record

VERSION = 1


class Started(Record, frozen=True, kw_only=True, tag="started"):
    """The first line. ``snapshot`` is the SHA-256 of the bytes it started from, ``exists`` whether they were a file."""

    snapshot: str
    exists: bool
    version: int = VERSION


class Changed(Record, frozen=True, kw_only=True, tag="change"):
    """A step got a new value. Steps have numbers that stay theirs wherever they stand."""

    step: int
    entry: Entry
    what: str
    joined: bool = False


class Undone(Record, frozen=True, kw_only=True, tag="undo"):
    """A step's last change was taken back."""

    step: int


class Redone(Record, frozen=True, kw_only=True, tag="redo"):
    """A step's change that was taken back was made again."""

    step: int


class Inserted(Record, frozen=True, kw_only=True, tag="insert"):
    """A new step with the number ``step`` stands at the position ``at``."""

    step: int
    at: int
    entry: Entry


class Removed(Record, frozen=True, kw_only=True, tag="remove"):
    """A step stands nowhere any more."""

    step: int


class OrderUndone(Record, frozen=True, kw_only=True, tag="undo-order"):
    """The last insertion or removal was taken back."""


class OrderRedone(Record, frozen=True, kw_only=True, tag="redo-order"):
    """The insertion or removal that was taken back was made again."""


Fate = Literal["same", "changed", "new"]
"""What an item of a file that is read again is to a step: the same value, a changed one, or a step of its own."""


class Taken(Record, frozen=True, kw_only=True):
    """Which step an item of a file that was read again belongs to."""

    step: int
    fate: Fate


class Reloaded(Record, frozen=True, kw_only=True, tag="reload"):
    """The file on disk, changed by somebody else, was taken; ``items`` has one element for each of its items."""

    snapshot: str
    items: tuple[Taken, ...]


class Saving(Record, frozen=True, kw_only=True, tag="saving"):
    """The state at this point is about to become the file with this SHA-256."""

    sha256: str


class Saved(Record, frozen=True, kw_only=True, tag="saved"):
    """The file with this SHA-256 is on disk."""

    sha256: str


Event = Started | Changed | Undone | Redone | Inserted | Removed | OrderUndone | OrderRedone | Reloaded | Saving | Saved
CHANGES = (Changed, Undone, Redone, Inserted, Removed, OrderUndone, OrderRedone)


_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def decode(line: bytes) -> Event:
    """The event of a line.

    Raises:
        ValueError, msgspec.MsgspecError, RecursionError: it is none.
    """
    try:
        return _DECODER.decode(line)
    except msgspec.DecodeError:
        # msgspec refuses half of a UTF-16 pair, which a questions file may hold; the standard library takes it.
        return msgspec.convert(json.loads(line), Event)  # type: ignore[no-any-return]


def encode(event: Event) -> bytes:
    """The line of an event, with its end."""
    try:
        return msgspec.json.encode(event) + b"\n"
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(event)).encode("ascii") + b"\n"
