"""A run over a shop and what it is worth: its folder, its tasks with their episodes in, verdicts and figures out.

``verdicts.jsonl`` and ``summary.json`` are derived from the other files. Two readings of the same calls:

``paper``    (section 3.3 and equation 1) the right function, carried out, with arguments that fit its schema; the
             target found as a product of the list, at rank r worth 1 - (r - 1) / 10; reviews by likeness, at least 0;
             what counts is the last attempt.
``official`` (PersonalWAB/envs/base.py and scripts/cal_results.py of the release) the right function that raised no
             error; the target's ASIN anywhere in the text of an entry, entry i of n (from 0) worth 1 - i / n;
             likeness as it comes, also below 0; what counts is the best of the attempts with the right function.

An attempt is a call of one of the three functions that end a task. An episode that infrastructure broke off counts as
wrong. Values are shares between 0 and 1, as the paper prints them; intervals come from a bootstrap over users.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from grounding.benchmarks.personalwab import records
from grounding.benchmarks.personalwab.embeddings import review_similarity
from grounding.benchmarks.personalwab.prompts import FUNCTION_OF
from grounding.benchmarks.personalwab.records import TYPES, EndReason, Episode, Observation, ShopTask, TaskType, Turn
from grounding.benchmarks.personalwab.web import NO_REVIEW, read_arguments
from grounding.data.release import data_name
from grounding.llm.chat import identity_hash
from grounding.records import Failure, FailureKind, Record
from grounding.run.journal import Journal, calls_of
from grounding.run.lock import AboutRun, DescribedFolder, read_time, write_time
from grounding.scoring.intervals import bootstrap
from grounding.scoring.summary import CallTotals, TimeTotals, call_totals

ShopRule = Literal["paper", "official"]

RULES: tuple[ShopRule, ...] = ("paper", "official")
LIST_LENGTH = 10
FEW = 10  # Users with fewer behaviours before a task are the zero- and few-shot ones (paper, section A.4.7).


class Attempt(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One call that could have ended the task. ``result`` is what its answer is worth if the function was right and
    properly called, ``outcome`` whatever it was.
    """

    turn: int
    function: bool
    result: float
    outcome: float


class ShopVerdict(Record, frozen=True, kw_only=True):
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


Likeness = Mapping[tuple[str, str], float]  # The cosine of two reviews, the user's own first.


def review_pairs(tasks: Iterable[ShopTask], episodes: Mapping[str, Episode]) -> list[tuple[str, str]]:
    pairs = {
        (task.target_review.text, written): True
        for task in tasks
        if task.type == "review" and task.target_review is not None and task.id in episodes
        for turn in episodes[task.id].turns
        if (written := _review_of(turn)) is not None
    }
    return list(pairs)


def judge_shop(
    task: ShopTask, episode: Episode | None, likeness: Likeness, earlier_behaviours: int = 0, *, rule: ShopRule
) -> ShopVerdict:
    """Judge one episode; a task without one is ``missing``. ``likeness`` has every pair of :func:`review_pairs`."""
    episode = episode or Episode(task_id=task.id, key="", failure=Failure(kind="missing", message=""))
    broken = episode.failure is not None and episode.failure.kind in ("error", "missing")
    attempts = []
    for place, turn in enumerate(episode.turns):
        if (name := turn.call.name) in FUNCTION_OF.values():
            seen = turn.observation
            valid = seen is not None and not seen.error and (rule == "official" or seen.schema_valid)
            function, outcome = valid and name == FUNCTION_OF[task.type], 0.0
            if valid and seen is not None:
                outcome = _worth(task, turn, seen, likeness, rule)
            result = outcome if function else 0.0
            attempts.append(Attempt(turn=place, function=function, result=result, outcome=outcome))
    counting = [] if broken else attempts[-1:] if rule == "paper" else attempts
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
        attempts=tuple(attempts),
        end=episode.end,
        failure=None if episode.failure is None else episode.failure.kind,
        earlier_behaviours=earlier_behaviours,
    )


def _worth(task: ShopTask, turn: Turn, seen: Observation, likeness: Likeness, rule: ShopRule) -> float:
    if task.type == "review":
        written = _review_of(turn)
        if written is None or task.target_review is None:
            return 0.0
        alike = likeness[(task.target_review.text, written)]
        return max(alike, 0.0) if rule == "paper" else alike
    if turn.call.name == FUNCTION_OF["review"]:
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
    written = (read_arguments(turn.call.arguments) or {}).get("review")
    return (written or NO_REVIEW) if isinstance(written, str) else None


def outcome_of(verdict: ShopVerdict) -> str:
    if verdict.failure is not None or not verdict.attempts:
        return verdict.failure or "no call"
    if not verdict.function or verdict.type == "review":
        return "written" if verdict.function else "wrong function"
    return "found" if verdict.result > 0 else "not found"


