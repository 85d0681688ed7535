"""A folder that one process at a time writes in, and whose files are replaced whole or not at all; and run folders.

``run.json`` says what was asked, and of which benchmark it is (field ``benchmark``); ``summary.json`` what the answers
amount to, and nothing of when, where or in which order they came, so that two runs with equal answers have equal files:
seconds and tries are in ``time.json``.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

import msgspec

from grounding.atomic import atomic_write
from grounding.errors import UserError
from grounding.records import Record
from grounding.run.journal import scan
from grounding.scoring.summary import TimeTotals

RecordT = TypeVar("RecordT", bound=Record)
StructT = TypeVar("StructT", bound=msgspec.Struct)
InfoT = TypeVar("InfoT", bound=Record)
SummaryT = TypeVar("SummaryT", bound=Record)

TIME_FILE = "time.json"
_KINDS = {"desktop": "a desktop run", "personalwab": "a run over a shop", "agenticshop": "a run that curates products"}


class LockedFolder:
    """The folder of one run, whatever is in it. ``what`` the user knows it as, and ``flag`` chooses another."""

    def __init__(self, path: Path, *, what: str = "the run folder", flag: str = "--log-dir") -> None:
        self.path = path
        self._what, self._flag = what, flag
        self._lock: int | None = None

    def create(self) -> None:
        """Make the folder and keep other processes out of it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{self._what} {self.path} can't be made: {error.strerror} (see {self._flag})") from error
        self.lock()

    def lock(self) -> None:
        """Keep other processes out until ``release``."""
        try:
            self._lock = os.open(self.path, os.O_RDONLY)
        except OSError as error:
            raise UserError(f"{self._what} {self.path} can't be opened: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise UserError(
                f"another process is at work on {self.path}: wait for it, or use another {self._flag}"
            ) from error

    def fileno(self) -> int:
        """The handle of the lock: a process that inherits it keeps others out as long as it lives."""
        assert self._lock is not None, "the folder is locked"
        return self._lock

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextmanager
    def held(self) -> Iterator[Self]:
        self.create()
        try:
            yield self
        finally:
            self.release()

    def set_aside(self) -> Path | None:
        """Rename the folder, if there is one, so that a run starts afresh and nothing paid for is lost."""
        if not self.path.exists():
            return None
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.old{number}")).exists():
            number += 1
        self.lock()
        try:
            self.path.rename(aside)
        except OSError as error:
            raise UserError(f"{self._what} {self.path} can't be set aside: {error.strerror}") from error
        finally:
            self.release()
        return aside

    def read_lines(self, name: str, record_type: type[RecordT], *, what: str) -> tuple[RecordT, ...]:
        """The records of a file of JSON lines that was replaced as a whole. ``what`` a line is, for the message."""
        return tuple(self.stream_lines(name, record_type, what=what))

    def stream_lines(self, name: str, record_type: type[StructT], *, what: str) -> Iterator[StructT]:
        return scan(self.path / name, record_type, what=what)

    def replace(self, name: str, content: bytes) -> None:
        """Write a file beside the old one and put it in its place in one step; it ends with a line end."""
        self._replace(name, (content, b"" if content.endswith(b"\n") or not content else b"\n"))

    def replace_json(self, name: str, record: object) -> None:
        self.replace(name, msgspec.json.format(msgspec.json.encode(record), indent=2))

    def replace_lines(self, name: str, records: Iterable[Record]) -> None:
        encode = msgspec.json.Encoder().encode
        self._replace(name, (encode(record) + b"\n" for record in records))

    def _replace(self, name: str, pieces: Iterable[bytes]) -> None:
        try:
            atomic_write(self.path / name, pieces)
        except OSError as error:
            raise UserError(
                f"{self.path / name}: can't be written: {error.strerror}. What was answered is kept; make room and run "
                "the same command again."
            ) from error


class AboutRun(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What ``run.json`` says of a run of any benchmark. One that died is the one whose status is still ``started``.
    ``departs`` says what shows that the data set is not the release that its card describes.
    """

    schema: Literal[1] = 1
    run_id: str
    status: Literal["started", "complete", "partial"]
    signature: str
    data_dir: str
    command: str
    versions: dict[str, str]
    started_at: str
    wall_s: float = 0.0
    stopped: str = ""
    departs: tuple[str, ...] = ()


class DescribedFolder(LockedFolder, Generic[InfoT]):
    """A run folder whose ``run.json`` is a record of one type. Subclasses say which (``info_type``), and what a user
    knows such runs as (``kind``), such as "a desktop run".
    """

    info_type: ClassVar[type[Any]]
    kind: ClassVar[str]

    def write_info(self, info: InfoT) -> None:
        self.replace_json("run.json", info)

    def read_info(self) -> InfoT:
        """Read ``run.json``."""
        path = self.path / "run.json"
        try:
            info: InfoT = msgspec.json.decode(path.read_bytes(), type=self.info_type)
        except OSError as error:
            raise UserError(f"{self.path} is not a run folder: run.json can't be read ({error.strerror})") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            other = _KINDS.get(benchmark_of(self.path), self.kind)
            if other != self.kind:
                raise UserError(
                    f"{self.path} is {other}, which this command is not for: `grounding score` shows its figures, and "
                    "report.html in it every item"
                ) from error
            raise UserError(f"{path}: not a description of {self.kind} of this version: {error}") from error
        return info

    def earlier_info(self) -> InfoT | None:
        """What ``run.json`` says of a run that is to go on; None where there is none."""
        return self.read_info() if (self.path / "run.json").exists() else None

    def write_summary(self, summary: Record) -> None:
        self.replace_json("summary.json", summary)

    def read_summary(self, summary_type: type[SummaryT]) -> SummaryT:
        """Read ``summary.json``."""
        path = self.path / "summary.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=summary_type)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UserError(
                f"{path}: the scores can't be read: {error}; `grounding score {self.path}` makes them"
            ) from error


class _Kind(msgspec.Struct):
    benchmark: str = ""


def benchmark_of(path: Path) -> str:
    """Which benchmark a folder is a run of; "" for runs of clicks, and also where it is no run folder at all."""
    try:
        return msgspec.json.decode((path / "run.json").read_bytes(), type=_Kind).benchmark
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return ""


def write_time(folder: LockedFolder, time: Record) -> None:
    """Replace ``time.json`` by these figures of a benchmark."""
    folder.replace_json(TIME_FILE, time)


class _Older(msgspec.Struct):
    """The part of a ``summary.json`` of earlier versions that held the same."""

    time: TimeTotals | None = None


def read_time(path: Path, *, wall_s: float = 0.0) -> TimeTotals:
    """What a scored run took; of a run of an earlier version, from its ``summary.json``. ``wall_s`` is what
    ``run.json`` says of the clock, for a folder that has nothing more.
    """
    file = path / TIME_FILE
    try:
        if file.exists():
            return msgspec.json.decode(file.read_bytes(), type=TimeTotals)
        file = path / "summary.json"
        older = msgspec.json.decode(file.read_bytes(), type=_Older).time if file.exists() else None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: can't be read ({error}); `grounding score {path}` makes it again") from error
    return older or TimeTotals(wall_s=wall_s)
