"""The steps of a page: as many as it can hold, and deflated where they are many."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from typing import Any

import msgspec

from grounding.records import HistoryEntry, Screenshot
from grounding.report.html.content import Shot, StepRow, TaskRow

MOST_STEPS = 50_000
"""Steps of a run that its page shows: a browser opens it in a few seconds and holds it in less than a gigabyte."""

MOST_LETTERS = 200_000_000
"""The same in letters of their texts."""

LARGE_STEPS, LARGE_LETTERS = 10_000, 10_000_000
"""Of a run with more the steps are deflated."""

Addresses = Callable[[Screenshot], tuple[str, str]]
"""Where a screenshot's small picture is, "" where there is none, and where the screenshot itself is."""


class PackedSteps:
    """Takes the steps of one run in order, the first ones of a run with more than a page can hold."""

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses
        self._shots: dict[str, int] = {}
        self._shown: list[Shot] = []
        self._tasks: list[tuple[str, str, list[int]]] = []
        self._rows: list[StepRow] = []
        self._told: list[HistoryEntry | None] = []
        self._letters = self._left_out = 0

    @property
    def is_full(self) -> bool:
        return len(self._rows) >= MOST_STEPS or self._letters >= MOST_LETTERS

    @property
    def notes(self) -> tuple[str, ...]:
        if not self._left_out:
            return ()
        every = len(self._rows) + self._left_out
        return (f"the first {len(self._rows):,} of {every:,} steps are listed here; run.frame() and export have all",)

    def shot(self, shot: Screenshot) -> int:
        if shot.sha256 not in self._shots:
            if self.is_full:
                return -1
            self._shots[shot.sha256] = len(self._shown)
            thumb, full = self._addresses(shot)
            size = shot.size
            self._shown.append(Shot(width=size.width, height=size.height, path=shot.path, thumb=thumb, full=full))
        return self._shots[shot.sha256]

    def task(self, participant: str, name: str) -> int:
        self._tasks.append((participant, name, []))
        return len(self._tasks) - 1

    def add(self, row: StepRow, told: HistoryEntry | None = None) -> None:
        if self.is_full:
            self._left_out += 1
            return
        self._tasks[row.task][2].append(len(self._rows))
        self._rows.append(row)
        self._told.append(told)
        self._letters += sum(map(len, (row.instruction, row.plan, row.planner_raw, row.raw, row.reason)))
        self._letters += sum(len(note.text) for note in row.notes)

    def fields(self) -> dict[str, Any]:
        tasks = tuple(
            TaskRow(participant=who, name=name, steps=tuple(steps)) for who, name, steps in self._tasks if steps
        )
        found = {"shots": tuple(self._shown), "tasks": tasks, "steps": tuple(self._rows), "told": tuple(self._told)}
        if len(self._rows) <= LARGE_STEPS and self._letters <= LARGE_LETTERS:
            return found
        # zlib's format in base64: nothing but letters, digits, +, / and =.
        return {"packed": base64.b64encode(zlib.compress(msgspec.json.encode(found), 6)).decode("ascii")}
