"""Plans and predictions in, time and money out.

Sums of fractions are rounded once, so that they don't hang on the order in which the answers came.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from typing import Protocol

from grounding.records import Call, Plan, Prediction, Record, Usage


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


class CallSums:
    """Adds up calls one by one, without keeping them."""

    def __init__(self) -> None:
        self._calls = self._retries = 0
        self._usd, self._unreported_usd, self._seconds = array("d"), array("d"), array("d")
        self._input = self._cached = self._output = self._reasoning = self._failed = 0

    def add(self, call: Call) -> None:
        """Take one more."""
        self._calls += 1
        self._retries += call.attempts - 1
        self._seconds.append(call.seconds)
        if call.cost_usd is not None:
            self._usd.append(call.cost_usd)
        if call.unreported_usd:
            self._unreported_usd.append(call.unreported_usd)
        if call.usage is not None:
            self._count(call.usage)
        if call.failed_usage is not None:
            self._count(call.failed_usage)
            self._failed += call.failed_usage.input_tokens + call.failed_usage.output_tokens

    def _count(self, usage: Usage) -> None:
        self._input += usage.input_tokens
        self._cached += usage.cached_input_tokens
        self._output += usage.output_tokens
        self._reasoning += usage.reasoning_tokens

    @property
    def retries(self) -> int:
        """Tries beyond the first."""
        return self._retries

    @property
    def seconds(self) -> float:
        """Of all calls together."""
        return math.fsum(self._seconds)

    def totals(self) -> CallTotals:
        """The sum so far."""
        return CallTotals(
            calls=self._calls,
            usd=math.fsum(self._usd) if self._usd else None,
            input_tokens=self._input,
            cached_input_tokens=self._cached,
            output_tokens=self._output,
            reasoning_tokens=self._reasoning,
            failed_tokens=self._failed,
            unreported_usd=math.fsum(self._unreported_usd),
        )


class Paid(Protocol):
    """What is needed of an answer to know what it took."""

    @property
    def call(self) -> Call | None:
        """The call that brought it; None where none was made."""
        ...


class PaidPlan(Paid, Protocol):
    """The same of a plan."""

    @property
    def reused(self) -> bool:
        """Whether another run had paid for it."""
        ...


class RunSums:
    """Adds up what a run's answers took, one by one."""

    def __init__(self) -> None:
        self._planner, self._grounder, self._reused = CallSums(), CallSums(), CallSums()

    def add_plan(self, plan: PaidPlan) -> None:
        """Take a plan. One that was reused brings its first cost along, which is kept apart."""
        if plan.call is not None:
            (self._reused if plan.reused else self._planner).add(plan.call)

    def add_prediction(self, prediction: Paid) -> None:
        """Take a prediction."""
        if prediction.call is not None:
            self._grounder.add(prediction.call)

    def totals(self, *, wall_s: float = 0.0) -> Totals:
        """The sums so far. ``wall_s`` is how long the run took by the clock, which no record knows."""
        planned, grounded = self._planner.totals(), self._grounder.totals()
        known = [usd for usd in (planned.usd, grounded.usd) if usd is not None]
        return Totals(
            time=TimeTotals(
                wall_s=wall_s,
                planner_s=self._planner.seconds,
                grounder_s=self._grounder.seconds,
                retries=self._planner.retries + self._grounder.retries,
            ),
            cost=CostTotals(
                usd=math.fsum(known) if known else None,
                planner_usd=planned.usd,
                grounder_usd=grounded.usd,
                input_tokens=planned.input_tokens + grounded.input_tokens,
                output_tokens=planned.output_tokens + grounded.output_tokens,
                planner=planned,
                grounder=grounded,
                reused=self._reused.totals(),
            ),
        )


def totals(plans: Iterable[Plan], predictions: Iterable[Prediction], *, wall_s: float = 0.0) -> Totals:
    """Add up what the records say that their calls took.

    Args:
        plans: Every plan that was asked for.
        predictions: Every prediction that was asked for.
        wall_s: How long the run took by the clock, which no record knows.
    """
    sums = RunSums()
    for plan in plans:
        sums.add_plan(plan)
    for prediction in predictions:
        sums.add_prediction(prediction)
    return sums.totals(wall_s=wall_s)


def call_totals(calls: Iterable[Call]) -> CallTotals:
    """The sum over the requests to one model."""
    sums = CallSums()
    for call in calls:
        sums.add(call)
    return sums.totals()
