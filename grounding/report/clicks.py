"""A run whose steps are answered with points, as it is shown: its files in, one record a scored step out."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from grounding.records import Plan, Prediction, Region, Step
from grounding.report.rows import ItemRow, ItemTask, RunRows, call_fields
from grounding.run.folder import RunFolder
from grounding.run.scorebook import ScoredClicks, read_run, scored_tasks, weigh
from grounding.scoring.metrics import Metric, Part, registered, scoring_of, shown
from grounding.scoring.scored import ScoredStep, ScoredTask

METRICS = registered()
POSITIONS = (1, 2, 5, 10, 20)  # The last steps of a task that are put together.
AREA_SIDES_PX = (16, 32, 64, 128, 256)  # The sides of squares as large as regions that are put together are at most.
_WORDS, _SHAPES = (0, 3, 6, 10, 15, 25), (0, 1, 2, 3)
_DOWN, _ACROSS = ("top", "middle", "bottom"), ("left", "centre", "right")
_AREAS = (
    f"under {AREA_SIDES_PX[0]}x{AREA_SIDES_PX[0]} px",
    *(f"{one}x{one} to {two}x{two} px" for one, two in pairwise(AREA_SIDES_PX)),
    f"{AREA_SIDES_PX[-1]}x{AREA_SIDES_PX[-1]} px and more",
)


def _bins(ends: Sequence[int]) -> tuple[str, ...]:
    """Names of whole numbers up to each end: ``1``, ``2``, ``3-5``; the last is open: ``21+``."""
    starts = [ends[0], *(end + 1 for end in ends)]
    closed = (str(end) if start == end else f"{start}-{end}" for start, end in zip(starts, ends, strict=False))
    return (*closed, f"{starts[-1]}+")


ORDERS = {
    "screen-place": (*(f"{down} {across}" for down in _DOWN for across in _ACROSS), "absent"),
    "instruction-words": _bins(_WORDS),
    "position": _bins(POSITIONS),
    "gold-shapes": (*_bins(_SHAPES)[:-1], "4+"),
    "gold-area": ("absent", *_AREAS),
}


def _shapes(step: Step, _: int) -> str:
    region = step.region or Region()
    return ORDERS["gold-shapes"][bisect_left(_SHAPES, len(region.boxes) + len(region.polygons))]


def _area(step: Step, _: int) -> str:
    if step.target_absent:
        return "absent"
    squares = [side * side for side in AREA_SIDES_PX]
    return _AREAS[bisect_right(squares, _area_px2(step.region or Region()))]


def _area_px2(region: Region) -> float:
    """All shapes together, in square pixels; a polygon's by the shoelace formula."""
    area = float(sum(box.area_px2 for box in region.boxes))
    for polygon in region.polygons:
        corners = polygon.points
        turns = zip(corners, (*corners[1:], *corners[:1]), strict=True)
        area += abs(sum(a.x_px * b.y_px - b.x_px * a.y_px for a, b in turns)) / 2
    return area


def _place(step: Step, _: int) -> str:
    region, size = step.region, step.screenshot.size
    if region is None or (not region.boxes and not region.polygons):
        return "absent"
    points = [region.boxes[0].center] if region.boxes else region.polygons[0].points
    x_px, y_px = (sum(each) / len(points) for each in zip(*((p.x_px, p.y_px) for p in points), strict=True))
    across, down = 3 * x_px / size.width, 3 * y_px / size.height
    return f"{_DOWN[min(2, max(0, int(down)))]} {_ACROSS[min(2, max(0, int(across)))]}"


COLUMNS: dict[str, Callable[[Step, int], str]] = {
    "participant": lambda step, _: step.participant,
    "task": lambda step, _: f"{step.participant}: {step.task}",
    "instruction-words": lambda step, _: ORDERS["instruction-words"][
        bisect_left(_WORDS, len(step.instruction.split()))
    ],
    "gold-shapes": _shapes,
    "gold-area": _area,
    "screen-place": _place,
    "screen": lambda step, _: f"{step.screenshot.size.width}x{step.screenshot.size.height}",
    "position": lambda _, position: ORDERS["position"][bisect_left(POSITIONS, position)],
    "action": lambda step, _: step.action or "not stated",
}
"""What every data set can be broken down by, beside the labels that it gives its steps: functions of a step and of its
place among the scored steps of its task, from 1."""


