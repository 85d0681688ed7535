"""The folder beside the pictures in which the program keeps its own: lock, journal, versions of the questions file."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from pathlib import Path

from annotate.events import Event
from annotate.journal import Journal
from annotate.lock import FolderLock
from annotate.saving import fingerprint, in_words, replace_file
from grounding.errors import UserError

NAME = ".annotate"
_HASH_DIGITS = 16


class SideFolder:
    """The side folder of one participant's folder, for one questions file."""

    def __init__(self, folder: Path, questions: str) -> None:
        self.path = folder / NAME
        self.journal = self.path / f"{questions}.journal"
        self._questions = questions
        self._lock = FolderLock(self.path)
        self._versions: dict[str, bytes] = {}

    def lock(self, *, annotator: str) -> str:
        """Keep other programs out; why that is not possible here, as a sentence, or "".

        Raises:
            UserError: another program is at work there, or the side folder holds symbolic links: it may have come with
                a data set, and what is written through them would be written elsewhere.
        """
        try:
            self.path.mkdir(exist_ok=True)
            link = next((path for path in (self.path, *self.path.iterdir()) if path.is_symlink()), None)
            if link is not None:
                raise UserError(f"{link}: is a symbolic link, which this program never makes: remove it")
            self._lock.take(annotator=annotator)
        except OSError as error:
            return f"Other programs are not kept out of this folder: {in_words(error, self.path)}."
        return ""

    def release(self) -> None:
        """Let other programs in; the side folder goes, too, where nothing was ever changed."""
        self._lock.release()
        with contextlib.suppress(OSError):  # Not empty, most of the time.
            self.path.rmdir()

    def keep(self, content: bytes) -> str:
        """Keep a version of the questions file; its SHA-256 in hex, by which it is found again.

        Raises:
            OSError: it can't be written.
        """
        sha256 = hashlib.sha256(content).hexdigest()
        path = self._version(sha256)
        self._versions[sha256] = content
        if fingerprint(path) != sha256:
            self.path.mkdir(exist_ok=True)
            replace_file(path, content)
        return sha256

    def kept(self, sha256: str) -> bytes:
        """A version that was kept.

        Raises:
            UserError: it is missing, or not what it was.
        """
        path = self._version(sha256)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise UserError(f"{path}: can't be read: {error.strerror}") from error
        if hashlib.sha256(content).hexdigest() != sha256:
            raise UserError(f"{path}: is not what was written there")
        self._versions[sha256] = content
        return content

    def make_again(self) -> None:
        """Make the folder again that somebody removed: lock and versions.

        Raises:
            OSError: it can't be made.
            UserError: another program has taken the folder meanwhile.
        """
        self.path.mkdir(exist_ok=True)
        self._lock.release()
        self._lock.take()
        for content in list(self._versions.values()):
            self.keep(content)

    def set_aside(self, end: int) -> Path:
        """Keep a copy of a journal that can't be used as it is, and shorten it to ``end`` bytes; where the copy is.

        Raises:
            UserError: it can't be copied.
        """
        number = 1
        while (aside := self.journal.with_name(f"{self.journal.name}.damaged{number}")).exists():
            number += 1
        try:
            shutil.copyfile(self.journal, aside)
            os.truncate(self.journal, end)
        except OSError as error:
            raise UserError(
                f"{self.journal} is damaged, and can't be copied to {aside.name} before going on: "
                f"{in_words(error, aside)}"
            ) from error
        return aside

    def _version(self, sha256: str) -> Path:
        return self.path / f"{self._questions}.{sha256[:_HASH_DIGITS]}.version"


class Recorder:
    """Writes events and the versions they speak of. What can't be written stays in memory; ``trouble`` says why."""

    def __init__(self, side: SideFolder, *, end: int = 0) -> None:
        self.trouble = ""
        self._side = side
        self._journal = Journal(side.journal, end=end)
        self._versions: list[bytes] = []

    def put_off(self, event: Event, version: bytes) -> None:
        """Have an event, and the version it speaks of, written with the next one."""
        self._versions.append(version)
        self._journal.put_off(event)

    def record(self, *events: Event, sync: bool = True) -> None:
        """Write events; what waits is written first. Errors are not raised: see ``trouble``."""
        for event in events:
            self._journal.put_off(event)
        try:
            if self._journal.gone:
                self._side.make_again()
            while self._versions:
                self._side.keep(self._versions[0])
                del self._versions[0]
            self._journal.write(sync=sync)
        except OSError as error:
            self.trouble = f"Changes are in memory only: {in_words(error, self._side.journal)}."
        except UserError as error:
            self.trouble = f"Changes are in memory only: {error}."
        else:
            self.trouble = ""

    def close(self) -> None:
        """Try for a last time to write what could not be written, and close the journal."""
        if self.trouble:
            self.record()
        self._journal.close()
