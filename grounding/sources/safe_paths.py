"""Names in listings and archives become paths inside one folder, or are refused."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

MOST_NAME_BYTES = 255
"""The longest name of a file that Linux's usual file systems take."""

MOST_PATH_BYTES = 3000
"""Less than Linux's PATH_MAX of 4096, which has to hold the cache folder as well."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DRIVE = re.compile(r"[A-Za-z]:")


class UnsafePath(ValueError):
    """A name that is no path inside a folder; says why."""


def safe_path(written: str) -> str:
    """The path with ``/`` that a name stands for, relative to the folder that everything goes into.

    ``./`` is left out, as tar writes it. Nothing else is mended: a name that is absolute, climbs, or holds what no name
    should is refused.

    Raises:
        UnsafePath: it is no path inside the folder.
    """
    if not written:
        raise UnsafePath("a file without a name")
    if _CONTROL.search(written) or "\\" in written:
        raise UnsafePath(f"{written!r} holds a backslash or a control character")
    try:
        size = len(written.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise UnsafePath(f"{written!r} is no text") from error
    parts = [part for part in written.split("/") if part != "."]
    if written.startswith("/") or _DRIVE.match(written):
        raise UnsafePath(f"{written!r} is an absolute path")
    if ".." in parts:
        raise UnsafePath(f"{written!r} leads out of its folder")
    if not parts or "" in parts:
        raise UnsafePath(f"{written!r} has a folder without a name")
    if size > MOST_PATH_BYTES or any(len(part.encode("utf-8")) > MOST_NAME_BYTES for part in parts):
        raise UnsafePath(f"{written[:60]!r}… is too long for a file's name")
    return "/".join(parts)


def check_together(paths: Iterable[str]) -> None:
    """See that all of these files can lie in one folder.

    Raises:
        UnsafePath: two have the same path, or one's path is another's folder.
    """
    files: set[str] = set()
    folders: set[str] = set()
    for path in paths:
        if path in files:
            raise UnsafePath(f"{path!r} is there twice")
        files.add(path)
        above = PurePosixPath(path).parent
        while above.name and (text := str(above)) not in folders:
            folders.add(text)
            above = above.parent
    both = sorted(files & folders)
    if both:
        raise UnsafePath(f"{both[0]!r} is a file and a folder at once")
