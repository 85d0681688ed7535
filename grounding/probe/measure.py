"""The scale that the replies themselves show, where no known space explains them. Pure functions.

A server that shrinks pictures unasked makes a model answer in pixels of a size that nobody declared.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence

from grounding.probe.closeness import target_of
from grounding.probe.fits import Observation, Reading
from grounding.records import Point, Record, Size

MIN_REPLIES = 2
MIN_FRACTION = 0.1
"""Targets nearer to the left or upper edge than this part of the picture say too little about the scale."""


class Scale(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How many of the replies' units cover the width and the height of screenshots of one size."""

    original: Size
    x: float
    y: float


class Measured(Record, frozen=True, kw_only=True):
    """The scales, and the replies read by them; those whose scale can't be measured hold no place."""

    scales: tuple[Scale, ...]
    reading: Reading


def measure(observations: Sequence[Observation]) -> Measured:
    """The middle scale of the replies for each size of screenshot."""
    across: dict[Size, list[float]] = defaultdict(list)
    down: dict[Size, list[float]] = defaultdict(list)
    for seen in observations:
        said, target, size = seen.centre, target_of(seen.region), seen.sizes.original
        if said is None or target is None:
            continue
        if target.x_px >= MIN_FRACTION * size.width:
            across[size].append(said.x / target.x_px * size.width)
        if target.y_px >= MIN_FRACTION * size.height:
            down[size].append(said.y / target.y_px * size.height)
    scales = {
        size: Scale(original=size, x=statistics.median(across[size]), y=statistics.median(down[size]))
        for size in across
        if len(across[size]) >= MIN_REPLIES and len(down[size]) >= MIN_REPLIES
    }
    usable = {size: scale for size, scale in scales.items() if scale.x > 0 and scale.y > 0}
    return Measured(
        scales=tuple(usable.values()),
        reading=Reading(points=tuple(_read(seen, usable.get(seen.sizes.original)) for seen in observations)),
    )


def _read(seen: Observation, scale: Scale | None) -> Point | None:
    said = seen.centre
    if said is None or scale is None:
        return None
    size = seen.sizes.original
    return Point(x_px=said.x / scale.x * size.width, y_px=said.y / scale.y * size.height)


def scale_words(scales: Sequence[Scale]) -> str:
    """The scales in words: a grid where all are one number, otherwise a size for each screenshot."""
    sides = [side for scale in scales for side in (scale.x, scale.y)]
    if max(sides) <= 1.03 * min(sides) and len({scale.original for scale in scales}) > 1:
        return f"a grid of 0 to about {statistics.median(sides):.4g}"
    named = ", ".join(
        f"about {scale.x:.0f}x{scale.y:.0f} at {scale.original.width}x{scale.original.height}" for scale in scales[:3]
    )
    return f"pixels of a picture of {named}"
