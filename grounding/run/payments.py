"""What a run has paid so far: of clicks from the answers in its folder, of all others from ``calls.jsonl``.

An episode is many requests and one record, written when it is through: each request is kept beside it when it is paid,
so that a process that dies in between takes nothing from the bill or the cost limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

import msgspec

from grounding.records import Call, Failure, Record
from grounding.run.journal import Journal, scan

CALLS = "calls.jsonl"


class _Paid(msgspec.Struct):
    """What a line says of money. A plan that is ``reused`` was paid by another run."""

    call: Call | None = None
    user_call: Call | None = None
    reused: bool = False


def paid_calls(folder: Path, answers: Iterable[str]) -> Iterator[Call]:
    """All requests that a run made so far; none where it never began. Runs that kept none have their answers' calls.

    ``answers`` are the names of the run's journals.

    Raises:
        UserError: a file of the folder is damaged.
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
        """Open ``calls.jsonl``, made at the first request.

        Raises:
            UserError: it can't be opened, or a line of it is damaged.
        """
        self._path = folder / CALLS
        self._journal: Journal[PaidCall] | None = None

    def add(self, role: str, call: Call) -> None:
        """Keep a request.

        Raises:
            OSError: it can't be written.
        """
        if self._journal is None:
            self._journal = Journal(self._path, PaidCall)
        self._journal.append(PaidCall(role=role, call=call))

    def close(self) -> None:
        """Close the file."""
        if self._journal is not None:
            self._journal.close()


def calls_of(folder: Path, role: str) -> list[Call] | None:
    """The requests to the models of one part in a run; None where a run asked nobody, or kept answers alone.

    Raises:
        UserError: the file is damaged.
    """
    if not (folder / CALLS).exists():
        return None
    return [one.call for one in scan(folder / CALLS, PaidCall) if one.role == role]
