"""Stored episodes of a run over a shop to verdicts and a summary: everything after the last model call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from grounding.records import Record
from grounding.scoring.costs import call_totals
from grounding.timefile import write_time
from grounding.webagents.personalwab.records import EndReason, Episode
from grounding.webagents.personalwab.runfiles import ShopFolder, ShopRunInfo, TaskLine, text_hash
from grounding.webagents.personalwab.scores import (
    ShopCounts,
    ShopSummary,
    ShopTime,
    by_attempt,
    shop_scores,
    shop_time,
    transitions,
)
from grounding.webagents.personalwab.signature import shop_signature
from grounding.webagents.personalwab.verdicts import Likeness, ShopRule, ShopVerdict, Which, judge_shop, review_pairs

RULES: tuple[ShopRule, ...] = ("paper", "official")


class ShopScored(Record, frozen=True, kw_only=True):
    """A scored run: its description as it stands now, its tasks, its verdicts by each reading and its figures.

    ``time`` is what differs each time. ``set_aside`` is where an earlier run of the same command was moved, if one was;
    ``report`` is the page, if one was written.
    """

    folder: Path
    info: ShopRunInfo
    tasks: tuple[TaskLine, ...]
    verdicts: dict[ShopRule, tuple[ShopVerdict, ...]]
    summary: ShopSummary
    time: ShopTime = ShopTime()
    set_aside: Path | None = None
    report: Path | None = None


def score_shop(folder: ShopFolder, *, attempt: Which | None = None) -> ShopScored:
    """Judge every stored episode of a run again and write what is derived from them. Asks no chat model.

    Args:
        folder: The run.
        attempt: Which attempt counts; None for what the run was judged with before.

    Raises:
        UserError: the folder holds no run, a file in it is damaged, or reviews can't be compared here.
    """
    info = folder.read_info()
    info = msgspec.structs.replace(info, attempt=attempt or info.attempt)
    info = msgspec.structs.replace(info, signature=shop_signature(info))
    tasks = folder.read_tasks()
    journal = folder.episodes(read_only=True)
    try:
        episodes = {line.task.id: one for line in tasks if (one := journal.last(line.task.id)) is not None}
        every = list(journal.every())
    finally:
        journal.close()
    likeness = _likeness(folder, tasks, episodes)
    verdicts = {rule: _judged(tasks, episodes, likeness, rule, info.attempt) for rule in RULES}
    summary = _summary(info, tasks, episodes, every, verdicts)
    folder.write_info(info)
    folder.write_verdicts(one for rule in RULES for one in verdicts[rule])
    calls = [call for one in every for call in (one.call, one.user_call) if call is not None]
    retries = sum(call.attempts - 1 for call in calls)
    time = shop_time(verdicts["paper"], wall_s=info.wall_s, retries=retries, seed=info.asked.seed)
    write_time(folder, time)
    folder.write_summary(summary)
    return ShopScored(folder=folder.path, info=info, tasks=tasks, verdicts=verdicts, summary=summary, time=time)


def rescore_shop(path: Path, *, attempt: Which | None = None) -> ShopScored:
    """Score a finished or stopped run again from its folder alone.

    Raises:
        UserError: there is no run in the folder, it is damaged, or a run is at work in it.
    """
    folder = ShopFolder(path)
    folder.read_info()
    folder.lock()
    try:
        return score_shop(folder, attempt=attempt)
    finally:
        folder.release()


def _judged(
    tasks: Sequence[TaskLine],
    episodes: Mapping[str, Episode],
    likeness: Likeness,
    rule: ShopRule,
    attempt: Which | None,
) -> tuple[ShopVerdict, ...]:
    return tuple(
        judge_shop(
            line.task,
            episodes.get(line.task.id),
            likeness,
            rule=rule,
            which=attempt,
            earlier_behaviours=line.earlier_behaviours,
        )
        for line in tasks
    )


def _likeness(folder: ShopFolder, tasks: Sequence[TaskLine], episodes: Mapping[str, Episode]) -> Likeness:
    """The cosines of all reviews: those of before from the folder, new ones from the model, which is slow to load."""
    pairs = review_pairs([line.task for line in tasks], episodes)
    known = folder.read_likeness()
    hashed = {pair: (text_hash(pair[0]), text_hash(pair[1])) for pair in pairs}
    missing = [pair for pair in pairs if hashed[pair] not in known]
    if missing:
        from grounding.webagents.personalwab.similarity import review_similarity

        found = review_similarity(missing)
        known |= {hashed[pair]: cosine for pair, cosine in zip(missing, found, strict=True)}
        folder.write_likeness(known)
    return {pair: known[hashed[pair]] for pair in pairs}


def _summary(
    info: ShopRunInfo,
    tasks: Sequence[TaskLine],
    episodes: Mapping[str, Episode],
    every: Sequence[Episode],
    verdicts: Mapping[ShopRule, Sequence[ShopVerdict]],
) -> ShopSummary:
    paper, seed = verdicts["paper"], info.asked.seed
    failures = Counter(one.failure for one in paper if one.failure is not None)
    ends: Counter[EndReason] = Counter(one.end for one in episodes.values())
    seen = Counter(
        turn.observation.error
        for one in episodes.values()
        for turn in one.turns
        if turn.observation is not None and turn.observation.error
    )
    unasked = len(tasks) - len(episodes)
    whole = not unasked and not failures["error"]
    sequences = [
        (line.task.type, [turn.call.name for turn in episodes[line.task.id].turns])
        for line in tasks
        if line.task.id in episodes
    ]
    return ShopSummary(
        status="complete" if whole else "partial",
        signature=info.signature,
        track=info.asked.track,
        counts=ShopCounts(
            tasks=len(tasks),
            users=len({line.task.user_id for line in tasks}),
            products=info.products,
            unasked=unasked,
            failures=dict(sorted(failures.items())),
            ends=dict(sorted(ends.items())),
            errors_seen=dict(sorted(seen.items())),
        ),
        scores={rule: shop_scores(found, seed=seed) for rule, found in verdicts.items()},
        attempts=by_attempt(paper),
        transitions=transitions(sequences),
        agent=call_totals([one.call for one in every if one.call is not None]),
        user=call_totals([one.user_call for one in every if one.user_call is not None]),
    )
