"""Shares of something over tasks, with intervals over users: the one way in which this room makes figures. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from grounding.records import Record
from grounding.scoring.intervals import bootstrap

T = TypeVar("T")


class Parts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What one thing adds to a share: above the line, and below it; nothing below leaves it out."""

    above: float
    below: float


class Estimate(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A share from 0 to 1 and its 95 % interval; None over nothing, and no interval over fewer than two users.

    ``n`` is what stands below the line: how many things were counted, or how much they weigh.
    """

    value: float | None
    n: float
    low: float | None = None
    high: float | None = None


def estimates(
    things: Sequence[T], measures: Sequence[Callable[[T], Parts]], cluster: Callable[[T], Hashable], *, seed: int = 0
) -> tuple[Estimate, ...]:
    """Ratios of sums over things, one for each measure, with percentile bootstrap intervals over clusters.

    Args:
        things: What is counted.
        measures: What each of them adds to each share.
        cluster: What is drawn as a whole, such as a thing's user.
        seed: Seed of the draws; all measures share them.
    """
    places = {name: place for place, name in enumerate(dict.fromkeys(cluster(thing) for thing in things))}
    above, below = (np.zeros((len(places), len(measures))) for _ in range(2))
    for thing in things:
        place = places[cluster(thing)]
        for column, measure in enumerate(measures):
            parts = measure(thing)
            above[place, column] += parts.above
            below[place, column] += parts.below
    intervals = bootstrap(above, below, seed=seed)
    found = []
    for column, interval in enumerate(intervals):
        n = float(below[:, column].sum())
        drawn = interval if n and np.count_nonzero(below[:, column]) > 1 else None
        found.append(
            Estimate(
                value=float(above[:, column].sum() / n) if n else None,
                n=n,
                low=None if drawn is None else drawn.low,
                high=None if drawn is None else drawn.high,
            )
        )
    return tuple(found)


def share_of(things: Iterable[T], true: Callable[[T], bool | None]) -> Parts:
    """How many of some things are so, of those of which it is known."""
    known = [said for thing in things if (said := true(thing)) is not None]
    return Parts(above=float(sum(known)), below=float(len(known)))
