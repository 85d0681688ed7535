"""What several runs of one command are at: ``queue.json``, which that command keeps and others look at.

The file lies in the command's own folder (of a sweep, of a matrix), beside the folders of its runs. It is replaced as a
whole at every change, so that whoever reads it never finds half of it. How far a run is stands in the run's own folder
and not here.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections import Counter
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from grounding.errors import UserError
from grounding.records import Record

QUEUE = "queue.json"
_MOST_BYTES = 64 << 20

QueueStateName = Literal["waiting", "starting", "running", "complete", "partial", "failed"]
ENDED: frozenset[QueueStateName] = frozenset(("complete", "partial", "failed"))
"""States that a run leaves only when the command is given again."""


class QueuedRun(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One of the runs. Times are those of :func:`grounding.runfolder.utc_now`, "" where they have not come.

    ``folder`` is the run's folder; of it only the last part counts (see :func:`folder_of`). ``steps`` is how many are
    scored, 0 where nobody knows yet. ``server`` names the group of runs that share one server, "" for a run that asks
    none or none of the command's. ``problem`` says why a run failed or ended early.
    """

    name: str
    run_id: str
    folder: str
    steps: int = 0
    state: QueueStateName = "waiting"
    problem: str = ""
    server: str = ""
    started_at: str = ""
    ended_at: str = ""
    planner: str = ""
    grounder: str = ""


class QueueState(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``queue.json``. ``cost_limit_usd`` is for all runs together."""

    schema: Literal[1] = 1
    command: str
    started_at: str
    cost_limit_usd: float | None = None
    runs: tuple[QueuedRun, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether every run has ended, one way or another."""
        return all(run.state in ENDED for run in self.runs)


def with_run(queue: QueueState, name: str, /, **changes: Any) -> QueueState:
    """The queue with one run changed.

    Args:
        queue: The queue as it was.
        name: The run's id, or its name where no other run has it.
        changes: Fields of :class:`QueuedRun` and their new values.

    Raises:
        KeyError: no run is called so, or several are.
        ValueError: there is no such state.

    >>> run = QueuedRun(name="none + ocr", run_id="r1", folder="results/r1", steps=10)
    >>> queue = QueueState(command="grounding eval", started_at="2026-01-01T00:00:00Z", runs=(run,))
    >>> with_run(queue, "none + ocr", state="running").runs[0].state
    'running'
    """
    found = [at for at, run in enumerate(queue.runs) if run.run_id == name]
    found = found or [at for at, run in enumerate(queue.runs) if run.name == name]
    if len(found) != 1:
        raise KeyError(f"{len(found)} runs of the queue are called {name!r}")
    if changes.get("state", "waiting") not in get_args(QueueStateName):
        raise ValueError(f"a run is never {changes['state']!r}: expected one of {', '.join(get_args(QueueStateName))}")
    (at,) = found
    changed = msgspec.structs.replace(queue.runs[at], **changes)
    return msgspec.structs.replace(queue, runs=(*queue.runs[:at], changed, *queue.runs[at + 1 :]))


def distinct_names(queue: QueueState) -> dict[str, str]:
    """A name for each run by its id, different for each: where a name comes again, the end of the id goes with it.

    >>> runs = [QueuedRun(name="a + b", run_id=f"made_a_b_{each}", folder="") for each in ("0123456789", "abcdef0123")]
    >>> distinct_names(QueueState(command="", started_at="", runs=tuple(runs)))
    {'made_a_b_0123456789': 'a + b (0123456789)', 'made_a_b_abcdef0123': 'a + b (abcdef0123)'}
    """
    times = Counter(run.name for run in queue.runs)
    return {
        run.run_id: run.name if times[run.name] == 1 else f"{run.name} ({run.run_id.rpartition('_')[2]})"
        for run in queue.runs
    }


def counted(state: QueueState) -> dict[QueueStateName, int]:
    """How many runs are in each state, those of which there are none left out, in the order of a run's life."""
    found = Counter(run.state for run in state.runs)
    return {name: found[name] for name in get_args(QueueStateName) if found[name]}


def waiting_by_server(state: QueueState) -> dict[str, int]:
    """How many runs wait for each server, in the order in which the servers come; "" for those that need none."""
    found: dict[str, int] = {}
    for run in state.runs:
        if run.state == "waiting":
            found[run.server] = found.get(run.server, 0) + 1
    return found


def folder_of(folder: Path, run: QueuedRun) -> Path:
    """Where a run's files lie: beside the queue's folder, wherever that has been moved to, and nowhere else."""
    name = Path(run.folder).name
    return folder.parent / (Path(run.run_id).name if name in ("", "..") else name)


def write_queue(folder: Path, state: QueueState) -> None:
    """Replace ``queue.json`` in one step; the folder is made where there is none.

    Raises:
        UserError: it can't be written.
    """
    # Several runs at once may tell of a change in the same moment.
    draft = folder / f".{QUEUE}.{os.getpid()}.{threading.get_ident()}.new"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n")
        draft.replace(folder / QUEUE)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise UserError(
            f"{folder / QUEUE}: can't be written: {error.strerror}. What was answered is kept; make room and run the "
            "same command again."
        ) from error


def read_queue(folder: Path) -> QueueState:
    """Read ``queue.json``.

    Raises:
        UserError: there is none in the folder, or it is damaged.
    """
    path = folder / QUEUE
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UserError(f"{path}: expected at most {_MOST_BYTES >> 20} MiB; this is no queue that a command wrote")
        return msgspec.json.decode(path.read_bytes(), type=QueueState)
    except OSError as error:
        raise UserError(
            f"{folder} is not a folder of several runs: {QUEUE} can't be read ({error.strerror})"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(
            f"{path}: not a queue of this version: {error}; the same command again writes it anew"
        ) from error


def is_held(folder: Path) -> bool:
    """Whether a process of this machine is at work on a folder, by the lock that it holds on it.

    To find out, the lock is taken for an instant where it is free: ask this only of folders in which nothing has moved
    for a while, so as not to keep a run that is just starting out of its own folder.
    """
    try:
        opened = os.open(folder, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(opened)
    return False
