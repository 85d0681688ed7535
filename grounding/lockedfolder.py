"""A folder that one process at a time writes in, and whose files are replaced whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from grounding.errors import UserError
from grounding.records import Record

RecordT = TypeVar("RecordT", bound=Record)
StructT = TypeVar("StructT", bound=msgspec.Struct)

_BUFFER = 1 << 20  # bytes read or written at a time


class LockedFolder:
    """The folder of one run, whatever is in it.

    Args:
        path: Where it is.
        what: What the user knows it as.
        flag: The option that chooses another.
    """

    def __init__(self, path: Path, *, what: str = "the run folder", flag: str = "--log-dir") -> None:
        self.path = path
        self._what, self._flag = what, flag
        self._lock: int | None = None

    def create(self) -> None:
        """Make the folder and keep other processes out of it.

        Raises:
            UserError: it can't be made, or another process is writing to it.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{self._what} {self.path} can't be made: {error.strerror} (see {self._flag})") from error
        self.lock()

    def lock(self) -> None:
        """Keep other processes out of the folder until ``release``.

        Raises:
            UserError: another process is writing to it.
        """
        try:
            self._lock = os.open(self.path, os.O_RDONLY)
        except OSError as error:
            raise UserError(f"{self._what} {self.path} can't be opened: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise UserError(
                f"another process is at work on {self.path}: wait for it, or use another {self._flag}"
            ) from error

    def release(self) -> None:
        """Let other processes in again."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def set_aside(self) -> Path | None:
        """Rename the folder, if there is one, so that a run starts afresh and nothing paid for is lost.

        Raises:
            UserError: another process is writing to it, or it can't be renamed.
        """
        if not self.path.exists():
            return None
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.old{number}")).exists():
            number += 1
        self.lock()
        try:
            self.path.rename(aside)
        except OSError as error:
            raise UserError(f"{self._what} {self.path} can't be set aside: {error.strerror}") from error
        finally:
            self.release()
        return aside

    def read_lines(self, name: str, record_type: type[RecordT], *, what: str) -> tuple[RecordT, ...]:
        """The records of a file of JSON lines that was replaced as a whole. ``what`` a line is, for the message.

        Raises:
            UserError: the file is missing or damaged.
        """
        return tuple(self.stream_lines(name, record_type, what=what))

    def stream_lines(self, name: str, record_type: type[StructT], *, what: str) -> Iterator[StructT]:
        """The same, one after the other.

        Raises:
            UserError: the file is missing or damaged.
        """
        path, decode = self.path / name, msgspec.json.Decoder(record_type).decode
        try:
            lines = path.open("rb", buffering=_BUFFER)
        except OSError as error:
            raise UserError(f"{path}: can't be read: {error.strerror}") from error
        number = 0
        with lines:
            for line in lines:
                number += 1
                try:
                    record = decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                    raise UserError(f"{path}, line {number}: not {what}: {error}") from error
                yield record

    def replace(self, name: str, content: bytes) -> None:
        """Write a file beside the old one and put it in its place in one step; it ends with a line end.

        Raises:
            UserError: it can't be written.
        """
        self.replace_pieces(name, (content, b"" if content.endswith(b"\n") or not content else b"\n"))

    def replace_pieces(self, name: str, pieces: Iterable[bytes]) -> None:
        """The same with a content that is made piece by piece.

        Raises:
            UserError: it can't be written.
        """
        temporary = self.path / f".{name}.new"
        try:
            with temporary.open("wb", buffering=_BUFFER) as file:
                file.writelines(pieces)
            temporary.replace(self.path / name)
        except OSError as error:
            raise UserError(
                f"{self.path / name}: can't be written: {error.strerror}. What was answered is kept; make room and run "
                "the same command again."
            ) from error
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)

    def replace_lines(self, name: str, records: Iterable[Record]) -> None:
        """The same with records, one JSON object a line.

        Raises:
            UserError: it can't be written.
        """
        encode = msgspec.json.Encoder().encode
        self.replace_pieces(name, (encode(record) + b"\n" for record in records))
