"""Regions found on a screenshot, and their marks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import ImageFont

from grounders.som.screens import BUTTON, CARD, CHECK_BOX, FIELD, ICON, LINE_AT, LINE_TEXT, Four, pixels, screen
from grounding.grounders.marks import Proposed, box_region
from grounding.grounders.som.boxes import (
    MAX_PIXELS,
    MAX_SHARE,
    WidgetProposer,
    marked_size,
    marks_on_original,
)
from grounding.records import Size


def size(width: int, height: int) -> Size:
    return Size(width=width, height=height)


@given(st.integers(1, 30_000), st.integers(1, 30_000), st.integers(64, 4096))
def test_the_marked_picture_is_bounded(width: int, height: int, short_side: int) -> None:
    marked = marked_size(size(width, height), short_side)
    assert marked.width >= 1
    assert marked.height >= 1
    assert marked.width * marked.height <= max(MAX_PIXELS, short_side * short_side) * 1.01
    assert min(marked.width, marked.height) <= short_side


regions = st.tuples(st.integers(0, 900), st.integers(0, 900), st.integers(1, 99), st.integers(1, 99)).map(
    lambda b: box_region(b[0], b[1], b[0] + b[2], b[1] + b[3])
)


@given(st.lists(regions, max_size=10), st.integers(1, 5000), st.integers(1, 5000))
def test_marks_stay_inside_and_around_their_centre(found: list, width: int, height: int) -> None:  # type: ignore[type-arg]
    for mark in marks_on_original(found, size(1000, 1000), size(width, height)):
        box, point = mark.box, mark.point
        assert 0 <= box.left_px <= point.x_px <= box.right_px <= width * (1 + 1e-9)
        assert 0 <= box.top_px <= point.y_px <= box.bottom_px <= height * (1 + 1e-9)
        assert point.x_px == pytest.approx(box.center.x_px)


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
