"""Bytes of one remote file: all of them into a file here, or any range of them as a file of its own."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grounding.sources.listing import RemoteFile
from grounding.sources.opening import Opened, is_transient

CHUNK_BYTES = 16 << 20
"""What one request asks for, of larger files; a transfer that breaks off goes on behind the last whole chunk."""

WINDOW_BYTES = 8 << 20
_TRIES = 4


class NoRanges(Exception):
    """The server doesn't send parts of this file."""


class WrongSize(OSError):
    """What came is not as long as the server said."""


def fetch_file(opened: Opened, remote: RemoteFile, part: Path, moved: Callable[[int], None]) -> None:
    """Read a remote file into ``part``; goes on where an earlier call stopped, if the file is large.

    Args:
        opened: The file system.
        remote: The file.
        part: Where the bytes go. Its name has to hang on ``remote.mark``, or old and new bytes would mix.
        moved: Told how many bytes have come.

    Raises:
        WrongSize: the file's length is not what was said.
        Exception: whatever the file system raises; connections that break are tried again first.
    """
    size = remote.size_bytes
    if size is not None and size <= CHUNK_BYTES:
        content = trying(lambda: opened.fs.cat_file(remote.at))
        part.write_bytes(content)
        moved(len(content))
    elif size is None or not _in_chunks(opened, remote, size, part, moved):
        trying(lambda: opened.fs.get_file(remote.at, str(part)))
        moved(part.stat().st_size)
    found = part.stat().st_size
    if size is not None and found != size:
        part.unlink()
        raise WrongSize(f"{remote.path} has {found:,} bytes and the server said {size:,}")


def _in_chunks(opened: Opened, remote: RemoteFile, size: int, part: Path, moved: Callable[[int], None]) -> bool:
    """Append range after range; False where the server has none."""
    read = Ranges(opened, remote.at, size)
    try:
        with part.open("ab") as file:
            start = min(file.tell(), size)
            moved(start)
            while start < size:
                content = read(start, min(size, start + CHUNK_BYTES))
                file.write(content)
                file.flush()
                start += len(content)
                moved(len(content))
    except NoRanges:
        part.unlink(missing_ok=True)
        return False
    return True


class Ranges:
    """Reads ranges of a remote file; may be called by several threads at once.

    Args:
        opened: The file system.
        at: The file.
        size: Its length.
    """

    def __init__(self, opened: Opened, at: str, size: int) -> None:
        self._opened, self._at, self._size = opened, at, size

    def __call__(self, start: int, end: int) -> bytes:
        """The bytes from ``start`` to before ``end``.

        Raises:
            NoRanges: the server sends the whole file or nothing.
        """
        if start >= end:
            return b""
        try:
            content: bytes = trying(lambda: self._read(start, end))
        except (ValueError, io.UnsupportedOperation, NotImplementedError) as error:
            raise NoRanges(str(error)) from error
        if len(content) != end - start:
            raise NoRanges(f"asked for {end - start:,} bytes of {self._at}, {len(content):,} came")
        return content

    def _read(self, start: int, end: int) -> bytes:
        content: bytes
        fs = self._opened.fs
        if not self._opened.is_http and self._opened.is_async:
            content = fs.cat_file(self._at, start=start, end=end)
            return content
        # Over http a file that keeps nothing notices an answer that is the whole file before it is in memory.
        given: dict[str, Any] = {"cache_type": "none", "size": self._size} if self._opened.is_http else {}
        with fs.open(self._at, "rb", **given) as file:
            file.seek(start)
            content = file.read(end - start)
            return content


def trying(call: Callable[[], Any]) -> Any:
    """Call, and again where a connection broke or the server was overloaded."""
    from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

    retrying = Retrying(
        retry=retry_if_exception(is_transient),
        stop=stop_after_attempt(_TRIES),
        wait=wait_random_exponential(multiplier=0.5, max=5),
        reraise=True,
    )
    return retrying(call)


class RangedFile(io.RawIOBase):
    """A remote file that can be read anywhere, in few requests: each reads a window and what follows comes from there.

    Args:
        read: Reads a range.
        size: The file's length.
        until: Where the last window ends, for who knows that nothing behind is wanted.
        moved: Told how many bytes were read.
    """

    def __init__(
        self,
        read: Callable[[int, int], bytes],
        size: int,
        *,
        until: int | None = None,
        moved: Callable[[int], None] = lambda _: None,
    ) -> None:
        super().__init__()
        self._range, self._size, self._until, self._moved = read, size, until or size, moved
        self._at = self._start = 0
        self._window = b""

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place; nothing is asked for."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int | None = -1, /) -> bytes:
        """The next bytes, as many as asked for but at the file's end."""
        end = self._size if size is None or size < 0 else min(self._size, self._at + size)
        if end <= self._at:
            return b""
        if not (self._start <= self._at and end <= self._start + len(self._window)):
            last = max(end, min(self._at + WINDOW_BYTES, self._until))
            first = self._at
            if last == self._size and last - first < (64 << 10):
                first = max(0, last - (1 << 20))  # A zip's directory is at its end, and read from there backwards.
            self._window, self._start = self._range(first, last), first
            self._moved(last - first)
        content = self._window[self._at - self._start : end - self._start]
        self._at = end
        return content
