"""What an episode is worth, and what a run is worth: tasks with their episodes in, verdicts and figures out. Pure.

Two readings of the same calls:

``paper``    (section 3.3 and equation 1) the right function, carried out, with arguments that fit its schema; the
             target found as a product of the list, at rank r worth 1 - (r - 1) / 10; reviews by likeness, at least 0;
             what counts is the last attempt.
``official`` (PersonalWAB/envs/base.py and scripts/cal_results.py of the release) the right function that raised no
             error; the target's ASIN anywhere in the text of an entry, entry i of n (from 0) worth 1 - i / n;
             likeness as it comes, also below 0; what counts is the best of the attempts with the right function.

An attempt is a call of one of the three functions that end a task. An episode that infrastructure broke off counts as
wrong. Values are shares between 0 and 1, as the paper prints them. Intervals come from a bootstrap over users, whose
tasks are not independent of each other. ``overall`` is over all tasks together, so that a type counts as much as it has
tasks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from grounding.benchmarks.personalwab.prompts import FUNCTION_OF
from grounding.benchmarks.personalwab.records import (
    TYPES,
    EndReason,
    Episode,
    Observation,
    ShopTask,
    TaskType,
    Track,
    Turn,
)
from grounding.benchmarks.personalwab.web import review_of
from grounding.records import Failure, FailureKind, Record
from grounding.scoring.intervals import bootstrap
from grounding.scoring.summary import CallTotals

ShopRule = Literal["paper", "official"]

RULES: tuple[ShopRule, ...] = ("paper", "official")
LISTS = (FUNCTION_OF["search"], FUNCTION_OF["recommend"])
LIST_LENGTH = 10
FEW = 10
"""Users with fewer behaviours before a task are the zero- and few-shot ones (paper, section A.4.7)."""


class Attempt(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One call that could have ended the task, at ``turn`` of the episode.

    ``function`` says whether it was the right function, properly called; ``result`` is what its answer is worth if it
    was, ``outcome`` whatever it was.
    """

    turn: int
    function: bool
    result: float
    outcome: float


class ShopVerdict(Record, frozen=True, kw_only=True):
    """What became of one task under one reading. ``steps`` are the agent's moves, ``attempts`` are in order."""

    task_id: str
    user_id: str
    type: TaskType
    rule: ShopRule
    function: bool
    result: float
    outcome: float
    steps: int
    seconds: float | None = None
    attempts: tuple[Attempt, ...] = ()
    end: EndReason
    failure: FailureKind | None = None
    earlier_behaviours: int = 0


Likeness = Mapping[tuple[str, str], float]
"""The cosine of two reviews, the user's own first."""


def review_pairs(tasks: Iterable[ShopTask], episodes: Mapping[str, Episode]) -> list[tuple[str, str]]:
    """The pairs of reviews that verdicts need the likeness of, each once."""
    pairs = {}
    for task in tasks:
        if task.type == "review" and task.target_review is not None and task.id in episodes:
            for turn in episodes[task.id].turns:
                written = _review_of(turn)
                if written is not None:
                    pairs[(task.target_review.text, written)] = True
    return list(pairs)


def judge_shop(
    task: ShopTask, episode: Episode | None, likeness: Likeness, *, rule: ShopRule, earlier_behaviours: int = 0
) -> ShopVerdict:
    """Judge one episode; a task without one has the failure ``missing``.

    ``likeness`` is that of every pair of :func:`review_pairs`.
    """
    episode = episode or Episode(task_id=task.id, key="", failure=Failure(kind="missing", message=""))
    broken = episode.failure is not None and episode.failure.kind in ("error", "missing")
    attempts = tuple(
        _attempt(task, place, turn, likeness, rule)
        for place, turn in enumerate(episode.turns)
        if turn.call.name in FUNCTION_OF.values()
    )
    counting = () if broken else attempts[-1:] if rule == "paper" else attempts
    right = [one.result for one in counting if one.function]
    return ShopVerdict(
        task_id=task.id,
        user_id=task.user_id,
        type=task.type,
        rule=rule,
        function=bool(right),
        result=max(right, default=0.0),
        outcome=max((one.outcome for one in counting), default=0.0),
        steps=len(episode.turns),
        seconds=None if episode.call is None else episode.call.seconds,
        attempts=attempts,
        end=episode.end,
        failure=None if episode.failure is None else episode.failure.kind,
        earlier_behaviours=earlier_behaviours,
    )


