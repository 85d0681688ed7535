"""What a run still has to ask of its models."""

from __future__ import annotations

from grounding.journal import Journal
from grounding.planstore import StoredPlanner
from grounding.preparation import Prepared
from grounding.records import Plan, Prediction, Record
from grounding.steps import plan_query, step_items


class Left(Record, frozen=True, kw_only=True):
    """Whether a run still has something to ask of its planner and of its grounder."""

    planner: bool
    grounder: bool


def left_to_ask(prepared: Prepared, plans: Journal[Plan] | None, predictions: Journal[Prediction] | None) -> Left:
    """What neither the run's journals nor the store of plans can answer; None stands for a journal not begun."""
    steps = len(prepared.selection.step_ids)
    ended_at_plan = 0 if plans is None else plans.failed_count
    return Left(
        planner=(plans is None or plans.settled_count < steps) and not _all_stored(prepared, plans),
        grounder=predictions is None or predictions.settled_count < steps - ended_at_plan,
    )


def _all_stored(prepared: Prepared, plans: Journal[Plan] | None) -> bool:
    """Whether every plan that the run has not got yet lies in the store."""
    planner, asked = prepared.planner.planner, prepared.asked
    if not isinstance(planner, StoredPlanner):
        return False
    items = step_items(prepared.dataset.sessions, prepared.selection.step_ids, asked.history, asked.history_scope)
    for item in items:
        query = plan_query((item.opening or item) if asked.plan_ahead else item, planner)
        mine = None if plans is None else plans.settled(item.step.id, query.key)
        if mine is None and not planner.store.holds(query.key):
            return False
    return True
