"""Arithmetic on boxes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.grounders.som.boxes import (
    outside,
    padded,
    text_lines,
    without_doubles,
    without_own_label,
)
from grounding.marks.grid import IntBox, area, overlap

boxes = st.tuples(*[st.integers(0, 100)] * 2, *[st.integers(1, 60)] * 2).map(
    lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])
)


def test_letters_make_a_line_and_columns_stay_apart() -> None:
    letters = [(x, 10, x + 8, 22) for x in (0, 10, 20, 36, 46)]
    other = [(x, 10, x + 8, 22) for x in (120, 130)]
    below = [(x, 40, x + 8, 52) for x in (0, 10)]
    assert sorted(text_lines([*below, *other, *letters], 1.0)) == [
        (0, 10, 54, 22),
        (0, 40, 18, 52),
        (120, 10, 138, 22),
    ]


def test_a_dash_belongs_to_its_line() -> None:
    assert text_lines([(0, 10, 8, 22), (12, 15, 18, 17), (23, 10, 31, 22)], 1.0) == [(0, 10, 31, 22)]


def test_stars_in_a_row_are_icons_and_digits_are_not() -> None:
    stars = [(x, 10, x + 20, 30) for x in (0, 24, 48, 72)]
    inner = [(x + 3, 13, x + 17, 27) for x in (0, 24, 48, 72)]
    assert sorted(text_lines([*stars, *inner], 1.0)) == stars
    assert text_lines([(x, 10, x + 11, 30) for x in (0, 14, 28, 42)], 1.0) == [(0, 10, 53, 30)]


def test_a_tall_tile_beside_a_text_does_not_join_it() -> None:
    assert len(text_lines([(0, 0, 30, 30), (44, 10, 52, 20), (54, 10, 62, 20)], 1.0)) == 2


@given(st.lists(boxes, max_size=40))
def test_every_glyph_is_in_a_line(glyphs: list[IntBox]) -> None:
    lines = text_lines(glyphs, 1.0)
    assert all(any(overlap(glyph, line) == area(glyph) for line in lines) for glyph in glyphs)


def test_the_two_edges_of_a_border_are_one_box() -> None:
    assert without_doubles([(2, 2, 98, 48), (0, 0, 100, 50)], 1.0) == [(0, 0, 100, 50)]


def test_boxes_with_one_centre_are_one_click() -> None:
    button, label, far = (0, 0, 100, 50), (20, 12, 80, 38), (0, 0, 30, 20)
    assert without_doubles([label, button, far], 1.0) == [button, far]


@given(st.lists(boxes, max_size=30))
def test_doubles_leave_a_subset_that_stays_the_same(found: list[IntBox]) -> None:
    kept = without_doubles(found, 1.0)
    assert set(kept) <= set(found)
    assert without_doubles(kept, 1.0) == kept
    assert bool(kept) == bool(found)


@pytest.mark.parametrize(
    ("box", "label", "dropped"),
    [
        ((0, 0, 100, 40), (10, 12, 60, 28), True),
        ((0, 0, 400, 40), (10, 12, 60, 28), False),  # a wide cell: the text may be a link
        ((0, 0, 100, 90), (10, 12, 60, 28), False),  # a card
    ],
)
def test_the_label_of_a_button_is_dropped(box: IntBox, label: IntBox, dropped: bool) -> None:
    assert (label not in without_own_label([box, label], {label}, 1.0)) == dropped


def test_a_button_in_a_cell_is_no_label() -> None:
    cell, button = (0, 0, 100, 40), (10, 8, 60, 32)
    assert without_own_label([cell, button], set(), 1.0) == [cell, button]


def test_outside_drops_what_lies_in_a_holder() -> None:
    assert outside([(5, 5, 8, 8), (5, 5, 15, 8)], [(0, 0, 10, 10)], 0) == [(5, 5, 15, 8)]
    assert outside([(5, 5, 8, 8)], [], 0) == [(5, 5, 8, 8)]
    assert outside([], [(0, 0, 10, 10)], 0) == []


@given(boxes, st.integers(0, 20), st.integers(0, 40))
def test_padded_boxes_stay_inside(box: IntBox, pad: int, least: int) -> None:
    left, top, right, bottom = padded(box, pad, 160, 160, least)
    assert 0 <= left <= box[0]
    assert 0 <= top <= box[1]
    assert box[2] <= right <= 160
    assert box[3] <= bottom <= 160
