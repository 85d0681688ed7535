"""A file that is replaced whole or not at all, and why it could not be."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
from pathlib import Path

from grounding.errors import UserError

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS, errno.EXDEV, errno.EACCES}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM}


class ChangedOnDisk(UserError):
    """Somebody else changed the file since it was read or saved here; nothing was written."""


class SaveFailed(UserError):
    """The file could not be written; it is as it was. The message is a sentence for the user."""


def replace_file(path: Path, content: bytes, *, previous: Path | None = None) -> None:
    """Put ``content`` in the place of a file: all of it, seen on disk, or nothing.

    Args:
        path: The file; it keeps its permissions. It need not exist.
        content: All its bytes.
        previous: Where the file that is there now is kept; None to keep nothing.

    Raises:
        OSError: it can't be written; the file is as it was.
    """
    new = path.with_name(f".{path.name}.new")
    try:
        _write(new, content, mode=_mode_of(path))
        if previous is not None and path.exists():
            _keep(path, previous)
        os.replace(new, path)  # noqa: PTH105 - the same call, by the name under which it is known to be atomic
    except OSError:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def in_words(error: OSError, path: Path) -> str:
    """Why a file could not be written, as the start of a sentence that says what became of the work."""
    if error.errno in _FULL:
        return f"the disk is full: {path} could not be written"
    if error.errno == errno.EROFS:
        return f"the disk can only be read: {path} could not be written"
    if error.errno in _FORBIDDEN:
        return f"you may not write {path} (permission denied)"
    return f"{path} could not be written: {error.strerror or error}"


def fingerprint(path: Path) -> str | None:
    """SHA-256 of a file's bytes in hex; None where there is no file.

    Raises:
        OSError: it can't be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def sync_folder(folder: Path) -> None:
    """See a folder's list of names on disk.

    Raises:
        OSError: the folder can't be opened, or the disk fails.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _mode_of(path: Path) -> int | None:
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return None


def _write(path: Path, content: bytes, *, mode: int | None) -> None:
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        if mode is not None:
            os.fchmod(handle, mode)
        written = 0
        while written < len(content):
            written += os.write(handle, content[written:])
        os.fsync(handle)
    finally:
        os.close(handle)


def _keep(path: Path, previous: Path) -> None:
    """Give the file a second name, so that it is there under one of them at every moment."""
    between = previous.with_name(f".{previous.name}.new")
    between.unlink(missing_ok=True)
    try:
        os.link(path, between)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copyfile(path, between)
    os.replace(between, previous)  # noqa: PTH105
