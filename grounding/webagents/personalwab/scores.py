"""Verdicts to figures: function, result and outcome accuracy and steps, by type of task and over all.

Values are shares between 0 and 1, as the paper prints them; a likeness of reviews may be below 0 (``official``).
Intervals come from a bootstrap over users, whose tasks are not independent of each other. ``overall`` is over all tasks
together, so that a type counts as much as it has tasks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec
import numpy as np

from grounding.records import Record
from grounding.scoring.costs import CallTotals
from grounding.scoring.intervals import Matrix, bootstrap
from grounding.webagents.personalwab.records import EndReason, TaskType, Track
from grounding.webagents.personalwab.verdicts import ShopRule, ShopVerdict, Which, rejudge

TYPES: tuple[TaskType, ...] = ("search", "recommend", "review")
FEW = 10
"""Users with fewer behaviours before a task are the zero- and few-shot ones (paper, section A.4.7)."""

MAX_ATTEMPTS = 10
CHOICES: tuple[Which, ...] = ("first", "best", "last")


class ShopEstimate(Record, frozen=True, kw_only=True):
    """A mean over tasks with its 95 % interval; None where there is no task. ``k`` are right ones, where one counts."""

    value: float | None
    n: int
    k: int | None = None
    low: float | None = None
    high: float | None = None


class ShopFigures(Record, frozen=True, kw_only=True):
    """The measures of some tasks."""

    tasks: int
    users: int
    function: ShopEstimate
    result: ShopEstimate
    outcome: ShopEstimate
    steps: ShopEstimate


class ShopScores(Record, frozen=True, kw_only=True):
    """The measures of one reading: by type and overall, of the users that did little before, and by the attempt."""

    types: dict[TaskType, ShopFigures]
    overall: ShopFigures
    few: dict[str, ShopFigures]
    by_choice: dict[Which, ShopFigures]


class AttemptFigures(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What tasks that reached their attempt of this number got by it (paper, figure 9)."""

    attempt: int
    tasks: int
    mean_result: float


