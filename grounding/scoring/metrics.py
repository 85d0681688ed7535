"""The registry of metrics, and their evaluation: scored tasks in, estimates with intervals out.

A metric is one function that says what one task adds to a ratio. Adding one is adding that function::

    @metric("first_step_accuracy")
    def first_step_accuracy(task: ScoredTask) -> Part:
        return Part(numerator=task.steps[0].is_hit, denominator=1)

Packages from outside name the module that holds theirs under the entry-point group ``grounding.metrics``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import entry_points

import numpy as np

from grounding.errors import UserError
from grounding.records import Record
from grounding.scoring.clusters import ClusterName, cluster_sums
from grounding.scoring.intervals import RESAMPLES, Matrix, bootstrap, wilson
from grounding.scoring.scored import ScoredTask
from grounding.scoring.scores import Estimate

ENTRY_POINTS = "grounding.metrics"


class Part(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What one task adds to a metric: the metric is the sum of numerators over the sum of denominators."""

    numerator: float
    denominator: float


TaskFunction = Callable[[ScoredTask], Part]


class Metric(Record, frozen=True, kw_only=True):
    """A named metric. ``counted``: the numerator counts things, so ``k`` is shown. ``percent``: times 100."""

    name: str
    function: TaskFunction
    counted: bool = True
    percent: bool = True

    @property
    def scale(self) -> int:
        """What the ratio is multiplied by to be in the metric's unit."""
        return 100 if self.percent else 1


_registry: dict[str, Metric] = {}


def metric(name: str, *, counted: bool = True, percent: bool = True) -> Callable[[TaskFunction], TaskFunction]:
    """Register the decorated function as a metric.

    Args:
        name: The key in the summary.
        counted: False for a mean whose numerator is not a count: its estimate has no ``k``.
        percent: False for a metric in a unit of its own, such as pixels.

    Raises:
        ValueError: Another function has the name.
    """

    def register(function: TaskFunction) -> TaskFunction:
        known = _registry.get(name)
        if known is not None and _home(known.function) != _home(function):
            raise ValueError(f"metric {name!r} of {_home(function)} is already defined by {_home(known.function)}")
        _registry[name] = Metric(name=name, function=function, counted=counted, percent=percent)
        return function

    return register


def registered() -> tuple[Metric, ...]:
    """All metrics in order of registration; installed packages are asked for theirs at the first call.

    Raises:
        UserError: An installed package announces a metric that cannot be loaded.
    """
    _load_entry_points()
    return tuple(_registry.values())


def estimate(
    metrics: Sequence[Metric],
    tasks: Sequence[ScoredTask],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    clusters: ClusterName = "task",
) -> dict[str, Estimate]:
    """Each metric over the tasks, with a 95 % interval; keyed by the metric's name.

    The interval is that of a bootstrap over clusters. Where no cluster holds more than one trial of a metric that
    counts things (the success of tasks, drawn by task), the metric is a plain proportion and the interval is Wilson's,
    which is right for 0 and 100 % too.

    Args:
        metrics: What to estimate.
        tasks: The scored tasks.
        seed: Of the bootstrap.
        resamples: Its size.
        clusters: What is drawn together.
    """
    numerators, denominators = (cluster_sums(part, tasks, clusters) for part in task_sums(metrics, tasks))
    return estimate_sums(metrics, numerators, denominators, seed=seed, resamples=resamples)


def estimate_sums(
    metrics: Sequence[Metric], numerators: Matrix, denominators: Matrix, *, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, Estimate]:
    """The same from what :func:`task_sums` gave, added up by cluster: shape (clusters, metrics) both."""
    intervals = bootstrap(numerators, denominators, seed=seed, resamples=resamples)
    estimates = {}
    for column, (each, drawn) in enumerate(zip(metrics, intervals, strict=True)):
        above, below = math.fsum(numerators[:, column]), math.fsum(denominators[:, column])
        k = round(above / each.scale) if each.counted else None
        plain = each.percent and k is not None and below > 0 and are_trials(numerators[:, column] / each.scale)
        plain = plain and are_trials(denominators[:, column])
        interval = wilson(k, round(below)) if plain and k is not None else drawn
        estimates[each.name] = Estimate(
            value=above / below if below else None,
            k=k,
            n=round(below),
            low=interval.low if interval else None,
            high=interval.high if interval else None,
            method="wilson" if plain else "bootstrap",
        )
    return estimates


def are_trials(counts: Matrix) -> bool:
    """Whether no cluster adds anything but 0 or 1."""
    return bool(((counts == 0) | (counts == 1)).all())


def task_sums(metrics: Sequence[Metric], tasks: Sequence[ScoredTask]) -> tuple[Matrix, Matrix]:
    """What each task adds to each metric's numerator, in the metric's unit, and denominator: shape (tasks, metrics)."""
    shape = (len(tasks), len(metrics))
    parts = [[each.function(task) for each in metrics] for task in tasks]
    numerators = np.array([[part.numerator for part in row] for row in parts], dtype=np.float64).reshape(shape)
    denominators = np.array([[part.denominator for part in row] for row in parts], dtype=np.float64).reshape(shape)
    return numerators * [each.scale for each in metrics], denominators


@cache
def _load_entry_points() -> None:
    for point in entry_points(group=ENTRY_POINTS):
        try:
            point.load()
        except (ImportError, AttributeError, ValueError) as error:
            raise UserError(
                f"the metric {point.name!r} ({point.value}, announced under {ENTRY_POINTS!r}) cannot be loaded: "
                f"{error}. Repair or uninstall the package that brings it."
            ) from error


def _home(function: TaskFunction) -> str:
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', repr(function))}"
