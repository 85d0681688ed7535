"""Axes: what they go from and to, round values along them, and figures as short texts. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from grounding.records import Record

_FEWEST_CUT = 12
"""Fewer values than these are all on the axis."""


class Limits(Record, frozen=True, kw_only=True):
    """What a value axis goes from and to, and how many values lie beyond it."""

    low: float
    high: float
    below: int = 0
    above: int = 0


def limits(values: Iterable[float], *, low: float | None = None, high: float | None = None) -> Limits:
    """The range of an axis. Where few values lie extremely far off, it is that of the others, and they are counted.

    A value counts as extreme if the range of the middle 98 % would have to be more than ten times as wide for it.

    Args:
        values: Everything that is to be drawn; finite.
        low: A value that always lies on the axis, such as 0.
        high: The same.
    """
    ordered = sorted(values)
    if not ordered:
        return Limits(low=low if low is not None else 0.0, high=high if high is not None else 1.0)
    cut = math.ceil(len(ordered) / 100) if len(ordered) >= _FEWEST_CUT else 0
    core = ordered[cut : len(ordered) - cut] or ordered
    wide = core[-1] - core[0]
    bottom, top = ordered[0], ordered[-1]
    if wide > 0 and top > core[-1] + 10 * wide:
        top = core[-1] + 0.25 * wide
    if wide > 0 and bottom < core[0] - 10 * wide:
        bottom = core[0] - 0.25 * wide
    below, above = sum(value < bottom for value in ordered), sum(value > top for value in ordered)
    fixed = [value for value in (low, high) if value is not None]
    bottom, top = min([bottom, *fixed]), max([top, *fixed])
    if top - bottom <= 1e-12 * max(abs(top), abs(bottom)):
        margin = 0.5 * abs(top) or 0.5
        bottom, top = bottom - (0 if bottom == low else margin), top + margin
    else:
        margin = 0.05 * (top - bottom)
        bottom, top = bottom - (0 if bottom == low else margin), top + (0 if top == high else margin)
    return Limits(low=bottom, high=top, below=below, above=above)


def ticks(low: float, high: float, about: int = 5) -> tuple[float, ...]:
    """Round values between two bounds: multiples of 1, 2 or 5 times a power of ten, at least two where there can be.

    >>> ticks(0, 10)
    (0.0, 2.0, 4.0, 6.0, 8.0, 10.0)
    """
    span = high - low
    if not math.isfinite(span) or span <= 0:
        return ()
    power = 10.0 ** math.floor(math.log10(span / about))
    unit = next(unit for unit in (1, 2, 5, 10) if unit * power >= span / about * 0.999)
    step = unit * power
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(number * step for number in range(first, last + 1))


def step_ticks(first: int, last: int, about: int = 5) -> tuple[int, ...]:
    """Round whole steps between two, for an axis of steps.

    >>> step_ticks(1, 4)
    (1, 2, 3, 4)
    """
    if last - first < about:
        return tuple(range(first, last + 1))
    return tuple(dict.fromkeys(round(at) for at in ticks(first, last, about)))


def tick_texts(values: Sequence[float]) -> tuple[tuple[str, ...], str]:
    """The values as short texts of equally many digits, and the power of ten that all are to be multiplied with.

    >>> tick_texts([0.0, 5e-7, 1e-6])[0]
    ('0.0', '0.5', '1.0')
    >>> tick_texts([0, 20_000, 40_000])
    (('0', '20k', '40k'), '')
    """
    most = max((abs(value) for value in values), default=0.0)
    if most == 0:
        return tuple("0" for _ in values), ""
    power = math.floor(math.log10(most) + 1e-9)
    if power >= 7 or power < -3:
        scaled = [value / 10.0**power for value in values]
        return _plain(scaled), f"\u00d710{str(power).translate(_RAISED)}"
    if power >= 4:
        return tuple(f"{text}k" if text != "0" else text for text in _plain([value / 1000 for value in values])), ""
    return _plain(values), ""


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _plain(values: Sequence[float]) -> tuple[str, ...]:
    apart = min((abs(b - a) for a, b in pairwise(values)), default=abs(values[0]) or 1.0)
    digits = max(0, math.ceil(-math.log10(apart) - 1e-9)) if apart > 0 else 0
    return tuple(f"{value:.{min(digits, 9)}f}".replace("-", "\u2212") for value in values)


def figure_text(value: float | None, digits: int = 4) -> str:
    """A measured value in a few significant digits; a dash where there is none.

    >>> figure_text(0.123456), figure_text(1.5e-6), figure_text(12345.678), figure_text(None)
    ('0.1235', '1.5e-06', '12,346', '-')
    """
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if abs(value) >= 1e7 or abs(value) < 1e-3:
        return f"{value:.{digits}g}"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"
