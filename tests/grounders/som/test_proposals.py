"""Numbers by area, and pixels of the marked picture to pixels of the original."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.grounders.som.proposals import MAX_PIXELS, by_area, marked_size, marks_on_original
from grounding.marks.regions import box_region
from grounding.records import Box, Point, Size


def size(width: int, height: int) -> Size:
    return Size(width=width, height=height)


@pytest.mark.parametrize(
    ("original", "marked"),
    [
        ((1920, 1080), (1777, 1000)),  # cut off, as torchvision's Resize does it
        ((1280, 720), (1777, 1000)),
        ((2560, 1440), (1777, 1000)),
        ((1080, 1920), (1000, 1777)),
        ((1000, 1000), (1000, 1000)),
        ((64, 48), (1333, 1000)),
        ((1, 1), (1000, 1000)),
    ],
)
def test_the_shorter_side_becomes_1000(original: tuple[int, int], marked: tuple[int, int]) -> None:
    assert marked_size(size(*original), 1000) == size(*marked)


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


@given(st.lists(regions, max_size=30), st.randoms())
def test_numbers_go_by_area_whatever_the_order(found: list, shuffled) -> None:  # type: ignore[no-untyped-def, type-arg]
    ordered = by_area(found)
    areas = [region.area_px for region in ordered]
    assert areas == sorted(areas, reverse=True)
    mixed = list(found)
    shuffled.shuffle(mixed)
    assert by_area(mixed) == ordered


def test_the_largest_is_number_1_and_equals_go_from_the_top_left() -> None:
    small, right, left = box_region(0, 0, 5, 5), box_region(20, 0, 30, 10), box_region(5, 0, 15, 10)
    assert by_area([small, right, left]) == (left, right, small)


def test_marks_are_in_pixels_of_the_original() -> None:
    (mark,) = marks_on_original([box_region(100, 50, 300, 150)], size(1000, 500), size(2000, 1500))
    assert mark.number == 1
    assert mark.box == Box(left_px=200, top_px=150, right_px=600, bottom_px=450)
    assert mark.point == Point(x_px=400, y_px=300)


@given(st.lists(regions, max_size=10), st.integers(1, 5000), st.integers(1, 5000))
def test_marks_stay_inside_and_around_their_centre(found: list, width: int, height: int) -> None:  # type: ignore[type-arg]
    for mark in marks_on_original(found, size(1000, 1000), size(width, height)):
        box, point = mark.box, mark.point
        assert 0 <= box.left_px <= point.x_px <= box.right_px <= width * (1 + 1e-9)
        assert 0 <= box.top_px <= point.y_px <= box.bottom_px <= height * (1 + 1e-9)
        assert point.x_px == pytest.approx(box.center.x_px)
