"""One annotation program at a time in a folder: a lock that dies with the process that holds it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from grounding.errors import UserError
from grounding.records import Record

NAME = "lock"
_HELD_BY_OTHERS = {errno.EACCES, errno.EAGAIN}

_held: set[Path] = set()
"""The lock files that this process holds: the operating system lets one process take a lock twice."""


class Holder(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Who holds a lock, for the message to others. ``since`` is UTC."""

    pid: int
    host: str
    annotator: str
    since: str


class FolderLock:
    """The lock of one side folder.

    It is a record lock of the operating system (``fcntl``), not the file's existence: when the process dies, however it
    does, the lock is free, and the file it left is taken over. Processes started from this one don't inherit it.
    """

    def __init__(self, side_folder: Path) -> None:
        self._path = side_folder.resolve() / NAME
        self._file: int | None = None

    def take(self, *, annotator: str = "") -> None:
        """Keep other programs out.

        Raises:
            UserError: another program is at work there; the message says which.
            OSError: the lock can't be made: the folder is not writable, the disk is full, the file system has no locks.
        """
        if self._path in _held:
            raise UserError(f"{self._path.parent.parent} is open in this program already: close it there first")
        while self._file is None:
            self._file = self._try(annotator)
        _held.add(self._path)

    def _try(self, annotator: str) -> int | None:
        """The locked file; None where its last holder took its name away in between."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        with contextlib.ExitStack() as undone:
            undone.callback(os.close, file)
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in _HELD_BY_OTHERS:
                    raise
                raise UserError(self._refusal(file)) from error
            if not self._is_named(file):
                return None
            since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            holder = Holder(pid=os.getpid(), host=socket.gethostname(), annotator=annotator, since=since)
            os.ftruncate(file, 0)
            os.pwrite(file, msgspec.json.encode(holder) + b"\n", 0)
            undone.pop_all()
        return file

    def _is_named(self, file: int) -> bool:
        try:
            there = os.stat(self._path)  # noqa: PTH116 - beside fstat
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(file))

    def _refusal(self, file: int) -> str:
        folder = self._path.parent.parent
        try:
            holder = msgspec.json.decode(os.pread(file, 4096, 0), type=Holder)
        except (OSError, msgspec.DecodeError):
            return f"{folder} is open in another annotation program: close it there first"
        by = f" by {holder.annotator}" if holder.annotator else ""
        return (
            f"{folder} is open in another annotation program (process {holder.pid} on {holder.host}, opened{by} "
            f"{holder.since}): close it there first"
        )

    def release(self) -> None:
        """Let other programs in; the file goes, too. May be called twice."""
        if self._file is None:
            return
        if self._is_named(self._file):
            with contextlib.suppress(OSError):
                # While it is still ours: who waits with the file open sees that its name is gone, and makes a new one.
                self._path.unlink(missing_ok=True)
        os.close(self._file)
        self._file = None
        _held.discard(self._path)
