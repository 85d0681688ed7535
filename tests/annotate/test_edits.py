"""What an annotator does to a step, without a window."""

from __future__ import annotations

import msgspec

from annotate.edits import (
    Progress,
    answered_anew,
    as_no_click,
    as_todo,
    copies,
    next_kind,
    progress,
    task_from_text,
    with_added,
    with_kind,
    without_box,
)
from annotate.records import Entry, MarkedBox
from grounding.records import Size

ONE = MarkedBox(x_px=10, y_px=20, width_px=30, height_px=40, kind="text", source=2)
OTHER = MarkedBox(x_px=50, y_px=20, width_px=30, height_px=40)
ENTRY = Entry(image="images/1.png", state="boxes", boxes=(ONE, OTHER), instruction="open it", comment="hm")


def test_no_click_is_an_answer_and_todo_is_none() -> None:
    refused = as_no_click(ENTRY)
    assert (refused.state, refused.boxes, refused.comment) == ("no-click", (), "hm")
    again = as_todo(msgspec.structs.replace(refused, verified=True))
    assert (again.state, again.verified, again.instruction) == ("todo", False, "open it")


def test_without_its_last_box_a_step_is_to_do() -> None:
    assert without_box(ENTRY, 0).boxes == (OTHER,)
    assert without_box(without_box(ENTRY, 0), 0).state == "todo"


def test_a_box_is_not_added_twice_at_the_same_place() -> None:
    assert with_added(ENTRY, [msgspec.structs.replace(ONE, kind="", source=None)]) == ENTRY
    assert with_added(as_no_click(ENTRY), [OTHER]).state == "boxes"


def test_kinds_go_around() -> None:
    assert [next_kind(kind) for kind in ("", "text", "icon")] == ["text", "icon", ""]
    assert with_kind(ENTRY, 1, "icon").boxes[1].kind == "icon"


def test_copies_take_nothing_of_the_file_and_stay_in_the_picture() -> None:
    assert copies([ONE], None)[0].source is None
    assert copies([ONE], None)[0].kind == "text"
    small = copies([ONE, OTHER], Size(width=45, height=50))
    assert [(box.x_px, box.y_px, box.width_px, box.height_px) for box in small] == [(10, 20, 30, 30)]


def test_progress_counts_both_answers() -> None:
    entries = [ENTRY, as_no_click(ENTRY), as_todo(ENTRY), msgspec.structs.replace(ENTRY, verified=True)]
    assert progress(entries) == Progress(steps=4, done=3, verified=1)
    assert progress([]) == Progress(steps=0, done=0, verified=0)


def test_a_task_number_stays_a_number() -> None:
    assert task_from_text(" 12 ", 3) == 12
    assert task_from_text("12", "3") == "12"
    assert task_from_text("buy a gift", 3) == "buy a gift"
    assert task_from_text("²", 3) == "²"


def test_an_answer_that_nobody_verified_is_not_verified() -> None:
    verified = msgspec.structs.replace(ENTRY, verified=True)
    for other in (without_box(verified, 0), as_no_click(verified), with_kind(verified, 0, "icon")):
        assert other.verified
        assert answered_anew(verified, other) == msgspec.structs.replace(other, verified=False)
        # Both at once is somebody's word for the new answer.
        assert answered_anew(ENTRY, other) == other
    for same in (verified, msgspec.structs.replace(verified, instruction="close it", comment="")):
        assert answered_anew(verified, same) == same
