"""Numbers: where they stand and whether they can be read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.marks.grid import Grid, IntBox, overlap
from grounding.marks.labels import BLACK, WHITE, colour, contrast, place_labels, text_colour

PICTURE = (400, 300)
NO_INK = Grid(np.zeros((300, 400), np.uint8))


def place(*boxes: IntBox, ink: Grid = NO_INK, size: tuple[int, int] = (20, 12)) -> list[IntBox]:
    return place_labels(boxes, [size] * len(boxes), PICTURE, ink)


def test_black_on_white_is_21_to_1() -> None:
    assert contrast(BLACK, WHITE) == pytest.approx(21)
    assert contrast(WHITE, WHITE) == 1


@pytest.mark.parametrize(
    ("background", "text"),
    [((255, 255, 255), BLACK), ((0, 0, 0), WHITE), ((255, 255, 0), BLACK), ((0, 0, 255), WHITE), ((0, 255, 0), BLACK)],
)
def test_text_is_black_or_white_by_contrast(background: tuple[int, int, int], text: tuple[int, int, int]) -> None:
    assert text_colour(background) == text


@given(st.tuples(*[st.integers(0, 255)] * 3))
def test_text_can_be_read_on_any_background(background: tuple[int, int, int]) -> None:
    assert contrast(background, text_colour(background)) >= 4.5


@given(st.integers(1, 3000))
def test_colours_are_colours_and_differ_from_the_next(number: int) -> None:
    assert all(0 <= part <= 255 for part in colour(number))
    assert colour(number) == colour(number) != colour(number + 1)


def test_a_label_stands_above_its_box() -> None:
    assert place((100, 100, 200, 150)) == [(100, 88, 120, 100)]


def test_at_the_upper_edge_it_finds_another_side() -> None:
    (label,) = place((100, 0, 200, 50))
    assert label[1] >= 0


def test_it_leaves_what_can_be_read_alone() -> None:
    ink = np.zeros((300, 400), np.uint8)
    ink[80:100, :] = 1
    (label,) = place((100, 100, 200, 150), ink=Grid(ink))
    assert Grid(ink).total(label) == 0


def test_labels_of_neighbours_stand_apart() -> None:
    row = [(100 + 24 * n, 100, 120 + 24 * n, 110) for n in range(8)]
    labels = place(*row, size=(26, 12))
    assert sum(overlap(one, other) for one in labels for other in labels if one != other) == 0


def test_a_tile_among_tiles_holds_its_own_label() -> None:
    tiles = [(100 + 42 * x, 100 + 42 * y, 140 + 42 * x, 140 + 42 * y) for y in range(3) for x in range(3)]
    middle = place(*tiles)[4]
    assert overlap(middle, tiles[4]) == 20 * 12


boxes = st.tuples(st.integers(0, 390), st.integers(0, 290), st.integers(1, 200), st.integers(1, 200)).map(
    lambda b: (b[0], b[1], min(400, b[0] + b[2]), min(300, b[1] + b[3]))
)


@given(st.lists(boxes, max_size=30))
def test_every_label_is_inside_the_picture(found: list[IntBox]) -> None:
    labels = place(*found)
    assert len(labels) == len(found)
    assert all(0 <= left < right <= 400 and 0 <= top < bottom <= 300 for left, top, right, bottom in labels)
    assert labels == place(*found)
