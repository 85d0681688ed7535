"""What was heard, kept for every later run: one small file each, in a folder that all runs share.

A transcript is found again by its key, the hash of all that can change it: the audio's bytes, the noise, the recogniser
with its options, and the reader of files. A file appears whole or not at all and is never changed afterwards; one that
is damaged counts as absent. Any number of processes may read and write at once. The files hold what people said, so
they can be read by their owner only.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from grounding.asr.audio import READER
from grounding.asr.records import Clip, Heard
from grounding.errors import UserError
from grounding.places import cache_dir
from grounding.records import Record

MAX_BYTES = 16 << 20
"""A larger file is none of ours; hours of speech with a time for every word take about a tenth of it."""

_NAME = re.compile(r"[0-9a-f]{64}\.json")
_KEY = re.compile(r"[0-9a-f]{64}")


class StoredHearing(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of a file. ``recogniser`` and ``noise`` say, for people, what made it."""

    schema: Literal[1] = 1
    recogniser: str
    noise: str
    heard: Heard


class Shelf(Record, frozen=True, kw_only=True):
    """The transcripts of one recogniser in a store."""

    recogniser: str
    files: tuple[Path, ...]
    size_bytes: int


def transcript_key(audio_sha256: str, *, recogniser: str, noise: str) -> str:
    """What a transcript is found by.

    Args:
        audio_sha256: Of the bytes of the clip's file.
        recogniser: The recogniser's identity.
        noise: The noise's identity, "" for none.
    """
    return hashlib.sha256(msgspec.json.encode((READER, audio_sha256, recogniser, noise))).hexdigest()


def transcript_store_dir(chosen: Path | None = None, *, off: bool = False) -> Path | None:
    """Where transcripts are kept: the folder that was chosen, else ``transcripts`` in the user's cache; None: nowhere.

    Raises:
        UserError: it was both chosen and switched off.
    """
    if off and chosen is not None:
        raise UserError(f"--transcript-store {chosen} and --no-transcript-store contradict each other: give one")
    if off or chosen is not None:
        return chosen
    base = cache_dir()
    return None if base is None else base / "transcripts"


class TranscriptStore:
    """A folder of transcripts; ``folder`` None keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        """Nothing is made on disk yet."""
        self.folder = folder
        self._warned = False

    def get(self, key: str, recogniser: str, clip: Clip) -> Heard | None:
        """What was heard in a clip, under its present name; None where nothing is stored that can be read."""
        path = self._path(key, recogniser)
        content = _read(path) if path is not None else None
        if content is None:
            return None
        try:
            heard = msgspec.json.decode(content, type=StoredHearing).heard
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if heard.key != key or heard.failure is not None:
            return None
        return msgspec.structs.replace(heard, clip_id=clip.id, compute_s=0.0, cost_usd=None)

    def put(self, heard: Heard, *, recogniser: str, noise: str) -> None:
        """Keep what was heard, unless it failed. A store that can't be written costs a warning, not the run."""
        path = self._path(heard.key, recogniser)
        if path is None or heard.failure is not None:
            return
        content = msgspec.json.encode(StoredHearing(recogniser=recogniser, noise=noise, heard=heard)) + b"\n"
        if len(content) > MAX_BYTES:
            return
        try:
            _write(self.folder or path.parent, path, content)
        except OSError as error:
            if not self._warned:
                self._warned = True
                print(
                    f"grounding: the transcript store {self.folder} can't be written ({error.strerror}): what is heard "
                    "now has to be heard again by a later run",
                    file=sys.stderr,
                    flush=True,
                )

    def _path(self, key: str, recogniser: str) -> Path | None:
        if self.folder is None or _KEY.fullmatch(key) is None:
            return None
        return self.folder / _folder_name(recogniser) / key[:2] / f"{key}.json"


def shelves(folder: Path, *, before: float | None = None) -> tuple[Shelf, ...]:
    """What lies in a store, by recogniser; only our own files, and with ``before`` only those written earlier.

    Args:
        folder: The store; it may not be there.
        before: Seconds since the epoch.
    """
    found = []
    for own in sorted(_folders(folder)):
        files = [each for inner in sorted(_folders(own)) for each in _files(inner, before)]
        if files:
            paths, sizes = zip(*files, strict=True)
            found.append(Shelf(recogniser=own.name, files=paths, size_bytes=sum(sizes)))
    return tuple(found)


def _folders(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from (path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())


def _files(folder: Path, before: float | None) -> Iterator[tuple[Path, int]]:
    for path in sorted(folder.iterdir()):
        with contextlib.suppress(OSError):
            about = path.lstat()
            ours = stat.S_ISREG(about.st_mode) and _NAME.fullmatch(path.name)
            if ours and (before is None or about.st_mtime < before):
                yield path, about.st_size


def _folder_name(recogniser: str) -> str:
    """A recogniser's name as a name of a folder: it may hold a path or a model's name from anywhere."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", recogniser)[:80].lstrip(".") or "_"


def _read(path: Path) -> bytes | None:
    """A file's content; None where it can't be read, is no plain file or is too large."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        try:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_BYTES:
                return None
            return file.read(MAX_BYTES + 1)
        except OSError:
            return None


def _write(store: Path, path: Path, content: bytes) -> None:
    """Put a file in its place in one step; ``mkstemp`` makes it readable by its owner only."""
    store.parent.mkdir(parents=True, exist_ok=True)
    for folder in (store, path.parent.parent, path.parent):
        folder.mkdir(mode=0o700, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
