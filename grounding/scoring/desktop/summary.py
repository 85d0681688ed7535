"""Tasks, answers and verdicts in, the content of a desktop run's ``summary.json`` out.

Values are percentages unless a name says otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from grounding.actions import ACTION_KINDS, ActionKind
from grounding.data.desktop_records import DesktopPrediction, DesktopTask
from grounding.records import Record
from grounding.scoring.desktop.rules import DESKTOP_FAILURES, DESKTOP_RULES, DesktopRule, DesktopVerdict, dead_loops
from grounding.scoring.intervals import RESAMPLES, bootstrap
from grounding.scoring.scored import Estimate, estimated
from grounding.scoring.summary import CostTotals


class DesktopAverages(Record, frozen=True, kw_only=True):
    """Accuracy by one rule, averaged in two ways.

    ``micro``: right steps over all steps (PERCU, equation 2). ``macro_task``: the mean of the tasks' accuracies (its
    equation 1, and what the released evaluator prints). 95 % intervals from a bootstrap over tasks.
    """

    micro: Estimate
    macro_task: Estimate


class DesktopCounts(Record, frozen=True, kw_only=True):
    """What was scored.

    ``right`` (by the paper) and the failures add up to ``steps``. ``looping`` are tasks with a dead loop; ``unasked``
    the missing steps that an unfinished run has not come to: they are in no score.
    """

    tasks: int
    steps: int
    right: int
    failures: dict[str, int]
    looping: int
    unasked: int = 0


class DesktopGroup(Record, frozen=True, kw_only=True):
    counts: DesktopCounts
    scores: dict[DesktopRule, DesktopAverages]


class DesktopSummary(DesktopGroup, frozen=True, kw_only=True, omit_defaults=False):
    """``loops`` say how often the same was done, by a dead loop's first step."""

    schema: Literal[2] = 2
    status: Literal["complete", "partial"]
    signature: str
    tolerance_px: float
    groups: dict[str, DesktopGroup]
    by_action: dict[ActionKind, dict[DesktopRule, Estimate]]
    loops: dict[str, int]
    cost: CostTotals


Verdicts = Sequence[DesktopVerdict]
Share = tuple[Callable[[Verdicts], float], Callable[[Verdicts], float]]


def summarise_desktop(
    tasks: Sequence[DesktopTask],
    predictions: Iterable[DesktopPrediction],
    verdicts: Iterable[DesktopVerdict],
    *,
    status: Literal["complete", "partial"],
    signature: str,
    tolerance_px: float,
    seed: int = 0,
    resamples: int = RESAMPLES,
    cost: CostTotals | None = None,
) -> DesktopSummary:
    """There is one verdict for each step, made with ``tolerance_px``; only dead loops are sought in the predictions."""
    verdict_of = {verdict.step_id: verdict for verdict in verdicts}
    answers = {prediction.step_id: prediction for prediction in predictions}
    of = {task.id: [verdict_of[step.id] for step in task.steps] for task in tasks}
    loops = {task.id: dead_loops(task, answers) for task in tasks}

    def shares(some: Sequence[DesktopTask], wanted: Mapping[tuple[str, str], Share]) -> dict[tuple[str, str], Estimate]:
        """Each ratio over the steps of some tasks that an unfinished run has come to."""
        there = [asked for task in some if (asked := [one for one in of[task.id] if one.was_asked])]
        parts = np.array([[(up(each), down(each)) for up, down in wanted.values()] for each in there], dtype=np.float64)
        parts = parts.reshape(len(there), len(wanted), 2)
        most = [100.0] * len(wanted)
        intervals = bootstrap(100 * parts[..., 0], parts[..., 1], seed=seed, resamples=resamples, most=most)
        return {
            name: estimated(100 * k / n if n else None, round(n), interval, k=None if name[0] == "macro" else round(k))
            for name, (k, n), interval in zip(wanted, parts.sum(axis=0).tolist(), intervals, strict=True)
        }

    def group(some: Sequence[DesktopTask]) -> DesktopGroup:
        counts = Counter(one.failure for task in some for one in of[task.id])
        micro: dict[tuple[str, str], Share] = {("micro", rule): (_right(rule), len) for rule in DESKTOP_RULES}
        macro: dict[tuple[str, str], Share] = {("macro", rule): (_rate(rule), lambda _: 1) for rule in DESKTOP_RULES}
        found = shares(some, micro | macro)
        return DesktopGroup(
            counts=DesktopCounts(
                tasks=len(some),
                steps=sum(counts.values()),
                right=counts[None],
                failures={failure: counts[failure] for failure in DESKTOP_FAILURES},
                looping=sum(bool(loops[task.id]) for task in some),
                unasked=sum(not one.was_asked for task in some for one in of[task.id]),
            ),
            scores={
                rule: DesktopAverages(micro=found["micro", rule], macro_task=found["macro", rule])
                for rule in DESKTOP_RULES
            },
        )

    whole = group(tasks)
    present = {one.gold_kind for each in of.values() for one in each if one.was_asked}
    pairs = [(kind, rule) for kind in ACTION_KINDS if kind in present for rule in DESKTOP_RULES]
    by_action = shares(tasks, {(kind, rule): (_right(rule, kind), _of_kind(kind)) for kind, rule in pairs})
    return DesktopSummary(
        status=status,
        signature=signature,
        tolerance_px=tolerance_px,
        counts=whole.counts,
        scores=whole.scores,
        groups={
            kind: group([task for task in tasks if task.kind == kind])
            for kind in sorted({task.kind for task in tasks if task.kind is not None})
        },
        by_action={kind: {rule: by_action[kind, rule] for rule in DESKTOP_RULES} for kind, _ in pairs},
        loops={step: times for found in loops.values() for step, times in found.items()},
        cost=cost or CostTotals(),
    )


def _right(rule: DesktopRule, kind: ActionKind | None = None) -> Callable[[Verdicts], int]:
    return lambda each: sum(one.rulings[rule].right for one in each if kind in (None, one.gold_kind))


def _rate(rule: DesktopRule) -> Callable[[Verdicts], float]:
    return lambda each: _right(rule)(each) / len(each)


def _of_kind(kind: ActionKind) -> Callable[[Verdicts], int]:
    return lambda each: sum(one.gold_kind == kind for one in each)
