"""Several requests to models as one record of what they took together."""

from __future__ import annotations

import math
from collections.abc import Sequence

from grounding.records import Call, Usage


def together(calls: Sequence[Call]) -> Call | None:
    """Several requests as one record of what they took together; None for none."""
    if not calls:
        return None
    costs = [call.cost_usd for call in calls if call.cost_usd is not None]
    return Call(
        seconds=sum(call.seconds for call in calls),
        attempts=sum(call.attempts for call in calls),
        usage=_sum([call.usage for call in calls]),
        cost_usd=math.fsum(costs) if costs else None,
        model=calls[-1].model,
        failed_usage=_sum([call.failed_usage for call in calls]),
        unreported_usd=math.fsum(call.unreported_usd for call in calls),
    )


def _sum(usages: Sequence[Usage | None]) -> Usage | None:
    there = [usage for usage in usages if usage is not None]
    if not there:
        return None
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in there),
        output_tokens=sum(usage.output_tokens for usage in there),
        cached_input_tokens=sum(usage.cached_input_tokens for usage in there),
        reasoning_tokens=sum(usage.reasoning_tokens for usage in there),
    )
