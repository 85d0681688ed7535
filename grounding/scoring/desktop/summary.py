"""Tasks, answers and verdicts in, the content of a desktop run's ``summary.json`` out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from grounding.actions import ACTION_KINDS, ActionKind
from grounding.desktop_records import DesktopPrediction, DesktopTask
from grounding.scoring.costs import CostTotals
from grounding.scoring.desktop.averaging import (
    JudgedTask,
    Right,
    desktop_scores,
    join_desktop,
    right_by,
    share_estimates,
)
from grounding.scoring.desktop.loops import DeadLoop, dead_loops
from grounding.scoring.desktop.rules import DESKTOP_RULES
from grounding.scoring.desktop.scores import (
    CurvePoint,
    DesktopCounts,
    DesktopGroup,
    DesktopSummary,
    KindScores,
)
from grounding.scoring.desktop.verdicts import DESKTOP_FAILURES, DesktopVerdict
from grounding.scoring.intervals import RESAMPLES, wilson
from grounding.scoring.scores import Estimate

CURVE_PX: tuple[float, ...] = tuple(float(tolerance) for tolerance in range(5, 201, 5))
"""The tolerances of the curve, in pixels."""


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
    """All counts and scores: over everything, by kind of task, by category and by kind of action.

    Args:
        tasks: What was to be answered.
        predictions: What was answered; of several for one step the last counts. Only dead loops are sought in them.
        verdicts: One for each step of the tasks.
        status: ``complete`` when every step was asked.
        signature: One line that says what was run.
        tolerance_px: The tolerance that the verdicts were made with.
        seed: Seed of the bootstrap.
        resamples: Size of the bootstrap.
        cost: Money that it cost.

    Raises:
        ValueError: A step has no verdict or two, or one of another tolerance, or an id comes twice.
    """
    judged = join_desktop(tasks, verdicts)
    for verdict in (verdict for one in judged for verdict in one.verdicts):
        if verdict.tolerance_px != tolerance_px:
            raise ValueError(f"step {verdict.step_id} was judged at {verdict.tolerance_px:g} px, not {tolerance_px:g}")
    answers = tuple({prediction.step_id: prediction for prediction in predictions}.values())
    loops_of = {one.task.id: dead_loops(one.task, answers) for one in judged}

    def group(some: Sequence[JudgedTask]) -> DesktopGroup:
        return DesktopGroup(counts=_counts(some, loops_of), scores=desktop_scores(some, seed=seed, resamples=resamples))

    whole = group(judged)
    return DesktopSummary(
        status=status,
        signature=signature,
        tolerance_px=tolerance_px,
        counts=whole.counts,
        scores=whole.scores,
        groups={
            "kind": {name: group(some) for name, some in _parts(judged, lambda one: one.task.kind or "").items()},
            "category": {name: group(some) for name, some in _parts(judged, lambda one: one.category).items()},
        },
        by_action=_by_action(judged, seed, resamples),
        curve=_curve(judged, seed, resamples),
        looping=_looping(whole.counts),
        loops=tuple(loop for loops in loops_of.values() for loop in loops),
        cost=cost or CostTotals(),
    )


def _parts(tasks: Sequence[JudgedTask], name_of: Callable[[JudgedTask], str]) -> dict[str, list[JudgedTask]]:
    """The tasks by name, in alphabetical order; those without a name are in none."""
    parts: dict[str, list[JudgedTask]] = {}
    for judged in tasks:
        if name_of(judged):
            parts.setdefault(name_of(judged), []).append(judged)
    return dict(sorted(parts.items()))


def _counts(tasks: Sequence[JudgedTask], loops_of: dict[str, tuple[DeadLoop, ...]]) -> DesktopCounts:
    verdicts = [verdict for judged in tasks for verdict in judged.verdicts]
    failures = Counter(verdict.failure for verdict in verdicts)
    return DesktopCounts(
        tasks=len(tasks),
        steps=len(verdicts),
        right=failures[None],
        failures={failure: failures[failure] for failure in DESKTOP_FAILURES},
        looping=sum(bool(loops_of[judged.task.id]) for judged in tasks),
    )


def _by_action(tasks: Sequence[JudgedTask], seed: int, resamples: int) -> dict[ActionKind, KindScores]:
    present = {verdict.gold_kind for judged in tasks for verdict in judged.verdicts}
    kinds = [kind for kind in ACTION_KINDS if kind in present]
    rights = [right_by(rule) for _ in kinds for rule in DESKTOP_RULES]
    counted = [_of_kind(kind) for kind in kinds for _ in DESKTOP_RULES]
    found = iter(share_estimates(tasks, rights, counted, seed=seed, resamples=resamples))
    return {kind: KindScores(official=next(found), paper=next(found), strict=next(found)) for kind in kinds}


def _of_kind(kind: ActionKind) -> Right:
    return lambda verdict: verdict.gold_kind == kind


def _curve(tasks: Sequence[JudgedTask], seed: int, resamples: int) -> tuple[CurvePoint, ...]:
    rights = [right for tolerance in CURVE_PX for right in (_paper_within(tolerance), _strict_within(tolerance))]
    found = iter(share_estimates(tasks, rights, [lambda _: True] * len(rights), seed=seed, resamples=resamples))
    return tuple(CurvePoint(tolerance_px=one, paper=next(found), strict=next(found)) for one in CURVE_PX)


def _paper_within(tolerance_px: float) -> Right:
    return lambda verdict: verdict.paper_needs_px is not None and verdict.paper_needs_px <= tolerance_px


def _strict_within(tolerance_px: float) -> Right:
    return lambda verdict: verdict.strict_needs_px is not None and verdict.strict_needs_px <= tolerance_px


def _looping(counts: DesktopCounts) -> Estimate:
    interval = wilson(counts.looping, counts.tasks)
    value = 100 * counts.looping / counts.tasks if counts.tasks else None
    return Estimate(value=value, k=counts.looping, n=counts.tasks, low=interval.low, high=interval.high)
