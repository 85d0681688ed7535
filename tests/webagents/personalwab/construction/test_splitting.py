"""A time line cut in three: nothing later lies in an earlier part."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.webagents.personalwab.construction.splitting import cut_time_line, without_repeats
from grounding.webagents.personalwab.records import Review

ORDER = ("history", "train", "test")


def reviews(times: list[int]) -> list[Review]:
    return [Review(asin=f"B{place}", timestamp_ms=time, text="x") for place, time in enumerate(times)]


@given(st.lists(st.integers(0, 40), max_size=60), st.randoms(use_true_random=False))
def test_no_later_behaviour_lies_in_an_earlier_part(times: list[int], chance: random.Random) -> None:
    given_order = reviews(times)
    shuffled = list(given_order)
    chance.shuffle(shuffled)
    cut = cut_time_line(shuffled)
    assert cut == cut_time_line(given_order)
    if not cut:
        return
    assert sorted(one.asin for one in cut) == sorted(one.asin for one in given_order)
    stamps = [one.review.timestamp_ms for one in cut]
    assert stamps == sorted(stamps)
    places = [ORDER.index(one.split) for one in cut]
    assert places == sorted(places)
    # A moment is in one part only.
    assert len({(one.review.timestamp_ms, one.split) for one in cut}) == len(set(stamps))
    counts = Counter(one.split for one in cut)
    assert counts["history"] >= 1
    assert counts["test"] >= max(1, len(cut) // 10)
    assert counts["train"] >= len(cut) // 10


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (2, (1, 0, 1)),
        (5, (4, 0, 1)),
        (9, (8, 0, 1)),
        (10, (8, 1, 1)),
        (19, (17, 1, 1)),
        (38, (32, 3, 3)),
        (100, (80, 10, 10)),
    ],
)
def test_at_different_times_the_parts_are_80_10_10(count: int, expected: tuple[int, int, int]) -> None:
    counts = Counter(one.split for one in cut_time_line(reviews(list(range(count)))))
    assert tuple(counts[split] for split in ORDER) == expected


def test_what_leaves_no_history_can_not_be_cut() -> None:
    assert cut_time_line([]) == ()
    assert cut_time_line(reviews([3])) == ()
    assert cut_time_line(reviews([3] * 12)) == ()
    assert [one.split for one in cut_time_line(reviews([1, 3, 3]))] == ["history", "test", "test"]


def test_a_review_counts_once() -> None:
    one, other = Review(asin="a", timestamp_ms=1), Review(asin="a", timestamp_ms=2)
    assert without_repeats([one, other, one]) == (one, other)
