"""Student's t: the quantile that an interval over a handful of folds needs. Pure."""

from __future__ import annotations

import math

_HALVINGS = 200


def student_quantile(share: float, degrees: int) -> float:
    """Where Student's distribution has reached a share of its weight.

    >>> round(student_quantile(0.975, 9), 4)
    2.2622

    Args:
        share: Between 0 and 1.
        degrees: Degrees of freedom, 1 or more.

    Raises:
        ValueError: one of them is out of range.
    """
    if not 0 < share < 1 or degrees < 1:
        raise ValueError(f"expected 0 < share < 1 and degrees >= 1, got {share} and {degrees}")
    if share < 0.5:
        return -student_quantile(1 - share, degrees)
    # By its angle, tan of which is t / sqrt(degrees), the distribution is a finite sum and grows steadily.
    low, high = 0.0, math.pi / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _weight(middle, degrees) < share:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan((low + high) / 2)


def _weight(angle: float, degrees: int) -> float:
    """The distribution function for whole degrees of freedom (Abramowitz and Stegun, 1964, 26.7.3 and 26.7.4)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    if degrees % 2:
        term = total = cosine if degrees > 1 else 0.0
        for k in range(2, degrees - 1, 2):
            term *= cosine * cosine * k / (k + 1)
            total += term
        inside = 2 / math.pi * (angle + sine * total)
    else:
        term = total = 1.0
        for k in range(1, degrees - 2, 2):
            term *= cosine * cosine * k / (k + 1)
            total += term
        inside = sine * total
    return (1 + inside) / 2
