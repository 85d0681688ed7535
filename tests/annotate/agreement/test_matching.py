"""Pairing boxes one to one, held against another implementation and against what must always be true."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from annotate.agreement.matching import best_assignment, match, overlap
from annotate.records import MarkedBox

sides = st.integers(1, 40)
boxes = st.builds(MarkedBox, x_px=st.integers(0, 60), y_px=st.integers(0, 60), width_px=sides, height_px=sides)


def box(x: float, y: float, width: float, height: float) -> MarkedBox:
    return MarkedBox(x_px=x, y_px=y, width_px=width, height_px=height)


@given(st.integers(1, 8), st.integers(0, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_the_assignment_is_as_good_as_scipys(rows: int, more: int, seed: int) -> None:
    worth = np.random.default_rng(seed).uniform(size=(rows, rows + more)).round(2)
    chosen = best_assignment(worth)
    assert len(set(chosen.tolist())) == rows
    reference = worth[linear_sum_assignment(worth, maximize=True)].sum()
    assert worth[np.arange(rows), chosen].sum() == pytest.approx(reference)


def test_more_rows_than_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="at least as many columns"):
        best_assignment(np.zeros((3, 2)))


@given(boxes, boxes)
def test_overlap_is_counted_in_pixels(one: MarkedBox, other: MarkedBox) -> None:
    def cells(of: MarkedBox) -> set[tuple[int, int]]:
        across = range(int(of.x_px), int(of.x_px + of.width_px))
        return {(x, y) for x in across for y in range(int(of.y_px), int(of.y_px + of.height_px))}

    shared, all_of_them = cells(one) & cells(other), cells(one) | cells(other)
    assert overlap(one, other) == pytest.approx(len(shared) / len(all_of_them))
    assert overlap(one, other) == pytest.approx(overlap(other, one))


@given(st.lists(boxes, max_size=6), st.lists(boxes, max_size=6))
def test_pairs_are_one_to_one_and_the_same_from_both_sides(first: list[MarkedBox], second: list[MarkedBox]) -> None:
    pairs, turned = match(first, second, threshold=0.5), match(second, first, threshold=0.5)
    assert len({pair.first for pair in pairs}) == len({pair.second for pair in pairs}) == len(pairs)
    assert sum(pair.iou >= 0.5 for pair in pairs) == sum(pair.iou >= 0.5 for pair in turned)
    assert sum(pair.iou for pair in pairs) == pytest.approx(sum(pair.iou for pair in turned))


@given(st.lists(boxes, max_size=6, unique=True), st.randoms())
def test_the_same_boxes_in_another_order_all_agree(drawn: list[MarkedBox], random) -> None:
    other = list(drawn)
    random.shuffle(other)
    assert [pair.iou for pair in match(drawn, other, threshold=0.5)] == [1.0] * len(drawn)


def test_as_many_pairs_as_can_be_reach_the_threshold() -> None:
    # The pair with the largest overlap, (0, 0), would leave the second box without a partner.
    first, second = [box(0, 0, 10, 10), box(3, 0, 10, 10)], [box(1, 0, 10, 10), box(-3, 0, 10, 10)]
    assert overlap(first[0], second[0]) > overlap(first[1], second[0]) >= 0.5
    pairs = match(first, second, threshold=0.5)
    assert [(pair.first, pair.second) for pair in pairs] == [(0, 1), (1, 0)]


def test_boxes_without_area_match_nothing() -> None:
    assert match([box(0, 0, 0, 10)], [box(0, 0, 10, 10)], threshold=0.5) == ()
