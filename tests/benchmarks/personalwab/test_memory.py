from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.personalwab.played import memory_of
from benchmarks.personalwab.shops import BEHAVIOURS, view
from grounding.benchmarks.personalwab.prompts import MemoryName


@pytest.mark.parametrize("kind", get_args(MemoryName))
@given(st.integers(-10, 900), st.integers(1, 12))
def test_nothing_of_the_future_is_remembered(kind: MemoryName, at: int, length: int) -> None:
    recalled = memory_of(kind, length=length).recall(view(at), predicted="search")
    assert all(one.review.timestamp_ms < at for one in recalled.chosen)
    there = sum(one.review.timestamp_ms < at for one in BEHAVIOURS)
    assert len(recalled.chosen) == (0 if kind == "none" else min(length, there))


def test_the_last_ones_are_told_newest_first() -> None:
    recalled = memory_of("last", length=3).recall(view())
    assert [one.asin for one in recalled.chosen] == ["B004", "B003", "B002"]
    assert recalled.text.startswith("\nYour Memory of This User (most recent user past purchases and reviews, sorted")
    assert "\nMEMORY 0:\n\nProduct:\n- Title: quiet fan\n- Parent Asin: B004\n" in recalled.text
    assert recalled.text.endswith("Review:\n- Rating: 5.0\n- Text: I like the wool coat.\n- Timestamp: 200\n\n")


def test_a_task_specific_memory_tells_what_the_function_needs() -> None:
    search = memory_of("task-specific", length=3).recall(view(), predicted="search")
    assert search.text.startswith("- The task type is search\n- Use search_product_by_query tool to complete task\n")
    assert "Store:Acme\n" in search.text
    assert search.text.count("|") == 2
    recommend = memory_of("task-specific", length=3).recall(view(), predicted="recommend")
    times = [one.review.timestamp_ms for one in recommend.chosen]
    assert times == sorted(times)
    assert f"Asin:{recommend.chosen[0].asin}\n" in recommend.text
    assert "Rating:5.0\nText:I like" in memory_of("task-specific", length=3).recall(view(), predicted="review").text
    with pytest.raises(ValueError, match="needs the type"):
        memory_of("task-specific", length=3).recall(view())
