"""A million steps in a few MB: their ids as runs of successors, and a few bytes of each to filter and order by.

``names`` holds a :class:`Names` as JSON. ``columns`` holds, for the n steps in order, these columns one after the
other: the code of the outcome (1 byte), the code of the failure, 0 for none (1), the distance (2), the task's number
(4) and, where steps have groups, the number of their set of groups (2). A column of k bytes is k planes: the lowest
bytes of all entries, then the next ones. Tasks are differences to the step before, modulo 2**32.
"""

from __future__ import annotations

import base64
import re
import zlib
from array import array
from typing import get_args

import msgspec

from grounding.records import Outcome, Record
from grounding.report.html.content import Beside, FailureName, StepRow

OUTCOMES = (*get_args(Outcome), "none", "pending")
"""What the codes of outcomes stand for."""

FAILURES = ("", *get_args(FailureName))
"""What the codes of failures stand for."""

DISTANCE_STEPS = 4
"""Distances are kept in quarters of a pixel, for the order of the list only."""

_NO_DISTANCE = 0xFFFF
MOST_GROUP_SETS = 0xFFFF
"""Different sets of groups that fit; a run with more of them can't be filtered by group, only searched."""

_LAST_NUMBER = re.compile(r"[0-9]{1,15}\Z")


class IdRun(Record, frozen=True, kw_only=True, omit_defaults=False):
    """``count`` ids that follow each other: ``first``, and the same with its last number one higher, and so on."""

    first: str
    count: int


class Part(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How many steps in a row are one participant's."""

    name: str
    count: int


class GroupSet(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The groups of some steps, as text."""

    names: tuple[str, ...]


class Names(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The texts that steps share. ``tasks`` are numbered as the column of tasks says."""

    ids: tuple[IdRun, ...]
    participants: tuple[Part, ...]
    tasks: tuple[str, ...]
    group_sets: tuple[GroupSet, ...]


def successor(first: str, by: int) -> str | None:
    """An id with its last number raised; None where it ends with none. Leading zeros keep their width.

    >>> successor("3/42", 1), successor("a-09", 1), successor("x", 1)
    ('3/43', 'a-10', None)
    """
    found = _LAST_NUMBER.search(first)
    return None if found is None else f"{first[: found.start()]}{int(found[0]) + by:0{len(found[0])}d}"


class Index:
    """Takes the rows of a run in order and packs them."""

    def __init__(self) -> None:
        self._ids: list[tuple[str, int]] = []
        self._next: str | None = None
        self._participants: list[tuple[str, int]] = []
        self._tasks: list[str] = []
        self._sets: dict[tuple[str, ...], int] = {}
        self._outcome, self._failure = bytearray(), bytearray()
        self._distance, self._task, self._group = array("H"), array("I"), array("H")

    def task(self, name: str) -> int:
        """Number a new task."""
        self._tasks.append(name)
        return len(self._tasks) - 1

    def add(self, row: StepRow) -> None:
        """Take the next step."""
        self._note_id(row.id)
        if self._participants and self._participants[-1][0] == row.participant:
            self._participants[-1] = (row.participant, self._participants[-1][1] + 1)
        else:
            self._participants.append((row.participant, 1))
        self._outcome.append(OUTCOMES.index(row.outcome))
        self._failure.append(FAILURES.index(row.failure or ""))
        self._distance.append(
            _NO_DISTANCE
            if row.distance is None
            else int(min(_NO_DISTANCE - 1, max(0, round(DISTANCE_STEPS * row.distance))))
        )
        self._task.append(row.task)
        if len(self._sets) <= MOST_GROUP_SETS:
            self._group.append(self._sets.setdefault(row.groups, len(self._sets)) & 0xFFFF)

    def _note_id(self, step_id: str) -> None:
        if step_id == self._next and self._ids:
            first, count = self._ids[-1]
            self._ids[-1] = (first, count + 1)
            self._next = successor(first, count + 1)
        else:
            self._ids.append((step_id, 1))
            self._next = successor(step_id, 1)

    def packed(self, *, files: str, key: str, starts: tuple[int, ...]) -> Beside:
        """The index of all steps so far. The arguments are those of :class:`Beside`."""
        grouped = len(self._sets) <= MOST_GROUP_SETS and any(self._sets)
        columns = [bytes(self._outcome), bytes(self._failure), *_planes(self._distance), *_planes(_steps(self._task))]
        if grouped:
            columns += _planes(self._group)
        names = Names(
            ids=tuple(IdRun(first=first, count=count) for first, count in self._ids),
            participants=tuple(Part(name=name, count=count) for name, count in self._participants),
            tasks=tuple(self._tasks),
            group_sets=tuple(GroupSet(names=names) for names in self._sets) if grouped else (),
        )
        return Beside(
            size=len(self._outcome),
            files=files,
            key=key,
            starts=starts,
            outcomes=OUTCOMES,
            failures=FAILURES,
            grouped=grouped,
            columns=deflated(b"".join(columns)),
            names=deflated(msgspec.json.encode(names), level=6),
        )


def deflated(content: bytes, level: int = 9) -> str:
    """Bytes as zlib's format in base64: nothing but letters, digits, ``+``, ``/`` and ``=``."""
    return base64.b64encode(zlib.compress(content, level)).decode("ascii")


def _steps(tasks: array[int]) -> array[int]:
    import numpy as np

    found = np.array(tasks, dtype=np.uint32)
    return array("I", np.diff(found, prepend=np.uint32(0)).astype(np.uint32).tobytes())


def _planes(column: array[int]) -> list[bytes]:
    import sys

    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    whole = column.tobytes()
    return [whole[at :: column.itemsize] for at in range(column.itemsize)]
