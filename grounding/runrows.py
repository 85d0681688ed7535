"""A run's files in, rows of tables out: one row a step, one column a fact, one row at a time.

:data:`COLUMNS` says what every column is; lengths are in pixels of the original screenshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from grounding.records import Call, Failure, Plan, Point, Prediction, Session, Step, TaskLabel, Verdict
from grounding.runfolder import RunFolder
from grounding.scoring.facts import step_facts

Row = dict[str, Any]
Cell = Literal["flag", "count", "measure", "text"]

_CALL = {
    "seconds": "wall time of the last try",
    "attempts": "tries, the last one with them",
    "input_tokens": "tokens of the request, as the server counted them",
    "output_tokens": "tokens of the reply, reasoning with them",
    "cost_usd": "what it cost in US dollars; missing where no price is known",
}
_FAILED = {"failure_kind": "unparsed, missing or error; missing where there is an answer", "failure": "why, in words"}

COLUMNS: dict[str, dict[str, str]] = {
    "steps": {
        "step_id": "the step's id, the key of all frames",
        "participant": "who",
        "task": "label of the task, as text",
        "step_in_session": "place among all steps of the participant in this run, from 1",
        "position": "place among the scored steps of the task, from 1; missing where the step is not scored",
        "task_steps": "scored steps of the task",
        "instruction_index": "number of the instruction within the task, from 0",
        "instruction": "what the user said",
        "instruction_words": "words of it, separated by blanks",
        "action": "what was done, where the data set says so",
        "is_scored": "whether a click was made, so that the step is scored",
        "target_absent": "whether the right answer is that there is no such place",
        "screenshot": "path of the picture at the time of the run",
        "screenshot_sha256": "hash of its bytes",
        "screen_width_px": "its width",
        "screen_height_px": "its height",
        "gold_shapes": "boxes and polygons in which a click is right",
        "gold_area_px2": "sum of their areas in square pixels; what overlaps counts twice",
        "gold_left_px": "left edge of the rectangle around all of them; missing where there is none",
        "gold_top_px": "its top edge",
        "gold_right_px": "its right edge",
        "gold_bottom_px": "its bottom edge",
    },
    "plans": {
        "step_id": "the step",
        "text": "the instruction for the grounder; missing where there is none",
        "raw": "the planner's reply as it came",
        **_FAILED,
        "reused": "whether another run had asked for it",
        **_CALL,
    },
    "predictions": {
        "step_id": "the step",
        "x_px": "where the grounder clicks; missing where it names no place",
        "y_px": "the same, downwards",
        "raw": "the grounder's reply as it came",
        "declined": "whether it says that there is no such place",
        **_FAILED,
        **_CALL,
    },
    "verdicts": {
        "step_id": "the step",
        "outcome": "hit, miss, unparsed, error or missing",
        "is_hit": "whether it is a hit",
        "distance_px": "Euclidean distance to the nearest edge of the region, 0 inside; missing without a point",
        "reason": "why there is no point, in words",
    },
}
"""The columns of each frame in order, and what they hold. Every kind of label that the data set gives its steps is one
more column ``group_KIND`` of ``steps``, several names joined by ``|``. ``joined`` has one row for each scored step: the
columns of ``verdicts`` and ``steps``, then those of ``plans`` and ``predictions`` with ``plan_`` and ``prediction_``
before their names."""

TABLES = tuple(COLUMNS)

_FLAGS = frozenset({"is_scored", "target_absent", "reused", "declined", "is_hit"})
_COUNTS = frozenset(
    {
        *("step_in_session", "position", "task_steps", "instruction_index", "instruction_words", "gold_shapes"),
        *("screen_width_px", "screen_height_px", "attempts", "input_tokens", "output_tokens"),
    }
)


def cell_of(column: str) -> Cell:
    """What a column holds: true or false, a whole number, a fraction or text. Any cell may be missing."""
    if column in _FLAGS:
        return "flag"
    if column in _COUNTS:
        return "count"
    return "measure" if column.endswith(("_px", "_px2", "_usd", "seconds")) else "text"


def table_rows(folder: RunFolder, table: str, *, sessions: Iterable[Session] | None = None) -> Iterator[Row]:
    """The rows of one of :data:`TABLES` from the run's JSON lines.

    Args:
        folder: The run.
        table: Which.
        sessions: The steps, where they are read already or are to be read one session at a time.

    Raises:
        UserError: the file is missing or damaged.
    """
    if table == "steps":
        yield from _step_rows(folder.read_sessions() if sessions is None else sessions)
    elif table == "verdicts":
        yield from map(_verdict_row, folder.stream_verdicts())
    elif table == "plans":
        plans = folder.plans(read_only=True)
        try:
            yield from map(_plan_row, plans)
        finally:
            plans.close()
    else:
        predictions = folder.predictions(read_only=True)
        try:
            yield from map(_prediction_row, predictions)
        finally:
            predictions.close()


def _step_rows(sessions: Iterable[Session]) -> Iterator[Row]:
    for session in sessions:
        task_steps: dict[TaskLabel, int] = {}
        for step in session.steps:
            if step.region is not None:
                task_steps[str(step.task)] = task_steps.get(str(step.task), 0) + 1
        before: dict[TaskLabel, int] = {}
        for number, step in enumerate(session.steps, start=1):
            label, position = str(step.task), None
            if step.region is not None:
                position = before[label] = before.get(label, 0) + 1
            yield _step_row(step, number, position, task_steps.get(label, 0))


def _step_row(step: Step, number: int, position: int | None, task_steps: int) -> Row:
    facts = step_facts(step, position=position or 0, task_steps=task_steps)
    left, top, right, bottom = _around(step)
    row = {
        "step_id": step.id,
        "participant": step.participant,
        "task": str(step.task),
        "step_in_session": number,
        "position": position,
        "task_steps": task_steps,
        "instruction_index": step.instruction_index,
        "instruction": step.instruction,
        "instruction_words": facts.instruction_words,
        "action": step.action or None,
        "is_scored": step.region is not None,
        "target_absent": step.target_absent,
        "screenshot": step.screenshot.path,
        "screenshot_sha256": step.screenshot.sha256,
        "screen_width_px": facts.screen_width_px,
        "screen_height_px": facts.screen_height_px,
        "gold_shapes": facts.gold_shapes,
        "gold_area_px2": facts.gold_area_px2,
        "gold_left_px": left,
        "gold_top_px": top,
        "gold_right_px": right,
        "gold_bottom_px": bottom,
    }
    names: dict[str, list[str]] = {}
    for label in step.groups:
        names.setdefault(label.kind, []).append(label.name)
    return row | {f"group_{kind}": "|".join(found) for kind, found in names.items()}


def _around(step: Step) -> tuple[float | None, float | None, float | None, float | None]:
    region = step.region
    corners: list[Point] = []
    for box in region.boxes if region else ():
        corners += [Point(x_px=box.left_px, y_px=box.top_px), Point(x_px=box.right_px, y_px=box.bottom_px)]
    for polygon in region.polygons if region else ():
        corners += polygon.points
    if not corners:
        return None, None, None, None
    across, down = [corner.x_px for corner in corners], [corner.y_px for corner in corners]
    return min(across), min(down), max(across), max(down)


def _plan_row(plan: Plan) -> Row:
    row = {"step_id": plan.step_id, "text": plan.text, "raw": plan.raw, "reused": plan.reused}
    return row | _failure_cells(plan.failure) | _call_cells(plan.call)


def _prediction_row(prediction: Prediction) -> Row:
    point = prediction.point
    row = {
        "step_id": prediction.step_id,
        "x_px": point.x_px if point else None,
        "y_px": point.y_px if point else None,
        "raw": prediction.raw,
        "declined": prediction.declined,
    }
    return row | _failure_cells(prediction.failure) | _call_cells(prediction.call)


def _verdict_row(verdict: Verdict) -> Row:
    return {
        "step_id": verdict.step_id,
        "outcome": verdict.outcome,
        "is_hit": verdict.outcome == "hit",
        "distance_px": verdict.distance_px,
        "reason": verdict.reason or None,
    }


def _failure_cells(failure: Failure | None) -> Row:
    return {
        "failure_kind": failure.kind if failure else None,
        "failure": failure.message if failure else None,
    }


def _call_cells(call: Call | None) -> Row:
    usage = call.usage if call else None
    return {
        "seconds": call.seconds if call else None,
        "attempts": call.attempts if call else None,
        "input_tokens": usage.input_tokens if usage else None,
        "output_tokens": usage.output_tokens if usage else None,
        "cost_usd": call.cost_usd if call else None,
    }
