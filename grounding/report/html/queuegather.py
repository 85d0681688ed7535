"""A folder of runs in, what its page shows out. Reads only: the runs may be going on."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from grounding.describedfolder import benchmark_of
from grounding.errors import UserError
from grounding.records import Record
from grounding.report.html.queuecontent import QueuePage, RunRow, ShownState
from grounding.report.html.queuefollow import Shelf
from grounding.report.html.queuenames import Unnamed, names_apart
from grounding.report.html.queuetotals import AT_WORK, matrix_of, servers_of, sums_of
from grounding.report.html.queuewatch import RunWatch, Seen
from grounding.runfolder import utc_now
from grounding.runqueue import ENDED, QUEUE, QueuedRun, QueueState, folder_of, is_held, read_queue

QUIET_S = 10.0
"""Files in which nothing has moved for so long are asked whether anybody is at work on them."""

STARTING_QUIET_S = 120.0
"""The same while a run is starting: before it holds its folder's lock, data are read, which leaves no trace."""

MOST_PROBLEM = 2_000

LinkTo = Callable[[int, Path], str]
"""Where the own page of a run is, by its key on the page and its folder; "" for nowhere."""


def holds_runs(folder: Path) -> bool:
    """Whether a folder is one of several runs: with a queue, or with run folders in it; not a run's own folder."""
    if (folder / QUEUE).exists():
        return True
    return not (folder / "run.json").exists() and any(folder.glob("*/run.json"))


class _Shown(Record, frozen=True, kw_only=True):
    """A run before it has a name: its key, what the queue says of it (None without a queue), what its folder says."""

    key: int
    folder: Path
    queued: QueuedRun | None
    seen: Seen
    state: ShownState


class QueueWatch:
    """Runs that belong together, looked at again and again.

    Args:
        folder: That of a command with several runs (with ``queue.json``), or one that holds run folders.

    Raises:
        UserError: neither is there.
    """

    def __init__(self, folder: Path) -> None:
        if not holds_runs(folder):
            raise UserError(f"{folder} holds no runs: expected {QUEUE}, or folders with a run.json in them")
        self.folder = folder
        self._has_queue = (folder / QUEUE).exists()
        self._shelf = Shelf()
        self._watches: dict[Path, RunWatch] = {}
        self._keys: dict[Path, int] = {}
        self._looking = threading.Lock()

    def folders(self) -> tuple[Path, ...]:
        """The folders of all runs so far; a run's place among them is its key.

        Raises:
            UserError: the queue is damaged.
        """
        with self._looking:
            self._find()
            return tuple(self._keys)

    def page(self, *, link: LinkTo, is_live: bool, until: float = float("inf")) -> QueuePage:
        """The page as things stand.

        Args:
            link: Where the runs' own pages are.
            is_live: Whether a server keeps the page up to date.
            until: When to stop reading answers, as a time of ``time.monotonic``; the next call goes on there.

        Raises:
            UserError: the queue is damaged. What is wrong with a single run stands on the page.
        """
        with self._looking:
            queue, queued, warnings = self._find()
            seen = {path: watch.look(until) for path, watch in self._watches.items() if path in self._keys}
            writer = self._writer(queue, queued, seen)
            shown = [
                _Shown(
                    key=self._keys[path],
                    folder=path,
                    queued=queued.get(path),
                    seen=one,
                    state=self._state(path, queued.get(path), one, writer),
                )
                for path, one in seen.items()
            ]
        rows = _rows(shown, link)
        sums = sums_of(rows)
        if queue is None and any(row.state in AT_WORK for row in rows):
            writer = "at work"
        page = QueuePage(
            title=self.folder.resolve().name,
            folder=str(self.folder),
            command=queue.command if queue else "",
            started_at=queue.started_at if queue else "",
            taken_at="",
            writer=writer,
            is_live=is_live,
            runs=rows,
            servers=servers_of(rows),
            matrix=matrix_of(rows),
            warnings=warnings,
            done=sums.done,
            steps=sums.steps,
            rate_per_s=sums.rate_per_s,
            left_s=sums.left_s,
            spent_usd=sums.spent_usd,
            unreported_usd=sums.unreported_usd,
            cost_limit_usd=queue.cost_limit_usd if queue else None,
        )
        version = hashlib.sha256(msgspec.json.encode(page)).hexdigest()[:16]
        return msgspec.structs.replace(page, version=version, taken_at=utc_now())

    def _find(self) -> tuple[QueueState | None, dict[Path, QueuedRun], tuple[str, ...]]:
        """The queue, its runs by their folders, and what has to be said; every run gets a key and a watch."""
        queue = read_queue(self.folder) if self._has_queue else None
        queued: dict[Path, QueuedRun] = {}
        warnings: list[str] = []
        if queue is not None:
            queued = {folder_of(self.folder, run): run for run in queue.runs}
            folders = list(queued)
        else:
            found = sorted(path.parent for path in self.folder.glob("*/run.json"))
            other = [path for path in found if path not in self._keys and benchmark_of(path)]
            folders = [path for path in found if path not in set(other)]
            if other:
                what = "a folder is" if len(other) == 1 else f"{len(other)} folders are"
                warnings.append(f"{what} left out: runs that are not of clicks have pages of their own")
        for folder in folders:
            if folder not in self._keys:
                self._keys[folder] = len(self._keys)
                self._watches[folder] = RunWatch(folder, self._shelf)
        for gone in set(self._watches) - set(folders):
            del self._watches[gone]
        return queue, queued, tuple(warnings)

    def _writer(
        self, queue: QueueState | None, queued: dict[Path, QueuedRun], seen: dict[Path, Seen]
    ) -> Literal["at work", "gone", "done"]:
        """Whether the command is still there: something moved lately, or it holds the lock of a folder."""
        if queue is None or queue.is_over:
            return "done"
        active = [path for path, run in queued.items() if run.state not in ENDED and path in seen]
        try:
            quiet_s = time.time() - (self.folder / QUEUE).stat().st_mtime
        except OSError:
            quiet_s = float("inf")
        patience_s = STARTING_QUIET_S if any(queued[path].state == "starting" for path in active) else QUIET_S
        if quiet_s < patience_s or any(self._watches[path].quiet_s() < QUIET_S for path in active):
            return "at work"
        return "at work" if is_held(self.folder) or any(map(is_held, active)) else "gone"

    def _state(self, path: Path, queued: QueuedRun | None, seen: Seen, writer: str) -> ShownState:
        if queued is not None and (queued.state in ENDED or writer == "at work"):
            return queued.state
        if seen.info is None:
            return "failed" if seen.problem else "unbegun"
        if seen.info.status != "started":
            return seen.info.status
        if queued is None and (self._watches[path].quiet_s() < QUIET_S or is_held(path)):
            return "running"
        return "broken"


