"""Checkpoints that are whole or not used at all: a mark is written last, and says what must be there.

A process may be killed while it writes a checkpoint. What has no mark, or lacks something that its mark names, is
passed over and cleared away.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import msgspec

from grounding.errors import UserError
from grounding.records import Record

MARK = "whole.json"
_NAME = re.compile(r"checkpoint-(\d+)")


class CheckpointMark(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a whole checkpoint is: its files with their sizes, and how long the record was when it was made.

    ``metrics_bytes`` and ``samples_bytes`` are the lengths of ``metrics.jsonl`` and ``samples.jsonl``; ``wall_s`` the
    seconds that training had taken.
    """

    step: int
    processes: int
    wall_s: float
    metrics_bytes: int
    samples_bytes: int
    files: dict[str, int]


class Checkpoint(Record, frozen=True, kw_only=True):
    """A whole checkpoint and where it lies."""

    path: str
    mark: CheckpointMark


def mark_whole(
    path: Path, *, step: int, processes: int, wall_s: float, metrics_bytes: int, samples_bytes: int
) -> CheckpointMark:
    """Make sure that a checkpoint is on the disk, and say so in it.

    Raises:
        OSError: the disk is full or failing; the checkpoint has no mark then.
    """
    files = {}
    for found in sorted(path.rglob("*")):
        if found.is_file() and found.name != MARK:
            _sync(found)
            files[found.relative_to(path).as_posix()] = found.stat().st_size
    mark = CheckpointMark(
        step=step,
        processes=processes,
        wall_s=wall_s,
        metrics_bytes=metrics_bytes,
        samples_bytes=samples_bytes,
        files=files,
    )
    temporary = path / f".{MARK}.new"
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(mark), indent=2) + b"\n")
    _sync(temporary)
    temporary.replace(path / MARK)
    _sync(path)
    _sync(path.parent)
    return mark


def whole_checkpoints(folder: Path) -> tuple[Checkpoint, ...]:
    """The checkpoints that can be used, the last one last; none where the folder is not there yet."""
    found = [_read(path) for path, _step in _candidates(folder)]
    return tuple(checkpoint for checkpoint in found if checkpoint is not None)


def last_whole(folder: Path) -> Checkpoint | None:
    """The last checkpoint that can be used."""
    whole = whole_checkpoints(folder)
    return whole[-1] if whole else None


def clear_torn(folder: Path) -> tuple[str, ...]:
    """Remove what is no whole checkpoint; returns the names of what was removed.

    Raises:
        UserError: it can't be removed.
    """
    whole = {checkpoint.path for checkpoint in whole_checkpoints(folder)}
    removed = []
    for path, _step in _candidates(folder):
        if str(path) not in whole:
            _remove(path)
            removed.append(path.name)
    return tuple(removed)


def rotate(folder: Path, keep: int) -> None:
    """Remove all but the last ``keep`` whole checkpoints.

    Raises:
        UserError: one can't be removed.
    """
    for checkpoint in whole_checkpoints(folder)[:-keep]:
        # Without its mark it is no checkpoint any more, wherever the removal is broken off.
        (Path(checkpoint.path) / MARK).unlink(missing_ok=True)
        _remove(Path(checkpoint.path))


def _candidates(folder: Path) -> list[tuple[Path, int]]:
    if not folder.is_dir():
        return []
    named = ((path, _NAME.fullmatch(path.name)) for path in folder.iterdir() if path.is_dir())
    return sorted(((path, int(name[1])) for path, name in named if name), key=lambda found: found[1])


def _read(path: Path) -> Checkpoint | None:
    try:
        mark = msgspec.json.decode((path / MARK).read_bytes(), type=CheckpointMark)
        there = all((path / name).stat().st_size == size for name, size in mark.files.items())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return Checkpoint(path=str(path), mark=mark) if there else None


def _remove(path: Path) -> None:
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise UserError(f"{path}: an old checkpoint can't be removed: {error.strerror}") from error


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
