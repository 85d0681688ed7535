"""Whatever the hand does, a box is whole, inside the picture and large enough; image pixels to view pixels and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.core.records import HANDLES, MIN_SIDE_PX, Handle, MarkedBox, box_at, drawn
from annotate.core.view import MAX_SCALE, MIN_SCALE, ViewPoint, ViewTransform, nearest_whole
from grounding.records import Point, Size

PICTURE = Size(width=640, height=480)
places = st.builds(Point, x_px=st.floats(-300, 900), y_px=st.floats(-300, 900))
lengths = st.integers(2, 40)
boxes = st.builds(
    MarkedBox, x_px=st.integers(0, 600), y_px=st.integers(0, 440), width_px=lengths, height_px=lengths,
    kind=st.sampled_from(["", "text", "icon"]), source=st.none() | st.integers(0, 3),
)  # fmt: skip


def box(x: float, y: float, width: float, height: float) -> MarkedBox:
    return MarkedBox(x_px=x, y_px=y, width_px=width, height_px=height)


def sound(one: MarkedBox) -> None:
    assert all(isinstance(value, int) for value in one.place)
    assert min(one.x_px, one.y_px) >= 0
    assert one.x_px + one.width_px <= PICTURE.width
    assert one.y_px + one.height_px <= PICTURE.height
    assert min(one.width_px, one.height_px) >= MIN_SIDE_PX


@given(boxes, st.sampled_from(HANDLES), places, places)
def test_whatever_the_hand_does_a_box_is_sound(one: MarkedBox, handle: Handle, start: Point, end: Point) -> None:
    made = drawn(start, end, PICTURE)
    sound(made)
    assert made == drawn(end, start, PICTURE)
    there = one.moved(start.x_px, start.y_px, PICTURE)
    sound(there)
    assert (there.width_px, there.height_px) == (one.width_px, one.height_px)
    pulled = one.resized(handle, end, PICTURE)
    sound(pulled)
    before, after = one.box, pulled.box
    if pulled.width_px > MIN_SIDE_PX:
        # The opposite edge stays, on whichever side it is then.
        stays = before.left_px if "e" in handle else before.right_px
        assert stays in (after.left_px, after.right_px)
    assert (pulled.kind, pulled.source) == (there.kind, there.source) == (one.kind, one.source)


@pytest.mark.parametrize("handle", HANDLES)
def test_handles_are_found_where_they_are_shown(handle: Handle) -> None:
    one = box(100, 100, 80, 60)
    place = one.handle_place(handle)
    assert one.handle_at(place, 6) == handle
    # Nowhere in the middle or farther away.
    assert one.handle_at(Point(x_px=140, y_px=130), 6) is None
    x_px = place.x_px + (-9 if "w" in handle else 9 if "e" in handle else 0)
    outside = Point(x_px=x_px, y_px=place.y_px + (-9 if "n" in handle else 9 if "s" in handle else 0))
    assert one.handle_at(outside, 6) is None


def test_the_smallest_box_under_the_cursor_is_meant() -> None:
    both = (box(0, 0, 100, 100), box(40, 40, 10, 10), box(0, 0, 100, 100))
    assert box_at(both, Point(x_px=45, y_px=45), 2) == 1
    assert box_at(both, Point(x_px=5, y_px=5), 2) == 2, "of equal ones the one that is drawn on top"
    assert box_at(both, Point(x_px=200, y_px=5), 2) is None


offsets, coordinates = st.integers(-200_000, 200_000), st.integers(0, 10_000)
scales = st.one_of(st.sampled_from([0.5, 1.0, 2.0, 8.0]), st.floats(MIN_SCALE, MAX_SCALE))
transforms = st.builds(ViewTransform, scale=scales, left_view=offsets, top_view=offsets)
sizes = st.builds(Size, width=st.integers(1, 10_000), height=st.integers(1, 10_000))
views = st.builds(Size, width=st.integers(50, 4000), height=st.integers(50, 3000))


@given(transforms, coordinates, coordinates, st.floats(0.001, 100))
def test_a_whole_coordinate_survives_and_zooming_keeps_what_is_under_the_cursor(
    transform: ViewTransform, x: int, y: int, scale: float
) -> None:
    at = transform.to_view(x, y)
    x_view, y_view = nearest_whole(at.x_view), nearest_whole(at.y_view)
    back = transform.to_image(x_view, y_view)
    if transform.scale >= 1:
        assert (nearest_whole(back.x_px), nearest_whole(back.y_px)) == (x, y)
    assert max(abs(back.x_px - x), abs(back.y_px - y)) <= 0.5 / transform.scale + 1e-6
    zoomed = transform.zoomed_at(ViewPoint(x_view, y_view), scale)
    again = zoomed.to_view(back.x_px, back.y_px)
    assert max(abs(again.x_view - x_view), abs(again.y_view - y_view)) <= 0.5 + 1e-5
    assert MIN_SCALE <= zoomed.scale <= MAX_SCALE


@given(transforms, sizes, views)
def test_all_of_a_picture_fits_some_stays_in_sight_and_only_that_is_drawn(
    transform: ViewTransform, image: Size, view: Size
) -> None:
    fit = ViewTransform.fit(image, view)
    end = fit.to_view(image.width, image.height)
    assert min(fit.left_view, fit.top_view) >= -1
    assert end.x_view <= view.width + 1
    assert end.y_view <= view.height + 1
    kept = transform.pushed(0, 0, image, view)
    part = kept.visible(image, view)
    assert part is not None
    assert part.width_view >= min(48, image.width * kept.scale)
    assert 0 <= part.left_view < part.left_view + part.width_view <= view.width
    assert 0 <= part.top_view < part.top_view + part.height_view <= view.height
    source = part.source
    assert 0 <= source.left_px < source.right_px <= image.width
    assert abs(kept.to_view(source.left_px, source.top_px).x_view - part.left_view) < 1e-5
    # What is cut out has the size that the canvas has for it, but for a part of the last view pixel.
    assert abs((source.right_px - source.left_px) * kept.scale - part.width_view) < 1 + 1e-5
