"""What the key for proposals does to a step, and what it does when it is pressed again."""

from __future__ import annotations

from annotate.proposals.records import Proposal
from annotate.proposals.snapping import Frame
from annotate.proposals.taking import take
from annotate.records import Entry, MarkedBox
from grounding.records import Point
from proposals.screens import frame

STEP = Entry(image="1.png")
HERE, ELSEWHERE = Point(x_px=30, y_px=30), Point(x_px=90, y_px=30)


def proposal(left: int, kind: str = "text") -> Proposal:
    return Proposal(frame=frame(left, 20, left + 40, 40), origin="text", kind="text" if kind == "text" else "icon")


FIRST, SECOND, THIRD = proposal(0), proposal(100, "icon"), proposal(200)
ORDER = (FIRST, SECOND, THIRD)


def frames(entry: Entry) -> list[Frame]:
    return [
        frame(int(box.x_px), int(box.y_px), int(box.x_px + box.width_px), int(box.y_px + box.height_px))
        for box in entry.boxes
    ]


def test_the_first_becomes_a_box_with_its_kind() -> None:
    taking = take(0, STEP, ORDER, HERE, None)
    assert taking is not None
    assert taking.entry.state == "boxes"
    assert taking.entry.boxes == (MarkedBox(x_px=0, y_px=20, width_px=40, height_px=20, kind="text"),)
    assert not taking.instead


def test_again_at_the_same_place_takes_the_next_best_instead_until_nothing_is_left() -> None:
    entry, last, seen = STEP, None, []
    for _ in ORDER:
        taking = take(0, entry, ORDER, HERE, last)
        assert taking is not None
        entry, last = taking.entry, taking.taken
        seen.append(frames(entry))
    assert seen == [[FIRST.frame], [SECOND.frame], [THIRD.frame]]
    assert take(0, entry, ORDER, HERE, last) is None


def test_a_thing_whose_words_were_read_meanwhile_is_no_other_thing() -> None:
    bare = Proposal(frame=FIRST.frame, origin="widget")
    one = take(0, STEP, (bare,), HERE, None)
    assert one is not None
    two = take(0, one.entry, ORDER, HERE, one.taken)
    assert two is not None
    assert frames(two.entry) == [SECOND.frame]


def test_at_another_place_a_second_box_is_made() -> None:
    one = take(0, STEP, ORDER, HERE, None)
    assert one is not None
    two = take(0, one.entry, (SECOND,), ELSEWHERE, one.taken)
    assert two is not None
    assert frames(two.entry) == [FIRST.frame, SECOND.frame]
    assert not two.instead


def test_in_another_step_or_after_a_change_of_the_box_it_is_a_new_one_too() -> None:
    one = take(0, STEP, ORDER, HERE, None)
    assert one is not None
    other_step = take(1, STEP, ORDER, HERE, one.taken)
    assert other_step is not None
    assert frames(other_step.entry) == [FIRST.frame]
    changed = Entry(image="1.png", state="boxes", boxes=(MarkedBox(x_px=0, y_px=300, width_px=40, height_px=25),))
    after = take(0, changed, ORDER, HERE, one.taken)
    assert after is not None
    assert frames(after.entry) == [frame(0, 300, 40, 325), FIRST.frame]


def test_what_has_a_box_already_is_passed_over() -> None:
    full = Entry(image="1.png", state="boxes", boxes=(FIRST.as_box(),))
    taking = take(0, full, ORDER, HERE, None)
    assert taking is not None
    assert frames(taking.entry) == [FIRST.frame, SECOND.frame]
    assert take(0, full, (FIRST,), HERE, None) is None


def test_a_step_that_was_no_click_becomes_one_with_a_box() -> None:
    taking = take(0, Entry(image="1.png", state="no-click"), ORDER, None, None)
    assert taking is not None
    assert taking.entry.state == "boxes"


def test_without_a_cursor_again_counts_as_well() -> None:
    one = take(0, STEP, ORDER, None, None)
    assert one is not None
    two = take(0, one.entry, ORDER, None, one.taken)
    assert two is not None
    assert frames(two.entry) == [SECOND.frame]
