"""Plans and predictions in, time and money out."""

from __future__ import annotations

from collections.abc import Iterable

from grounding.records import Call, Plan, Prediction, Record


class TimeTotals(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Seconds. ``planner_s`` and ``grounder_s`` add up requests that ran side by side, so they may exceed ``wall_s``.

    ``retries`` are the tries beyond the first.
    """

    wall_s: float = 0.0
    planner_s: float = 0.0
    grounder_s: float = 0.0
    retries: int = 0


class CostTotals(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Dollars and tokens. A sum of dollars covers the calls whose price is known and is None where none is."""

    usd: float | None = None
    planner_usd: float | None = None
    grounder_usd: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0


class Totals(Record, frozen=True, kw_only=True):
    """What a run took."""

    time: TimeTotals
    cost: CostTotals


def totals(plans: Iterable[Plan], predictions: Iterable[Prediction], *, wall_s: float = 0.0) -> Totals:
    """Add up what the records say that their calls took.

    Args:
        plans: Every plan that was asked for; a stored one that is used again brings its first cost along.
        predictions: Every prediction that was asked for.
        wall_s: How long the run took by the clock, which no record knows.
    """
    planner = [plan.call for plan in plans if plan.call is not None]
    grounder = [prediction.call for prediction in predictions if prediction.call is not None]
    calls = planner + grounder
    usages = [call.usage for call in calls if call.usage is not None]
    return Totals(
        time=TimeTotals(
            wall_s=wall_s,
            planner_s=sum((call.seconds for call in planner), 0.0),
            grounder_s=sum((call.seconds for call in grounder), 0.0),
            retries=sum(call.attempts - 1 for call in calls),
        ),
        cost=CostTotals(
            usd=_dollars(calls),
            planner_usd=_dollars(planner),
            grounder_usd=_dollars(grounder),
            input_tokens=sum(usage.input_tokens for usage in usages),
            output_tokens=sum(usage.output_tokens for usage in usages),
        ),
    )


def _dollars(calls: list[Call]) -> float | None:
    known = [call.cost_usd for call in calls if call.cost_usd is not None]
    return sum(known) if known else None
