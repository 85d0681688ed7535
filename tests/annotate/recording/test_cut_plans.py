"""From actions and words to steps, and what a person does to them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.recording import edits
from annotate.recording.align import align, half_said_s
from annotate.recording.plan_file import PLAN_FILE, PlanHistory, read_plan, save_plan
from annotate.recording.records import ChangeKind, CutPlan, CutStep, Instruction, ScreenChange, Utterance
from annotate.recording.window.time_view import TimeView, clock
from annotate.recording.writing import clip_bounds
from annotate.saving import SaveFailed
from grounding.asr.records import Word
from grounding.errors import UserError
from grounding.records import Box


def act(at_s: float, kind: ChangeKind = "change") -> ScreenChange:
    box = Box(left_px=0, top_px=0, right_px=10, bottom_px=10)
    return ScreenChange(before_s=at_s - 0.05, onset_s=at_s, settled_s=at_s, kind=kind, share=0.5, box=box)


def say(start_s: float, text: str, *, word_s: float = 0.4) -> Utterance:
    words = tuple(
        Word(text=word, start_s=start_s + word_s * k, end_s=start_s + word_s * (k + 0.9))
        for k, word in enumerate(text.split())
    )
    return Utterance(start_s=start_s, end_s=start_s + word_s * len(words), text=text, words=words)


def texts(steps: tuple[CutStep, ...], instructions: tuple[Instruction, ...]) -> list[str | None]:
    by_id = {one.id: one.heard for one in instructions}
    return [None if step.instruction is None else by_id[step.instruction] for step in steps]


def test_words_go_to_the_next_action_and_stay_for_those_after_it() -> None:
    found = align(
        [act(2), act(5), act(7), act(12)], [say(3, "click shoes"), say(8, "then"), say(10, "go back")], task="t"
    )
    assert texts(found.steps, found.instructions) == [None, "click shoes", "click shoes", "then go back"]
    assert [step.screenshot_s for step in found.steps] == pytest.approx([1.98, 4.98, 6.98, 11.98])
    assert {step.task for step in found.steps} == {"t"}
    assert found.unused == ()


def test_an_action_in_the_middle_of_a_sentence_has_its_words_once_half_of_them_are_said() -> None:
    sentence = say(1, "please open the first one", word_s=0.5)
    assert half_said_s(sentence) == pytest.approx(2.45)
    late = align([act(2.6), act(9)], [sentence], task="")
    assert texts(late.steps, late.instructions) == ["please open the first one"] * 2
    early = align([act(2.0), act(9)], [sentence], task="")
    assert texts(early.steps, early.instructions) == [None, "please open the first one"]


def test_words_after_the_last_action_are_kept_as_unused() -> None:
    found = align([act(2)], [say(1, "yes"), say(4, "thank you")], task="")
    assert [one.heard for one in found.instructions if one.id in found.unused] == ["thank you"]


def test_scrolling_is_a_step_only_where_nothing_else_was_asked_for() -> None:
    found = align(
        [act(2, "scroll"), act(4, "scroll"), act(8, "scroll"), act(9)],
        [say(1, "scroll down"), say(6, "click the last one")],
        task="",
    )
    assert [step.action for step in found.steps] == ["scroll", "click"]
    assert texts(found.steps, found.instructions) == ["scroll down", "click the last one"]


def plan() -> CutPlan:
    found = align(
        [act(2), act(5), act(7, "typing"), act(12)],
        [say(0.5, "one two"), say(3, "three four five"), say(9, "six")],
        task="",
    )
    return CutPlan(
        video="v.mkv",
        sha256="0",
        duration_s=15.0,
        recogniser="fake",
        steps=found.steps,
        instructions=found.instructions,
        unused=found.unused,
    )


def wordings(cut: CutPlan) -> list[str]:
    by_id = {one.id: one.wording for one in cut.instructions}
    return ["" if step.instruction is None else by_id[step.instruction] for step in cut.steps]


def test_merging_joins_words_and_keeps_the_first_screen() -> None:
    merged = edits.merge_with_next(plan(), 0)
    assert wordings(merged) == ["one two three four five"] * 2 + ["six"]
    assert merged.steps[0].screenshot_s == plan().steps[0].screenshot_s
    assert edits.merge_with_next(plan(), 3) == plan()


def test_a_new_step_carries_out_the_words_of_the_one_before() -> None:
    cut = edits.split_at(plan(), 6.0)
    assert len(cut.steps) == 5
    assert cut.steps[2].screenshot_s == 6.0
    assert wordings(cut)[2] == "three four five"
    assert edits.split_at(cut, 6.001) == cut


def test_dropping_the_only_step_of_an_instruction_keeps_what_was_said() -> None:
    cut = edits.drop(plan(), 0)
    assert [one.heard for one in cut.instructions if one.id in cut.unused] == ["one two"]
    assert edits.carry_out(cut, 0, cut.unused[0]).unused != cut.unused


def test_a_step_never_overtakes_its_neighbours() -> None:
    cut = edits.retime(plan(), 1, 14.0)
    assert cut.steps[1].screenshot_s < cut.steps[2].screenshot_s
    assert cut.steps[1].action_s >= cut.steps[1].screenshot_s
    back = edits.retime(plan(), 1, -3.0)
    assert back.steps[1].screenshot_s > back.steps[0].screenshot_s


def test_a_correction_leaves_what_was_heard() -> None:
    first = plan().steps[0].instruction
    assert first is not None
    cut = edits.correct(plan(), first, "one, too")
    assert edits.instruction_of(cut, first).heard == "one two"
    assert wordings(cut)[0] == "one, too"
    assert edits.instruction_of(edits.correct(cut, first, "one two"), first).text is None


def test_an_instruction_splits_at_a_word() -> None:
    words = plan().instructions[1]
    cut = edits.split_instruction(plan(), words.id, 3.7)
    assert [one.heard for one in cut.instructions] == ["one two", "three four", "five", "six"]
    assert wordings(cut) == ["one two", "three four", "five", "six"]


def test_a_clip_that_is_made_shorter_loses_the_words_outside() -> None:
    words = plan().instructions[1]
    cut = edits.retime_instruction(plan(), words.id, 3.3, 99.0)
    moved = edits.instruction_of(cut, words.id)
    assert (moved.start_s, moved.end_s, moved.heard) == (3.3, 15.0, "four five")


def test_a_task_begins_at_a_step_and_goes_on() -> None:
    cut = edits.set_task(edits.set_task(plan(), 0, "buy shoes"), 2, "pay")
    assert [step.task for step in cut.steps] == ["buy shoes", "buy shoes", "pay", "pay"]


def test_words_typed_for_a_step_without_any() -> None:
    bare = edits.carry_out(plan(), 0, None)
    cut = edits.write_instruction(bare, 0, "start here")
    assert wordings(cut)[0] == "start here"
    assert "start here" not in [one.wording for one in edits.drop(cut, 0).instructions]


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 9), st.floats(-2, 20)), max_size=12))
def test_whatever_is_done_steps_stay_in_order_and_no_heard_word_is_lost(
    doings: list[tuple[int, int, float]],
) -> None:
    cut = plan()
    for doing, which, time_s in doings:
        index = which % len(cut.steps) if cut.steps else None
        numbers = [one.id for one in cut.instructions]
        if doing == 0:
            cut = edits.split_at(cut, time_s)
        elif index is None:
            continue
        elif doing == 1:
            cut = edits.merge_with_next(cut, index)
        elif doing == 2:
            cut = edits.drop(cut, index)
        elif doing == 3:
            cut = edits.retime(cut, index, time_s)
        elif doing == 4:
            cut = edits.set_task(cut, index, f"task {which}")
        elif doing == 5:
            cut = edits.split_instruction(cut, numbers[which % len(numbers)], time_s)
        elif doing == 6:
            cut = edits.join_instructions(cut, numbers[which % len(numbers)], numbers[0])
        elif doing == 7:
            cut = edits.carry_out(cut, index, None if which == 9 else numbers[which % len(numbers)])
        else:
            cut = edits.correct(cut, numbers[which % len(numbers)], f"corrected {which}")
        times = [step.screenshot_s for step in cut.steps]
        assert times == sorted(times)
        assert all(0 <= one <= cut.duration_s for one in times)
        known = {one.id for one in cut.instructions}
        carried = {step.instruction for step in cut.steps} - {None}
        assert carried <= known
        assert set(cut.unused) == known - carried
        assert len(known) == len(cut.instructions)
    heard = sorted(word.text for one in cut.instructions for word in one.words)
    assert heard == sorted(["one", "two", "three", "four", "five", "six"])


# --- keeping --------------------------------------------------------------------------------------------------------


def test_every_change_is_on_the_disk_and_undo_too(tmp_path: Path) -> None:
    save_plan(tmp_path, plan())
    history = PlanHistory(tmp_path, plan())
    history.change(edits.drop(plan(), 0), "drop step")
    assert read_plan(tmp_path) == edits.drop(plan(), 0)
    assert history.undo() == "drop step"
    assert read_plan(tmp_path) == plan()
    assert history.undo() is None
    assert history.redo() == "drop step"
    assert read_plan(tmp_path) == edits.drop(plan(), 0)
    assert history.redo() is None


def test_a_drag_is_undone_at_once(tmp_path: Path) -> None:
    history = PlanHistory(tmp_path, plan())
    for k in range(5):
        history.change(edits.retime(plan(), 1, 3 + k / 10), "move step", joined=k > 0, keep=False)
    assert read_plan(tmp_path) is None
    history.keep()
    assert history.undo() == "move step"
    assert history.plan == plan()


def test_a_folder_that_cannot_be_written_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    history = PlanHistory(tmp_path / "file", plan())
    with pytest.raises(SaveFailed, match="still in this window"):
        history.change(edits.drop(plan(), 0), "drop step")
    assert history.plan == edits.drop(plan(), 0)


def test_another_file_of_that_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / PLAN_FILE).write_text('{"steps": 3}')
    with pytest.raises(UserError, match="no cut of a recording"):
        read_plan(tmp_path)


# --- clips and the time line ------------------------------------------------------------------------------------------


def test_a_clip_has_a_margin_but_nobody_elses_words() -> None:
    one = Instruction(id=0, start_s=3.0, end_s=4.0)
    assert clip_bounds(one, [one], 10.0) == pytest.approx((2.8, 4.2))
    near = [one, Instruction(id=1, start_s=1.0, end_s=2.9), Instruction(id=2, start_s=4.1, end_s=5.0)]
    assert clip_bounds(one, near, 10.0) == (2.9, 4.1)
    assert clip_bounds(one, [one], 4.05) == pytest.approx((2.8, 4.05))


views = st.builds(
    TimeView,
    duration_s=st.floats(0.5, 7200),
    width_px=st.integers(50, 4000),
    start_s=st.just(0.0),
    span_s=st.just(0.0),
)


@given(views, st.lists(st.tuples(st.floats(0.2, 5), st.floats(0, 1)), max_size=6), st.floats(0, 1))
def test_zooming_keeps_the_time_under_the_cursor(
    view: TimeView, zooms: list[tuple[float, float]], share: float
) -> None:
    for factor, place in zooms:
        x_px = place * view.width_px
        before_s = view.to_s(x_px)
        view = view.zoomed(factor, x_px)
        assert view.start_s >= 0
        assert view.start_s + view.shown_s <= max(view.duration_s, 1.0) + 1e-6
        inside = view.start_s > 0 and view.start_s + view.shown_s < view.duration_s - 1e-6
        if inside:
            assert view.to_s(x_px) == pytest.approx(before_s, abs=1e-6 * view.duration_s)
    time_s = min(view.start_s + share * view.shown_s, view.duration_s)
    assert view.to_s(view.to_x(time_s)) == pytest.approx(time_s, abs=1e-6 * view.duration_s)


@given(views, st.floats(10, 200))
def test_ticks_are_apart_and_within(view: TimeView, least_px: float) -> None:
    ticks = view.ticks(least_px)
    assert all(0 <= one <= view.duration_s for one in ticks)
    if view.shown_s < 3600:
        places = [view.to_x(one) for one in ticks]
        assert all(later - earlier >= least_px - 1 for earlier, later in pairwise(places))


def test_times_as_people_read_them() -> None:
    assert [clock(one) for one in (0, 5.04, 59.96, 725.31, 3725.0)] == [
        "0:00.0", "0:05.0", "1:00.0", "12:05.3", "1:02:05.0",
    ]  # fmt: skip
    assert clock(65, 0) == "1:05"
