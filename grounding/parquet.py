"""A run's tables as Parquet files beside its JSON lines: a million steps are read in seconds.

The JSON lines stay what counts. Every Parquet file says which bytes it was made of (size, time of change, hash), so
that one whose source has changed since is never read. A folder with ``run.json`` and the four Parquet files alone is a
run to :func:`grounding.load_run`. Needs pyarrow: ``pip install 'grounding[parquet]'``.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from grounding.errors import UserError
from grounding.records import GroupLabel, Record, Session
from grounding.runfolder import RunFolder
from grounding.runrows import COLUMNS, TABLES, cell_of, table_rows

AUTOMATIC_ABOVE = 100_000
"""Steps above which the end of a run writes the files without being asked, where pyarrow is installed."""

ROWS_A_GROUP = 50_000
"""Rows that are held at a time, and that one row group has."""

_STAMP = b"grounding"


class Stamp(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a Parquet file was made of."""

    version: int = 1
    source: str
    size_bytes: int
    changed_ns: int
    sha256: str


class _StepHead(msgspec.Struct):
    """What must be known of all steps before the first row is written."""

    participant: str
    groups: tuple[GroupLabel, ...] = ()


def is_installed() -> bool:
    """Whether the files can be written and read here."""
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


def write_tables(path: Path) -> tuple[Path, ...]:
    """Write the Parquet files of a scored run that are missing or out of date; returns those that were written.

    Memory is bounded by the places of the records and one session of steps.

    Args:
        path: The run's folder, in which no other process is at work.

    Raises:
        UserError: pyarrow is not installed, the run was never scored, a file is damaged, or one can't be written.
    """
    _pyarrow()
    folder = RunFolder(path)
    written = []
    for name in TABLES:
        if not _is_fresh(path, name):
            _write(folder, name)
            written.append(_file(path, name))
    return tuple(written)


def keep_tables(path: Path, steps: int) -> None:
    """Write the files at the end of a run that is large or has some already; nothing where pyarrow is missing.

    Args:
        path: The run's folder.
        steps: How many steps it has.

    Raises:
        UserError: as for :func:`write_tables`.
    """
    if is_installed() and (steps > AUTOMATIC_ABOVE or any(_file(path, name).exists() for name in TABLES)):
        write_tables(path)


def fresh_table(path: Path, name: str) -> Any | None:
    """A table as Arrow has it; None where the JSON lines are to be read.

    That is where there is no Parquet file, it is out of date, or pyarrow is missing and the JSON lines are there.

    Raises:
        UserError: the Parquet file is all there is and can't be read.
    """
    if not _file(path, name).exists() or not (is_installed() or not (path / f"{name}.jsonl").exists()):
        return None
    arrow = _pyarrow()
    try:
        return arrow.parquet.read_table(_file(path, name)) if _is_fresh(path, name) else None
    except (OSError, arrow.ArrowException) as error:
        raise UserError(f"{_file(path, name)}: can't be read ({error}); delete it, or write it again") from error


def _file(path: Path, name: str) -> Path:
    return path / f"{name}.parquet"


def _pyarrow() -> Any:
    try:
        import pyarrow as arrow
        import pyarrow.parquet
    except ImportError as error:
        raise UserError("Parquet files need pyarrow: pip install 'grounding[parquet]'") from error
    return arrow


def _is_fresh(path: Path, name: str) -> bool:
    """Whether a Parquet file is there and was made of the JSON lines beside it, or there are none beside it."""
    arrow, file, source = _pyarrow(), _file(path, name), path / f"{name}.jsonl"
    if not file.exists():
        return False
    try:
        metadata = arrow.parquet.read_schema(file).metadata or {}
        stamp = msgspec.json.decode(metadata.get(_STAMP, b""), type=Stamp)
    except (OSError, arrow.ArrowException, msgspec.DecodeError):
        return False
    if not source.exists():
        return True
    now = source.stat()
    if (now.st_size, stamp.source, stamp.version) != (stamp.size_bytes, source.name, 1):
        return False
    # A copy has another time of change and the same bytes.
    return now.st_mtime_ns == stamp.changed_ns or _sha256(source) == stamp.sha256


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(folder: RunFolder, name: str) -> None:
    arrow = _pyarrow()
    source, file = folder.path / f"{name}.jsonl", _file(folder.path, name)
    try:
        before = source.stat()
    except OSError as error:
        again = f"; `grounding score {folder.path}` makes it from the stored answers" if name == "verdicts" else ""
        raise UserError(f"{source}: can't be read: {error.strerror}{again}") from error
    sessions, kinds = (None, ()) if name != "steps" else _steps(folder)
    columns = (*COLUMNS[name], *(f"group_{kind}" for kind in kinds))
    rows = table_rows(folder, name, sessions=sessions)
    temporary = file.with_name(f".{file.name}.new")
    try:
        # From before the rows are read: whatever is appended meanwhile makes the file out of date.
        stamp = Stamp(
            source=source.name,
            size_bytes=before.st_size,
            changed_ns=before.st_mtime_ns,
            sha256=_sha256(source),
        )
        schema = _schema(arrow, columns).with_metadata({_STAMP: msgspec.json.encode(stamp)})
        with arrow.parquet.ParquetWriter(temporary, schema, compression="zstd") as writer:
            while batch := list(islice(rows, ROWS_A_GROUP)):
                arrays = [arrow.array([row.get(one) for row in batch], type=schema.field(one).type) for one in columns]
                writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
        temporary.replace(file)
    except OSError as error:
        raise UserError(f"{file}: can't be written: {error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _schema(arrow: Any, columns: Iterable[str]) -> Any:
    types: Mapping[str, Any] = {
        "flag": arrow.bool_(),
        "count": arrow.int64(),
        "measure": arrow.float64(),
        "text": arrow.string(),
    }
    return arrow.schema([(name, types[cell_of(name)]) for name in columns])


def _steps(folder: RunFolder) -> tuple[Iterable[Session], tuple[str, ...]]:
    """The steps session by session, and the kinds of labels that they have in order of their first step."""
    kinds: dict[str, None] = {}
    seen: set[str] = set()
    last, scattered = "", False
    for head in folder.stream_lines("steps.jsonl", _StepHead, what="a step"):
        kinds.update((label.kind, None) for label in head.groups)
        if head.participant != last:
            scattered = scattered or head.participant in seen
            seen.add(head.participant)
            last = head.participant
    return (folder.read_sessions() if scattered else folder.stream_sessions()), tuple(kinds)
