"""What was paid or worked for, kept for every later run: one small file a key, in a folder that all runs share.

A key is the hash of all that can change the content. A file appears whole or not at all and is never changed
afterwards; one that is damaged counts as absent. Any number of processes may read and write at once. The files may
hold what people said, so they can be read by their owner only.
"""

import contextlib
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from grounding.atomic import atomic_write

Content = TypeVar("Content")

_NAME = re.compile(r"[0-9a-f]{64}\.json")


class Cache:
    """A folder of kept files, by group and key; ``folder`` None keeps nothing.

    Args:
        folder: Where; it is made when something is kept.
        what: What is kept there, for the warning where it can't be written.
        most_bytes: Larger files are none of ours, and not kept.
    """

    def __init__(self, folder: Path | None, what: str, most_bytes: int = 16 << 20) -> None:
        self.folder, self._what, self._most_bytes = folder, what, most_bytes
        self._warned = False

    def path(self, key: str, group: str) -> Path | None:
        """Where the content under a key lies, or would; None where nothing is kept or the key is no hash."""
        if self.folder is None or _NAME.fullmatch(f"{key}.json") is None:
            return None
        return self.folder / _folder_name(group) / key[:2] / f"{key}.json"

    def get(self, key: str, group: str) -> bytes | None:
        """The content under a key; None where there is none, or what lies there is no plain file of ours."""
        path = self.path(key, group)
        if path is None:
            return None
        found = self._content(path)
        # Readings of screens once lay in their group's folder itself.
        return self._content(path.parent.parent / path.name) if found is None else found

    def _content(self, path: Path) -> bytes | None:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as file:
                plain = stat.S_ISREG(os.fstat(handle).st_mode)
                content = file.read(self._most_bytes + 1) if plain else None
        except OSError:
            return None
        return None if content is None or len(content) > self._most_bytes else content

    def read(self, key: str, group: str, kind: type[Content]) -> Content | None:
        """The record under a key; None where there is none that can be read as one."""
        content = self.get(key, group)
        try:
            return None if content is None else msgspec.json.decode(content, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def write(self, key: str, group: str, record: Any) -> None:
        """Keep a record as JSON."""
        self.put(key, group, msgspec.json.encode(record) + b"\n")

    def put(self, key: str, group: str, content: bytes) -> None:
        """Keep a content. A folder that can't be written costs one warning, not the run."""
        path = self.path(key, group)
        if path is None or self.folder is None or len(content) > self._most_bytes:
            return
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            for folder in (self.folder, path.parent.parent, path.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
            atomic_write(path, content, mode=0o600, shared=True, flush=False)
        except OSError as error:
            if not self._warned:
                self._warned = True
                print(
                    f"grounding: {self.folder} can't be written ({error.strerror}): {self._what} of now are not kept "
                    "for later runs",
                    file=sys.stderr,
                    flush=True,
                )


def cached_files(folder: Path, *, before: float | None = None) -> dict[str, tuple[tuple[Path, ...], int]]:
    """The files of each group and their bytes; only our own, and with ``before`` those written earlier than that."""
    found = {}
    for own in _folders(folder):
        files = [each for inner in (own, *_folders(own)) for each in _files(inner, before)]
        if files:
            found[own.name] = tuple(path for path, _ in files), sum(size for _, size in files)
    return found


def _folders(folder: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    return []


def _files(folder: Path, before: float | None) -> Iterator[tuple[Path, int]]:
    for path in sorted(folder.iterdir()):
        with contextlib.suppress(OSError):
            about = path.lstat()
            ours = stat.S_ISREG(about.st_mode) and _NAME.fullmatch(path.name)
            if ours and (before is None or about.st_mtime < before):
                yield path, about.st_size


def _folder_name(group: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", group)[:80].lstrip(".") or "_"
