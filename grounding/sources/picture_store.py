"""Pictures by the hash of their bytes, in a folder that every process of a machine shares and that stays bounded."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
import threading
import time
from pathlib import Path

_SAFE_S = 3600.0
_KEEP = 0.9
_HASH = re.compile(r"[0-9a-f]{64}")
_ENDING = re.compile(r"\.[A-Za-z0-9]{1,8}")


class PictureStore:
    """Keeps pictures.

    Args:
        folder: Where; made when the first one comes.
        most_bytes: When it holds more, what was not used for longest is deleted, but for the last hour's.
    """

    def __init__(self, folder: Path, *, most_bytes: int) -> None:
        self._folder, self._most = folder, most_bytes
        self._since_look = most_bytes  # Nobody has looked yet.
        self._lock = threading.Lock()

    def get(self, sha256: str) -> Path | None:
        """A picture that is kept, whole; its time of use is noted."""
        if _HASH.fullmatch(sha256) is None:
            return None
        for path in sorted((self._folder / sha256[:2]).glob(f"{sha256}*")):
            with contextlib.suppress(OSError), path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() == sha256:
                    os.utime(path)
                    return path
        return None

    def put(self, sha256: str, content: bytes, ending: str = "") -> Path:
        """Keep a picture; it appears whole or not at all.

        Args:
            sha256: Of the content.
            content: Its bytes.
            ending: That of its name, such as ``.png``; another text is left out.

        Raises:
            ValueError: the hash is another one.
            OSError: the folder can't be written.
        """
        if hashlib.sha256(content).hexdigest() != sha256:
            raise ValueError(f"the bytes have another hash than {sha256}")
        target = self._folder / sha256[:2] / f"{sha256}{ending if _ENDING.fullmatch(ending) else ''}"
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(temporary).replace(target)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
        with self._lock:
            self._since_look += len(content)
            if self._since_look > self._most / 50:
                self._since_look = 0
                self._prune()
        return target

    def _prune(self) -> None:
        files = []
        for path in self._folder.glob("*/*"):
            with contextlib.suppress(OSError):
                status = path.stat()
                files.append((status.st_mtime, status.st_size, path))
        total, recent = sum(size for _, size, _ in files), time.time() - _SAFE_S
        if total <= self._most:
            return
        for used, size, path in sorted(files):
            if total <= self._most * _KEEP or used > recent:
                return
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size


def stored_pictures(folder: Path, before: float | None = None) -> tuple[Path, ...]:
    """The files of a store.

    Args:
        folder: The store's.
        before: Only what was last used before then, in seconds since 1970.
    """
    found = []
    for path in sorted(folder.glob("*/*")):
        with contextlib.suppress(OSError):
            if before is None or path.stat().st_mtime < before:
                found.append(path)
    return tuple(found)
