"""The folder of a run that is not of clicks: ``run.json`` says what was asked, ``summary.json`` what came out.

Which benchmark a folder is of stands in ``run.json`` (field ``benchmark``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import msgspec

from grounding.errors import UserError
from grounding.lockedfolder import LockedFolder
from grounding.records import Record

InfoT = TypeVar("InfoT", bound=Record)
SummaryT = TypeVar("SummaryT", bound=Record)


class DescribedFolder(LockedFolder, Generic[InfoT]):
    """A run folder whose ``run.json`` is a record of one type.

    Subclasses say which (``info_type``), and what a user knows such runs as (``kind``), such as "a desktop run".
    """

    info_type: ClassVar[type[Any]]
    kind: ClassVar[str]

    def write_info(self, info: InfoT) -> None:
        """Replace ``run.json`` in one step."""
        self.replace("run.json", msgspec.json.format(msgspec.json.encode(info), indent=2))

    def read_info(self) -> InfoT:
        """Read ``run.json``.

        Raises:
            UserError: this is not the folder of such a run, or its ``run.json`` is damaged.
        """
        path = self.path / "run.json"
        try:
            info: InfoT = msgspec.json.decode(path.read_bytes(), type=self.info_type)
        except OSError as error:
            raise UserError(f"{self.path} is not a run folder: run.json can't be read ({error.strerror})") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UserError(f"{path}: not a description of {self.kind} of this version: {error}") from error
        return info

    def write_summary(self, summary: Record) -> None:
        """Replace ``summary.json``."""
        self.replace("summary.json", msgspec.json.format(msgspec.json.encode(summary), indent=2))

    def read_summary(self, summary_type: type[SummaryT]) -> SummaryT:
        """Read ``summary.json``.

        Raises:
            UserError: the run was not scored, or the file is damaged.
        """
        path = self.path / "summary.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=summary_type)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UserError(
                f"{path}: the scores can't be read: {error}; `grounding score {self.path}` makes them"
            ) from error


class Scored(Protocol):
    """What scoring a run gives: its description, and a summary with a status."""

    @property
    def info(self) -> Any:
        """What stands in ``run.json``."""
        ...

    @property
    def summary(self) -> Any:
        """What stands in ``summary.json``."""
        ...


ScoredT = TypeVar("ScoredT", bound=Scored)
FolderT = TypeVar("FolderT", bound=DescribedFolder[Any])


def carry_out(
    folder: FolderT,
    info: Any,
    *,
    fresh: bool,
    ask: Callable[[FolderT], str],
    score: Callable[[FolderT], ScoredT],
    finish: Callable[[ScoredT], ScoredT] = lambda scored: scored,
) -> ScoredT:
    """Run, or go on with, what a folder is for: describe it, ask, score, and describe it as it ended.

    Args:
        folder: The folder; no other process gets into it meanwhile.
        info: What is asked, with the fields ``run_id``, ``started_at``, ``wall_s``, ``stopped`` and ``status``.
        fresh: Set an earlier run aside; where it went is in the result's ``set_aside``.
        ask: Asks everything that has no answer yet; returns why it stopped early, or nothing.
        score: Scores what there is.
        finish: Last things to be done with the scored run before the folder is let go, such as writing a page.

    Raises:
        UserError: another process is at work there, or the disk failed; what was answered is kept.
    """
    set_aside = folder.set_aside() if fresh else None
    folder.create()
    try:
        if (folder.path / "run.json").exists():
            before = folder.read_info()
            info = msgspec.structs.replace(info, started_at=before.started_at, wall_s=before.wall_s)
        folder.write_info(info)
        started = time.monotonic()
        stopped = ask(folder)
        folder.write_info(
            msgspec.structs.replace(info, stopped=stopped, wall_s=info.wall_s + time.monotonic() - started)
        )
        scored = score(folder)
        info = msgspec.structs.replace(scored.info, status=scored.summary.status)
        folder.write_info(info)
        # Both are fields of every scored record, which the protocol can't say of a frozen one.
        replaced: ScoredT = msgspec.structs.replace(scored, info=info, set_aside=set_aside)  # type: ignore[type-var]
        return finish(replaced)
    finally:
        folder.release()


class _Kind(msgspec.Struct):
    benchmark: str = ""


def benchmark_of(path: Path) -> str:
    """Which benchmark a folder is a run of; "" for runs of clicks, and also where it is no run folder at all."""
    try:
        return msgspec.json.decode((path / "run.json").read_bytes(), type=_Kind).benchmark
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return ""
