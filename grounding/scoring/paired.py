"""Two runs over the same steps in, how much one is better out, and whether it could be chance.

The tasks of both runs are drawn together (paired bootstrap over tasks, or over participants): that a task is hard makes
both runs worse and says nothing about their difference, so it must not widen the interval. Of an unfinished run only
what both have come to is compared.
"""

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from grounding.records import Record
from grounding.scoring.intervals import (
    CONFIDENCE,
    RESAMPLES,
    Interval,
    Matrix,
    alike,
    drawn_interval,
    normal_quantile,
    sums_by_metric,
)
from grounding.scoring.metrics import Metric, task_sums
from grounding.scoring.scored import ClusterName, TaskT, participant_sums

# Discordant pairs up to which McNemar's test is the exact binomial one; above, the two hardly differ.
EXACT_UP_TO = 1000
POWER = 0.8
LEVEL = 0.05


class McNemar(Record, frozen=True, kw_only=True, omit_defaults=False):
    """McNemar's test of ``n`` pairs, of which ``won`` are right only in the run and ``lost`` only in the baseline.
    ``p`` is two-sided. ``statistic`` is that of chi-square with one degree of freedom; None for the exact test.
    """

    won: int
    lost: int
    n: int
    method: Literal["exact", "chi-square"]
    statistic: float | None
    p: float


def mcnemar(won: int, lost: int, n: int) -> McNemar:
    """Are the pairs that changed as likely to have changed for the better as for the worse? (McNemar, 1947).

    Up to :data:`EXACT_UP_TO` changed pairs the exact two-sided binomial test with a half, above that chi-square with
    the correction for continuity. The test takes the pairs for independent of each other: over the steps of tasks it
    is too sure of itself, and the bootstrap over clusters is the one to trust.

    >>> round(mcnemar(1, 6, 20).p, 4)
    0.125
    """
    changed = won + lost
    if changed <= EXACT_UP_TO:
        tail = sum(math.comb(changed, k) for k in range(min(won, lost) + 1))
        p = min(1.0, float(2 * tail / 2**changed)) if changed else 1.0
        return McNemar(won=won, lost=lost, n=n, method="exact", statistic=None, p=p)
    statistic = (abs(won - lost) - 1) ** 2 / changed if won != lost else 0.0
    # Chi-square with one degree of freedom is the square of a standard normal variable.
    p = math.erfc(math.sqrt(statistic / 2))
    return McNemar(won=won, lost=lost, n=n, method="chi-square", statistic=statistic, p=p)


def least_significant(changed: int, n: int) -> int | None:
    """How far apart won and lost must be for McNemar's test to reach the level where so many of ``n`` pairs changed.

    Where fewer changed than could ever reach it, the least number that can, all one way; None where ``n`` is fewer.

    >>> least_significant(0, 13), least_significant(0, 5), least_significant(100, 262)
    (6, None, 22)
    """
    while changed <= n and mcnemar(changed, 0, n).p > LEVEL:
        changed += 1
    if changed > n:
        return None
    won = (changed + 1) // 2
    while mcnemar(won, changed - won, n).p > LEVEL:
        won += 1
    return 2 * won - changed


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's step-down correction: p-values of one family in, adjusted ones in the same order out (Holm, 1979).

    >>> holm([0.01, 0.04, 0.03])
    (0.03, 0.06, 0.06)
    """
    found = np.array(p_values)
    order = np.argsort(found, kind="stable")
    adjusted = np.empty(len(found))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, found[order] * np.arange(len(found), 0, -1)))
    return tuple(adjusted.tolist())


def minimum_detectable(standard_error: float) -> float:
    """The true difference that a two-sided test at :data:`LEVEL` would find with probability :data:`POWER`.

    (z(1 - level / 2) + z(power)) x standard error, with z the quantile of the normal distribution (Bloom, 1995); about
    2.80 standard errors. In the unit of the standard error.
    """
    return (normal_quantile(1 - LEVEL / 2) + normal_quantile(POWER)) * standard_error


def wald_difference(percent: float, n: int, baseline_percent: float, baseline_n: int) -> Interval:
    """The unpaired interval of a difference of proportions, in percentage points, as papers compute it.

    Two independent samples, normal approximation. Over the same tasks it is the wrong interval, because it takes no
    notice of the pairing; it is here to compare with published ones. RealWebAssist's interval of humans minus the best
    model comes out of it:

    >>> found = wald_difference(93.4, 107, 14.0, 107)
    >>> round(found.low, 1), round(found.high, 1)
    (71.3, 87.5)
    """
    first, second = percent / 100, baseline_percent / 100
    error = math.sqrt(first * (1 - first) / n + second * (1 - second) / baseline_n)
    reach = 100 * normal_quantile((1 + CONFIDENCE) / 2) * error
    value = percent - baseline_percent
    return Interval(low=value - reach, high=value + reach)


class Difference(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One metric of a run minus that of the baseline, in the metric's unit (percentage points); None over nothing.

    ``p`` is the two-sided p-value of the same bootstrap: the share of draws that lie as far from the difference found
    as 0 does. ``standard_error`` is the standard deviation of the draws. With one cluster, or where the difference is
    the same in all, the draws say nothing of how sure it is: there is no interval and no standard error, and the
    p-value is that of the sign test over clusters.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    standard_error: float | None = None


class Comparison(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A run beside a baseline over the same steps: the differences by the metric's name.

    ``won`` counts the steps that only the run hit, ``lost`` those that only the baseline hit; ``steps`` and ``tasks``
    are how many were compared, ``unasked`` how many steps were not because one of the two has not come to them.
    """

    metrics: dict[str, Difference]
    won: int
    lost: int
    steps: int
    tasks: int
    unasked: int = 0


