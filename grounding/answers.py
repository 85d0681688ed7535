"""A run's answers as far as scoring needs them: what became of each step, and what all of it took.

The files are read once, from the first line to the last; what the models wrote is passed over.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from grounding.journal import scan
from grounding.records import Call, Failure, Point
from grounding.scoring.costs import RunSums


class _PlanLine(msgspec.Struct, frozen=True):
    """The fields of :class:`~grounding.records.Plan` that count here, and the one that every plan has."""

    step_id: str
    text: str | None
    failure: Failure | None = None
    call: Call | None = None
    reused: bool = False


class _PredictionLine(msgspec.Struct, frozen=True):
    """The fields of :class:`~grounding.records.Prediction` that count here."""

    step_id: str
    point: Point | None
    failure: Failure | None = None
    call: Call | None = None
    declined: bool = False


class EndedAtPlan(msgspec.Struct, frozen=True):
    """A plan that is none: the step went no further."""

    failure: Failure


class Answer(msgspec.Struct, frozen=True):
    """What the grounder said last about a step."""

    point: Point | None
    failure: Failure | None
    declined: bool


class Answers(msgspec.Struct, frozen=True):
    """What came. ``ended`` and ``predictions`` hold the last word about each step that has one, by its id."""

    ended: dict[str, EndedAtPlan]
    predictions: dict[str, Answer]
    sums: RunSums


def read_answers(path: Path) -> Answers:
    """Read ``plans.jsonl`` and ``predictions.jsonl`` of a run folder; another process may be appending to them.

    Raises:
        UserError: a file is missing or damaged.
    """
    ended: dict[str, EndedAtPlan] = {}
    predictions: dict[str, Answer] = {}
    sums = RunSums()
    for plan in scan(path / "plans.jsonl", _PlanLine):
        sums.add_plan(plan)
        if plan.failure is not None:
            ended[plan.step_id] = EndedAtPlan(plan.failure)
        elif ended:
            ended.pop(plan.step_id, None)
    for line in scan(path / "predictions.jsonl", _PredictionLine):
        sums.add_prediction(line)
        predictions[line.step_id] = Answer(line.point, line.failure, line.declined)
    return Answers(ended, predictions, sums)
