"""Image pixels to view pixels and back, at every zoom from 5 % to 3200 %."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.view_transform import (
    MAX_SCALE,
    MIN_SCALE,
    SCALES,
    ViewTransform,
    nearest_whole,
    next_scale,
)
from grounding.records import Point, Size

scales = st.one_of(st.sampled_from(SCALES), st.floats(MIN_SCALE, MAX_SCALE))
offsets = st.integers(-200_000, 200_000)
transforms = st.builds(ViewTransform, scale=scales, left_view=offsets, top_view=offsets)
coordinates = st.integers(0, 10_000)
sizes = st.builds(Size, width=st.integers(1, 10_000), height=st.integers(1, 10_000))
views = st.builds(Size, width=st.integers(50, 4000), height=st.integers(50, 3000))


@given(transforms, st.floats(-1000, 12_000), st.floats(-1000, 12_000))
def test_there_and_back_is_where_it_was(transform: ViewTransform, x: float, y: float) -> None:
    at = transform.to_view(x, y)
    back = transform.to_image(at.x_view, at.y_view)
    assert math.isclose(back.x_px, x, abs_tol=1e-6)
    assert math.isclose(back.y_px, y, abs_tol=1e-6)


@given(transforms, coordinates, coordinates)
def test_a_whole_coordinate_survives_the_nearest_view_pixel(transform: ViewTransform, x: int, y: int) -> None:
    at = transform.to_view(x, y)
    back = transform.to_image(nearest_whole(at.x_view), nearest_whole(at.y_view))
    if transform.scale >= 1:
        assert (nearest_whole(back.x_px), nearest_whole(back.y_px)) == (x, y)
    half_a_view_pixel = 0.5 / transform.scale + 1e-6
    assert abs(back.x_px - x) <= half_a_view_pixel
    assert abs(back.y_px - y) <= half_a_view_pixel


@pytest.mark.parametrize("scale", SCALES)
def test_every_resting_place_of_the_zoom_gives_the_same_numbers(scale: float) -> None:
    transform = ViewTransform(scale=scale, left_view=-37, top_view=11)
    for x in (*range(0, 65), 1279, 1280, 2559, 2560):
        at = transform.to_view(x, x)
        back = transform.to_image(nearest_whole(at.x_view), nearest_whole(at.y_view))
        assert abs(back.x_px - x) <= max(0.5, 0.5 / scale) + 1e-9
        if scale >= 1:
            assert nearest_whole(back.x_px) == x


@given(transforms, st.integers(-50, 3000), st.integers(-50, 3000), st.floats(0.001, 100))
def test_zooming_keeps_what_is_under_the_cursor(
    transform: ViewTransform, x_view: int, y_view: int, scale: float
) -> None:
    under = transform.to_image(x_view, y_view)
    zoomed = transform.zoomed_at(x_view, y_view, scale)
    at = zoomed.to_view(under.x_px, under.y_px)
    assert abs(at.x_view - x_view) <= 0.5 + 1e-6
    assert abs(at.y_view - y_view) <= 0.5 + 1e-6
    assert MIN_SCALE <= zoomed.scale <= MAX_SCALE


@given(transforms, st.integers(-3000, 3000), st.integers(-3000, 3000))
def test_a_push_and_the_push_back_change_nothing(transform: ViewTransform, dx: int, dy: int) -> None:
    assert transform.panned(dx, dy).panned(-dx, -dy) == transform


@given(sizes, views, st.integers(0, 12))
def test_fit_shows_all_of_the_picture_in_the_middle(image: Size, view: Size, margin: int) -> None:
    transform = ViewTransform.fit(image, view, margin_view=margin)
    end = transform.to_view(image.width, image.height)
    assert transform.left_view >= margin - 1
    assert transform.top_view >= margin - 1
    assert end.x_view <= view.width - margin + 1
    assert end.y_view <= view.height - margin + 1
    assert abs(transform.left_view - (view.width - end.x_view)) <= 1 + 1e-6


@given(transforms, sizes, views)
def test_some_of_the_picture_stays_in_sight(transform: ViewTransform, image: Size, view: Size) -> None:
    kept = transform.kept_in_sight(image, view)
    part = kept.visible(image, view)
    assert part is not None
    assert part.width_view >= min(48, image.width * kept.scale)
    assert part.height_view >= min(48, image.height * kept.scale)
    assert kept.kept_in_sight(image, view) == kept


@given(transforms, sizes, views)
def test_the_visible_part_is_that_of_the_canvas(transform: ViewTransform, image: Size, view: Size) -> None:
    part = transform.visible(image, view)
    if part is None:
        end = transform.to_view(image.width, image.height)
        beside = transform.left_view >= view.width or math.ceil(end.x_view) <= 0
        assert beside or transform.top_view >= view.height or math.ceil(end.y_view) <= 0
        return
    assert part.left_view >= 0
    assert part.left_view + part.width_view <= view.width
    assert part.top_view + part.height_view <= view.height
    source = part.source
    assert 0 <= source.left_px < source.right_px <= image.width
    assert 0 <= source.top_px < source.bottom_px <= image.height
    at = transform.to_view(source.left_px, source.top_px)
    assert abs(at.x_view - part.left_view) < 1e-5
    assert abs(at.y_view - part.top_view) < 1e-5
    # What is cut out has the size that the canvas has for it, but for a part of the last view pixel.
    assert abs((source.right_px - source.left_px) * transform.scale - part.width_view) < 1 + 1e-5


def test_the_steps_of_the_zoom_go_up_and_down_and_end() -> None:
    assert SCALES[0] == MIN_SCALE
    assert SCALES[-1] == MAX_SCALE
    assert list(SCALES) == sorted(set(SCALES))
    up, scale = [MIN_SCALE], MIN_SCALE
    while scale < MAX_SCALE:
        scale = next_scale(scale, 1)
        up.append(scale)
    assert up == list(SCALES)
    assert next_scale(MAX_SCALE, 1) == MAX_SCALE
    assert next_scale(MIN_SCALE, -1) == MIN_SCALE
    assert [next_scale(one, -1) for one in SCALES[1:]] == list(SCALES[:-1])


def test_centred() -> None:
    transform = ViewTransform(scale=2.0).centred(Point(x_px=100, y_px=50), Size(width=400, height=300))
    at = transform.to_view(100, 50)
    assert (at.x_view, at.y_view) == (200, 150)
