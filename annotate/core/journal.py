"""What is kept beside the pictures: a journal of all that was done, the lock, and files that are replaced whole.

The journal is append-only, one JSON object a line, each on disk before it counts. It holds the whole value of every
step that it speaks of, so that alone it gives each state that the document ever had: undo reaches back across restarts,
and nothing is lost when the program is killed. The last line may be torn off by that; it was never acknowledged.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from grounding.atomic import draft_of, flush_to_disk
from grounding.errors import UserError

FOLDER = ".annotate"
Event = dict[str, Any]  # `do` says what it is; see `annotate.core.document` for each.


class ChangedOnDisk(UserError):
    """Somebody else changed the file since it was read or saved here; nothing was written."""


class SaveFailed(UserError):
    """The file could not be written; it is as it was. The message is a sentence for the user."""


def replace_file(path: Path, content: bytes, *, previous: Path | None = None) -> None:
    """Put ``content`` in the place of a file: all of it, seen on disk, or nothing. It keeps its permissions. A symbolic
    link is replaced by a file: what it leads to, such as the store of a hub's cache, is others'. Raises OSError.
    """
    with draft_of(path) as draft:
        draft.write_bytes(content)
        if path.exists():
            draft.chmod(path.stat().st_mode & 0o777)
            if previous is not None:
                with draft_of(previous) as copy:
                    shutil.copyfile(path, copy)


def in_words(error: OSError, path: Path) -> str:
    """Why a file could not be written, as the start of a sentence that says what became of the work."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"the disk is full: {path} could not be written"
    return f"{path} could not be written: {(error.strerror or str(error)).lower()}"


def hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class EditJournal:
    """The journal of one questions file, and the lock of its folder. What can't be written stays in memory and is tried
    again with the next event; ``trouble`` says why, as a sentence.
    """

    def __init__(self, folder: Path, questions: str) -> None:
        self.folder = folder / FOLDER
        self.path = self.folder / f"{questions}.journal"
        self.trouble = ""
        self._lock: int | None = None
        self._waiting: list[Event] = []
        self._end = 0

    def lock(self) -> str:
        """Keep other programs out, as long as this process lives; why that is not possible, as a sentence, or "".

        Raises UserError: another program is at work there, or the folder, which may have come with a data set, holds
        symbolic links: what is written through them would be written elsewhere.
        """
        link = next((path for path in (self.folder, *self.folder.glob("*")) if path.is_symlink()), None)
        if link is not None:
            raise UserError(f"{link}: is a symbolic link, which this program never makes: remove it")
        where = self.folder.parent
        try:
            self._lock = os.open(where, os.O_RDONLY | os.O_CLOEXEC)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(f"{where} is open in another annotation program: close it there first") from error
        except OSError as error:
            return f"Other programs are not kept out of {where}: {(error.strerror or str(error)).lower()}."
        return ""

    def read(self) -> list[Event]:
        """The events so far. Raises UserError: the file can't be read. Raises ValueError: a line is damaged."""
        try:
            # What stands behind the last line end was torn off by a crash, or is empty.
            *lines, _ = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UserError(f"{self.path}: can't be read: {error.strerror}") from error
        self._end = sum(len(line) + 1 for line in lines)
        return [json.loads(line) for line in lines]

    def set_aside(self) -> Path:
        """Move a journal that can't be read out of the way. Raises UserError: it can't be moved."""
        names = (self.path.with_name(f"{self.path.name}.damaged{number}") for number in count(1))
        aside = next(name for name in names if not name.exists())
        try:
            self.path.rename(aside)
        except OSError as error:
            raise UserError(f"{self.path} is damaged, and can't be moved: {in_words(error, aside)}") from error
        self._end = 0
        return aside

    def put_off(self, event: Event) -> None:
        self._waiting.append(event)

    def record(self, *events: Event, sync: bool = True) -> None:
        """Write events, and with ``sync`` see them on disk; what waits is written first. See ``trouble``."""
        self._waiting += events
        try:
            if self._waiting:
                self.folder.mkdir(exist_ok=True)
                self._write(sync)
            self.trouble = ""
        except OSError as error:
            self.trouble = f"Changes are in memory only: {in_words(error, self.path)}."

    def keep(self, content: bytes) -> None:
        """Keep a version of the questions file that is to be written over. Raises OSError: it can't be written."""
        name = self.path.name.removesuffix(".journal")
        replace_file(self.folder / f"{name}.{hash_of(content)[:16]}.version", content)

    def close(self) -> None:
        """Try for a last time to write what could not be, and let other programs in."""
        if self.trouble:
            self.record()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _write(self, sync: bool) -> None:
        content = b"".join(json.dumps(event).encode("ascii") + b"\n" for event in self._waiting)
        is_new = not self.path.exists()
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if is_new:
                flush_to_disk(self.folder)
            # What a write that failed left behind goes; if not even that is possible, a reader drops a torn line.
            os.ftruncate(file, self._end)
            written = 0
            while written < len(content):
                written += os.pwrite(file, content[written:], self._end + written)
            if sync:
                os.fsync(file)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(file, self._end)
            raise
        finally:
            os.close(file)
        self._end += len(content)
        self._waiting.clear()


# --- JSON lists in a stable layout: steps with an indent of one blank, transcripts with an item a line ---------------


def write_list(items: Sequence[object], *, lines: bool = False) -> bytes:
    """The bytes of a file with these items: with ``lines`` an item a line, else an indent of one blank throughout."""
    if lines:
        rows = (json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in items)
        text = "[\n " + ",\n ".join(rows) + "\n]\n"
    else:
        text = json.dumps(items, ensure_ascii=False, indent=1) + "\n"
    # Half of a pair of UTF-16 is no character: it can be written as an escape only, which this is in JSON, too.
    return text.encode("utf-8", "backslashreplace")


def read_list(content: bytes, path: Path, *, lines: bool = False) -> tuple[list[object], bool]:
    """The items of a JSON list, and whether it is set out otherwise, so that saving reformats it. NaN and Infinity are
    let be where nobody changes them. Raises UserError: not UTF-8, no JSON, or no list.
    """
    try:
        items = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: is not JSON in UTF-8: {error}. Correct the file there, or delete it") from error
    if not isinstance(items, list):
        raise UserError(f"{path}: must hold a JSON list, one element per step; it begins with {content[:20]!r}")
    return items, write_list(items, lines=lines).rstrip() != content.rstrip()
