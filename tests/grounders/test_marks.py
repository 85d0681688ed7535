"""Marks on a picture: every number can be seen, nothing else is touched."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.grounders.marks import (
    Grid,
    IntBox,
    Proposed,
    box_region,
    colour,
    draw_marks,
    place_labels,
    text_colour,
)
from grounding.records import Box, Point

GREY = np.full((300, 400, 3), 128, np.uint8)
REGIONS = (box_region(50, 50, 350, 250), box_region(100, 100, 160, 130))


def has(image: np.ndarray, number: int) -> bool:  # type: ignore[type-arg]
    """Whether a number's own colour is somewhere, as a filled label of many pixels."""
    return int((image == np.array(colour(number))).all(axis=2).sum()) > 40


@pytest.mark.parametrize("background", [0, 128, 255])
def test_every_number_has_its_label(background: int) -> None:
    drawn = draw_marks(np.full_like(GREY, background), REGIONS, alpha=0.0, outline=False)
    assert has(drawn, 1)
    assert has(drawn, 2)


def test_a_mask_is_filled_along_its_outline() -> None:
    corner = Proposed(
        box=Box(left_px=100, top_px=100, right_px=200, bottom_px=200),
        point=Point(x_px=120, y_px=120),
        area_px=5000,
        outlines=(((100, 100), (200, 100), (100, 200)),),
    )
    drawn = draw_marks(GREY, (corner,), alpha=0.5, outline=False)
    assert (drawn[120, 120] != 128).any()
    assert (drawn[190, 190] == 128).all()


PICTURE = (400, 300)
NO_INK = Grid(np.zeros((300, 400), np.uint8))


def place(*boxes: IntBox, ink: Grid = NO_INK, size: tuple[int, int] = (20, 12)) -> list[IntBox]:
    return place_labels(boxes, [size] * len(boxes), PICTURE, ink)


def contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    """Contrast ratio by WCAG 2, 1 to 21."""

    def luminance(rgb: tuple[int, int, int]) -> float:
        parts = [v / 255 / 12.92 if v / 255 <= 0.04045 else ((v / 255 + 0.055) / 1.055) ** 2.4 for v in rgb]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def overlap(one: IntBox, other: IntBox) -> int:
    across = min(one[2], other[2]) - max(one[0], other[0])
    return max(0, across) * max(0, min(one[3], other[3]) - max(one[1], other[1]))


@given(st.tuples(*[st.integers(0, 255)] * 3))
def test_text_can_be_read_on_any_background(background: tuple[int, int, int]) -> None:
    assert contrast(background, text_colour(background)) >= 4.5


def test_labels_of_neighbours_stand_apart() -> None:
    row = [(100 + 24 * n, 100, 120 + 24 * n, 110) for n in range(8)]
    labels = place(*row, size=(26, 12))
    assert sum(overlap(one, other) for one in labels for other in labels if one != other) == 0


boxes = st.tuples(st.integers(0, 390), st.integers(0, 290), st.integers(1, 200), st.integers(1, 200)).map(
    lambda b: (b[0], b[1], min(400, b[0] + b[2]), min(300, b[1] + b[3]))
)


@given(st.lists(boxes, max_size=30))
def test_every_label_is_inside_the_picture(found: list[IntBox]) -> None:
    labels = place(*found)
    assert len(labels) == len(found)
    assert all(0 <= left < right <= 400 and 0 <= top < bottom <= 300 for left, top, right, bottom in labels)
    assert labels == place(*found)
