"""Keeps ``queue.json`` of a command with several runs: what each of them is at."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from grounding.attended import INTERRUPTED
from grounding.lockedfolder import LockedFolder
from grounding.planned import PlannedRun, RunOutcome, described
from grounding.runfolder import utc_now
from grounding.runqueue import QueuedRun, QueueState, with_run, write_queue


def runs_hash(run_ids: Sequence[str]) -> str:
    """The same runs are the same command, whatever the order in which their values were given."""
    return hashlib.sha256(msgspec.json.encode(sorted(run_ids))).hexdigest()[:10]


def board_folder(kind: str, runs: Sequence[PlannedRun]) -> Path:
    """The own folder of a command with several runs, beside theirs: the same for the same runs."""
    return runs[0].options.log_dir / f"{kind}_{runs_hash([run.run_id for run in runs])}"


class Board:
    """The queue of one command, written anew at every change. Its folder is locked until the end of a ``with`` block.

    Args:
        folder: The command's own folder, beside those of its runs.
        runs: All of them, in the order of the table.
    """

    def __init__(self, folder: Path, runs: Sequence[PlannedRun]) -> None:
        self.folder = folder
        queued = (
            QueuedRun(
                name=described(run),
                run_id=run.run_id,
                folder=str(run.options.log_dir / run.run_id),
                steps=run.steps,
                server=run.server,
                planner=run.planner,
                grounder=run.grounder,
            )
            for run in runs
        )
        self.state = QueueState(
            command=runs[0].options.command,
            started_at=utc_now(),
            cost_limit_usd=runs[0].options.cost_limit,
            runs=tuple(queued),
        )
        # Held as long as the command lives, so that others can tell whether it does.
        self._locked = LockedFolder(folder, what="the folder of these runs")
        self._locked.create()
        write_queue(folder, self.state)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._locked.release()

    def starting(self, run: PlannedRun) -> None:
        """What it needs is being made ready: data, servers, workers."""
        self._change(run, state="starting", started_at=utc_now())

    def running(self, run: PlannedRun) -> None:
        """Its first question may be asked."""
        self._change(run, state="running")

    def ended(self, outcome: RunOutcome) -> None:
        """It is through, or can't go on."""
        scored = outcome.scored
        state = "failed" if scored is None else scored.summary.status
        problem = outcome.problem if scored is None else scored.info.stopped
        self._change(outcome.run, state=state, problem=problem, ended_at=utc_now())

    def interrupted(self) -> None:
        """The user broke off: what had begun is partial, the rest waits for the same command."""
        for run in self.state.runs:
            if run.state in ("starting", "running"):
                self.state = with_run(self.state, run.run_id, state="partial", problem=INTERRUPTED, ended_at=utc_now())
        write_queue(self.folder, self.state)

    def _change(self, run: PlannedRun, **changes: str) -> None:
        self.state = with_run(self.state, run.run_id, **changes)
        write_queue(self.folder, self.state)
