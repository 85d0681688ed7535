"""One round of filling a folder of the cache: what is missing, where it goes, what is left over."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from grounding.errors import UserError
from grounding.sources.bounds import check_room
from grounding.sources.kept import FetchedFile, SourceFolder, SourceState, is_used
from grounding.sources.working import AT_ONCE, Transfer, work_off


class Filling:
    """What is to be done so that a folder holds the wanted files and no others.

    Args:
        folder: The folder, which nobody else fetches into now.
        wanted: The mark of every file that there should be, by its path.
    """

    def __init__(self, folder: SourceFolder, wanted: Mapping[str, str]) -> None:
        self._folder, self._wanted = folder, wanted
        recorded = folder.fetched()
        self._fetched: dict[str, FetchedFile] = {
            path: one for path, one in recorded.items() if wanted.get(path) == one.mark and folder.is_there(one)
        }
        self.missing = tuple(path for path in wanted if path not in self._fetched)
        self._surplus = tuple(_surplus(folder.data, wanted))
        self._replaced = [path for path in self.missing if path in recorded and (folder.data / path).exists()]
        self._lock = threading.Lock()
        self._transfer: Transfer | None = None

    @property
    def is_done(self) -> bool:
        """Whether everything is there and nothing else."""
        return not self.missing and not self._surplus

    @contextmanager
    def going_on(self, needed_bytes: int | None, archive_mark: str = "") -> Iterator[Transfer]:
        """Around the fetching: what is left over goes before, the record of what is there is complete behind.

        Args:
            needed_bytes: How much will come; None where nobody knows.
            archive_mark: What tells the archive that the files come from.

        Raises:
            UserError: another process reads what would be replaced, or there is no room.
        """
        folder = self._folder
        transfer = Transfer(folder.address.shown, needed_bytes, len(self.missing))
        if not self.is_done:
            self._check_free()
            check_room(folder.path, needed_bytes or 0, folder.address.shown)
            folder.note(self._state(complete=False, archive_mark=archive_mark))
            for path in self._surplus:
                path.unlink()
            _remove_empty(folder.data)
            self._transfer = transfer
            with transfer.shown():
                yield transfer
        else:
            yield transfer
        folder.rewrite(self._fetched)
        shutil.rmtree(folder.parts, ignore_errors=True)
        folder.note(self._state(complete=True, archive_mark=archive_mark))

    def part(self, path: str) -> Path:
        """Where a file is written before it is whole: the same place for the same content, so that it goes on there."""
        self._folder.parts.mkdir(exist_ok=True)
        text = f"{path}\n{self._wanted[path]}"
        return self._folder.parts / hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]

    def put(self, part: Path, path: str) -> None:
        """A file is whole: move it to its place and note it."""
        with self._lock:
            self._fetched[path] = self._folder.place(part, path, self._wanted[path])
        if self._transfer is not None:
            self._transfer.one_done()

    def work(self, jobs: Iterable[Callable[[], None]], *, at_once: int | None = None) -> None:
        """Do the jobs, several at once."""
        if self._transfer is not None:
            work_off(jobs, self._transfer, at_once=at_once or AT_ONCE)

    def _check_free(self) -> None:
        if (self._replaced or self._surplus) and is_used(self._folder.path):
            raise UserError(
                f"{self._folder.address.shown}: the data there have changed, and another process works with the copy "
                f"in {self._folder.data}: wait for its end, or set XDG_CACHE_HOME to another folder"
            )

    def _state(self, *, complete: bool, archive_mark: str) -> SourceState:
        return SourceState(
            address=self._folder.address.shown,
            complete=complete,
            files=len(self._wanted),
            size_bytes=sum(one.size_bytes for one in self._fetched.values()),
            archive_mark=archive_mark,
        )


def _surplus(data: Path, wanted: Mapping[str, str]) -> Iterator[Path]:
    """Files that are not wanted (any more)."""
    start = len(str(data)) + 1
    for folder, _, names in os.walk(data):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118 - a Path for each of a million files takes seconds
            if path[start:] not in wanted:
                yield Path(path)


def _remove_empty(data: Path) -> None:
    for folder, folders, names in os.walk(data, topdown=False):
        if not names and not folders and folder != str(data):
            Path(folder).rmdir()
