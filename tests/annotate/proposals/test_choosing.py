"""The order in which proposals are taken, and what a click stands for."""

from __future__ import annotations

from annotate.proposals.choosing import around_click, distance_px, in_order, is_taken
from annotate.proposals.records import Proposal
from annotate.proposals.snapping import Frame
from grounding.records import Point
from proposals.screens import BUTTON, FIELD, frame, screen


def proposal(box: Frame, words: str = "") -> Proposal:
    return Proposal(frame=box, origin="widget", words=words)


CARD = proposal(frame(0, 0, 200, 200), "card")
LINK = proposal(frame(20, 20, 80, 40), "link")
FAR = proposal(frame(500, 20, 560, 40), "far")
NEAR = proposal(frame(230, 100, 260, 120), "near")
ALL = (CARD, LINK, FAR, NEAR)


def order(x: float, y: float, **more: int) -> list[str]:
    return [one.words for one in in_order(ALL, Point(x_px=x, y_px=y), more.get("meant"), None)]


def test_what_is_under_the_cursor_comes_first_the_smallest_before_what_holds_it() -> None:
    assert order(30, 30)[:2] == ["link", "card"]
    assert order(100, 100)[0] == "card"


def test_beside_everything_the_nearest_comes_first_and_then_what_is_meant() -> None:
    assert order(220, 110)[0] == "near"
    assert order(220, 110, meant=2)[:2] == ["near", "far"]


def test_far_from_everything_it_is_what_was_clicked_and_then_what_is_meant() -> None:
    click = Proposal(frame=frame(1, 1, 9, 9), origin="click", words="clicked")
    cursor = Point(x_px=380, y_px=300)
    assert [one.words for one in in_order(ALL, cursor, 2, click)][:2] == ["clicked", "far"]
    assert [one.words for one in in_order(ALL, None, 2, click)][:3] == ["clicked", "far", "card"]


def test_everything_is_there_once() -> None:
    found = in_order(ALL, Point(x_px=30, y_px=30), 1, LINK)
    assert len(found) == len(set(found)) == len(ALL)


def test_nothing_found_is_nothing_to_take() -> None:
    assert in_order((), Point(x_px=1, y_px=1), None, None) == ()


def test_a_click_stands_for_what_it_is_on() -> None:
    on = around_click(
        Point(x_px=110, y_px=90), [proposal(BUTTON, "Buy now"), proposal(frame(0, 0, 600, 300))], screen()
    )
    assert on == Proposal(frame=BUTTON, origin="click", words="Buy now")


def test_a_click_on_nothing_found_is_snapped_to_what_is_there() -> None:
    small = screen()
    small[300:320, 400:424] = (30, 30, 30)
    found = around_click(Point(x_px=412, y_px=309), [], small)
    assert found is not None
    assert found.frame == frame(400, 300, 424, 320)
    assert around_click(Point(x_px=9000, y_px=9), [], small) is None


def test_a_click_on_the_last_pixel_has_a_box_in_the_picture() -> None:
    found = around_click(Point(x_px=640, y_px=400), [], screen())
    assert found is not None
    assert found.frame.right_px <= 640
    assert found.frame.bottom_px <= 400


def test_distance_is_to_the_nearest_edge() -> None:
    assert distance_px(FIELD, Point(x_px=297, y_px=76)) == 5.0
    assert distance_px(FIELD, Point(x_px=400, y_px=100)) == 0.0


def test_a_box_that_is_there_was_taken() -> None:
    assert is_taken(LINK, [frame(20, 20, 80, 41)])
    assert not is_taken(LINK, [frame(20, 20, 50, 40)])
