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
