"""A user's reviews to a time line cut in three: 80 % history, 10 % train, 10 % test (paper, section 3.2.1). Pure.

Behaviour is put in order of time; what happened at the same millisecond is never divided between two parts, because
nothing says which came first. Parts are filled from the newest end, moment by moment: ``test`` until it holds a tenth
of the behaviours (rounded down, at least one), then ``train`` until it holds a tenth (rounded down, perhaps none), and
the rest is ``history``. So a user with fewer than ten behaviours has one test behaviour and no train behaviour.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from grounding.webagents.personalwab.records import Behaviour, Review, Split

TENTH = 10


def in_time_order(reviews: Sequence[Review]) -> tuple[Review, ...]:
    """Oldest first; equal times by product and words, so that the order of the files is no matter."""
    return tuple(sorted(reviews, key=lambda one: (one.timestamp_ms, one.asin, one.title, one.text)))


def without_repeats(reviews: Sequence[Review]) -> tuple[Review, ...]:
    """Every review once."""
    return tuple(dict.fromkeys(reviews))


def cut_time_line(reviews: Sequence[Review]) -> tuple[Behaviour, ...]:
    """The behaviours, oldest first, each with its part; empty where nothing would be left as history."""
    ordered = in_time_order(reviews)
    moments = [tuple(group) for _, group in itertools.groupby(ordered, key=lambda one: one.timestamp_ms)]
    tenth = len(ordered) // TENTH
    test = _taken(moments, max(1, tenth))
    train = _taken(moments[: len(moments) - test], tenth)
    history = len(moments) - test - train
    if history < 1:
        return ()
    counts: dict[Split, int] = {"history": history, "train": train, "test": test}
    splits = [split for split, count in counts.items() for _ in range(count)]
    return tuple(
        Behaviour(asin=review.asin, review=review, split=split)
        for moment, split in zip(moments, splits, strict=True)
        for review in moment
    )


def _taken(moments: Sequence[Sequence[Review]], wanted: int) -> int:
    """How many moments from the end hold at least so many behaviours; all of them where there are too few."""
    held = 0
    for count, moment in enumerate(reversed(moments)):
        if held >= wanted:
            return count
        held += len(moment)
    return len(moments) if wanted else 0
