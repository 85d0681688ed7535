"""Two runs over the same steps in, how much one is better out: differences with paired 95 % intervals.

The tasks of both runs are drawn together (paired bootstrap over tasks, or over participants): that a task is hard makes
both runs worse and says nothing about their difference, so it must not widen the interval.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grounding.records import Record, TaskLabel
from grounding.scoring.clusters import ClusterName, cluster_sums
from grounding.scoring.metrics import Metric, task_sums
from grounding.scoring.resampling import POOLED_ABOVE, RESAMPLES, Matrix, resampled_sums
from grounding.scoring.scored import ScoredStep, ScoredTask


class Difference(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One metric of a run minus that of the baseline, in the metric's unit (percentage points); None over nothing.

    ``p`` is the two-sided p-value of the same bootstrap: the share of draws that lie as far from the difference found
    as 0 does. ``standard_error`` is the standard deviation of the draws.
    """

    value: float | None
    low: float | None
    high: float | None
    p: float | None = None
    standard_error: float | None = None


class Comparison(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A run beside a baseline over the same steps.

    ``metrics`` maps a metric's name to the difference. ``won`` counts the steps that only the run hit, ``lost`` those
    that only the baseline hit; ``steps`` and ``tasks`` are how many were compared.
    """

    metrics: dict[str, Difference]
    won: int
    lost: int
    steps: int
    tasks: int


def compare(
    metrics: Sequence[Metric],
    run: Sequence[ScoredTask],
    baseline: Sequence[ScoredTask],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
    clusters: ClusterName = "task",
) -> Comparison:
    """The differences between two runs, paired by task and step; percentile bootstrap intervals.

    The p-value takes the draws, moved so that their centre is no difference, for what chance would give; the result
    itself counts as one more draw (Davison and Hinkley, 1997, section 4.2), so it is never 0.

    Args:
        metrics: What to compare.
        run: One run's scored tasks, in any order.
        baseline: The other's: the same tasks with the same steps.
        seed: Seed of ``numpy.random.default_rng``; up to ``POOLED_ABOVE`` tasks the same as of the
            runs' own intervals gives the same draws.
        resamples: How many times the tasks are drawn.
        confidence: The share of resamples that lies inside the interval.
        clusters: What is drawn together.

    Raises:
        ValueError: The runs are not over the same steps.
    """
    tasks, theirs = _paired(run, baseline)
    columns = np.hstack([*task_sums(metrics, tasks), *task_sums(metrics, theirs)])
    columns = cluster_sums(columns, tasks, clusters)
    found = differences_of(columns, seed=seed, resamples=resamples, confidence=confidence)
    differences = {each.name: difference for each, difference in zip(metrics, found, strict=True)}
    pairs = [
        (mine.is_hit, other.is_hit)
        for task, their in zip(tasks, theirs, strict=True)
        for mine, other in zip(task.steps, their.steps, strict=True)
    ]
    return Comparison(
        metrics=differences,
        won=pairs.count((True, False)),
        lost=pairs.count((False, True)),
        steps=len(pairs),
        tasks=len(tasks),
    )


def differences_of(
    columns: Matrix, *, seed: int = 0, resamples: int = RESAMPLES, confidence: float = 0.95
) -> tuple[Difference, ...]:
    """Differences of ratios of sums, with intervals and p-values from draws of whole rows.

    Args:
        columns: Shape (clusters, 4 x metrics): the run's numerators, its denominators, the baseline's numerators, its
            denominators.
        seed: Seed of ``numpy.random.default_rng``.
        resamples: How many times the rows are drawn.
        confidence: The share of resamples that lies inside the interval.
    """
    whole = _ratio_differences(columns.sum(axis=0, keepdims=True))
    drawn = _ratio_differences(_resampled(columns, seed, resamples) if len(columns) else columns)
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    differences = []
    for (value,), values in zip(whole.T, drawn.T, strict=True):
        known = values[~np.isnan(values)]
        low, high = np.quantile(known, tails) if len(known) else (None, None)
        differences.append(
            Difference(
                value=None if np.isnan(value) else float(value),
                low=None if low is None else float(low),
                high=None if high is None else float(high),
                p=_p_value(float(value), known),
                standard_error=float(np.std(known, ddof=1)) if len(known) > 1 else None,
            )
        )
    return tuple(differences)


def _resampled(columns: Matrix, seed: int, resamples: int) -> Matrix:
    if len(columns) <= POOLED_ABOVE:
        return resampled_sums(columns, seed, resamples)
    # A metric alone has far fewer kinds of tasks than all of them together.
    metrics = columns.shape[1] // 4
    sums = np.empty((resamples, columns.shape[1]))
    for metric in range(metrics):
        its = list(range(metric, columns.shape[1], metrics))
        sums[:, its] = resampled_sums(columns[:, its], seed, resamples)
    return sums


def _p_value(value: float, drawn: Matrix) -> float | None:
    """Two-sided, from the draws around the difference found; None where there is no difference to speak of."""
    if np.isnan(value) or not len(drawn):
        return None
    # Sums in another order differ in their last bit; a draw that is as far as the result counts.
    as_far = np.abs(drawn - value) >= abs(value) - 1e-9
    return float((1 + as_far.sum()) / (1 + len(drawn)))


def _ratio_differences(sums: Matrix) -> Matrix:
    """Rows of (above, below, their above, their below) to differences of ratios; NaN where either is undefined."""
    above, below, their_above, their_below = np.hsplit(sums, 4)
    undefined = (below == 0) | (their_below == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        differences = np.where(undefined, np.nan, above / below - their_above / their_below)
    # Sums that differ in their last bit only, by the order of adding, are no difference.
    return np.asarray(np.round(differences, 9) + 0.0, dtype=np.float64)


def common_tasks(
    run: Sequence[ScoredTask], baseline: Sequence[ScoredTask]
) -> tuple[tuple[ScoredTask, ...], tuple[ScoredTask, ...]]:
    """Both runs' tasks with only the steps that both have, by id and task; tasks without one are left out."""

    def places(tasks: Sequence[ScoredTask]) -> set[tuple[str, TaskLabel, str]]:
        return {(task.participant, task.label, scored.step.id) for task in tasks for scored in task.steps}

    both = places(run) & places(baseline)

    def part(tasks: Sequence[ScoredTask]) -> tuple[ScoredTask, ...]:
        found = []
        for task in tasks:
            steps = [scored for scored in task.steps if (task.participant, task.label, scored.step.id) in both]
            # The same order in both, whatever the order of the files.
            steps.sort(key=lambda scored: order[scored.step.id])
            if steps:
                found.append(ScoredTask(participant=task.participant, label=task.label, steps=tuple(steps)))
        return tuple(found)

    order = {scored.step.id: number for number, scored in enumerate(each for task in run for each in task.steps)}
    return part(run), part(baseline)


def flipped(run: Sequence[ScoredTask], baseline: Sequence[ScoredTask]) -> tuple[tuple[ScoredStep, ScoredStep], ...]:
    """The steps that only one of the two hit, the run's beside the baseline's, in the run's order.

    Raises:
        ValueError: The runs are not over the same steps.
    """
    tasks, theirs = _paired(run, baseline)
    return tuple(
        (mine, other)
        for task, their in zip(tasks, theirs, strict=True)
        for mine, other in zip(task.steps, their.steps, strict=True)
        if mine.is_hit != other.is_hit
    )


def _paired(run: Sequence[ScoredTask], baseline: Sequence[ScoredTask]) -> tuple[list[ScoredTask], list[ScoredTask]]:
    """The tasks of both in the first one's order.

    Raises:
        ValueError: A task or step is only in one of them.
    """

    def steps(tasks: Sequence[ScoredTask]) -> set[str]:
        return {scored.step.id for task in tasks for scored in task.steps}

    only = steps(run) ^ steps(baseline)
    if only:
        raise ValueError(f"{len(only)} steps are only in one of the two runs, such as {min(only)}")
    of: dict[tuple[str, TaskLabel], ScoredTask] = {(task.participant, task.label): task for task in baseline}
    try:
        theirs = [of[task.participant, task.label] for task in run]
    except KeyError as error:
        raise ValueError(f"the task {error.args[0]} is only in one of the two runs") from None
    for mine, other in zip(run, theirs, strict=True):
        if [scored.step.id for scored in mine.steps] != [scored.step.id for scored in other.steps]:
            raise ValueError(f"the task {mine.label!r} of participant {mine.participant} has other steps in the two")
    return list(run), theirs