class ShopEstimate(Record, frozen=True, kw_only=True):
    """A mean over tasks with its 95 % interval; None without a task. ``k`` are the right ones, where one counts."""

    value: float | None
    n: int
    k: int | None = None
    low: float | None = None
    high: float | None = None


class ShopFigures(Record, frozen=True, kw_only=True):
    tasks: int
    users: int
    function: ShopEstimate
    result: ShopEstimate
    outcome: ShopEstimate
    steps: ShopEstimate


class ShopScores(Record, frozen=True, kw_only=True):
    types: dict[TaskType, ShopFigures]
    overall: ShopFigures
    few: dict[str, ShopFigures]


class ShopCounts(Record, frozen=True, kw_only=True, omit_defaults=False):
    tasks: int
    users: int
    products: int
    unasked: int
    failures: dict[str, int]
    ends: dict[EndReason, int]
    errors_seen: dict[str, int]


class ShopSummary(Record, frozen=True, kw_only=True, omit_defaults=False):
    schema: Literal[1] = 1
    status: Literal["complete", "partial"]
    signature: str
    track: records.Track
    counts: ShopCounts
    scores: dict[ShopRule, ShopScores]
    agent: CallTotals
    user: CallTotals


def shop_scores(verdicts: Sequence[ShopVerdict], *, seed: int = 0) -> ShopScores:
    def by_type(some: Sequence[ShopVerdict]) -> dict[TaskType, ShopFigures]:
        return {kind: figures([one for one in some if one.type == kind], seed=seed) for kind in TYPES}

    few = [one for one in verdicts if one.earlier_behaviours < FEW]
    of_few = {**{str(kind): one for kind, one in by_type(few).items()}, "overall": figures(few, seed=seed)}
    return ShopScores(types=by_type(verdicts), overall=figures(verdicts, seed=seed), few=of_few)


MEASURES: dict[str, float | None] = {"function": 1.0, "result": None, "outcome": None, "steps": None}
"""The measures and their greatest value. Only a share is cut at 1: the release's results may be below 0."""


def figures(verdicts: Sequence[ShopVerdict], *, seed: int = 0) -> ShopFigures:
    users = {user: place for place, user in enumerate(dict.fromkeys(one.user_id for one in verdicts))}
    above, below = (np.zeros((len(users), len(MEASURES))) for _ in range(2))
    for one in verdicts:
        above[users[one.user_id]] += [float(getattr(one, name)) for name in MEASURES]
        below[users[one.user_id]] += 1
    found, n = {}, len(verdicts)
    intervals = bootstrap(above, below, seed=seed, most=list(MEASURES.values()))
    for column, (name, interval) in enumerate(zip(MEASURES, intervals, strict=True)):
        # Column by column: numpy adds along another axis in another order, which changes last digits.
        value = float(above[:, column].sum() / n) if n else None
        k = sum(one.function for one in verdicts) if name == "function" else None
        low, high = (None, None) if interval is None else (interval.low, interval.high)
        found[name] = ShopEstimate(value=value, n=n, k=k, low=low, high=high)
    return ShopFigures(tasks=n, users=len(users), **found)


BENCHMARK: Literal["personalwab"] = "personalwab"
SCORING = "personalwab.1@paper-last/official-best"
"""Both readings are always computed; the number goes up when the arithmetic of one changes."""


