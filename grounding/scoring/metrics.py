"""The registry of metrics, and their evaluation: scored tasks in, estimates with intervals out.

A metric is one function that says what one task adds to a ratio. Adding one is adding that function::

    @metric("first_step_accuracy")
    def first_step_accuracy(task: ScoredTask) -> Part:
        return Part(numerator=task.steps[0].is_hit, denominator=1)

Every table, page, plot and export reads this one list. Packages from outside name the module that holds theirs under
the entry-point group ``grounding.metrics``.
"""

from __future__ import annotations

import math
import statistics
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import entry_points
from itertools import takewhile
from typing import Any, Literal

import msgspec
import numpy as np

from grounding.errors import UserError
from grounding.geometry import is_hit
from grounding.records import Box, Point, Polygon, Record, Region, TaskLabel
from grounding.scoring.intervals import RESAMPLES, Matrix, bootstrap, wilson
from grounding.scoring.scored import (
    AnyTask,
    ClusterName,
    Estimate,
    Figure,
    OfficialScores,
    PaperScores,
    ScoredSession,
    ScoredTask,
    Scores,
    estimated,
    participant_sums,
)

SCORING = "paper+official.2"
"""Both definitions are always computed; the number goes up when either's arithmetic changes."""


def signed(signature: str, clusters: ClusterName) -> str:
    """A run's signature as it is when the run is scored now, over these clusters.

    >>> signed("dataset:d|scoring:old|seed:0|version:1", "participant")
    'dataset:d|scoring:paper+official.2|clusters:participant|seed:0|version:1'
    """
    parts = [part for part in signature.split("|") if not part.startswith(("scoring:", "clusters:"))]
    place = next((number for number, part in enumerate(parts) if part.startswith("seed:")), len(parts))
    return "|".join([*parts[:place], f"scoring:{SCORING}", f"clusters:{clusters}", *parts[place:]])


def scoring_of(signature: str) -> str:
    """The part of a signature that names the arithmetic; what intervals were drawn over is no part of a score."""
    parts = (part.partition(":") for part in signature.split("|"))
    return next((value for name, _, value in parts if name == "scoring"), "") or "not stated"


ENTRY_POINTS = "grounding.metrics"


