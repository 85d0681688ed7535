"""An append-only file of what happened to a document, one JSON object a line, each on disk before it counts.

Together with the questions file that it started from (kept beside it as a snapshot), the journal gives every state that
the document ever had: undo reaches back across restarts, and nothing is lost when the program is killed. The last line
may be torn off by that; it was never acknowledged and is dropped.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from annotate.events import Event, decode, encode
from annotate.saving import sync_folder


class Damaged(Exception):
    """A journal whose line ``line`` (from 1) is none of ours. ``events`` are those before it, in ``end`` bytes."""

    def __init__(self, line: int, events: Sequence[Event], end: int) -> None:
        super().__init__(line)
        self.line = line
        self.events = tuple(events)
        self.end = end


def read_journal(path: Path) -> tuple[list[Event], int]:
    """The events of a journal, and the length in bytes of the lines that hold them.

    Raises:
        OSError: it can't be read; ``FileNotFoundError`` where there is none.
        Damaged: a line before the last one is no event.
    """
    events: list[Event] = []
    end = 0
    content = path.read_bytes()
    lines = content.split(b"\n")
    # What stands behind the last line end was torn off by a crash, or is empty.
    for number, line in enumerate(lines[:-1], start=1):
        try:
            events.append(decode(line))
        except (ValueError, msgspec.MsgspecError, RecursionError) as error:
            if number == len(lines) - 1:
                break
            raise Damaged(number, events, end) from error
        end += len(line) + 1
    return events, end


class Journal:
    """A journal open for appending, from ``end`` on: what stands behind that was torn off by a crash.

    The file is held open from the beginning, so that its content can be written again where somebody takes its name
    away (a clean-up of files that no version control knows).
    """

    def __init__(self, path: Path, *, end: int = 0) -> None:
        self.path = path
        self._end = end
        self._file: int | None = None
        self._cut = False
        self._waiting: list[bytes] = []
        if end:
            # Where it can't be opened, the first event says why.
            with contextlib.suppress(OSError):
                self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)

    @property
    def gone(self) -> bool:
        """Whether the file was there and isn't any more."""
        if self._file is None:
            return False
        try:
            return not os.path.samestat(os.stat(self.path), os.fstat(self._file))  # noqa: PTH116 - beside fstat
        except FileNotFoundError:
            return True

    def put_off(self, event: Event) -> None:
        """Have an event written by the next ``write``."""
        self._waiting.append(encode(event))

    def write(self, *, sync: bool = True) -> None:
        """Write the events that wait, and with ``sync`` see them on disk before returning.

        Raises:
            OSError: the disk is full or failing. The events wait on; what was half written is taken back.
        """
        if not self._waiting:
            return
        file = self._ready()
        try:
            content = b"".join(self._waiting)
            _write_all(file, content, self._end)
            if sync:
                os.fsync(file)
        except OSError:
            # If not even that is possible, the next call writes over it, and a reader drops a torn line.
            with contextlib.suppress(OSError):
                os.ftruncate(file, self._end)
            raise
        self._end += len(content)
        self._waiting.clear()

    def _ready(self) -> int:
        if self._file is not None and self._cut and not self.gone:
            return self._file
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if self._file is not None and not os.path.samestat(os.fstat(file), os.fstat(self._file)):
                _write_all(file, os.pread(self._file, self._end, 0), 0)
            if os.fstat(file).st_size < self._end:
                raise OSError(errno.ENOENT, "what was in it is gone", str(self.path))
            os.ftruncate(file, self._end)
            sync_folder(self.path.parent)
        except OSError:
            os.close(file)
            raise
        self.close()
        self._file, self._cut = file, True
        return file

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _write_all(file: int, content: bytes, offset: int) -> None:
    written = 0
    while written < len(content):
        written += os.pwrite(file, content[written:], offset + written)