class ShopAsked(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that can change an episode; its hash is the run's id. Identities are canonical texts."""

    dataset: str
    fingerprint: str
    select: str
    split: records.Split
    agent: str
    agent_identity: str
    model: str
    base_url: str
    memory: str
    memory_length: int
    memory_tokens: int | None
    user: str
    user_identity: str
    functions_identity: str
    search: str
    track: records.Track
    max_steps: int
    preset: records.Preset
    seed: int
    version: str


class ShopRunInfo(AboutRun, frozen=True, kw_only=True, omit_defaults=False):
    benchmark: Literal["personalwab"] = BENCHMARK
    asked: ShopAsked
    prompt: str = ""
    products: int = 0
    recommended: int = 0


class TaskLine(Record, frozen=True, kw_only=True):
    task: ShopTask
    earlier_behaviours: int
    profile: records.Profile | None = None
    product: records.Product | None = None

    @property
    def step_id(self) -> str:
        return self.task.id


class ShopFolder(DescribedFolder[ShopRunInfo]):
    info_type = ShopRunInfo
    kind = "a run over a shop"

    def read_tasks(self) -> tuple[TaskLine, ...]:
        return self.read_lines("steps.jsonl", TaskLine, what="a task of a shop")

    def episodes(self) -> list[Episode]:
        with closing(Journal(self.path / "episodes.jsonl", Episode, read_only=True)) as journal:
            return list(journal.every())


def shop_signature(info: ShopRunInfo) -> str:
    """All that can change a score, ``key:value`` pairs joined by bars; not speed, addresses and file locations."""
    asked = info.asked
    tokens = "" if asked.memory_tokens is None else f"/{asked.memory_tokens}tokens"
    parts = {
        "dataset": f"{data_name(asked.dataset, info.departs)}@{asked.fingerprint[:12]}",
        "products": f"{info.products}/{info.recommended}",
        "track": f"{asked.track}/{asked.max_steps}",
        "agent": f"{asked.agent}@{identity_hash(asked.agent_identity)}",
        "model": asked.model or "none",
        "prompt": info.prompt or "none",
        "memory": f"{asked.memory}/{asked.memory_length}{tokens}",
        "user": f"{asked.user}@{identity_hash(asked.user_identity)}" if asked.user else "none",
        "web": f"{asked.search}@{identity_hash(asked.functions_identity)}",
        "preset": asked.preset,
        "select": asked.select,
        "scoring": SCORING,
        "clusters": "user",
        "seed": f"{asked.seed}",
        "version": asked.version,
    }
    return "|".join(f"{name}:{value}" for name, value in parts.items())


class ShopScored(Record, frozen=True, kw_only=True):
    """A scored run. ``set_aside`` is where an earlier run of the same command was moved, ``report`` the page."""

    folder: Path
    info: ShopRunInfo
    tasks: tuple[TaskLine, ...]
    verdicts: dict[ShopRule, tuple[ShopVerdict, ...]]
    summary: ShopSummary
    time: TimeTotals = TimeTotals()
    set_aside: Path | None = None
    report: Path | None = None

    def episodes(self) -> dict[str, Episode]:
        return {one.task_id: one for one in ShopFolder(self.folder).episodes()}


def read_shop_run(path: Path) -> ShopScored:
    folder = ShopFolder(path)
    info, summary = folder.read_info(), folder.read_summary(ShopSummary)
    verdicts = folder.read_lines("verdicts.jsonl", ShopVerdict, what="a verdict over a task")
    by_rule = {rule: tuple(one for one in verdicts if one.rule == rule) for rule in RULES}
    time = read_time(path, wall_s=info.wall_s)
    return ShopScored(folder=path, info=info, tasks=folder.read_tasks(), verdicts=by_rule, summary=summary, time=time)


def score_shop(folder: ShopFolder) -> ShopScored:
    info = folder.read_info()
    info = msgspec.structs.replace(info, signature=shop_signature(info))
    lines, every = folder.read_tasks(), folder.episodes()
    episodes = {one.task_id: one for one in every}
    pairs = review_pairs([line.task for line in lines], episodes)
    likeness = dict(zip(pairs, review_similarity(pairs), strict=True))

    known = [(line.task, episodes.get(line.task.id), likeness, line.earlier_behaviours) for line in lines]
    verdicts = {rule: tuple(judge_shop(*one, rule=rule) for one in known) for rule in RULES}
    # What was paid for the agent and for the user, also in episodes that never came to their end.
    agent, user = calls_of(folder.path, "agent"), calls_of(folder.path, "user")
    if agent is None or user is None:
        agent = [one.call for one in every if one.call is not None]
        user = [one.user_call for one in every if one.user_call is not None]
    time = TimeTotals(wall_s=info.wall_s, retries=sum(call.attempts - 1 for call in (*agent, *user)))
    # What an unfinished run has not begun is in no score.
    played = [episodes[line.task.id] for line in lines if line.task.id in episodes]
    counted = {rule: [one for one in found if one.task_id in episodes] for rule, found in verdicts.items()}
    failures = Counter(one.failure for one in counted["paper"] if one.failure is not None)
    seen = [turn.observation for one in played for turn in one.turns if turn.observation is not None]
    unasked = len(lines) - len(played)
    summary = ShopSummary(
        status="partial" if unasked or failures["error"] else "complete",
        signature=info.signature,
        track=info.asked.track,
        counts=ShopCounts(
            tasks=len(lines),
            users=len({line.task.user_id for line in lines}),
            products=info.products,
            unasked=unasked,
            failures=dict(sorted(failures.items())),
            ends=dict(sorted(Counter(one.end for one in played).items())),
            errors_seen=dict(sorted(Counter(one.error for one in seen if one.error).items())),
        ),
        scores={rule: shop_scores(found, seed=info.asked.seed) for rule, found in counted.items()},
        agent=call_totals(agent),
        user=call_totals(user),
    )
    folder.write_info(info)
    folder.replace_lines("verdicts.jsonl", (one for rule in RULES for one in verdicts[rule]))
    write_time(folder, time)
    folder.write_summary(summary)
    return ShopScored(folder=folder.path, info=info, tasks=lines, verdicts=verdicts, summary=summary, time=time)
