"""Rows of a questions file, their screenshots and history in; a session out. Only for rows without problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from grounding.loaders.boxes import NamedBox
from grounding.loaders.images import ImageInfo
from grounding.loaders.items import Row
from grounding.loaders.sequences import instruction_indices, step_ids
from grounding.records import HistoryEntry, Region, Screenshot, Session, Step

_T = TypeVar("_T")


class Pool:
    """Keeps one copy of equal values: sessions repeat texts and sizes thousands of times."""

    def __init__(self) -> None:
        self._kept: dict[object, object] = {}

    def share(self, value: _T) -> _T:
        """The copy to use. Values of different types are never taken for each other."""
        return self._kept.setdefault((type(value), value), value)  # type: ignore[return-value]


def build_session(
    participant: str,
    rows: Sequence[Row],
    files: Sequence[Path],
    images: Mapping[Path, ImageInfo],
    entries: Sequence[HistoryEntry] | None,
    pool: Pool,
) -> Session:
    """One participant's session, its steps in the order of the rows.

    Args:
        participant: Name of the participant.
        rows: One per step.
        files: The screenshot of each row, made absolute in the records.
        images: What was found in those files.
        entries: The history entry of each row, None where no history was asked for.
        pool: Shares equal values, over several sessions if it is passed to all of them.
    """
    ids = step_ids(participant, [row.image for row in rows])
    indices = instruction_indices([row.task for row in rows], [row.instruction for row in rows])
    screenshots = {file: _screenshot(file, images[file], pool) for file in files}
    steps = tuple(
        Step(
            id=ids[position],
            participant=participant,
            task=pool.share(row.task),
            instruction_index=indices[position],
            instruction=pool.share(row.instruction),
            action=pool.share(row.action),
            screenshot=screenshots[files[position]],
            region=_region(row.boxes),
            history_entry=None if entries is None else _entry(entries[position], pool),
        )
        for position, row in enumerate(rows)
    )
    return Session(participant=participant, steps=steps)


def _screenshot(file: Path, info: ImageInfo, pool: Pool) -> Screenshot:
    return Screenshot(path=str(file.absolute()), size=pool.share(info.size), sha256=info.sha256)


def _region(boxes: tuple[NamedBox, ...] | None) -> Region | None:
    return None if boxes is None else Region(boxes=tuple(named.box for named in boxes))


def _entry(entry: HistoryEntry, pool: Pool) -> HistoryEntry:
    return pool.share(HistoryEntry(instruction=pool.share(entry.instruction), action=pool.share(entry.action)))
