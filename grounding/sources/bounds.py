"""How large what comes out of an archive may be, and whether it fits on the disk."""

from __future__ import annotations

import shutil
from pathlib import Path

from grounding.errors import UserError
from grounding.sources.working import size_text

HARMLESS_BYTES = 1 << 30
"""What any archive may hold, however small it is packed."""

MOST_RATIO = 200
"""How many times its own length a larger one may hold: text packs tenfold, deflate's most is 1032, a bomb's use."""

_SPARE_BYTES = 64 << 20


def check_size(shown: str, unpacked_bytes: int, packed_bytes: int) -> None:
    """Refuse an archive that holds more than data of its length does.

    Raises:
        UserError: it does.
    """
    if unpacked_bytes > max(HARMLESS_BYTES, MOST_RATIO * packed_bytes):
        raise UserError(
            f"{shown}: not unpacked: {size_text(packed_bytes)} hold {size_text(unpacked_bytes)} or more, over "
            f"{MOST_RATIO} times as much, as archives do that are made to fill a disk. If you trust it, unpack it "
            "yourself and give the folder"
        )


def check_room(folder: Path, needed_bytes: int, shown: str) -> None:
    """See that what comes fits on the disk.

    Raises:
        UserError: it doesn't.
    """
    free = shutil.disk_usage(folder).free
    if needed_bytes + _SPARE_BYTES > free:
        raise UserError(
            f"{shown}: {size_text(needed_bytes)} are to come and {folder} has room for {size_text(free)}: make room "
            "(`grounding cache` shows what is kept), or set XDG_CACHE_HOME to a folder on another disk"
        )
