"""The folder of a run over a shop, and its scores: the same files as every run's, with tasks, episodes and verdicts.

``run.json`` says what was asked, ``steps.jsonl`` holds the tasks, ``episodes.jsonl`` what happened, whole;
``verdicts.jsonl`` and ``summary.json`` are derived from those and can be deleted.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Literal

import msgspec

from grounding.benchmarks.personalwab.records import Episode, Preset, Product, Profile, ShopTask, Split, Track
from grounding.benchmarks.personalwab.scoring import (
    RULES,
    Likeness,
    ShopCounts,
    ShopRule,
    ShopSummary,
    ShopVerdict,
    judge_shop,
    review_pairs,
    shop_scores,
)
from grounding.data.release import data_name
from grounding.llm.chat import identity_hash
from grounding.records import Record
from grounding.run.journal import Journal, calls_of
from grounding.run.lock import AboutRun, DescribedFolder, read_time, write_time
from grounding.scoring.summary import TimeTotals, call_totals

BENCHMARK: Literal["personalwab"] = "personalwab"
SCORING = "personalwab.1@paper-last/official-best"
"""Both readings are always computed; the number goes up when the arithmetic of one changes."""


class ShopAsked(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Everything that can change an episode; its hash is the run's id.

    ``agent_identity`` and ``user_identity`` are canonical texts of model, prompts, memory and parameters,
    ``functions_identity`` of the web.
    """

    dataset: str
    fingerprint: str
    select: str
    split: Split
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
    track: Track
    max_steps: int
    preset: Preset
    seed: int
    version: str


class ShopRunInfo(AboutRun, frozen=True, kw_only=True, omit_defaults=False):
    """The content of ``run.json``; ``products`` are what the search chooses from, ``recommended`` the recommender."""

    benchmark: Literal["personalwab"] = BENCHMARK
    asked: ShopAsked
    prompt: str = ""
    products: int = 0
    recommended: int = 0


class TaskLine(Record, frozen=True, kw_only=True):
    """A line of ``steps.jsonl``: a task, who it is of, and the product that was meant."""

    task: ShopTask
    earlier_behaviours: int
    profile: Profile | None = None
    product: Product | None = None

    @property
    def step_id(self) -> str:
        """The task's id."""
        return self.task.id


class ShopFolder(DescribedFolder[ShopRunInfo]):
    """The folder of one run over a shop. What it reads raises a UserError where a file is missing or damaged."""

    info_type = ShopRunInfo
    kind = "a run over a shop"

    def read_tasks(self) -> tuple[TaskLine, ...]:
        """The tasks of the run."""
        return self.read_lines("steps.jsonl", TaskLine, what="a task of a shop")

    def episodes(self) -> list[Episode]:
        """Every stored episode, also those that were played again."""
        with closing(Journal(self.path / "episodes.jsonl", Episode, read_only=True)) as journal:
            return list(journal.every())


def shop_signature(info: ShopRunInfo) -> str:
    """The signature of a run, ``key:value`` pairs joined by bars.

    Everything that can change a score is in it; speed, addresses and file locations are not.
    """
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
    """A scored run: its description as it stands now, its tasks, its verdicts by each reading and its figures.

    ``set_aside`` is where an earlier run of the same command was moved, ``report`` the page, if there is one.
    """

    folder: Path
    info: ShopRunInfo
    tasks: tuple[TaskLine, ...]
    verdicts: dict[ShopRule, tuple[ShopVerdict, ...]]
    summary: ShopSummary
    time: TimeTotals = TimeTotals()
    set_aside: Path | None = None
    report: Path | None = None

    def episodes(self) -> dict[str, Episode]:
        """The last episode of each task that has one."""
        return {one.task_id: one for one in ShopFolder(self.folder).episodes()}


def read_shop_run(path: Path) -> ShopScored:
    """A run as it was scored last.

    Raises UserError where the folder holds no scored run, or a file in it is damaged.
    """
    folder = ShopFolder(path)
    info, summary = folder.read_info(), folder.read_summary(ShopSummary)
    verdicts = folder.read_lines("verdicts.jsonl", ShopVerdict, what="a verdict over a task")
    by_rule = {rule: tuple(one for one in verdicts if one.rule == rule) for rule in RULES}
    time = read_time(path, wall_s=info.wall_s)
    return ShopScored(folder=path, info=info, tasks=folder.read_tasks(), verdicts=by_rule, summary=summary, time=time)


def score_shop(folder: ShopFolder) -> ShopScored:
    """Judge every stored episode of a run again and write what is derived from them. Asks no chat model.

    Raises UserError where the folder holds no run, a file in it is damaged, or reviews can't be compared here.
    """
    info = folder.read_info()
    info = msgspec.structs.replace(info, signature=shop_signature(info))
    lines, every = folder.read_tasks(), folder.episodes()
    episodes = {one.task_id: one for one in every}
    pairs = review_pairs([line.task for line in lines], episodes)
    likeness: Likeness = {}
    if pairs:
        from grounding.benchmarks.personalwab.embeddings import review_similarity

        likeness = dict(zip(pairs, review_similarity(pairs), strict=True))
    verdicts: dict[ShopRule, tuple[ShopVerdict, ...]] = {}
    for rule in RULES:
        verdicts[rule] = tuple(
            judge_shop(
                line.task, episodes.get(line.task.id), likeness, rule=rule, earlier_behaviours=line.earlier_behaviours
            )
            for line in lines
        )
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
