"""Snapping to the exact edge, what is found on a screenshot, what a key takes of it, and what it takes next."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.core.records import overlap
from annotate.proposals.regions import (
    BORDER_PX,
    INK_PAD_PX,
    Frame,
    Pixels,
    find_regions,
    in_order,
    next_best,
    snap,
    usual_reach_px,
)
from grounding.records import Point
from proposals.screens import BUTTON, FIELD, PICTURE, SIZE, draw, screen, text_ink

SCREEN = screen()
few, more = st.integers(-4, 4), st.integers(-6, 6)


def moved(box: Frame, by: tuple[int, int, int, int]) -> Frame:
    return Frame(*(side + step for side, step in zip(box, by, strict=True)))


@given(st.sampled_from([BUTTON, FIELD, PICTURE]), st.tuples(more, more, more, more))
def test_a_rough_box_gets_the_exact_edges_of_the_widget(box: Frame, by: tuple[int, int, int, int]) -> None:
    assert snap(SCREEN, moved(box, by)) == box


@given(st.tuples(few, few, few, few))
def test_text_without_edges_is_held_by_its_ink(by: tuple[int, int, int, int]) -> None:
    ink = text_ink(SCREEN)
    found = snap(SCREEN, moved(moved(ink, (-4, -4, 4, 4)), by))
    assert found == moved(ink, (-INK_PAD_PX, -INK_PAD_PX, INK_PAD_PX, INK_PAD_PX))


@given(st.integers(0, SIZE[0] - 2), st.integers(0, SIZE[1] - 2), st.integers(2, 300), st.integers(2, 200))
def test_a_snapped_box_has_an_area_in_the_picture_and_moved_no_further_than_it_may(
    left: int, top: int, width: int, height: int
) -> None:
    rough = Frame(left, top, min(SIZE[0], left + width), min(SIZE[1], top + height))
    found = snap(SCREEN, rough)
    assert 0 <= found.left_px < found.right_px <= SIZE[0]
    assert 0 <= found.top_px < found.bottom_px <= SIZE[1]
    # A border's thickness more than the reach: the box goes around the line.
    furthest = usual_reach_px(rough) + BORDER_PX
    assert all(abs(before - after) <= furthest for before, after in zip(rough, found, strict=True))


@pytest.mark.parametrize("thickness", [1, 2, 3])
def test_a_box_goes_around_a_border_and_stays_in_the_picture(thickness: int) -> None:
    pixels: Pixels = np.full((120, 200, 3), 255, dtype=np.uint8)
    for inset in range(thickness):
        draw(pixels, Frame(50 + inset, 40 + inset, 150 - inset, 80 - inset), (90, 90, 90), 1)
    assert snap(pixels, Frame(53, 43, 147, 77)) == snap(pixels, Frame(47, 37, 153, 83)) == Frame(50, 40, 150, 80)
    plain = np.full((50, 60, 3), 128, dtype=np.uint8)
    assert snap(plain, Frame(-10, -5, 30, 90)) == Frame(0, 0, 30, 50)
    with pytest.raises(ValueError, match="no pixel of a picture of 60 x 50"):
        snap(plain, Frame(60, 10, 90, 20))


# --- finding and taking -------------------------------------------------------------------------------------------


def test_widgets_and_texts_are_found_by_their_edges() -> None:
    found = find_regions(SCREEN)
    assert {BUTTON, FIELD, PICTURE} <= set(found)
    assert max(overlap(one.as_box().box, text_ink(SCREEN).as_box().box) for one in found) > 0.5


CARD, LINK = Frame(0, 0, 200, 200), Frame(20, 20, 80, 40)
FAR, NEAR = Frame(500, 20, 560, 40), Frame(230, 100, 260, 120)
HERE = Point(x_px=30, y_px=30)


@pytest.mark.parametrize(
    ("cursor", "first"),
    [
        (HERE, [LINK, CARD, NEAR, FAR]),
        (Point(x_px=220, y_px=110), [NEAR, CARD]),
        (None, [CARD, LINK]),
    ],
)
def test_what_is_under_the_cursor_comes_first_and_then_the_nearest(cursor: Point | None, first: list[Frame]) -> None:
    order = in_order((CARD, LINK, FAR, NEAR), cursor)
    assert order[: len(first)] == first


def test_what_is_a_box_already_or_was_tried_is_not_taken_again() -> None:
    order = [Frame(x, 20, x + 40, 40) for x in (0, 100, 200)]
    assert next_best(order, []) == order[0]
    assert next_best(order, [order[0].as_box()]) == order[1]
    assert next_best(order, [order[0].as_box()], [order[1]]) == order[2]
    assert next_best(order[:1], [order[0].as_box()]) is None
