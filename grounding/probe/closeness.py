"""Is one reading of the replies much better than another, and better than chance? Pure functions.

Distances are fractions of the picture here (1 is a whole side), so that screenshots of all sizes count alike.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

from grounding.probe.fits import Observation, Reading, hits_of
from grounding.records import Point, Region, Size
from grounding.regions import is_hit

MOST_LUCK = 0.02
"""A difference that luck alone makes more often than this is none."""

MOST_LUCK_FOLLOWING = 0.005
"""Stricter, because it is asked of several readings: 11 of 12."""

TIMES_BETTER = 1.5
ABOVE_CHANCE = 2.0
NEARLY_ALL = 0.75
"""So many hits are none of chance, even where all targets are at one place."""

FOLLOWS = 0.5
"""Replies follow the targets when they are half as far from their own target as from those of other replies."""

MATERIAL = 0.02
ALIKE = 0.005
MOST_DEALS = 20


def target_of(region: Region) -> Point | None:
    """The middle of a region's first shape."""
    if region.boxes:
        return region.boxes[0].center
    if not region.polygons:
        return None
    corners = region.polygons[0].points
    x = statistics.fmean(corner.x_px for corner in corners)
    return Point(x_px=x, y_px=statistics.fmean(corner.y_px for corner in corners))


def _apart(one: Point, size: Size, other: Point, other_size: Size) -> float:
    across = one.x_px / size.width - other.x_px / other_size.width
    return math.hypot(across, one.y_px / size.height - other.y_px / other_size.height)


def offsets(reading: Reading, observations: Sequence[Observation]) -> tuple[float | None, ...]:
    """How far each reply is from the middle of its target."""
    return tuple(
        None
        if point is None or (target := target_of(seen.region)) is None
        else _apart(point, seen.sizes.original, target, seen.sizes.original)
        for point, seen in zip(reading.points, observations, strict=True)
    )


def _dealt(reading: Reading, observations: Sequence[Observation]) -> Iterator[tuple[Point, Size, Observation]]:
    """Each reply with targets of other replies: what would come of replies that look at no target."""
    said = [(p, o.sizes.original) for p, o in zip(reading.points, observations, strict=True) if p is not None]
    wanted = [o for p, o in zip(reading.points, observations, strict=True) if p is not None]
    stride = max(1, (len(said) - 1) // MOST_DEALS)
    for shift in range(1, len(said), stride):
        for index, (point, size) in enumerate(said):
            yield point, size, wanted[(index + shift) % len(wanted)]


def follows(reading: Reading, observations: Sequence[Observation]) -> bool:
    """Whether replies are much nearer to their own targets than to those of other replies, nearly all of them."""
    own = [offset for offset in offsets(reading, observations) if offset is not None]
    others: list[list[float]] = [[] for _ in own]
    for index, (point, size, seen) in enumerate(_dealt(reading, observations)):
        if (target := target_of(seen.region)) is not None:
            others[index % len(own)].append(_apart(point, size, target, seen.sizes.original))
    usual = [statistics.median(apart) for apart in others if apart]
    if not usual or len(usual) != len(own):
        return False
    nearer = sum(mine < theirs for mine, theirs in zip(own, usual, strict=True))
    enough = _luck(nearer, len(own) - nearer) <= MOST_LUCK_FOLLOWING
    return enough and statistics.median(own) < FOLLOWS * statistics.median(usual)


def _chance(reading: Reading, observations: Sequence[Observation]) -> float:
    """The share of replies that would hit if they had been given to other questions."""
    tries = [
        is_hit(
            seen.region,
            Point(
                x_px=point.x_px / size.width * seen.sizes.original.width,
                y_px=point.y_px / size.height * seen.sizes.original.height,
            ),
        )
        for point, size, seen in _dealt(reading, observations)
    ]
    return sum(tries) / len(tries) if tries else 0.0


def _luck(better: int, worse: int) -> float:
    """How often coin flips alone would favour one side so much (one-sided sign test)."""
    total = better + worse
    return sum(math.comb(total, count) for count in range(better, total + 1)) / (1 << total)


def much_better(other: Reading, declared: Reading, observations: Sequence[Observation]) -> bool:
    """Whether another reading explains the replies much better: it hits more, or is much nearer, and not by luck."""
    ours, theirs = hits_of(declared, observations), hits_of(other, observations)
    gained = sum(b and not a for a, b in zip(ours, theirs, strict=True))
    lost = sum(a and not b for a, b in zip(ours, theirs, strict=True))
    if sum(theirs) >= TIMES_BETTER * sum(ours) and _luck(gained, lost) <= MOST_LUCK:
        parsed = sum(point is not None for point in other.points)
        chance = ABOVE_CHANCE * _chance(other, observations)
        return sum(theirs) > min(chance, NEARLY_ALL) * parsed
    return _much_nearer(other, declared, observations)


def _much_nearer(other: Reading, declared: Reading, observations: Sequence[Observation]) -> bool:
    if follows(declared, observations):
        return False
    pairs = [
        (ours, theirs)
        for ours, theirs in zip(offsets(declared, observations), offsets(other, observations), strict=True)
        if ours is not None and theirs is not None
    ]
    nearer = sum(theirs < ours - MATERIAL for ours, theirs in pairs)
    further = sum(theirs > ours + MATERIAL for ours, theirs in pairs)
    return bool(pairs) and _luck(nearer, further) <= MOST_LUCK and follows(other, observations)


def alike(one: Reading, other: Reading, observations: Sequence[Observation]) -> bool:
    """Whether two readings mean the same places, for these pictures."""
    apart = [
        _apart(a, seen.sizes.original, b, seen.sizes.original)
        for a, b, seen in zip(one.points, other.points, observations, strict=True)
        if a is not None and b is not None
    ]
    return not apart or statistics.median(apart) < ALIKE
