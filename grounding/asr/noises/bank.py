"""Noises by name: the toolkit's own and those of a folder, each with its recordings and an identity for keys."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final, Protocol

from grounding.asr.levels import Samples
from grounding.asr.noises import made
from grounding.errors import UserError

_FILE: Final = re.compile(r"(?P<type>[A-Za-z][A-Za-z0-9-]*)_(?P<number>\d+)\.(?:wav|flac|ogg|opus|mp3)", re.IGNORECASE)
_TEST_FOLDER: Final = "noise_test"
_LAYOUT: Final = "recordings named as in MS-SNSD (Babble_1.wav, Typing_2.wav) in it or in its folder noise_test"


class Source(Protocol):
    """Recordings of one kind of noise. ``identity`` changes when a sample may."""

    @property
    def identity(self) -> str:
        """For keys, one line."""

    @property
    def count(self) -> int:
        """How many recordings there are."""

    def samples(self, number: int) -> Samples:
        """One recording, counted from 0: float32, mono, 16 kHz, read only."""


@dataclass(frozen=True)
class MadeNoise:
    """A noise that the toolkit computes."""

    name: str
    count: int = 1

    @property
    def identity(self) -> str:
        """Name and version: the samples follow from them."""
        return f"grounding:{self.name}-{made.VERSION}"

    def samples(self, number: int) -> Samples:  # noqa: ARG002
        """The half minute there is."""
        return made.made(self.name)


@dataclass(frozen=True)
class RecordedNoise:
    """Noise from files: ``files`` are sorted by their numbers, ``kind`` says whose they are."""

    kind: str
    files: tuple[Path, ...]

    @property
    def count(self) -> int:
        """One recording a file."""
        return len(self.files)

    @cached_property
    def identity(self) -> str:
        """The kind and a hash of all files' bytes, whatever folder they lie in."""
        digest = hashlib.sha256()
        for path in self.files:
            digest.update(f"{path.name}\n{_bytes_hash(path)}\n".encode())
        return f"{self.kind}:{len(self.files)}:{digest.hexdigest()}"

    def samples(self, number: int) -> Samples:
        """The samples of one file; the last few that were read are kept.

        Raises:
            UserError: The file can't be read.
        """
        return _read(self.files[number])


@dataclass(frozen=True)
class Sources:
    """What can be added: noises by their name in small letters. ``folder`` is where those of the user's lie."""

    by_name: dict[str, Source] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names, sorted."""
        return tuple(sorted(self.by_name))

    def find(self, name: str) -> Source:
        """A noise by its name, whatever the case.

        Raises:
            UserError: There is no such noise.
        """
        found = self.by_name.get(name.lower())
        if found is None:
            where = "" if self.folder is None else f" (with those of {self.folder})"
            raise UserError(f"noise {name!r}: there is no such noise; there are {', '.join(self.names)}{where}")
        return found


def open_sources(folder: Path | None = None) -> Sources:
    """The toolkit's own noises and those of a folder, which go first where both have a name.

    Args:
        folder: Recordings in MS-SNSD's layout: files ``<Type>_<number>.wav``, in the folder or in ``noise_test/`` below
            it. Names are taken in small letters: ``Babble_1.wav`` is of the noise ``babble``.

    Raises:
        UserError: The folder is none, or holds no such file.
    """
    own: dict[str, Source] = {name: MadeNoise(name) for name in made.COMPUTED}
    own["babble"] = RecordedNoise("grounding:babble", (made.BABBLE,))
    if folder is None:
        return Sources(own)
    return Sources({**own, **_in_folder(folder)}, folder)


def _in_folder(folder: Path) -> dict[str, Source]:
    if not folder.is_dir():
        raise UserError(f"noise folder {folder}: expected a folder with {_LAYOUT}; there is no such folder")
    for place in (folder, folder / _TEST_FOLDER):
        found: dict[str, list[tuple[int, str, Path]]] = {}
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            match = _FILE.fullmatch(path.name)
            if match is not None and path.is_file():
                found.setdefault(match["type"].lower(), []).append((int(match["number"]), path.name, path))
        if found:
            return {
                name: RecordedNoise(f"ms-snsd:{name}", tuple(path for _, _, path in sorted(files)))
                for name, files in found.items()
            }
    raise UserError(f"noise folder {folder}: expected {_LAYOUT}; found none")


def _bytes_hash(path: Path) -> str:
    from grounding.asr.audio import UnreadableAudio, file_sha256

    try:
        return file_sha256(path)
    except UnreadableAudio as error:
        raise UserError(f"noise {path}: {error}") from error


@lru_cache(maxsize=16)
def _read(path: Path) -> Samples:
    from grounding.asr.audio import UnreadableAudio, read_audio

    try:
        samples = read_audio(path).samples
    except UnreadableAudio as error:
        raise UserError(f"noise {path}: {error}; take the file out of the folder, or put a whole one there") from error
    if not samples.any():
        raise UserError(f"noise {path}: is silent; take the file out of the folder")
    samples.setflags(write=False)
    return samples
