"""Drawing, moving, pulling, nudging: whatever the hand does, a box is whole, inside the picture and large enough."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.boxes import (
    HANDLES,
    MIN_SIDE_PX,
    Handle,
    box_at,
    drawn,
    edge_nudged,
    edges_of,
    handle_at,
    handle_place,
    moved,
    resized,
)
from annotate.records import MarkedBox
from grounding.records import Point, Size

PICTURE = Size(width=640, height=480)
places = st.builds(Point, x_px=st.floats(-300, 900), y_px=st.floats(-300, 900))
boxes = st.builds(
    MarkedBox,
    x_px=st.integers(0, 600),
    y_px=st.integers(0, 440),
    width_px=st.integers(2, 40),
    height_px=st.integers(2, 40),
    kind=st.sampled_from(["", "text", "icon"]),
    source=st.none() | st.integers(0, 3),
)
handles = st.sampled_from(HANDLES)


def box(x: float, y: float, width: float, height: float) -> MarkedBox:
    return MarkedBox(x_px=x, y_px=y, width_px=width, height_px=height)


def sound(one: MarkedBox) -> None:
    values = (one.x_px, one.y_px, one.width_px, one.height_px)
    assert all(isinstance(value, int) for value in values)
    assert one.x_px >= 0
    assert one.y_px >= 0
    assert one.x_px + one.width_px <= PICTURE.width
    assert one.y_px + one.height_px <= PICTURE.height
    assert min(one.width_px, one.height_px) >= MIN_SIDE_PX


@given(places, places)
def test_drawn_either_way_it_is_the_same_sound_box(start: Point, end: Point) -> None:
    one = drawn(start, end, PICTURE)
    sound(one)
    assert one == drawn(end, start, PICTURE)
    assert one == drawn(Point(x_px=start.x_px, y_px=end.y_px), Point(x_px=end.x_px, y_px=start.y_px), PICTURE)


def test_drawn_gets_the_nearest_whole_edges() -> None:
    assert drawn(Point(x_px=10.4, y_px=20.6), Point(x_px=29.5, y_px=39.49), PICTURE) == box(10, 21, 20, 18)
    assert drawn(Point(x_px=-50, y_px=470), Point(x_px=10, y_px=9999), PICTURE) == box(0, 470, 10, 10)
    assert drawn(Point(x_px=640, y_px=480), Point(x_px=641, y_px=481), PICTURE) == box(638, 478, 2, 2)


def test_a_picture_smaller_than_the_least_box() -> None:
    tiny = Size(width=1, height=3)
    assert drawn(Point(x_px=0, y_px=0), Point(x_px=9, y_px=9), tiny) == box(0, 0, 1, 3)


@given(boxes, st.floats(-2000, 2000), st.floats(-2000, 2000))
def test_moving_keeps_size_and_what_else_the_box_has(one: MarkedBox, dx: float, dy: float) -> None:
    there = moved(one, dx, dy, PICTURE)
    sound(there)
    assert (there.width_px, there.height_px) == (one.width_px, one.height_px)
    assert (there.kind, there.source) == (one.kind, one.source)


@given(boxes, handles, places)
def test_pulling_leaves_the_opposite_edge_or_turns_over(one: MarkedBox, handle: Handle, to: Point) -> None:
    pulled = resized(one, handle, to, PICTURE)
    sound(pulled)
    before, after = edges_of(one), edges_of(pulled)
    if pulled.width_px > MIN_SIDE_PX:
        if "e" in handle:
            assert before.left_px in (after.left_px, after.right_px)
        elif "w" in handle:
            assert before.right_px in (after.left_px, after.right_px)
        else:
            assert (before.left_px, before.right_px) == (after.left_px, after.right_px)
    assert (pulled.kind, pulled.source) == (one.kind, one.source)


@given(boxes, handles)
def test_a_handle_that_is_not_moved_changes_nothing(one: MarkedBox, handle: Handle) -> None:
    assert resized(one, handle, handle_place(one, handle), PICTURE) == one


@given(boxes, st.sampled_from(("n", "e", "s", "w")), st.integers(-60, 60))
def test_nudging_an_edge_never_turns_over(one: MarkedBox, handle: Handle, by: int) -> None:
    nudged = edge_nudged(one, handle, by, PICTURE)
    sound(nudged)
    before, after = edges_of(one), edges_of(nudged)
    if handle in ("w", "n"):
        assert (after.right_px, after.bottom_px) == (before.right_px, before.bottom_px)
    else:
        assert (after.left_px, after.top_px) == (before.left_px, before.top_px)


@pytest.mark.parametrize("handle", HANDLES)
def test_handles_are_found_where_they_are_shown(handle: Handle) -> None:
    one = box(100, 100, 80, 60)
    place = handle_place(one, handle)
    assert handle_at(one, place, 6) == handle
    # On the far side of the edge, too, and nowhere in the middle or farther away.
    assert handle_at(one, Point(x_px=140, y_px=130), 6) is None
    outside = Point(
        x_px=place.x_px + (-9 if "w" in handle else 9 if "e" in handle else 0),
        y_px=place.y_px + (-9 if "n" in handle else 9 if "s" in handle else 0),
    )
    assert handle_at(one, outside, 6) is None


def test_the_middle_of_a_tiny_box_moves_it() -> None:
    assert handle_at(box(10, 10, 9, 9), Point(x_px=14.5, y_px=14.5), 6) is None
    assert handle_at(box(10, 10, 9, 9), Point(x_px=10, y_px=10), 6) == "nw"


def test_the_smallest_box_under_the_cursor_is_meant() -> None:
    both = (box(0, 0, 100, 100), box(40, 40, 10, 10), box(0, 0, 100, 100))
    assert box_at(both, Point(x_px=45, y_px=45), 2) == 1
    assert box_at(both, Point(x_px=5, y_px=5), 2) == 2, "of equal ones the one that is drawn on top"
    assert box_at(both, Point(x_px=200, y_px=5), 2) is None


def test_fractions_of_a_file_become_whole_when_touched() -> None:
    one = msgspec.structs.replace(box(10.3, 20.7, 30.2, 40.9), kind="icon")
    assert moved(one, 1, 0, PICTURE) == msgspec.structs.replace(box(11, 21, 30, 41), kind="icon")
