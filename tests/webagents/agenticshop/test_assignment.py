from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.webagents.agenticshop.assignment import best_assignment, cycles

tables = st.integers(1, 6).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(0, 4) | st.floats(0, 1), min_size=size, max_size=size), min_size=size, max_size=size
    )
)


@settings(max_examples=40)
@given(tables)
def test_no_other_assignment_is_better(rows: list[list[float]]) -> None:
    fit = np.array(rows, dtype=float)
    found = best_assignment(fit)
    assert sorted(found) == list(range(len(fit)))
    best = max(
        sum(fit[row, column] for row, column in enumerate(order)) for order in itertools.permutations(range(len(fit)))
    )
    assert sum(fit[row, column] for row, column in enumerate(found)) == pytest.approx(best, abs=1e-7)


@settings(max_examples=40)
@given(st.integers(1, 30), st.randoms(use_true_random=False))
def test_rows_keep_their_own_where_nothing_is_better(size: int, rng) -> None:  # type: ignore[no-untyped-def]
    assert best_assignment(np.full((size, size), rng.random())) == list(range(size))


@settings(max_examples=40)
@given(st.permutations(range(12)))
def test_an_order_is_found_again(order: list[int]) -> None:
    assert best_assignment(np.eye(12)[order]) == order
    moved = [row for cycle in cycles(order) for row in cycle]
    assert sorted(moved) == [row for row, column in enumerate(order) if row != column]
    for cycle in cycles(order):
        assert [order[row] for row in cycle] == [*cycle[1:], cycle[0]]


@pytest.mark.parametrize("table", [np.zeros((2, 3)), np.array([[np.nan]]), np.array([[np.inf]])])
def test_tables_that_are_none(table) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="square"):
        best_assignment(table)
