"""The folders in the cache that hold data from elsewhere: what is in each, and who is at work on it.

Each address has a folder ``data/<name>-<hash>``. In it are the data themselves, in a folder of the address' own name;
``fetched.jsonl``, a line for every file that came whole; ``source.json``, what was there when it was last looked at;
``parts``, files that are on their way; and two locks. A file is renamed to its place once all of it is there.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from grounding.errors import UserError
from grounding.places import cache_dir
from grounding.records import Record
from grounding.sources.address import Address

_RECORD, _STATE, _PARTS, _USE = "fetched.jsonl", "source.json", "parts", "in-use.lock"

_in_use: dict[Path, int] = {}
"""The locks on folders that this process reads; they are let go when it ends."""


class FetchedFile(Record, frozen=True, kw_only=True):
    """A file that lies in the cache as it was at its address. ``mark`` is what the file system said of it there."""

    path: str
    size_bytes: int
    mark: str
    mtime_ns: int


class SourceState(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What an address held when it was last looked at. ``archive_mark`` is "" where it is a folder."""

    schema: Literal[1] = 1
    address: str
    complete: bool
    files: int
    size_bytes: int
    archive_mark: str = ""


def data_cache() -> Path:
    """Where data from elsewhere are kept.

    Raises:
        UserError: there is no cache folder.
    """
    folder = cache_dir()
    if folder is None:
        raise UserError(
            "--data-dir: data from elsewhere, or in an archive, are kept in the cache folder, and there is none: unset "
            "GROUNDING_NO_CACHE, or set XDG_CACHE_HOME to a folder with room"
        )
    return folder / "data"


class SourceFolder:
    """The folder of one address.

    Args:
        address: Whose.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self.path = data_cache() / address.folder_name
        self.data = self.path / "files" / address.name
        self.parts = self.path / _PARTS

    def state(self) -> SourceState | None:
        """What was noted last; None where nothing was, or it can't be read."""
        return read_state(self.path)

    def note(self, state: SourceState) -> None:
        """Write the state down, in one step."""
        temporary = self.path / f".{_STATE}.new"
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(state), indent=1) + b"\n")
        temporary.replace(self.path / _STATE)

    def fetched(self) -> dict[str, FetchedFile]:
        """The files that came whole, by path; a line cut off by a crash is no line."""
        decoder, found = msgspec.json.Decoder(FetchedFile), {}
        try:
            lines = (self.path / _RECORD).read_bytes().splitlines()
        except FileNotFoundError:
            return {}
        for line in lines:
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                one = decoder.decode(line)
                found[one.path] = one
        return found

    def rewrite(self, fetched: Mapping[str, FetchedFile]) -> None:
        """Write the record of files anew, one line for each."""
        encoder = msgspec.json.Encoder()
        temporary = self.path / f".{_RECORD}.new"
        temporary.write_bytes(b"".join(encoder.encode(one) + b"\n" for one in fetched.values()))
        temporary.replace(self.path / _RECORD)

    def is_there(self, one: FetchedFile) -> bool:
        """Whether a file is still as it came."""
        try:
            status = (self.data / one.path).stat()
        except OSError:
            return False
        return status.st_size == one.size_bytes and status.st_mtime_ns == one.mtime_ns

    def place(self, part: Path, path: str, mark: str) -> FetchedFile:
        """Move a whole file to its place, and say what is to be recorded of it."""
        target = self.data / path
        target.parent.mkdir(parents=True, exist_ok=True)
        part.replace(target)
        status = target.stat()
        one = FetchedFile(path=path, size_bytes=status.st_size, mark=mark, mtime_ns=status.st_mtime_ns)
        # One short write at the end of the file: a crash leaves a whole line or one that is not read.
        with (self.path / _RECORD).open("ab") as file:
            file.write(b"\n" + msgspec.json.encode(one))
        return one

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep every other process from fetching into this folder; waits for one that does.

        Raises:
            UserError: the folder can't be made.
        """
        try:
            self.parts.mkdir(parents=True, exist_ok=True)
            self.data.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path / "fetching.lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise UserError(f"{self.path}: can't be made: {error.strerror} (see XDG_CACHE_HOME)") from error
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print(
                    f"grounding: another process is fetching {self.address.shown}: waiting for it",
                    file=sys.stderr,
                    flush=True,
                )
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def use(self) -> None:
        """Say that this process reads these files, until it ends: none of them may be replaced meanwhile."""
        if self.path not in _in_use:
            handle = _in_use[self.path] = os.open(self.path / _USE, os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.flock(handle, fcntl.LOCK_SH)
        os.utime(self.path / _USE)


def is_used(folder: Path) -> bool:
    """Whether another process reads the data in a folder of the cache."""
    mine = _in_use.get(folder)
    try:
        handle = os.open(folder / _USE, os.O_RDWR) if mine is None else mine
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        fcntl.flock(handle, fcntl.LOCK_SH)
        return False
    finally:
        if mine is None:
            os.close(handle)


def read_state(folder: Path) -> SourceState | None:
    """What a folder's address held; None where that can't be read."""
    try:
        return msgspec.json.decode((folder / _STATE).read_bytes(), type=SourceState)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


class KeptSource(Record, frozen=True, kw_only=True):
    """What the cache holds of one address, for ``grounding cache``."""

    shown: str
    folder: Path
    files: tuple[Path, ...]
    size_bytes: int


def kept_sources(before: float | None = None) -> tuple[KeptSource, ...]:
    """What the cache holds of every address, by address.

    Args:
        before: Only what was last used before then, in seconds since 1970.
    """
    folder = cache_dir()
    found = []
    for path in sorted((folder / "data").iterdir()) if folder is not None and (folder / "data").is_dir() else ():
        if path.is_dir() and (before is None or _last_used(path) < before):
            state = read_state(path)
            files = tuple(one for one in path.rglob("*") if one.is_file() or one.is_symlink())
            size = sum(_size(one) for one in files)
            shown = path.name if state is None else state.address + ("" if state.complete else " (not all of it)")
            found.append(KeptSource(shown=shown, folder=path, files=files, size_bytes=size))
    return tuple(sorted(found, key=lambda one: one.shown))


def forget(kept: KeptSource) -> None:
    """Delete what the cache holds of an address.

    Raises:
        UserError: a process is at work on it, or it can't be deleted.
    """
    if is_used(kept.folder):
        raise UserError(f"{kept.shown}: another process works with these data: wait for its end")
    aside = kept.folder.with_name(f".{kept.folder.name}.{os.getpid()}")
    try:
        # Whoever looks meanwhile finds all of the folder or none of it.
        kept.folder.rename(aside)
        shutil.rmtree(aside)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"{kept.folder}: can't be deleted: {error.strerror}") from error


def _last_used(folder: Path) -> float:
    times = [folder.stat().st_mtime]
    for name in (_USE, _STATE):
        with contextlib.suppress(OSError):
            times.append((folder / name).stat().st_mtime)
    return min(max(times), time.time())


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:  # Another process was faster to delete it.
        return 0