def read(path: Path) -> RunRows:
    """A scored run of clicks. Raises UserError: the folder holds no scored run, or a file in it is damaged."""
    folder = RunFolder(path)
    info, summary = folder.read_info(), folder.read_summary()
    asked = info.asked
    stored = shown([summary.scores], alone=summary.independent)
    own = [each for each in registered() if each.per_step or not summary.independent]
    metrics = tuple({each.name: each for each in (*own, *stored)}.values())
    return RunRows(
        folder=path,
        benchmark="",
        name=f"{asked.planner} + {asked.grounder}",
        who={"planner": asked.planner, "grounder": asked.grounder},
        same={
            "the questions": asked.questions or "default",
            "the definition of the scores": scoring_of(summary.signature),
        },
        metrics=metrics_of_items(metrics),
        read=lambda: _rows(read_run(path)),
        info=info,
        summary=summary,
        load=lambda: read_run(path),
        clusters=info.clusters,
        kinds=tuple(summary.averages),
        orders=ORDERS,
        table=tuple(each.name for each in shown([summary.scores], alone=summary.independent, several=True)),
        stored={each.name: found for each in stored if (found := summary.scores.of(each.name)) is not None},
    )


def write_page(path: Path, out: Path | None) -> Path:
    from grounding.report.html.page import REPORT
    from grounding.report.html.page import write_page as write_pages

    return write_pages([weigh(RunFolder(path))], out or path / REPORT)


def metrics_of_items(metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    """Metrics of scored steps as metrics of what is shown of them."""

    def of_items(function: Callable[[Any], Part]) -> Callable[[ItemTask], Part]:
        def part(task: ItemTask) -> Part:
            steps = tuple(row.record for row in task.steps)
            return function(ScoredTask(participant=task.participant, label=task.label, steps=steps))

        return part

    return tuple(msgspec.structs.replace(each, function=of_items(each.function)) for each in metrics)


def _rows(scored: ScoredClicks) -> Iterator[ItemRow]:
    folder = RunFolder(scored.folder)
    with closing(folder.plans(read_only=True)) as plans, closing(folder.predictions(read_only=True)) as predictions:
        yield from rows_of(scored_tasks(scored), plans.last, predictions.last)


def rows_of(
    tasks: Iterable[ScoredTask],
    plan_of: Callable[[str], Plan | None] = lambda _: None,
    prediction_of: Callable[[str], Prediction | None] = lambda _: None,
) -> Iterator[ItemRow]:
    """One record for each scored step of these tasks, with the answers that these functions find by the step's id."""
    for task in tasks:
        for position, one in enumerate(task.steps, start=1):
            yield _row(task, one, position, plan_of(one.id), prediction_of(one.id))


def _row(task: ScoredTask, one: ScoredStep, position: int, plan: Plan | None, prediction: Prediction | None) -> ItemRow:
    step, verdict = one.step, one.verdict
    groups: dict[str, tuple[str, ...]] = {column: (value(step, position),) for column, value in COLUMNS.items()}
    for label in step.groups:
        if label.kind not in COLUMNS:
            groups[label.kind] = tuple(dict.fromkeys((*groups.get(label.kind, ()), label.name)))
    point, region = verdict.point, step.region or Region()
    shapes = [f"({b.left_px:g}, {b.top_px:g}) to ({b.right_px:g}, {b.bottom_px:g})" for b in region.boxes]
    shapes += ["around " + " ".join(f"({p.x_px:g}, {p.y_px:g})" for p in one.points) for one in region.polygons]
    return ItemRow(
        id=step.id,
        task=str(task.label),
        user=step.participant,
        outcome=verdict.outcome,
        result=verdict.outcome,
        was_asked=verdict.was_asked,
        scores={"step_accuracy": 100.0 * one.is_hit if verdict.was_asked else None},
        groups=groups,
        instruction=step.instruction,
        plan=(plan.text if plan is not None else None) or "",
        reply=(prediction.raw if prediction is not None else None) or "",
        answer="" if point is None else f"({point.x_px:g}, {point.y_px:g})",
        target="not on the screen" if step.target_absent else "; ".join(shapes),
        reason=verdict.reason,
        screenshot=step.screenshot,
        region=step.region,
        points=() if point is None else (point,),
        distance_px=verdict.distance_px,
        record=one,
        **call_fields(*(each.call for each in (plan, prediction) if each is not None)),
    )
