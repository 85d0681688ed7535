"""One run as it stands, from its folder: by its summary where it is complete, by following its answers where not."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from grounding.errors import UserError
from grounding.records import Outcome, Record
from grounding.report.html.queuecontent import Accuracy
from grounding.report.html.queuefollow import OUTCOMES, Followed, RunFollower, Shelf
from grounding.runfolder import RunFolder, RunInfo
from grounding.scoring.intervals import wilson
from grounding.scoring.scores import Estimate

_FILES = ("run.json", "steps.jsonl", "plans.jsonl", "ahead.jsonl", "predictions.jsonl", "server.log", "probe.json")


class _Counts(Record, frozen=True, kw_only=True):
    steps: int
    hit: int
    miss: int
    unparsed: int
    error: int
    missing: int


class _Paper(Record, frozen=True, kw_only=True):
    step_accuracy: Estimate


class _Scores(Record, frozen=True, kw_only=True):
    paper: _Paper


class _Calls(Record, frozen=True, kw_only=True):
    unreported_usd: float = 0.0


class _Cost(Record, frozen=True, kw_only=True):
    usd: float | None = None
    planner: _Calls = _Calls()
    grounder: _Calls = _Calls()


class _Summary(Record, frozen=True, kw_only=True):
    """What is read of ``summary.json``; the rest of it is passed over."""

    counts: _Counts
    scores: _Scores
    cost: _Cost = _Cost()


class Seen(Record, frozen=True, kw_only=True):
    """A run by its own files. ``info`` is None where it has not begun; ``problem`` says what can't be read."""

    info: RunInfo | None = None
    followed: Followed
    accuracy: Accuracy | None = None
    problem: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether the run says of itself that it is over."""
        return self.info is not None and self.info.status != "started"


_NOTHING = Followed(counts=dict.fromkeys(OUTCOMES, 0))


class RunWatch:
    """Looks at one run's folder again and again.

    Args:
        folder: The run's folder, which may not be there yet.
        shelf: Where indexes of steps are shared.
    """

    def __init__(self, folder: Path, shelf: Shelf) -> None:
        self.folder = folder
        self._follower, self._shelf = RunFollower(folder, shelf), shelf
        self._stamp: tuple[int, ...] | None = None
        self._info: RunInfo | None = None
        self._ended: Seen | None = None

    def look(self, until: float) -> Seen:
        """The run as it stands; reads answers until a time of ``time.monotonic`` at the most."""
        try:
            self._look_again()
            if self._info is None:
                return Seen(followed=_NOTHING)
            if self._ended is not None:
                return self._ended
            if not (self.folder / "steps.jsonl").exists():
                return Seen(info=self._info, followed=_NOTHING)
            followed = self._follower.look(self._info.asked, until)
        except UserError as error:
            return Seen(info=self._info, followed=_NOTHING, problem=str(error))
        if self._info.status != "started":
            followed = msgspec.structs.replace(followed, rate_per_s=None)
        return Seen(info=self._info, followed=followed, accuracy=accuracy_so_far(followed.counts))

    def quiet_s(self) -> float:
        """How long ago the newest of the run's files was written to; infinity where there is none."""
        stamps = []
        for name in _FILES:
            try:
                stamps.append((self.folder / name).stat().st_mtime)
            except OSError:
                continue
        return time.time() - max(stamps) if stamps else float("inf")

    def _look_again(self) -> None:
        stamp = (*_stamp(self.folder / "run.json"), *_stamp(self.folder / "summary.json"))
        if stamp == self._stamp:
            return
        self._info, self._ended, self._stamp = None, None, None
        if (self.folder / "run.json").exists():
            self._info = RunFolder(self.folder).read_info()
            if self._info.status != "started":
                self._ended = self._by_summary(self._info)
        self._stamp = stamp

    def _by_summary(self, info: RunInfo) -> Seen | None:
        """What the run was scored as; None where its answers have to be counted: its summary is gone, or it is not
        complete and takes the steps that nobody was asked about for wrong.
        """
        path = self.folder / "summary.json"
        try:
            summary = msgspec.json.decode(path.read_bytes(), type=_Summary)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UserError(
                f"{path}: not a summary of this version: {error}; `grounding score {self.folder}` makes it"
            ) from error
        found, counts, cost = summary.scores.paper.step_accuracy, summary.counts, summary.cost
        if info.status == "partial" and counts.missing:
            return None
        accuracy = None
        if found.value is not None:
            accuracy = Accuracy(value=found.value, low=found.low, high=found.high, k=found.k, n=found.n, is_final=True)
        return Seen(
            info=info,
            followed=Followed(
                steps=counts.steps,
                counts={name: getattr(counts, name) for name in OUTCOMES},
                spent_usd=cost.usd,
                unreported_usd=cost.planner.unreported_usd + cost.grounder.unreported_usd,
            ),
            accuracy=accuracy,
        )


def accuracy_so_far(counts: dict[Outcome, int]) -> Accuracy | None:
    """Step accuracy of the steps that are through; None where there is none.

    >>> found = accuracy_so_far({"hit": 15, "miss": 90, "unparsed": 2})
    >>> round(found.value, 1), round(found.low, 1), round(found.high, 1), found.n
    (14.0, 8.7, 21.8, 107)
    """
    k, n = counts.get("hit", 0), sum(counts.values())
    if not n:
        return None
    interval = wilson(k, n)
    return Accuracy(value=100 * k / n, low=interval.low, high=interval.high, k=k, n=n, is_final=False)


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_mtime_ns, found.st_size, found.st_ino)