def _rows(shown: Sequence[_Shown], link: LinkTo) -> tuple[RunRow, ...]:
    datasets = {one.seen.info.asked.dataset for one in shown if one.seen.info}
    names = names_apart(
        [
            Unnamed(
                name=one.queued.name if one.queued else _pair(one, with_dataset=len(datasets) > 1),
                asked=one.seen.info.asked if one.seen.info else None,
                run_id=one.folder.name,
            )
            for one in shown
        ]
    )
    return tuple(_row(one, name, link) for one, name in zip(shown, names, strict=True))


def _pair(one: _Shown, *, with_dataset: bool) -> str:
    """A run's name where no queue has one."""
    if one.seen.info is None:
        return one.folder.name
    asked = one.seen.info.asked
    return f"{asked.dataset} · " * with_dataset + f"{asked.planner} + {asked.grounder}"


def _row(one: _Shown, name: str, link: LinkTo) -> RunRow:
    info, followed, queued = one.seen.info, one.seen.followed, one.queued
    asked = info.asked if info else None
    steps = followed.steps or (queued.steps if queued else 0)
    is_running = one.state == "running"
    rate = followed.rate_per_s if is_running else None
    problem = one.seen.problem or (queued.problem if queued else "") or (info.stopped if info else "")
    return RunRow(
        key=one.key,
        name=name,
        planner=(queued.planner if queued else "") or (asked.planner if asked else ""),
        grounder=(queued.grounder if queued else "") or (asked.grounder if asked else ""),
        state=one.state,
        steps=steps,
        counts=followed.counts,
        accuracy=one.seen.accuracy,
        rate_per_s=rate,
        left_s=(steps - followed.done) / rate if rate and steps > followed.done else None,
        wall_s=info.wall_s if info else 0.0,
        spent_usd=followed.spent_usd,
        unreported_usd=followed.unreported_usd,
        server=queued.server if queued else "",
        problem=problem[:MOST_PROBLEM],
        started_at=(queued.started_at if queued else "") or (info.started_at if info else ""),
        ended_at=queued.ended_at if queued else "",
        link=link(one.key, one.folder) if info else "",
        folder=str(one.folder),
        reading=1.0 - followed.left_to_read if followed.left_to_read else None,
    )
