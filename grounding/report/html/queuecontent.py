"""What a page over several runs knows: records that are written into it as JSON. Times are UTC, money US dollars."""

from __future__ import annotations

from typing import Literal

from grounding.records import Outcome, Record

ShownState = Literal["waiting", "starting", "running", "complete", "partial", "failed", "broken", "unbegun"]
"""A run's state in the queue; ``broken`` and ``unbegun`` where the command is gone in whose hands the run was."""


class Accuracy(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Step accuracy in percent with its 95 % interval.

    ``is_final`` tells the scored figure of a run that has ended from the figure so far: hits of the steps that are
    through, with Wilson's interval, which takes them for independent of each other.
    """

    value: float
    low: float | None
    high: float | None
    k: int | None
    n: int
    is_final: bool


class RunRow(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One run. ``key`` stays the same as long as the page is served, ``link`` is where its own page is, "" for nowhere.

    ``steps`` is 0 where nobody knows how many. ``reading`` is the share of its answers that were read so far, None
    where all were. ``wall_s`` is how long it was at work in all, as far as it has stopped.
    """

    key: int
    name: str
    planner: str
    grounder: str
    state: ShownState
    steps: int = 0
    counts: dict[Outcome, int]
    accuracy: Accuracy | None = None
    rate_per_s: float | None = None
    left_s: float | None = None
    wall_s: float = 0.0
    spent_usd: float | None = None
    unreported_usd: float = 0.0
    server: str = ""
    problem: str = ""
    started_at: str = ""
    ended_at: str = ""
    link: str = ""
    folder: str = ""
    reading: float | None = None

    @property
    def done(self) -> int:
        """Steps that are through."""
        return sum(self.counts.values())


class ServerRow(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The runs that share one server."""

    name: str
    states: dict[ShownState, int]
    done: int
    steps: int
    rate_per_s: float | None = None


class Cell(Record, frozen=True, kw_only=True):
    """The runs of one planner with one grounder, by their keys; empty where there is none."""

    keys: tuple[int, ...] = ()


class MatrixRows(Record, frozen=True, kw_only=True):
    """Planners down, grounders across."""

    planners: tuple[str, ...]
    grounders: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]


class QueuePage(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything on the page.

    ``writer`` says whether the command is still there that the runs are in the hands of. ``left_s`` is None where
    nobody can say. ``is_live`` is a page that a server keeps up to date.
    """

    title: str
    folder: str
    command: str = ""
    started_at: str = ""
    taken_at: str
    writer: Literal["at work", "gone", "done"]
    is_live: bool
    runs: tuple[RunRow, ...]
    servers: tuple[ServerRow, ...] = ()
    matrix: MatrixRows | None = None
    warnings: tuple[str, ...] = ()
    done: int = 0
    steps: int = 0
    rate_per_s: float | None = None
    left_s: float | None = None
    spent_usd: float | None = None
    unreported_usd: float = 0.0
    cost_limit_usd: float | None = None
    version: str = ""
