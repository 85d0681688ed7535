"""Pixels as label files have them: numbers in, whole pixels out wherever the file meant whole pixels."""

from __future__ import annotations

import math

from annotate.records import BoxKind, MarkedBox
from grounding.loaders.fields import LARGEST_PX

KEPT_DECIMALS = 3


def whole(value_px: float) -> float:
    """The same number, as an int where it is one: files then say 12, not 12.0."""
    return int(value_px) if float(value_px).is_integer() else float(value_px)


def snapped(value_px: float, tolerance_px: float) -> float:
    """The next whole pixel where it is within the tolerance, else the value to a thousandth of a pixel."""
    nearest = round(value_px)
    return nearest if abs(value_px - nearest) <= tolerance_px else whole(round(value_px, KEPT_DECIMALS))


def pixel_number(value: object) -> float | None:
    """A finite number of pixels of a sensible size; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return whole(value) if math.isfinite(value) and abs(value) <= LARGEST_PX else None


def pixel_text(text: str) -> float | None:
    """A number of pixels written in decimal digits; None for anything else."""
    try:
        return pixel_number(float(text))
    except ValueError:
        return None


def between(left_px: float, top_px: float, right_px: float, bottom_px: float, *, kind: BoxKind = "") -> MarkedBox:
    """The box between four edges. A right edge left of the left one makes a negative width, which a check reports."""
    return MarkedBox(
        x_px=whole(left_px),
        y_px=whole(top_px),
        width_px=whole(round(right_px - left_px, 6)),
        height_px=whole(round(bottom_px - top_px, 6)),
        kind=kind,
    )


def around(points: list[tuple[float, float]], *, kind: BoxKind = "") -> MarkedBox:
    """The smallest box that holds all points."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return between(min(xs), min(ys), max(xs), max(ys), kind=kind)


def rounded(box: MarkedBox) -> MarkedBox:
    """The box with each edge on the nearest whole pixel, at least one pixel wide and high if it had an area."""
    left, top = round(box.x_px), round(box.y_px)
    right, bottom = round(box.x_px + box.width_px), round(box.y_px + box.height_px)
    return MarkedBox(
        x_px=left,
        y_px=top,
        width_px=max(right - left, 1) if box.width_px > 0 else right - left,
        height_px=max(bottom - top, 1) if box.height_px > 0 else bottom - top,
        kind=box.kind,
        source=box.source,
    )


def is_whole(box: MarkedBox) -> bool:
    """Whether all four numbers are whole."""
    return all(float(value).is_integer() for value in (box.x_px, box.y_px, box.width_px, box.height_px))
