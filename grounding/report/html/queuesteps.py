"""The steps of a run of any size, found by their ids and read only when one is judged.

A run of a million steps has hundreds of megabytes of them. Held in memory are a few dozen bytes a step: a hash of its
id, and where its line lies in ``steps.jsonl``.
"""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from grounding.errors import UserError
from grounding.records import Record, Region, Screenshot, Size, Step

_PIECE = 1 << 20
_NOWHERE = Screenshot(path="", size=Size(width=0, height=0), sha256="")

Places = npt.NDArray[np.int64]


class _Head(Record, frozen=True, kw_only=True):
    """What is read of every step: its id, and whether it is scored."""

    id: str
    region: msgspec.Raw


class _Gold(Record, frozen=True, kw_only=True):
    """What is read of a step that is judged."""

    id: str
    region: Region | None
    target_absent: bool = False


class StepIndex:
    """Where the scored steps of a run lie in its file.

    Args:
        path: ``steps.jsonl``; it stays open, so that a file that takes its place later changes nothing here.

    Raises:
        UserError: it can't be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hashes, self._offsets, self._lengths = array("q"), array("q"), array("i")
        self._end, self._rest = 0, b""
        self._by_hash: Places = np.empty(0, dtype=np.int64)
        self._order: Places = np.empty(0, dtype=np.int64)
        self._heads, self._golds = msgspec.json.Decoder(_Head), msgspec.json.Decoder(_Gold)
        self.is_ready = False
        try:
            self._file = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise UserError(f"{path}: can't be read: {error.strerror}") from error

    def __len__(self) -> int:
        """How many scored steps were found."""
        return len(self._hashes)

    def read_on(self, until: float) -> bool:
        """Read the file until that time of ``time.monotonic``; whether it is read to its end.

        Raises:
            UserError: a line is no step.
        """
        while not self.is_ready:
            piece = os.pread(self._file, _PIECE, self._end + len(self._rest))
            if not piece:
                self._finish()
                break
            lines = (self._rest + piece).split(b"\n")
            self._rest = lines.pop()
            for line in lines:
                self._note(line)
            if time.monotonic() > until:
                break
        return self.is_ready

    def _note(self, line: bytes) -> None:
        try:
            head = self._heads.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UserError(f"{self._path}, at byte {self._end}: not a step: {error}") from error
        if bytes(head.region) != b"null":
            self._hashes.append(hash(head.id))
            self._offsets.append(self._end)
            self._lengths.append(len(line))
        self._end += len(line) + 1

    def _finish(self) -> None:
        found = np.array(self._hashes, dtype=np.int64)
        self._order = np.argsort(found, kind="stable")
        self._by_hash = found[self._order]
        self.is_ready = True

    def places(self, step_ids: Sequence[str]) -> Places:
        """The number of each step among the scored ones, in the file's order; -1 for those that are not there."""
        if not len(self):
            return np.full(len(step_ids), -1, dtype=np.int64)
        wanted = np.array([hash(each) for each in step_ids], dtype=np.int64)
        at = np.minimum(np.searchsorted(self._by_hash, wanted), len(self) - 1)
        found: Places = np.where(self._by_hash[at] == wanted, self._order[at], -1)
        return found

    def step(self, place: int) -> Step:
        """A scored step with what judging takes, and nothing else of it.

        Raises:
            UserError: the file has changed under our hands.
        """
        line = os.pread(self._file, self._lengths[place], self._offsets[place])
        try:
            gold = self._golds.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UserError(f"{self._path}, at byte {self._offsets[place]}: not a step: {error}") from error
        return Step(
            id=gold.id,
            participant="",
            task="",
            instruction_index=0,
            instruction="",
            screenshot=_NOWHERE,
            region=gold.region,
            target_absent=gold.target_absent,
        )

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
