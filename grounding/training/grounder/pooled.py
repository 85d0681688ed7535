"""Folds of one training, each evaluated before and after, to figures: all held-out steps together, and means of folds.

Pooled, a fold counts by its steps; in the mean of folds every fold counts alike. RealWebAssist says of its fine-tuned
model that it "enumerated different train/test splits and reported the averaged performance" (section 4.1), which leaves
open which of the two it reports: both are given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

# importing the module registers the paper's metrics
import grounding.scoring.paper  # noqa: F401
from grounding.records import Record
from grounding.scoring.intervals import RESAMPLES
from grounding.scoring.metrics import Metric, estimate, registered
from grounding.scoring.paired import Difference, common_tasks, compare
from grounding.scoring.scored import ScoredTask
from grounding.scoring.scores import Estimate
from grounding.training.grounder.student import student_quantile

_OF_STEPS = "step_accuracy"


class MetricChange(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A metric of the base model and of the tuned one over the same held-out steps, with 95 % intervals over tasks.

    ``difference`` is tuned minus base, paired by task, in the metric's unit (percentage points).
    """

    metric: str
    base: Estimate
    tuned: Estimate
    difference: Difference


class FoldMean(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The mean of one figure over folds, with Student's 95 % interval over folds; None over a single fold."""

    values: tuple[float, ...]
    mean: float
    low: float | None
    high: float | None


class MetricMean(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A metric's means over the folds in which it has a value; ``difference`` is of tuned minus base in each fold."""

    metric: str
    base: FoldMean
    tuned: FoldMean
    difference: FoldMean


class FoldScores(Record, frozen=True, kw_only=True):
    """The scored tasks of one fold's held-out steps, of the base model and of the tuned one."""

    name: str
    base: tuple[ScoredTask, ...]
    tuned: tuple[ScoredTask, ...]


class FoldOutcome(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One fold in the summary; folders are relative to the run's.

    ``train_steps`` and ``test_steps`` are scored steps. ``metrics`` is empty where the fold was not evaluated (yet).
    """

    name: str
    held_out: str
    folder: str
    status: Literal["waiting", "partial", "complete"]
    train_steps: int
    test_steps: int
    adapter: str = ""
    base_run: str = ""
    tuned_run: str = ""
    metrics: tuple[MetricChange, ...] = ()


class GrounderSummary(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The content of a training run's ``summary.json``.

    A run that holds out one thing is a single fold in its own folder. ``pooled`` is over the held-out steps of all
    folds that were evaluated, ``means`` over those folds; there are none with fewer than two.
    """

    schema: Literal[1] = 1
    kind: Literal["grounder"] = "grounder"
    status: Literal["partial", "complete"]
    signature: str
    folds: tuple[FoldOutcome, ...]
    pooled: tuple[MetricChange, ...] = ()
    means: tuple[MetricMean, ...] = ()
    seed: int = 0
    resamples: int = RESAMPLES


def changes(
    base: Sequence[ScoredTask], tuned: Sequence[ScoredTask], *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[MetricChange, ...]:
    """Every registered metric of both over the steps that both have, and the paired differences."""
    mine, theirs = common_tasks(tuned, base)
    if not mine:
        return ()
    metrics = _metrics(mine)
    before = estimate(metrics, theirs, seed=seed, resamples=resamples)
    after = estimate(metrics, mine, seed=seed, resamples=resamples)
    found = compare(metrics, mine, theirs, seed=seed, resamples=resamples)
    return tuple(
        MetricChange(
            metric=each.name,
            base=before[each.name],
            tuned=after[each.name],
            difference=found.metrics[each.name],
        )
        for each in metrics
    )


def _metrics(tasks: Sequence[ScoredTask]) -> list[Metric]:
    """Where no step follows another only the accuracy of steps means anything."""
    alone = all(scored.step.independent for task in tasks for scored in task.steps)
    return [each for each in registered() if each.name == _OF_STEPS or not alone]


def pooled_changes(
    folds: Sequence[FoldScores], *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[MetricChange, ...]:
    """The metrics over the held-out steps of all folds together; intervals over all their tasks.

    Raises:
        ValueError: a step is held out in two folds.
    """
    base = [task for fold in folds for task in fold.base]
    tuned = [task for fold in folds for task in fold.tuned]
    ids = [scored.step.id for task in tuned for scored in task.steps]
    if len(ids) != len(set(ids)):
        raise ValueError("a step is held out in more than one fold; pooled it would count twice")
    return changes(base, tuned, seed=seed, resamples=resamples)


def fold_means(folds: Sequence[tuple[MetricChange, ...]]) -> tuple[MetricMean, ...]:
    """The means over folds of what each fold has; nothing with fewer than two folds."""
    if len(folds) < 2:
        return ()
    found = []
    for name in dict.fromkeys(each.metric for fold in folds for each in fold):
        mine = [each for fold in folds for each in fold if each.metric == name]
        pairs = [
            (each.base.value, each.tuned.value)
            for each in mine
            if each.base.value is not None and each.tuned.value is not None
        ]
        if pairs:
            found.append(
                MetricMean(
                    metric=name,
                    base=mean_over([base for base, _ in pairs]),
                    tuned=mean_over([tuned for _, tuned in pairs]),
                    difference=mean_over([tuned - base for base, tuned in pairs]),
                )
            )
    return tuple(found)


def mean_over(values: Sequence[float], *, confidence: float = 0.95) -> FoldMean:
    """The mean with Student's interval, as for independent values; folds share training data, so it is a little narrow.

    >>> found = mean_over([1.0, 2.0, 3.0])
    >>> round(found.low, 3), round(found.high, 3)
    (-0.484, 4.484)

    Raises:
        ValueError: there is no value.
    """
    if not values:
        raise ValueError("expected at least one value")
    count, mean = len(values), math.fsum(values) / len(values)
    if count < 2:
        return FoldMean(values=tuple(values), mean=mean, low=None, high=None)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    reach = student_quantile((1 + confidence) / 2, count - 1) * spread / math.sqrt(count)
    return FoldMean(values=tuple(values), mean=mean, low=mean - reach, high=mean + reach)