def compare(
    metrics: Sequence[Metric],
    run: Sequence[TaskT],
    baseline: Sequence[TaskT],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    clusters: ClusterName = "task",
) -> Comparison:
    """The differences between two runs, paired by task and step; percentile bootstrap intervals.

    The p-value takes the draws, moved so that their centre is no difference, for what chance would give; the result
    itself counts as one more draw (Davison and Hinkley, 1997, section 4.2), so it is never 0. The tasks come in any
    order. Up to ``POOLED_ABOVE`` tasks, a seed that is that of the runs' own intervals gives the same draws. Raises
    ValueError: the runs are not over the same steps.
    """
    tasks, theirs = common_tasks(run, baseline)
    if any(
        sum(len(task.steps) for task in every) != sum(len(task.steps) for task in tasks) for every in (run, baseline)
    ):
        raise ValueError("the two runs are not over the same steps: a task or a step is only in one of them")
    columns = np.hstack([*task_sums(metrics, tasks), *task_sums(metrics, theirs)])
    columns = participant_sums(columns, [task.participant for task in tasks], clusters)
    found = _differences_of(columns, seed, resamples)
    differences = {each.name: difference for each, difference in zip(metrics, found, strict=True)}
    pairs = [
        (mine.is_hit, other.is_hit)
        for task, their in zip(tasks, theirs, strict=True)
        for mine, other in zip(task.asked(), their.asked(), strict=True)
    ]
    return Comparison(
        metrics=differences,
        won=pairs.count((True, False)),
        lost=pairs.count((False, True)),
        steps=len(pairs),
        tasks=sum(bool(task.asked()) for task in tasks),
        unasked=sum(len(task.steps) for task in tasks) - len(pairs),
    )


def _differences_of(columns: Matrix, seed: int, resamples: int) -> tuple[Difference, ...]:
    """Differences of ratios of sums, with intervals and p-values from draws of whole rows. ``columns`` has the shape
    (clusters, 4 x metrics): the run's numerators, its denominators, the baseline's numerators, its denominators.
    """
    whole = _ratio_differences(columns.sum(axis=0, keepdims=True))
    metrics = columns.shape[1] // 4
    drawn = _ratio_differences(sums_by_metric(columns, metrics, seed, resamples) if len(columns) else columns)
    _, below, _, their_below = np.hsplit(columns, 4)
    clusters = ((below != 0) | (their_below != 0)).sum(axis=0)
    differences = []
    for (value,), values, count in zip(whole.T, drawn.T, clusters, strict=True):
        if np.isnan(value):
            differences.append(Difference(value=None))
            continue
        known = values[~np.isnan(values)]
        interval = drawn_interval(known, int(count))
        if interval is None:
            # Of clusters that all differ alike: how often equal chances for both signs give one sign only.
            p = 1.0 if alike(value, 0.0) else 2.0 ** (1 - int(count))
            differences.append(Difference(value=float(value), p=p))
            continue
        # Sums in another order differ in their last bit; a draw that is as far as the result counts.
        as_far = np.abs(known - value) >= abs(value) - 1e-9
        differences.append(
            Difference(
                value=float(value),
                low=interval.low,
                high=interval.high,
                p=float((1 + as_far.sum()) / (1 + len(known))),
                standard_error=float(np.std(known, ddof=1)),
            )
        )
    return tuple(differences)


def _ratio_differences(sums: Matrix) -> Matrix:
    """Rows of (above, below, their above, their below) to differences of ratios; NaN where either is undefined."""
    above, below, their_above, their_below = np.hsplit(sums, 4)
    undefined = (below == 0) | (their_below == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        differences = np.where(undefined, np.nan, above / below - their_above / their_below)
    # Sums that differ in their last bit only, by the order of adding, are no difference.
    return np.asarray(np.round(differences, 9) + 0.0, dtype=np.float64)


def common_tasks(run: Sequence[TaskT], baseline: Sequence[TaskT]) -> tuple[tuple[TaskT, ...], tuple[TaskT, ...]]:
    """Both runs' tasks with only the steps that both have, by id and task, in the first one's order. Tasks without such
    a step are left out. A step that one of the two has not come to is unasked in both.
    """
    of = {(task.participant, task.label): {one.id: one for one in task.steps} for task in baseline}
    mine, theirs = list[TaskT](), list[TaskT]()
    for task in run:
        known = of.get((task.participant, task.label), {})
        pairs = [(one, known[one.id]) for one in task.steps if one.id in known]
        if pairs:
            both = [one.was_asked and other.was_asked for one, other in pairs]
            for kept, steps in zip((mine, theirs), zip(*pairs, strict=True), strict=True):
                cut = [step if is_asked else step.unasked() for step, is_asked in zip(steps, both, strict=True)]
                kept.append(msgspec.structs.replace(task, steps=tuple(cut)))  # type: ignore[type-var]
    return tuple(mine), tuple(theirs)