class Part(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What one task adds to a metric: the metric is the sum of numerators over the sum of denominators."""

    numerator: float
    denominator: float


TaskFunction = Callable[[ScoredTask], Part]
Better = Literal["higher", "lower", ""]


def _nothing(_: object) -> Part:
    return Part(numerator=0, denominator=0)


class Metric(Record, frozen=True, kw_only=True):
    """A named metric. ``counted``: the numerator counts things, so ``k`` is shown.

    ``of`` is what the denominator counts, in words. ``unit`` is that of the value; in per cent it is the ratio times
    100. ``per_step``: the numerator is a sum over steps, whatever came before them. Only such a metric means anything
    where no step follows another, and only such a one takes the answered steps of a task that is not through.
    ``narrow``: left out of tables of several runs and of what is made for papers, where there is little room.
    ``better`` says which way is better, "" where nobody knows. ``source`` is where the definition stands.
    """

    name: str
    function: Callable[[Any], Part] = _nothing
    counted: bool = True
    of: str = "tasks"
    unit: str = "%"
    per_step: bool = False
    narrow: bool = False
    title: str = ""
    better: Better = "higher"
    source: str = ""

    @property
    def label(self) -> str:
        return self.title or self.name.replace("_", " ")

    @property
    def most(self) -> float | None:
        return 100.0 if self.unit == "%" else None

    @property
    def scale(self) -> int:
        """What the ratio is multiplied by to be in the metric's unit."""
        return 100 if self.unit == "%" else 1


_registry: dict[str, Metric] = {}


def metric(name: str, **fields: Any) -> Callable[[TaskFunction], TaskFunction]:
    """Register the decorated function as a metric; ``fields`` are those of :class:`Metric`, such as ``unit="px"``.

    ``better`` is left out for a higher percentage, and for other units of which nobody knows which way is better.

    Raises:
        ValueError: Another function has the name.
    """
    fields = {"better": "higher" if fields.get("unit", "%") == "%" else "", **fields}

    def register(function: TaskFunction) -> TaskFunction:
        known = _registry.get(name)
        if known is not None and _home(known.function) != _home(function):
            raise ValueError(f"metric {name!r} of {_home(function)} is already defined by {_home(known.function)}")
        _registry[name] = Metric(name=name, function=function, **fields)
        return function

    return register


def registered() -> tuple[Metric, ...]:
    """All metrics in order of registration; installed packages are asked for theirs at the first call.

    Raises:
        UserError: An installed package announces a metric that cannot be loaded.
    """
    _load_entry_points()
    return tuple(_registry.values())


def shown(scores: Sequence[Scores], *, alone: bool = False, several: bool = False) -> tuple[Metric, ...]:
    """The metrics of which any of these scores has an estimate, in the order in which they are shown.

    ``alone``: no step follows another, so only metrics of steps by themselves. ``several``: in a table of several runs,
    the order of the paper's table, without those that it has no room for.
    """
    known = {each.name: each for each in registered()}
    paper = [known[name] for name in PaperScores.__struct_fields__]
    # Of a metric that is not registered here the scores tell the name, the unit and whether it counts.
    found = {name: one for each in scores for name, one in each.extra.items()}
    extra = [
        known.get(name) or Metric(name=name, unit=one.unit, of="", per_step=True, counted=one.k is not None)
        for name, one in found.items()
    ]
    ordered = [each for each in reversed(paper) if not each.narrow] if several else paper
    return tuple(each for each in [*ordered, *extra] if each.per_step or not alone)


def estimate(
    metrics: Sequence[Metric],
    tasks: Sequence[AnyTask],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    clusters: ClusterName = "task",
) -> dict[str, Estimate]:
    """Each metric over the scored tasks, with a 95 % interval; keyed by the metric's name.

    The interval is that of a bootstrap over clusters. Where no cluster holds more than one trial of a metric that
    counts things (the success of tasks, drawn by task), the metric is a plain proportion and the interval is Wilson's,
    which is right for 0 and 100 % too. :class:`~grounding.scoring.scored.Estimate` says what else there is.
    """
    whose = [task.participant for task in tasks]
    numerators, denominators = (participant_sums(part, whose, clusters) for part in task_sums(metrics, tasks))
    return estimate_sums(metrics, numerators, denominators, seed=seed, resamples=resamples)


def estimate_sums(
    metrics: Sequence[Metric], numerators: Matrix, denominators: Matrix, *, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, Estimate]:
    """The same from what :func:`task_sums` gave, added up by cluster: shape (clusters, metrics) both."""
    most = [each.most for each in metrics]
    intervals = bootstrap(numerators, denominators, seed=seed, resamples=resamples, most=most)
    estimates = {}
    for column, (each, drawn) in enumerate(zip(metrics, intervals, strict=True)):
        above, below = math.fsum(numerators[:, column]), math.fsum(denominators[:, column])
        k, n = round(above / each.scale) if each.counted else None, round(below)
        trials = are_trials(numerators[:, column] / each.scale) and are_trials(denominators[:, column])
        plain = trials and each.most is not None and k is not None and below > 0
        found = wilson(k, n) if plain and k is not None else drawn
        value = above / below if below else None
        estimates[each.name] = estimated(value, n, found, k=k, trials=plain, most=each.most, unit=each.unit)
    return estimates


def are_trials(counts: Matrix) -> bool:
    """Whether no cluster adds anything but 0 or 1."""
    return bool(((counts == 0) | (counts == 1)).all())


def task_sums(metrics: Sequence[Metric], tasks: Sequence[AnyTask]) -> tuple[Matrix, Matrix]:
    """What each task adds to each metric's numerator, in the metric's unit, and denominator: shape (tasks, metrics).

    Of a task that an unfinished run is not through with, the answered steps add to metrics of steps, and nothing to
    those that need the whole of it.
    """
    shape = (len(tasks), len(metrics))
    parts = [task_parts(metrics, task) for task in tasks]
    numerators = np.array([[part.numerator for part in row] for row in parts], dtype=np.float64).reshape(shape)
    denominators = np.array([[part.denominator for part in row] for row in parts], dtype=np.float64).reshape(shape)
    return numerators * [each.scale for each in metrics], denominators


def task_parts(metrics: Sequence[Metric], task: Any) -> list[Part]:
    """The same of one task, not yet in the metrics' units."""
    asked = task.asked()
    if len(asked) == len(task.steps):
        return [each.function(task) for each in metrics]
    answered = msgspec.structs.replace(task, steps=asked)
    return [(each.function if each.per_step and asked else _nothing)(answered) for each in metrics]


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


@metric("step_accuracy", of="steps", per_step=True, source="RealWebAssist, section 3.2")
def step_accuracy(task: ScoredTask) -> Part:
    """Share of scored steps that are hits (section 3.2, "step success rate"; "step accuracy" in the tables)."""
    return Part(numerator=sum(scored.is_hit for scored in task.steps), denominator=len(task.steps))


@metric("instruction_accuracy", of="instructions", narrow=True, source="RealWebAssist, section 3.1; not printed there")
def instruction_accuracy(task: ScoredTask) -> Part:
    """Share of instructions whose scored steps are all hits.

    An instruction of several steps is right only if all of them are (section 3.1); the paper prints no such figure.
    """
    hits = task.instruction_hits()
    return Part(numerator=sum(hits), denominator=len(hits))


@metric("average_progress", counted=False, source="RealWebAssist, section 3.2")
def average_progress(task: ScoredTask) -> Part:
    """Mean over tasks of the share of consecutive instructions done before the first error (section 3.2)."""
    hits = task.instruction_hits()
    leading = sum(takewhile(bool, hits))
    return Part(numerator=leading / len(hits), denominator=1)


@metric("task_success", source="RealWebAssist, section 3.2")
def task_success(task: ScoredTask) -> Part:
    """Share of tasks whose instructions are all right (section 3.2)."""
    return Part(numerator=all(task.instruction_hits()), denominator=1)


# --- the released evaluator -----------------------------------------------------------------------------------------
#
# ``evaluate.py`` of RealWebAssist, bug for bug. Where it departs from the paper, it does so here too: progress counts
# steps, not instructions; tasks are pooled by their bare label (equal labels of two participants become one long task,
# participants in ascending number, then by position); the distance is Manhattan, over steps that have a point; a score
# over nothing is 0. One thing is not repeated: there, an exception drops the rest of a participant's steps. The
# evaluator knows boxes only: of a polygon the true outline counts. It knows no absent targets: a point given for one is
# wrong, at no distance. Of an unfinished run the steps count that it has come to, and the tasks it is through with.

_UNASKED = 2

FARTHEST_PX = 1e8
"""The evaluator's start value for the search of the nearest box: no distance is above it."""


class OfficialPart(Record, frozen=True, kw_only=True):
    """What the evaluator needs of one participant.

    ``hits`` has a byte for each scored step of a label, in order: 1 for a hit, 0 for what is wrong, 2 for a step that
    the run has not come to. ``gaps_px`` has the distance of every step that has one.
    """

    participant: str
    hits: dict[TaskLabel, bytes]
    gaps_px: array[float]


def official_part(session: ScoredSession) -> OfficialPart:
    gaps = array("d")
    hits: dict[TaskLabel, bytes] = {}
    for task in session.tasks:
        for scored in task.steps:
            point = scored.verdict.point
            if point is not None and not scored.step.target_absent:
                gaps.append(0.0 if scored.is_hit else gap_px(scored.step.region or Region(), point))
        hits[task.label] = bytes([scored.is_hit if scored.was_asked else _UNASKED for scored in task.steps])
    return OfficialPart(participant=session.participant, hits=hits, gaps_px=gaps)


def pooled_scores(parts: Sequence[OfficialPart]) -> OfficialScores:
    if all(part.participant.isdecimal() for part in parts):
        parts = sorted(parts, key=lambda part: int(part.participant))
    tasks: dict[TaskLabel, bytes] = {}
    for part in parts:
        for label, hits in part.hits.items():
            tasks[label] = tasks.get(label, b"") + hits
    steps = [sum(hits.count(mark) for hits in tasks.values()) for mark in (0, 1)]
    whole = [hits for hits in tasks.values() if _UNASKED not in hits]
    leading = ((found if (found := hits.find(0)) >= 0 else len(hits), len(hits)) for hits in whole)
    gaps = [gap for part in parts for gap in part.gaps_px]
    return OfficialScores(
        step_accuracy=_share(steps[1], steps[0] + steps[1]),
        average_progress=_mean(math.fsum(done / length * 100 for done, length in leading), len(whole)),
        task_success=_share(sum(map(all, whole)), len(whole)),
        average_distance=_mean(math.fsum(gaps), len(gaps)),
    )


def gap_px(region: Region, point: Point) -> float:
    """Horizontal plus vertical gap in pixels to the nearest shape, 0 inside.

    1e8 for a region without shapes, and 0 for coordinates that are not numbers, as in the evaluator.

    >>> region = Region(boxes=(Box(left_px=10, top_px=10, right_px=20, bottom_px=20),))
    >>> gap_px(region, Point(x_px=23, y_px=24))
    7.0
    >>> gap_px(Region(), Point(x_px=0, y_px=0))
    100000000.0
    """
    boxes = (_box_gap(box, point) for box in region.boxes)
    gaps = (*boxes, *(_outline_gap(polygon, point) for polygon in region.polygons))
    return min((FARTHEST_PX, *gaps))


def _box_gap(box: Box, point: Point) -> float:
    # a coordinate that is not a number is greater than nothing and adds nothing, as in the evaluator
    across = max(0.0, box.left_px - point.x_px) or max(0.0, point.x_px - box.right_px)
    down = max(0.0, box.top_px - point.y_px) or max(0.0, point.y_px - box.bottom_px)
    return float(across + down)


def _outline_gap(polygon: Polygon, point: Point) -> float:
    if is_hit(Region(polygons=(polygon,)), point):
        return 0.0
    corners = polygon.points
    return min(_edge_gap(a, b, point) for a, b in zip(corners, corners[1:] + corners[:1], strict=True))


def _edge_gap(a: Point, b: Point, point: Point) -> float:
    """Manhattan distance to the edge from ``a`` to ``b``.

    Along the edge it is piecewise linear: least at an end, or where the edge passes straight above or beside the point.
    """
    run, rise = b.x_px - a.x_px, b.y_px - a.y_px
    places = [0.0, 1.0]
    places += [(point.x_px - a.x_px) / run] if run else []
    places += [(point.y_px - a.y_px) / rise] if rise else []
    return min(
        abs(a.x_px + place * run - point.x_px) + abs(a.y_px + place * rise - point.y_px)
        for place in places
        if 0 <= place <= 1
    )


def _share(k: int, n: int) -> Figure:
    return Figure(value=k / n * 100 if n else 0.0, k=k, n=n)


def _mean(total: float, n: int) -> Figure:
    return Figure(value=total / n if n else 0.0, n=n)


class MetricSpread(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One metric over the epochs, in its unit. ``sd`` is the sample standard deviation; None for a single epoch.

    Intervals over tasks say how sure a score is of other tasks; this says how much it changes when the same tasks are
    asked again.
    """

    metric: str
    values: tuple[float, ...]
    mean: float
    sd: float | None
    lowest: float
    highest: float


class Repeats(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How many of ``n`` things are right in every epoch, and how many in at least one."""

    in_all: int
    in_any: int
    n: int


class Spread(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Between-run spread. ``tasks`` counts a task as right where all its steps are."""

    epochs: int
    metrics: tuple[MetricSpread, ...]
    steps: Repeats
    tasks: Repeats


def spread(metrics: Sequence[Metric], epochs: Sequence[Sequence[ScoredTask]]) -> Spread:
    """The spread of each metric that has a value in every epoch, and what is right in all and in any of them.

    Raises:
        ValueError: two epochs are not over the same steps in the same order.
    """
    ids = [[scored.step.id for task in tasks for scored in task.steps] for tasks in epochs]
    if any(each != ids[0] for each in ids):
        raise ValueError("the epochs are not over the same steps")
    found = []
    sums = [[part.sum(axis=0) for part in task_sums(metrics, tasks)] for tasks in epochs]
    for column, each in enumerate(metrics):
        if not all(below[column] for _, below in sums):
            continue
        values = tuple(float(above[column] / below[column]) for above, below in sums)
        sd = statistics.stdev(values) if len(values) > 1 else None
        mean, low, high = statistics.fmean(values), min(values), max(values)
        found.append(MetricSpread(metric=each.name, values=values, mean=mean, sd=sd, lowest=low, highest=high))
    hits = [[scored.is_hit for task in tasks for scored in task.steps] for tasks in epochs]
    whole = [[all(scored.is_hit for scored in task.steps) for task in tasks] for tasks in epochs]
    return Spread(epochs=len(epochs), metrics=tuple(found), steps=_repeats(hits), tasks=_repeats(whole))


def _repeats(right: Sequence[Sequence[bool]]) -> Repeats:
    columns = list(zip(*right, strict=True))
    return Repeats(in_all=sum(map(all, columns)), in_any=sum(map(any, columns)), n=len(columns))
