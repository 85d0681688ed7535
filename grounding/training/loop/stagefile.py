"""``stage.json``: what a stage was begun as, so that nobody goes on with it as something else."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from grounding.errors import UserError
from grounding.lockedfolder import LockedFolder
from grounding.records import Record
from grounding.training.loop.records import Launch, StagePlan, StageResult

STAGE = "stage.json"
RESULT = "result.json"


RecordT = TypeVar("RecordT", bound=Record)


class StageFile(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``stage.json``."""

    plan: StagePlan
    launch: Launch


def write_stage(folder: LockedFolder, stage: StageFile) -> None:
    """Write what a stage is, or check that it is what it was begun as (how it is saved and shown may change).

    Raises:
        UserError: it was begun as something else; says where they differ.
    """
    if (folder.path / STAGE).exists():
        before = read_stage(folder.path)
        changed = _changed(before, stage)
        if changed:
            raise UserError(
                f"{folder.path}: this stage was begun with other settings ({'; '.join(changed)}): use those, or begin "
                "again with --fresh"
            )
    folder.replace(STAGE, msgspec.json.format(msgspec.json.encode(stage), indent=2))


def read_stage(folder: Path) -> StageFile:
    """Read ``stage.json``.

    Raises:
        UserError: it is missing or damaged.
    """
    return _read(folder / STAGE, StageFile)


def read_result(folder: Path) -> StageResult | None:
    """Read a stage's ``result.json``, which tells how far it came also while it runs; None where it has none yet.

    Raises:
        UserError: it is damaged.
    """
    return _read(folder / RESULT, StageResult) if (folder / RESULT).exists() else None


def write_result(plan: StagePlan, result: StageResult) -> None:
    """Replace the stage's ``result.json``.

    Raises:
        UserError: it can't be written.
    """
    folder = LockedFolder(Path(plan.folder), what="the stage's folder")
    folder.replace(RESULT, msgspec.json.format(msgspec.json.encode(result), indent=2))


def _read(path: Path, record_type: type[RecordT]) -> RecordT:
    try:
        return msgspec.json.decode(path.read_bytes(), type=record_type)
    except OSError as error:
        raise UserError(f"{path}: a stage of a training can't be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not written by this version: {error}") from error


_FREE = ("folder", "saving", "sample_every_steps")
"""Fields of a plan that change nothing about the weights."""


def _changed(before: StageFile, now: StageFile) -> list[str]:
    changed = []
    for name in StagePlan.__struct_fields__:
        old, new = getattr(before.plan, name), getattr(now.plan, name)
        if name not in _FREE and old != new:
            changed.extend(_difference(name, old, new))
    # The same configuration from another place is the same.
    launches = [msgspec.structs.replace(stage.launch, accelerate_config=None) for stage in (before, now)]
    if launches[0] != launches[1]:
        changed.extend(_difference("launch", *launches))
    return changed


def _difference(name: str, old: object, new: object) -> list[str]:
    if isinstance(old, Record) and type(old) is type(new):
        pairs = ((field, getattr(old, field), getattr(new, field)) for field in old.__struct_fields__)
        return [f"{name}.{field} was {was}, is {now}" for field, was, now in pairs if was != now]
    return [f"{name} was {old}, is {new}"]
