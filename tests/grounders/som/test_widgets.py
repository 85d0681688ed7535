"""The built-in proposer finds what can be clicked on a screen, and nothing outside it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFont

from grounders.som.screens import BUTTON, CARD, CHECK_BOX, FIELD, ICON, LINE_AT, LINE_TEXT, Four, pixels, screen
from grounding.grounders.som.widgets import MAX_SHARE, WidgetProposer
from grounding.marks.regions import Proposed

PROPOSER = WidgetProposer()


def _line() -> Four:
    left, top, right, bottom = ImageFont.load_default(20).getbbox(LINE_TEXT)
    return int(LINE_AT[0] + left), int(LINE_AT[1] + top), int(LINE_AT[0] + right), int(LINE_AT[1] + bottom)


def near(region: Proposed, box: Four, slack: float) -> bool:
    found = (region.box.left_px, region.box.top_px, region.box.right_px, region.box.bottom_px)
    return all(abs(one - other) <= slack for one, other in zip(found, box, strict=True))


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    ("what", "box"),
    [
        ("button", BUTTON),
        ("field", FIELD),
        ("card", CARD),
        ("icon", ICON),
        ("check box", CHECK_BOX),
        ("line of text", _line()),
    ],
)
def test_each_widget_is_found_once(what: str, box: Four, dark: bool) -> None:
    found = [region for region in PROPOSER.propose(pixels(screen(dark=dark))) if near(region, box, 7)]
    assert len(found) == 1, what


def test_a_button_and_its_label_are_one_region() -> None:
    inside = [
        region
        for region in PROPOSER.propose(pixels(screen()))
        if BUTTON[0] <= region.point.x_px <= BUTTON[2] and BUTTON[1] <= region.point.y_px <= BUTTON[3]
    ]
    assert len(inside) == 1


def test_buttons_in_a_row_are_no_line_of_text() -> None:
    image = Image.new("RGB", (1600, 1000), "white")
    seats = [(200 + 50 * n, 400, 240 + 50 * n, 440) for n in range(10)]
    for seat in seats:
        image.paste((60, 120, 220), seat)
    found = PROPOSER.propose(pixels(image))
    assert all(any(near(region, seat, 4) for region in found) for seat in seats)


def test_the_bars_of_a_menu_are_one_icon() -> None:
    image = Image.new("RGB", (1600, 1000), "white")
    for row in range(3):
        image.paste((0, 0, 0), (100, 100 + 8 * row, 126, 103 + 8 * row))
    (found,) = PROPOSER.propose(pixels(image))
    assert (found.point.x_px, found.point.y_px) == pytest.approx((113, 109.5), abs=2)


def test_an_empty_screen_has_no_regions() -> None:
    assert PROPOSER.propose(pixels(Image.new("RGB", (1600, 1000), "white"))) == ()


def test_the_same_picture_gives_the_same_regions() -> None:
    image = pixels(screen())
    assert PROPOSER.propose(image) == PROPOSER.propose(image.copy())


@settings(max_examples=40)
@given(st.integers(1, 300), st.integers(1, 300), st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_regions_lie_inside_any_picture(width: int, height: int, seed: int, cell: int) -> None:
    draw = np.random.default_rng(seed)
    coarse = draw.integers(0, 256, (height // cell + 1, width // cell + 1, 3), dtype=np.uint8)
    image = np.ascontiguousarray(coarse.repeat(cell, axis=0).repeat(cell, axis=1)[:height, :width])
    for region in PROPOSER.propose(image):
        box, point = region.box, region.point
        assert 0 <= box.left_px < box.right_px <= width
        assert 0 <= box.top_px < box.bottom_px <= height
        assert box.left_px <= point.x_px <= box.right_px
        assert box.top_px <= point.y_px <= box.bottom_px
        assert region.area_px <= MAX_SHARE * width * height
