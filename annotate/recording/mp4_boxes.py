"""The outermost boxes of an MP4 or MOV file (ISO/IEC 14496-12, 4.2): enough to see that a file was cut off."""

from __future__ import annotations

import struct
from pathlib import Path

from grounding.records import Record

MOST_BOXES = 1_000_000


class Mp4Layout(Record, frozen=True, kw_only=True, omit_defaults=False):
    """``has_index``: there is a ``moov`` box, without which nothing can be decoded. ``cut_off``: the last box is longer
    than what is left of the file.
    """

    has_index: bool
    cut_off: bool


def mp4_layout(path: Path) -> Mp4Layout | None:
    """Read the sizes of the outermost boxes; None for a file that does not begin as an MP4 does."""
    length = path.stat().st_size
    has_index = False
    at = 0
    with path.open("rb") as file:
        for number in range(MOST_BOXES):
            file.seek(at)
            head = file.read(16)
            if len(head) < 8:
                return None if number == 0 else Mp4Layout(has_index=has_index, cut_off=at != length)
            size, kind = struct.unpack(">I4s", head[:8])
            if number == 0 and kind != b"ftyp":
                return None
            if size == 1 and len(head) == 16:
                size = struct.unpack(">Q", head[8:])[0]
            elif size == 0:
                # To the end of the file, whatever that is.
                size = length - at
            if size < 8:
                return Mp4Layout(has_index=has_index, cut_off=True)
            whole = at + size <= length
            has_index = has_index or (kind == b"moov" and whole)
            if not whole:
                return Mp4Layout(has_index=has_index, cut_off=True)
            at += size
            if at == length:
                return Mp4Layout(has_index=has_index, cut_off=False)
    return Mp4Layout(has_index=has_index, cut_off=False)
