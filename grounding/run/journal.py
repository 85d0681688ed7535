"""An append-only file of records, one JSON object a line, that survives a kill at any moment.

Each record has a ``step_id`` (what it answers), a ``key`` (hash of everything that made it) and perhaps a failure. The
last line for a step counts. A last line without its end was torn off by a crash: it is dropped and asked again.

What a run has paid so far is known of clicks from their answers, of all others from ``calls.jsonl``: an episode is many
requests and one record, written when it is through, so each request is kept beside it when it is paid, and a process
that dies in between takes nothing from the bill or the cost limit.
"""

import os
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar, Generic, Protocol, TypeVar

import msgspec

from grounding.errors import UserError
from grounding.records import Call, Failure, Record


class Keyed(Protocol):
    @property
    def step_id(self) -> str: ...

    @property
    def key(self) -> str:
        """Hash of everything that made it."""

    @property
    def failure(self) -> Failure | None: ...


RecordT = TypeVar("RecordT", bound=Keyed)
_BUFFER = 1 << 20  # bytes read at a time
_NONE, _ERROR, _ANSWERED, _FAILED = range(4)  # what the last record of a step says; _NONE: there is none
AnyT = TypeVar("AnyT")


def scan(path: Path, record_type: type[AnyT], *, what: str = "") -> Iterator[AnyT]:
    """Every record of such a file in the order in which it was written, one at a time. ``record_type`` may have fewer
    fields than were written. A torn last line is passed over, as another process may be appending to the file; but not
    of a file that was written as a whole, of which ``what`` a line is is said.
    """
    try:
        lines = path.open("rb", buffering=_BUFFER)
    except OSError as error:
        raise UserError(f"{path}: can't be read: {error.strerror}") from error
    decode = msgspec.json.Decoder(record_type).decode
    with lines:
        for number, line in enumerate(lines, start=1):
            if not what and not line.endswith(b"\n"):
                return
            try:
                record = decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise _damaged(path, number, error, what) from error
            yield record


def _damaged(path: Path, number: int, error: Exception, what: str = "") -> UserError:
    if what:
        return UserError(f"{path}, line {number}: not {what}: {error}")
    return UserError(
        f"{path}, line {number}: not a record of this run ({error}); delete that line to have the step asked again, or "
        "start over with --fresh"
    )


def rows_for(step_ids: Iterable[str]) -> dict[str, int]:
    """A row for each step that will have records, for :class:`Journal`; one table may serve several journals."""
    return {step_id: row for row, step_id in enumerate(step_ids)}


