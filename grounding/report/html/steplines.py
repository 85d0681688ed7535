"""``steps.jsonl`` read line by line, so that a million steps need no memory: participant by participant, in order."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from grounding.errors import UserError
from grounding.records import Record, Screenshot, Step

RecordT = TypeVar("RecordT", bound=Record)


class _Owner(Record, frozen=True, kw_only=True):
    """What is read of a step in the first pass."""

    participant: str
    screenshot: Screenshot


class StepLines:
    """The steps of a run. A first pass over the file counts them and finds the screenshots; iterating reads again.

    Args:
        path: The file.
        most_shots: How many screenshots are kept, the first ones.

    Raises:
        UserError: the file is missing or damaged.
    """

    def __init__(self, path: Path, most_shots: int = 0) -> None:
        self.path = path
        owners, offsets = array("l"), array("q")
        numbers: dict[str, int] = {}
        shots: dict[str, Screenshot] = {}
        hashes: set[int] = set()
        offset = 0
        decoder = msgspec.json.Decoder(_Owner)
        for number, line in enumerate(self._lines(), start=1):
            owner = self._decoded(decoder, line, number)
            owners.append(numbers.setdefault(owner.participant, len(numbers)))
            offsets.append(offset)
            offset += len(line)
            hashes.add(hash(owner.screenshot.sha256))
            if len(shots) < most_shots:
                shots.setdefault(owner.screenshot.sha256, owner.screenshot)
        self.count = len(owners)
        self.shots = tuple(shots.values())
        self.shot_count = len(hashes)
        self._offsets = None if _is_sorted(owners) else _by_owner(owners, offsets)

    def __iter__(self) -> Iterator[Step]:
        """Each participant's steps in order, the participants in the order of their first step."""
        decoder = msgspec.json.Decoder(Step)
        if self._offsets is None:
            for number, line in enumerate(self._lines(), start=1):
                yield self._decoded(decoder, line, number)
            return
        with self.path.open("rb") as file:
            for offset in self._offsets:
                file.seek(offset)
                yield self._decoded(decoder, file.readline(), 0)

    def _lines(self) -> Iterator[bytes]:
        try:
            with self.path.open("rb") as file:
                yield from file
        except OSError as error:
            raise UserError(f"{self.path}: can't be read: {error.strerror}") from error

    def _decoded(self, decoder: msgspec.json.Decoder[RecordT], line: bytes, number: int) -> RecordT:
        try:
            return decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UserError(f"{self.path}, line {number}: not a step: {error}") from error


def _is_sorted(owners: array[int]) -> bool:
    return all(first <= second for first, second in itertools.pairwise(owners))


def _by_owner(owners: array[int], offsets: array[int]) -> array[int]:
    order = sorted(range(len(owners)), key=owners.__getitem__)
    return array("q", (offsets[at] for at in order))
