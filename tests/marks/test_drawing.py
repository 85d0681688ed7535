"""Marks on a picture: every number can be seen, nothing else is touched."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from grounding.marks.drawing import draw_marks
from grounding.marks.labels import colour
from grounding.marks.regions import Proposed, box_region
from grounding.records import Box, Point

GREY = np.full((300, 400, 3), 128, np.uint8)
REGIONS = (box_region(50, 50, 350, 250), box_region(100, 100, 160, 130))


def has(image: np.ndarray, number: int) -> bool:  # type: ignore[type-arg]
    """Whether a number's own colour is somewhere, as a filled label of many pixels."""
    return int((image == np.array(colour(number))).all(axis=2).sum()) > 40


def test_without_regions_nothing_is_drawn() -> None:
    assert (draw_marks(GREY, (), alpha=0.1, outline=True) == GREY).all()


def test_the_picture_itself_is_not_changed() -> None:
    before = GREY.copy()
    draw_marks(GREY, REGIONS, alpha=0.5, outline=True)
    assert (before == GREY).all()


@pytest.mark.parametrize("background", [0, 128, 255])
def test_every_number_has_its_label(background: int) -> None:
    drawn = draw_marks(np.full_like(GREY, background), REGIONS, alpha=0.0, outline=False)
    assert has(drawn, 1)
    assert has(drawn, 2)


def test_alpha_0_and_no_outline_leave_the_regions_alone() -> None:
    drawn = draw_marks(GREY, REGIONS, alpha=0.0, outline=False)
    assert (drawn[140:245, 170:345] == 128).all()


def test_a_nested_region_is_filled_once() -> None:
    drawn = draw_marks(GREY, REGIONS, alpha=0.1, outline=False)
    expected = [round(0.9 * 128 + 0.1 * part) for part in colour(2)]
    assert np.abs(drawn[115, 150].astype(int) - expected).max() <= 1
    assert (drawn[20, 390] == 128).all()


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


def test_many_marks_on_a_tiny_picture() -> None:
    tiny = np.asarray(Image.new("RGB", (5, 4), "white"), dtype=np.uint8)
    drawn = draw_marks(tiny, [box_region(0, 0, 5, 4)] * 120, alpha=0.1, outline=True)
    assert drawn.shape == tiny.shape
