"""How does a time grow with the size? The exponent by least squares on logarithms, with its 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

from grounding.records import Record

CONFIDENCE = 0.95
LEAST_SIZES = 3


class Exponent(Record, frozen=True, kw_only=True, omit_defaults=False):
    """``seconds = factor_s * steps ** exponent`` over so many sizes; the interval is Student's, with ``sizes - 2``."""

    exponent: float
    low: float
    high: float
    factor_s: float
    sizes: int


def fit(steps: Sequence[int], seconds: Sequence[float]) -> Exponent | None:
    """The exponent of time over size; None for fewer than three sizes, which leave no spread to tell an interval from.

    Args:
        steps: The sizes.
        seconds: What each took, more than 0.

    Raises:
        ValueError: the two differ in length, or something in them is not more than 0.
    """
    if len(steps) != len(seconds) or min((*steps, *seconds), default=1) <= 0:
        raise ValueError(f"expected as many times as sizes, all above 0: got {list(steps)} and {list(seconds)}")
    if len(set(steps)) < LEAST_SIZES:
        return None
    from scipy import stats

    found = stats.linregress([math.log(size) for size in steps], [math.log(time_s) for time_s in seconds])
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(steps) - 2)) * float(found.stderr)
    slope = float(found.slope)
    return Exponent(
        exponent=slope,
        low=slope - reach,
        high=slope + reach,
        factor_s=math.exp(float(found.intercept)),
        sizes=len(steps),
    )
