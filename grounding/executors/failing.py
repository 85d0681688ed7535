"""Answers where nobody could answer."""

from __future__ import annotations

from grounding.executors.recipe import Room
from grounding.records import Failure, Plan, Prediction, Query


def failed(room: Room, query: Query, message: str) -> Plan | Prediction:
    """The answer to a query that ended in an error of the infrastructure."""
    failure = Failure(kind="error", message=message)
    if room == "planner":
        return Plan(step_id=query.step_id, key=query.key, text=None, failure=failure)
    return Prediction(step_id=query.step_id, key=query.key, point=None, failure=failure)
