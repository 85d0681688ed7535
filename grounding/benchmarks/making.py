"""A data set that is made here: its folder, what it was made with, and that nothing else is overwritten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from grounding.errors import UserError
from grounding.records import Record
from grounding.run.lock import LockedFolder

MADE_WITH = "made-with.json"
WORK = "work"
BY_MODEL = "a chat model"


class SourceFile(Record, frozen=True, kw_only=True, omit_defaults=False):
    name: str
    size_bytes: int


def source_files(paths: Sequence[Path]) -> tuple[SourceFile, ...]:
    return tuple(SourceFile(name=path.name, size_bytes=path.stat().st_size) for path in paths)


class HasRecipe(Protocol):
    """What a data set was made with; its ``recipe`` is everything that decides what the data set becomes."""

    @property
    def recipe(self) -> Any: ...


class MadeFolder(LockedFolder):
    """``set_aside_as`` is where an earlier one was put."""

    set_aside_as: Path | None = None

    def write_made_with(self, made: HasRecipe) -> None:
        self.replace(MADE_WITH, msgspec.json.format(msgspec.json.encode(made), indent=2))


@contextmanager
def made_folder(out: Path, begun: HasRecipe, *, what: str, fresh: bool) -> Iterator[MadeFolder]:
    """The folder, held, with a folder for work and ``made-with.json`` in it.

    ``what`` is made, for messages: "a shop"; ``fresh`` sets an earlier one aside. A UserError where it holds something
    else, or what another recipe made.
    """
    folder = MadeFolder(out, what=f"the folder of {what}", flag="--out")
    if fresh:
        folder.set_aside_as = folder.set_aside()
    _check(out, begun, what)
    with folder.held():
        (out / WORK).mkdir(exist_ok=True)
        if not (out / MADE_WITH).exists():
            folder.write_made_with(begun)
        yield folder


def _check(out: Path, begun: HasRecipe, what: str) -> None:
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out}: is a file: give a folder")
    if not out.exists() or not any(out.iterdir()):
        return
    try:
        found = msgspec.json.decode((out / MADE_WITH).read_bytes(), type=type(begun)).recipe
    except (OSError, msgspec.DecodeError):
        raise UserError(f"--out {out}: holds something else than {what} made here: choose another folder") from None
    differs = [name for name in found.__struct_fields__ if getattr(found, name) != getattr(begun.recipe, name)]
    if differs:
        raise UserError(
            f"--out {out}: holds {what} made otherwise ({', '.join(differs)}): choose another folder, or set it aside "
            "with --fresh"
        )
