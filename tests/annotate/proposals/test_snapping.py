"""Snapping: the exact edge from a rough box, text by its ink, nothing where there is nothing, and no drifting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.proposals.snapping import BORDER_PX, INK_PAD_PX, Frame, Pixels, snap, usual_reach_px
from proposals.screens import BUTTON, FIELD, PICTURE, SIZE, draw, frame, screen, text_ink

SCREEN = screen()
offsets = st.integers(-6, 6)


def moved(box: Frame, by: tuple[int, int, int, int]) -> Frame:
    return frame(box.left_px + by[0], box.top_px + by[1], box.right_px + by[2], box.bottom_px + by[3])


@given(st.sampled_from([BUTTON, FIELD, PICTURE]), st.tuples(offsets, offsets, offsets, offsets))
def test_a_rough_box_gets_the_exact_edges_of_the_widget(box: Frame, by: tuple[int, int, int, int]) -> None:
    assert snap(SCREEN, moved(box, by)) == box


few = st.integers(-4, 4)


@given(st.tuples(few, few, few, few))
def test_text_without_edges_is_held_by_its_ink(by: tuple[int, int, int, int]) -> None:
    ink = text_ink(SCREEN)
    drawn = moved(moved(ink, (-4, -4, 4, 4)), by)
    assert snap(SCREEN, drawn) == moved(ink, (-INK_PAD_PX, -INK_PAD_PX, INK_PAD_PX, INK_PAD_PX))


def test_a_box_through_text_grows_to_hold_all_of_it() -> None:
    ink = text_ink(SCREEN)
    assert snap(SCREEN, moved(ink, (3, 3, -3, -3))) == moved(ink, (-2, -2, 2, 2))


@given(
    st.integers(0, SIZE[0] - 2), st.integers(0, SIZE[1] - 2), st.integers(2, 300), st.integers(2, 200)
)  # fmt: skip
def test_a_snapped_box_lies_in_the_picture_has_an_area_and_moved_no_further_than_it_may(
    left: int, top: int, width: int, height: int
) -> None:
    rough = frame(left, top, min(SIZE[0], left + width), min(SIZE[1], top + height))
    found = snap(SCREEN, rough)
    assert 0 <= found.left_px < found.right_px <= SIZE[0]
    assert 0 <= found.top_px < found.bottom_px <= SIZE[1]
    # A border's thickness more than the reach: the box goes around the line.
    furthest = usual_reach_px(rough) + BORDER_PX
    pairs = zip(_sides(rough), _sides(found), strict=True)
    assert all(abs(before - after) <= furthest for before, after in pairs)


def _sides(box: Frame) -> tuple[int, int, int, int]:
    return box.left_px, box.top_px, box.right_px, box.bottom_px


@given(st.sampled_from([BUTTON, FIELD, PICTURE]), st.tuples(offsets, offsets, offsets, offsets))
def test_snapping_twice_changes_nothing(box: Frame, by: tuple[int, int, int, int]) -> None:
    once = snap(SCREEN, moved(box, by))
    assert snap(SCREEN, once) == once


def test_on_an_empty_page_a_box_stays_where_it_was_drawn() -> None:
    plain = np.full((200, 300, 3), 128, dtype=np.uint8)
    box = frame(20, 30, 120, 60)
    assert snap(plain, box) == box


def test_a_box_that_hangs_out_of_the_picture_is_cut_off_and_one_outside_is_refused() -> None:
    plain = np.full((50, 60, 3), 128, dtype=np.uint8)
    assert snap(plain, frame(-10, -5, 30, 90)) == frame(0, 0, 30, 50)
    with pytest.raises(ValueError, match="no pixel of a picture of 60 x 50"):
        snap(plain, frame(60, 10, 90, 20))


@pytest.mark.parametrize("thickness", [1, 2, 3])
def test_a_box_goes_around_a_border_of_any_usual_thickness(thickness: int) -> None:
    pixels: Pixels = np.full((120, 200, 3), 255, dtype=np.uint8)
    outer = frame(50, 40, 150, 80)
    for inset in range(thickness):
        draw(pixels, frame(50 + inset, 40 + inset, 150 - inset, 80 - inset), (90, 90, 90), 1)
    assert snap(pixels, frame(53, 43, 147, 77)) == outer
    assert snap(pixels, frame(47, 37, 153, 83)) == outer


def test_faint_edges_count_and_gradients_do_not() -> None:
    pixels: Pixels = np.full((120, 200, 3), 250, dtype=np.uint8)
    card = frame(60, 30, 160, 90)
    draw(pixels, card, (243, 243, 243))
    assert snap(pixels, frame(57, 34, 163, 88)) == card
    smooth = np.repeat(np.linspace(0, 255, 200).astype(np.uint8)[None, :, None], 120, axis=0).repeat(3, axis=2)
    box = frame(60, 30, 160, 90)
    assert snap(np.ascontiguousarray(smooth), box) == box


def test_the_letters_of_text_are_no_edges_where_it_is_known_to_be_text() -> None:
    ink = text_ink(SCREEN)
    assert snap(SCREEN, ink, reach_px=4, to_edges=False) == moved(ink, (-2, -2, 2, 2))


def test_two_buttons_side_by_side_are_told_apart() -> None:
    pixels: Pixels = np.full((100, 300, 3), 255, dtype=np.uint8)
    left, right = frame(40, 30, 120, 60), frame(124, 30, 204, 60)
    draw(pixels, left, (10, 120, 60))
    draw(pixels, right, (180, 30, 40))
    assert snap(pixels, frame(37, 33, 121, 58)) == left
    assert snap(pixels, frame(123, 27, 207, 62)) == right