class Transition(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How often a function followed another at one place of the episodes; "" stands for an end (paper, figure 8)."""

    type: TaskType
    turn: int
    before: str
    after: str
    episodes: int


class ShopCounts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What was scored. ``failures`` are counted by kind, ``ends`` by how an episode ended, ``errors_seen`` by what the
    web refused.
    """

    tasks: int
    users: int
    products: int
    unasked: int
    failures: dict[str, int]
    ends: dict[EndReason, int]
    errors_seen: dict[str, int]


class ShopSummary(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A run in figures, all of them derived from its episodes."""

    schema: Literal[1] = 1
    status: Literal["complete", "partial"]
    signature: str
    track: Track
    counts: ShopCounts
    scores: dict[ShopRule, ShopScores]
    attempts: dict[TaskType, tuple[AttemptFigures, ...]]
    transitions: tuple[Transition, ...]
    agent: CallTotals
    user: CallTotals


class ShopTime(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What differs each time that the same episodes are played.

    ``wall_s`` is by the clock. ``task_s`` is the mean time of a task's requests (paper, figure 7), in seconds, by type
    and as ``overall``; ``few_task_s`` the same of the users that had done little before. ``retries`` are the tries
    beyond the first.
    """

    wall_s: float = 0.0
    task_s: dict[str, ShopEstimate] = msgspec.field(default_factory=dict)
    few_task_s: dict[str, ShopEstimate] = msgspec.field(default_factory=dict)
    retries: int = 0


def shop_time(verdicts: Sequence[ShopVerdict], *, wall_s: float, retries: int, seed: int = 0) -> ShopTime:
    """The times of a run, from its verdicts by either reading."""
    few = [one for one in verdicts if one.earlier_behaviours < FEW]
    return ShopTime(wall_s=wall_s, task_s=_seconds(verdicts, seed), few_task_s=_seconds(few, seed), retries=retries)


def _seconds(verdicts: Sequence[ShopVerdict], seed: int) -> dict[str, ShopEstimate]:
    groups = {kind: [one for one in verdicts if one.type == kind] for kind in TYPES}
    measures: Measures = (("seconds", lambda one: one.seconds),)
    return {kind: _means(found, measures, seed)[0] for kind, found in (*groups.items(), ("overall", verdicts))}


def shop_scores(verdicts: Sequence[ShopVerdict], *, seed: int = 0) -> ShopScores:
    """The measures of verdicts of one reading."""
    return ShopScores(
        types={kind: figures([one for one in verdicts if one.type == kind], seed=seed) for kind in TYPES},
        overall=figures(verdicts, seed=seed),
        few={
            kind: figures([one for one in verdicts if one.earlier_behaviours < FEW and one.type == kind], seed=seed)
            for kind in TYPES
        }
        | {"overall": figures([one for one in verdicts if one.earlier_behaviours < FEW], seed=seed)},
        by_choice={choice: figures([rejudge(one, choice) for one in verdicts], seed=seed) for choice in CHOICES},
    )


Measures = tuple[tuple[str, Callable[[ShopVerdict], float | None]], ...]
_MEASURES: Measures = (
    ("function", lambda one: float(one.function)),
    ("result", lambda one: one.result),
    ("outcome", lambda one: one.outcome),
    ("steps", lambda one: float(one.steps)),
)


def figures(verdicts: Sequence[ShopVerdict], *, seed: int = 0) -> ShopFigures:
    """The measures of these verdicts, with intervals over their users."""
    found = _means(verdicts, _MEASURES, seed)
    return ShopFigures(
        tasks=len(verdicts),
        users=len({one.user_id for one in verdicts}),
        function=ShopEstimate(
            value=found[0].value,
            n=found[0].n,
            k=sum(one.function for one in verdicts),
            low=found[0].low,
            high=found[0].high,
        ),
        result=found[1],
        outcome=found[2],
        steps=found[3],
    )


def _means(verdicts: Sequence[ShopVerdict], measures: Measures, seed: int) -> list[ShopEstimate]:
    users = {user: place for place, user in enumerate(dict.fromkeys(one.user_id for one in verdicts))}
    numerators, denominators = (np.zeros((len(users), len(measures))) for _ in range(2))
    for one in verdicts:
        for column, (_, measure) in enumerate(measures):
            value = measure(one)
            if value is not None:
                numerators[users[one.user_id], column] += value
                denominators[users[one.user_id], column] += 1
    return _estimates(numerators, denominators, seed)


def _estimates(numerators: Matrix, denominators: Matrix, seed: int) -> list[ShopEstimate]:
    intervals = bootstrap(numerators, denominators, seed=seed)
    found = []
    for column, interval in enumerate(intervals):
        n = int(denominators[:, column].sum())
        value = float(numerators[:, column].sum() / n) if n else None
        known = interval is not None and n > 0
        found.append(
            ShopEstimate(
                value=value,
                n=n,
                low=interval.low if known and interval else None,
                high=interval.high if known and interval else None,
            )
        )
    return found


def by_attempt(verdicts: Sequence[ShopVerdict]) -> dict[TaskType, tuple[AttemptFigures, ...]]:
    """The mean result of the first, second, … attempt over the tasks that had one (paper, figure 9)."""
    found: dict[TaskType, tuple[AttemptFigures, ...]] = {}
    for kind in TYPES:
        rows = []
        for number in range(MAX_ATTEMPTS):
            worth = [one.attempts[number].result for one in verdicts if one.type == kind and len(one.attempts) > number]
            if worth:
                rows.append(AttemptFigures(attempt=number + 1, tasks=len(worth), mean_result=sum(worth) / len(worth)))
        found[kind] = tuple(rows)
    return found


def transitions(sequences: Sequence[tuple[TaskType, Sequence[str]]]) -> tuple[Transition, ...]:
    """How functions follow each other, from the functions of every episode in order (paper, figure 8)."""
    counted: Counter[tuple[TaskType, int, str, str]] = Counter()
    for kind, names in sequences:
        # An episode without a move has one end and no function before it: nothing follows anything.
        for turn, (before, after) in enumerate(zip(names, [*names[1:], ""], strict=False)):
            counted[kind, turn, before, after] += 1
    ordered = sorted(counted.items(), key=lambda item: (TYPES.index(item[0][0]), *item[0][1:]))
    return tuple(
        Transition(type=kind, turn=turn, before=before, after=after, episodes=count)
        for (kind, turn, before, after), count in ordered
    )
