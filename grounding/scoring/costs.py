"""Plans and predictions in, time and money out.

Sums of fractions are rounded once, so that they don't hang on the order in which the answers came.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from grounding.records import Call, Plan, Prediction, Record


class TimeTotals(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Seconds. ``planner_s`` and ``grounder_s`` add up requests that ran side by side, so they may exceed ``wall_s``.

    ``retries`` are the tries beyond the first.
    """

    wall_s: float = 0.0
    planner_s: float = 0.0
    grounder_s: float = 0.0
    retries: int = 0


class CallTotals(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What the requests to one model took, failed tries included as far as the server counted them.

    ``usd`` covers the calls whose price is known and is None where none is. Reasoning tokens are part of the output,
    cached ones of the input. ``failed_tokens`` are the input and output of tries that brought no answer.
    ``unreported_usd`` is the most that tries cost that may have been charged without a report.
    """

    calls: int = 0
    usd: float | None = None
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    failed_tokens: int = 0
    unreported_usd: float = 0.0


class CostTotals(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Dollars and tokens that this run took. A sum of dollars is None where no price is known.

    ``reused`` is what the plans were worth that other runs paid for: it is in no other figure.
    """

    usd: float | None = None
    planner_usd: float | None = None
    grounder_usd: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    planner: CallTotals = CallTotals()
    grounder: CallTotals = CallTotals()
    reused: CallTotals = CallTotals()


class Totals(Record, frozen=True, kw_only=True):
    """What a run took."""

    time: TimeTotals
    cost: CostTotals


def totals(plans: Iterable[Plan], predictions: Iterable[Prediction], *, wall_s: float = 0.0) -> Totals:
    """Add up what the records say that their calls took.

    Args:
        plans: Every plan that was asked for. One that was reused brings its first cost along, which is kept apart.
        predictions: Every prediction that was asked for.
        wall_s: How long the run took by the clock, which no record knows.
    """
    planner: list[Call] = []
    reused: list[Call] = []
    for plan in plans:
        if plan.call is not None:
            (reused if plan.reused else planner).append(plan.call)
    grounder = [prediction.call for prediction in predictions if prediction.call is not None]
    planned, grounded = call_totals(planner), call_totals(grounder)
    known = [usd for usd in (planned.usd, grounded.usd) if usd is not None]
    return Totals(
        time=TimeTotals(
            wall_s=wall_s,
            planner_s=math.fsum(call.seconds for call in planner),
            grounder_s=math.fsum(call.seconds for call in grounder),
            retries=sum(call.attempts - 1 for call in (*planner, *grounder)),
        ),
        cost=CostTotals(
            usd=math.fsum(known) if known else None,
            planner_usd=planned.usd,
            grounder_usd=grounded.usd,
            input_tokens=planned.input_tokens + grounded.input_tokens,
            output_tokens=planned.output_tokens + grounded.output_tokens,
            planner=planned,
            grounder=grounded,
            reused=call_totals(reused),
        ),
    )


def call_totals(calls: Sequence[Call]) -> CallTotals:
    """The sum over the requests to one model."""
    known = [call.cost_usd for call in calls if call.cost_usd is not None]
    failed = [call.failed_usage for call in calls if call.failed_usage is not None]
    usages = [call.usage for call in calls if call.usage is not None] + failed
    return CallTotals(
        calls=len(calls),
        usd=math.fsum(known) if known else None,
        input_tokens=sum(usage.input_tokens for usage in usages),
        cached_input_tokens=sum(usage.cached_input_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        reasoning_tokens=sum(usage.reasoning_tokens for usage in usages),
        failed_tokens=sum(usage.input_tokens + usage.output_tokens for usage in failed),
        unreported_usd=math.fsum(call.unreported_usd for call in calls),
    )