class Journal(Generic[RecordT]):
    """One such file, open for appending. Only the places of records are held in memory, not the records. That is 25
    bytes for each row, however long the records are, and the table of rows. With the table given, all of it is there
    from the beginning, and memory does not grow with the answers. Opened ``read_only``, a torn last line is passed over
    and left in the file, which another process may be writing.
    """

    def __init__(
        self, path: Path, record_type: type[RecordT], *, read_only: bool = False, rows: dict[str, int] | None = None
    ) -> None:
        """Open the file, made if there is none, and read where its records are. ``rows`` as by :func:`rows_for`; steps
        that it lacks are added to it.
        """
        self.path = path
        self._read_only = read_only
        self._decoder = msgspec.json.Decoder(record_type)
        self._encoder = msgspec.json.Encoder()
        self._rows = {} if rows is None else rows
        self._offsets, self._lengths = array("Q"), array("I")
        self._keys = array("q")  # hashes: what lies in the file decides
        self._turns = array("I")  # how many records came before the step's first
        self._states = bytearray()
        self._make_room()
        self._counts = [0, 0, 0, 0]
        self._records = 0
        self._end = 0
        try:
            self._file = os.open(path, os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise UserError(f"{path}: can't be opened: {error.strerror}") from error
        try:
            self._load()
        except UserError:
            self.close()
            raise

    def _make_room(self) -> None:
        lacking = len(self._rows) - len(self._states)
        for column in (self._offsets, self._lengths, self._keys, self._turns):
            column.frombytes(bytes(lacking * column.itemsize))
        self._states.extend(bytes(lacking))

    def _load(self) -> None:
        decode, note = self._decoder.decode, self._note
        with open(self._file, "rb", buffering=_BUFFER, closefd=False) as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                try:
                    record = decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                    raise _damaged(self.path, self._records + 1, error) from error
                note(record, len(line))
        if not self._read_only:
            os.ftruncate(self._file, self._end)

    def _note(self, record: Keyed, length: int) -> None:
        failure = record.failure
        state = _ANSWERED if failure is None else _ERROR if failure.kind == "error" else _FAILED
        row = self._rows.setdefault(record.step_id, len(self._rows))
        if row >= len(self._states):
            self._make_room()
        before = self._states[row]
        if before == _NONE:
            self._turns[row] = self._records
        else:
            self._counts[before] -= 1
        self._offsets[row], self._lengths[row] = self._end, length
        self._keys[row], self._states[row] = hash(record.key), state
        self._counts[state] += 1
        self._records += 1
        self._end += length

    def _row(self, step_id: str) -> int | None:
        row = self._rows.get(step_id)
        # Another journal of the same table may have added a row of its own.
        return row if row is not None and row < len(self._states) and self._states[row] != _NONE else None

    def __len__(self) -> int:
        return sum(self._counts)

    @property
    def settled_count(self) -> int:
        """How many steps have an answer that will not be asked for again (under its key)."""
        return self._counts[_ANSWERED] + self._counts[_FAILED]

    @property
    def failed_count(self) -> int:
        return self._counts[_FAILED]

    def __contains__(self, step_id: object) -> bool:
        return isinstance(step_id, str) and self._row(step_id) is not None

    def settled(self, step_id: str, key: str) -> RecordT | None:
        """The stored answer under this key; None where there is none or only an infrastructure error."""
        row = self._row(step_id)
        if row is None or self._keys[row] != hash(key) or self._states[row] == _ERROR:
            return None
        record = self._read(row)
        return record if record.key == key else None

    def last(self, step_id: str) -> RecordT | None:
        """The last record for a step, whatever it says."""
        row = self._row(step_id)
        return None if row is None else self._read(row)

    def _read(self, row: int) -> RecordT:
        return self._decoder.decode(os.pread(self._file, self._lengths[row], self._offsets[row]))

    def __iter__(self) -> Iterator[RecordT]:
        """The last record of every step, in the order in which the steps were first answered."""
        if self._records == len(self):
            # no line took the place of another: the file's order is the steps'
            yield from self.every()
            return
        present = (row for row, state in enumerate(self._states) if state != _NONE)
        for row in sorted(present, key=self._turns.__getitem__):
            yield self._read(row)

    def every(self) -> Iterator[RecordT]:
        """Every record ever written, also those that a later one took the place of: all of them may have cost money."""
        offset = 0
        with open(self._file, "rb", buffering=_BUFFER, closefd=False) as lines:
            lines.seek(0)
            decode = self._decoder.decode
            for line in lines:
                offset += len(line)
                if offset > self._end:
                    return
                yield decode(line)

    def append(self, record: RecordT) -> None:
        """Write a record and hand it to the operating system before returning. Raises OSError: the disk is full or
        failing; the half-written line is taken back.
        """
        line = self._encoder.encode(record) + b"\n"
        try:
            written = 0
            while written < len(line):
                written += os.pwrite(self._file, line[written:], self._end + written)
        except OSError:
            os.ftruncate(self._file, self._end)
            raise
        self._note(record, len(line))

    def close(self) -> None:
        os.close(self._file)


# --- what was paid --------------------------------------------------------------------------------------------------

CALLS = "calls.jsonl"


class _Paid(msgspec.Struct):
    """What a line says of money. A plan that is ``reused`` was paid by another run."""

    call: Call | None = None
    user_call: Call | None = None
    reused: bool = False


def paid_calls(folder: Path, answers: Iterable[str]) -> Iterator[Call]:
    """All requests that a run made so far; none where it never began. Runs that kept none have their answers' calls.
    ``answers`` are the names of the run's journals.
    """
    if (folder / CALLS).exists():
        yield from (one.call for one in scan(folder / CALLS, PaidCall))
        return
    for name in answers:
        if (folder / name).exists():
            for line in scan(folder / name, _Paid):
                if not line.reused:
                    yield from (call for call in (line.call, line.user_call) if call is not None)


class PaidCall(Record, frozen=True, kw_only=True):
    """A line of ``calls.jsonl``: a request, and the part in the run of the model that was asked."""

    role: str
    call: Call

    key: ClassVar[str] = ""
    failure: ClassVar[Failure | None] = None

    @property
    def step_id(self) -> str:
        """What a journal calls it."""
        return self.role


class PaidCalls:
    """The requests of a run, each kept as soon as it is paid; give :meth:`add` to a budget's ``on_paid``."""

    def __init__(self, folder: Path) -> None:
        """Open ``calls.jsonl``, made at the first request."""
        self._path = folder / CALLS
        self._journal: Journal[PaidCall] | None = None

    def add(self, role: str, call: Call) -> None:
        """Keep a request. Raises OSError: it can't be written."""
        if self._journal is None:
            self._journal = Journal(self._path, PaidCall)
        self._journal.append(PaidCall(role=role, call=call))

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()


def calls_of(folder: Path, role: str) -> list[Call] | None:
    """The requests to the models of one part in a run; None where a run asked nobody, or kept answers alone."""
    if not (folder / CALLS).exists():
        return None
    return [one.call for one in scan(folder / CALLS, PaidCall) if one.role == role]
