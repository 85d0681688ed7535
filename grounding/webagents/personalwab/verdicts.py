"""What an episode is worth: a task and its episode in, function, result and outcome accuracy out. Pure.

Two readings of the same calls:

``paper``    (section 3.3 and equation 1) the right function, carried out, with arguments that fit its schema; the
             target found as a product of the list, at rank r worth 1 - (r - 1) / 10; reviews by likeness, at least 0;
             what counts is the last attempt.
``official`` (PersonalWAB/envs/base.py and scripts/cal_results.py of the release) the right function that raised no
             error; the target's ASIN anywhere in the text of an entry, entry i of n (from 0) worth 1 - i / n;
             likeness as it comes, also below 0; what counts is the best of the attempts with the right function.

An attempt is a call of one of the three functions that end a task; ``which`` may choose another than the reading's
own. An episode that infrastructure broke off counts as wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from grounding.records import FailureKind, Record
from grounding.webagents.personalwab.functions import read_arguments
from grounding.webagents.personalwab.records import EndReason, Episode, ShopTask, TaskType, Turn

ShopRule = Literal["paper", "official"]
Which = Literal["first", "best", "last"]

FUNCTION_OF: dict[TaskType, str] = {
    "search": "search_product_by_query",
    "recommend": "get_recommendations_by_history",
    "review": "add_product_review",
}
LISTS = (FUNCTION_OF["search"], FUNCTION_OF["recommend"])
OWN_CHOICE: dict[ShopRule, Which] = {"paper": "last", "official": "best"}
LIST_LENGTH = 10
BROKEN: tuple[FailureKind, ...] = ("error", "missing")

_ENTRY = re.compile(r"(?:\A|\n)Product \d+:")


class Attempt(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One call that could have ended the task, at ``turn`` of the episode.

    ``function`` says whether it was the right function, properly called; ``result`` is what its answer is worth if it
    was, ``outcome`` whatever it was.
    """

    turn: int
    name: str
    function: bool
    result: float
    outcome: float


class ShopVerdict(Record, frozen=True, kw_only=True):
    """What became of one task under one reading.

    ``steps`` are the agent's completions. ``attempts`` are in order. A failure of the infrastructure counts as wrong
    and makes the run partial.
    """

    task_id: str
    user_id: str
    type: TaskType
    rule: ShopRule
    which: Which
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
        episode = episodes.get(task.id)
        if task.type == "review" and task.target_review is not None and episode is not None:
            for turn in _attempted(episode.turns):
                written = _review_of(turn)
                if written is not None:
                    pairs[(task.target_review.text, written)] = True
    return list(pairs)


def judge_shop(
    task: ShopTask,
    episode: Episode | None,
    likeness: Likeness,
    *,
    rule: ShopRule,
    which: Which | None = None,
    earlier_behaviours: int = 0,
) -> ShopVerdict:
    """Judge one episode; a task without one has the failure ``missing``.

    Args:
        task: The task.
        episode: What was done about it.
        likeness: The likeness of every pair of :func:`review_pairs`.
        rule: The reading.
        which: The attempt that counts; None for the reading's own choice.
        earlier_behaviours: How much the user had done before the task.
    """
    chosen = which or OWN_CHOICE[rule]
    turns = () if episode is None else episode.turns
    attempts = tuple(
        _attempt(task, place, turn, likeness, rule)
        for place, turn in enumerate(turns)
        if turn.call.name in FUNCTION_OF.values()
    )
    function, result, outcome = _counted(attempts, chosen)
    failure: FailureKind | None = "missing" if episode is None else None
    if episode is not None and episode.failure is not None:
        failure = episode.failure.kind
    return ShopVerdict(
        task_id=task.id,
        user_id=task.user_id,
        type=task.type,
        rule=rule,
        which=chosen,
        function=function and failure not in BROKEN,
        result=0.0 if failure in BROKEN else result,
        outcome=0.0 if failure in BROKEN else outcome,
        steps=sum(turn.completions for turn in turns),
        seconds=None if episode is None or episode.call is None else episode.call.seconds,
        attempts=attempts,
        end="failed" if episode is None else episode.end,
        failure=failure,
        earlier_behaviours=earlier_behaviours,
    )


def rejudge(verdict: ShopVerdict, which: Which) -> ShopVerdict:
    """The same attempts with another choice among them."""
    function, result, outcome = _counted(verdict.attempts, which)
    right = verdict.failure not in BROKEN
    return msgspec.structs.replace(
        verdict,
        which=which,
        function=function and right,
        result=result if right else 0.0,
        outcome=outcome if right else 0.0,
    )


def _counted(attempts: Sequence[Attempt], which: Which) -> tuple[bool, float, float]:
    """Function, result and outcome of the attempts, by the choice of one or the best of all."""
    if not attempts:
        return False, 0.0, 0.0
    if which == "best":
        right = [attempt.result for attempt in attempts if attempt.function]
        return bool(right), max(right, default=0.0), max(attempt.outcome for attempt in attempts)
    one = attempts[0 if which == "first" else -1]
    return one.function, one.result, one.outcome


def _attempted(turns: Sequence[Turn]) -> list[Turn]:
    return [turn for turn in turns if turn.call.name in FUNCTION_OF.values()]


def _attempt(task: ShopTask, place: int, turn: Turn, likeness: Likeness, rule: ShopRule) -> Attempt:
    seen = turn.observation
    carried_out = seen is not None and not seen.error
    valid = carried_out and seen is not None and (rule == "official" or seen.schema_valid)
    function = valid and turn.call.name == FUNCTION_OF[task.type]
    outcome = _worth(task, turn, likeness, rule) if valid else 0.0
    return Attempt(
        turn=place, name=turn.call.name, function=function, result=outcome if function else 0.0, outcome=outcome
    )


def _worth(task: ShopTask, turn: Turn, likeness: Likeness, rule: ShopRule) -> float:
    """What the answer to a call is worth for the task, whatever function gave it."""
    seen = turn.observation
    if task.type == "review":
        written = _review_of(turn)
        if written is None or task.target_review is None:
            return 0.0
        alike = likeness[(task.target_review.text, written)]
        return max(alike, 0.0) if rule == "paper" else alike
    if seen is None or turn.call.name not in LISTS:
        return 0.0
    if rule == "paper":
        ranked = seen.asins[:LIST_LENGTH]
        return 1 - ranked.index(task.target_asin) / LIST_LENGTH if task.target_asin in ranked else 0.0
    entries = _entries(seen.text)
    found = next((place for place, entry in enumerate(entries) if task.target_asin in entry), None)
    return 0.0 if found is None else 1 - found / len(entries)


def _entries(text: str) -> list[str]:
    """The entries of a list of results, as the agent read them."""
    starts = [match.start() for match in _ENTRY.finditer(text)]
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=False)]


def _review_of(turn: Turn) -> str | None:
    if turn.call.name != FUNCTION_OF["review"] or turn.observation is None or turn.observation.error:
        return None
    written = read_arguments(turn.call.name, turn.call.arguments).values.get("review")
    return written if isinstance(written, str) else None
