"""Candidates to preference pairs: the best and the worst of each task's, equal ones dropped and counted. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from grounding.training.puma.records import Candidate, PairCounts, PreferencePair, TaskCandidates
from grounding.webagents.personalwab.records import ShopTask


def best_and_worst(candidates: Sequence[Candidate]) -> tuple[Candidate, Candidate]:
    """The first of the best and the last of the worst, as the release takes them (PUMA/prepare_dpo_data.py)."""
    best = max(one.score for one in candidates)
    worst = min(one.score for one in candidates)
    return (
        next(one for one in candidates if one.score == best),
        next(one for one in reversed(candidates) if one.score == worst),
    )


def make_pairs(
    tasks: Sequence[ShopTask],
    drawn: Mapping[str, TaskCandidates],
    prompt_of: Callable[[ShopTask], str | None],
    *,
    least_gap: float = 0.0,
) -> tuple[list[PreferencePair], PairCounts]:
    """Make the pairs of some tasks, in their order.

    Args:
        tasks: The tasks; each must be in ``drawn``.
        drawn: Their candidates.
        prompt_of: What both texts of a pair go on; None where it is too long.
        least_gap: How much better the best must be; at 0 any difference will do.
    """
    pairs: list[PreferencePair] = []
    total = repeated = single = equal = too_long = 0
    for task in tasks:
        candidates = drawn[task.id].candidates
        total += sum(one.times for one in candidates)
        repeated += sum(one.times - 1 for one in candidates)
        if len(candidates) < 2:
            single += 1
            continue
        best, worst = best_and_worst(candidates)
        if best.score <= worst.score or best.score - worst.score < least_gap:
            equal += 1
            continue
        prompt = prompt_of(task)
        if prompt is None:
            too_long += 1
            continue
        pairs.append(
            PreferencePair(
                task=task.id,
                user=task.user_id,
                type=task.type,
                prompt=prompt,
                chosen=best.text,
                rejected=worst.text,
                chosen_score=best.score,
                rejected_score=worst.score,
            )
        )
    return pairs, PairCounts(
        tasks=len(tasks),
        drawn=total,
        repeated=repeated,
        single=single,
        equal=equal,
        too_long=too_long,
        pairs=len(pairs),
    )


def gather(texts: Sequence[str], scores: Sequence[float]) -> tuple[Candidate, ...]:
    """Equal texts to one candidate with its count, in the order in which they first came."""
    times: dict[str, int] = {}
    worth: dict[str, float] = {}
    for text, score in zip(texts, scores, strict=True):
        times[text] = times.get(text, 0) + 1
        worth.setdefault(text, score)
    return tuple(Candidate(text=text, score=worth[text], times=count) for text, count in times.items())
