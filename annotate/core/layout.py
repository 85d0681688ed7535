"""The one writer of what this program changes: JSON lists in a stable layout, and the reading of them.

Steps are written with an indent of one blank, transcripts with an item a line.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from grounding.errors import UserError


def write_list(items: Sequence[object], *, lines: bool = False) -> bytes:
    """The bytes of a file with these items: with ``lines`` an item a line, else an indent of one blank throughout."""
    if lines:
        rows = (json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in items)
        text = "[\n " + ",\n ".join(rows) + "\n]\n"
    else:
        text = json.dumps(items, ensure_ascii=False, indent=1) + "\n"
    # Half of a pair of UTF-16 is no character: it can be written as an escape only, which this is in JSON, too.
    return text.encode("utf-8", "backslashreplace")


def read_list(content: bytes, path: Path, *, lines: bool = False) -> tuple[list[object], bool]:
    """The items of a JSON list, and whether it is set out otherwise, so that saving reformats it.

    NaN and Infinity are let be where nobody changes them. Raises UserError: not UTF-8, no JSON, or no list.
    """
    try:
        items = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: is not JSON in UTF-8: {error}. Correct the file there, or delete it") from error
    if not isinstance(items, list):
        raise UserError(f"{path}: must hold a JSON list, one element per step; it begins with {content[:20]!r}")
    return items, write_list(items, lines=lines).rstrip() != content.rstrip()
