"""What a format's reader works with: where the files lie, the pictures, and lists for what it finds wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from annotate.formats.losses import Tally
from annotate.formats.paths import Finder
from annotate.formats.pictures import Pictures
from annotate.formats.records import Finding, Item, Place, VocEdges
from annotate.native_item import Item as NativeItem
from annotate.records import Entry, MarkedBox
from grounding.errors import UserError
from grounding.loaders.images import ImageFault
from grounding.loaders.problems import Problem, shorten
from grounding.records import Size

MAX_JSON_BYTES = 1_000_000_000


class Source:
    """One folder of label files that is being read.

    Attributes:
        root: The folder that was opened; no picture outside it is looked at.
        file: The label file, where one was given instead of a folder.
        pictures: Looks at pictures.
        problems: What is wrong with the label files, in the order in which it was found.
        findings: What else is wrong, by kind.
        losses: What the files hold and the program has no place for.
        voc_edges: How to take the numbers of Pascal VOC files; None for what each file says itself.
    """

    def __init__(
        self, root: Path, *, file: Path | None = None, deep: bool = False, voc_edges: VocEdges | None = None
    ) -> None:
        self.root = root
        self.file = file
        self.pictures = Pictures(deep=deep)
        self.problems: list[Problem] = []
        self.findings: list[Finding] = []
        self.losses = Tally()
        self.voc_edges = voc_edges
        self._finder = Finder(root)

    def find(self, written: str, folders: Sequence[Path], place: Place, field: str) -> Path | None:
        """The file that a label file names; None after a problem. It may be missing."""
        found = self._finder.find(written, folders)
        if isinstance(found, ImageFault):
            self.problems.append(place.problem(found.what, found.fix, field=field, value=shorten(written)))
            return None
        return found

    def item(
        self,
        entry: Entry,
        boxes: Sequence[tuple[MarkedBox, Place]],
        place: Place,
        picture: Path | None,
        *,
        stated: Size | None = None,
        damaged: bool = False,
        native: NativeItem | None = None,
    ) -> Item:
        """The item of a step. Boxes make the state ``boxes``; the picture is looked at later, with the others."""
        if boxes:
            entry = msgspec.structs.replace(entry, state="boxes", boxes=tuple(box for box, _ in boxes))
        return Item(
            entry=entry,
            place=place,
            picture=picture,
            stated=stated,
            boxes_at=tuple(at for _, at in boxes),
            damaged=damaged or picture is None,
            native=native,
        )


def read_json(path: Path) -> Any:
    """The decoded content of a JSON file; NaN, Infinity and numbers beyond a double are refused.

    Raises:
        UserError: the file can't be read or is not JSON; the message has no path in it.
    """
    try:
        if path.stat().st_size > MAX_JSON_BYTES:
            raise UserError(f"is larger than {MAX_JSON_BYTES:,} bytes")
        content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
        return msgspec.json.decode(content)
    except OSError as error:
        raise UserError(f"cannot be read ({error.strerror})") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"is not JSON: {error}") from error
    except RecursionError as error:
        raise UserError("is nested too deeply") from error


def json_text(value: object) -> str:
    """A value as readable JSON, fields in the order in which they were put in."""
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def stated_size(width: object, height: object) -> Size | None:
    """The size that a label file gives, None where it gives none that a picture can have."""
    sides = [int(side) for side in (width, height) if isinstance(side, int | float) and not isinstance(side, bool)]
    return Size(width=sides[0], height=sides[1]) if len(sides) == 2 and min(sides) > 0 else None