def _attempt(task: ShopTask, place: int, turn: Turn, likeness: Likeness, rule: ShopRule) -> Attempt:
    seen = turn.observation
    valid = seen is not None and not seen.error and (rule == "official" or seen.schema_valid)
    function = valid and turn.call.name == FUNCTION_OF[task.type]
    outcome = _worth(task, turn, likeness, rule) if valid else 0.0
    result = outcome if function else 0.0
    return Attempt(turn=place, function=function, result=result, outcome=outcome)


def _worth(task: ShopTask, turn: Turn, likeness: Likeness, rule: ShopRule) -> float:
    """What the answer to a call is worth for the task, whatever function gave it."""
    if task.type == "review":
        written = _review_of(turn)
        if written is None or task.target_review is None:
            return 0.0
        alike = likeness[(task.target_review.text, written)]
        return max(alike, 0.0) if rule == "paper" else alike
    seen = turn.observation
    if seen is None or turn.call.name not in LISTS:
        return 0.0
    if rule == "paper":
        ranked = seen.asins[:LIST_LENGTH]
        return 1 - ranked.index(task.target_asin) / LIST_LENGTH if task.target_asin in ranked else 0.0
    entries = entries_of(seen)
    found = next((place for place, entry in enumerate(entries) if task.target_asin in entry), None)
    return 0.0 if found is None else 1 - found / len(entries)


def entries_of(seen: Observation) -> list[str]:
    """The entries of a list of products, which the web prints as Python does; else the text itself."""
    return [str(one) for one in ast.literal_eval(seen.text)] if seen.text.startswith("[") else [seen.text]


def _review_of(turn: Turn) -> str | None:
    if turn.call.name != FUNCTION_OF["review"] or turn.observation is None or turn.observation.error:
        return None
    return review_of(turn.call)


def outcome_of(verdict: ShopVerdict) -> str:
    """What became of a task in a word or two."""
    if verdict.failure is not None:
        return verdict.failure
    if not verdict.attempts:
        return "no call"
    if not verdict.function:
        return "wrong function"
    if verdict.type == "review":
        return "written"
    return "found" if verdict.result > 0 else "not found"


# --- figures ----------------------------------------------------------------------------------------------------------


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
    """The measures of one reading: by type and overall, and of the users that had done little before."""

    types: dict[TaskType, ShopFigures]
    overall: ShopFigures
    few: dict[str, ShopFigures]


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
    agent: CallTotals
    user: CallTotals


Verdicts = Sequence[ShopVerdict]


def shop_scores(verdicts: Verdicts, *, seed: int = 0) -> ShopScores:
    """The measures of verdicts of one reading."""
    few = [one for one in verdicts if one.earlier_behaviours < FEW]
    found = {kind: figures([one for one in verdicts if one.type == kind], seed=seed) for kind in TYPES}
    rest = {str(kind): figures([one for one in few if one.type == kind], seed=seed) for kind in TYPES}
    return ShopScores(
        types=found, overall=figures(verdicts, seed=seed), few=rest | {"overall": figures(few, seed=seed)}
    )


MEASURES: dict[str, float | None] = {"function": 1.0, "result": None, "outcome": None, "steps": None}
"""The measures and their greatest value. Only a share is cut at 1: the release's results may be below 0."""


def figures(verdicts: Verdicts, *, seed: int = 0) -> ShopFigures:
    """The measures of these verdicts, with intervals over their users."""
    users = {user: place for place, user in enumerate(dict.fromkeys(one.user_id for one in verdicts))}
    above, below = (np.zeros((len(users), len(MEASURES))) for _ in range(2))
    for one in verdicts:
        above[users[one.user_id]] += [float(getattr(one, name)) for name in MEASURES]
        below[users[one.user_id]] += 1
    found, n = {}, len(verdicts)
    intervals = bootstrap(above, below, seed=seed, most=list(MEASURES.values()))
    for column, (name, interval) in enumerate(zip(MEASURES, intervals, strict=True)):
        found[name] = ShopEstimate(
            # Column by column: numpy adds along another axis in another order, which changes last digits.
            value=float(above[:, column].sum() / n) if n else None,
            n=n,
            k=sum(one.function for one in verdicts) if name == "function" else None,
            low=None if interval is None else interval.low,
            high=None if interval is None else interval.high,
        )
    return ShopFigures(tasks=n, users=len(users), **found)
