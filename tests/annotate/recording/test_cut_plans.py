"""From actions and words to steps, and what a person does to them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from screenplay import voice

from annotate.core.journal import SaveFailed
from annotate.core.sound import Sound
from annotate.recording import plan as edits
from annotate.recording.changes import ActionKind, ScreenChange
from annotate.recording.plan import CutPlan, CutStep, Instruction, clip_bounds, read_plan, save_plan
from annotate.recording.propose import align, find_speech
from grounding.records import Box


def act(at_s: float, kind: ActionKind = "click") -> ScreenChange:
    box = Box(left_px=0, top_px=0, right_px=10, bottom_px=10)
    return ScreenChange(onset_s=at_s, settled_s=at_s, kind=kind, share=0.5, box=box)


def say(start_s: float, text: str, *, word_s: float = 0.4) -> Instruction:
    return Instruction(id=0, start_s=start_s, end_s=start_s + word_s * len(text.split()), heard=text)


def cut_of(actions: list[ScreenChange], spoken: list[Instruction]) -> CutPlan:
    steps, instructions = align(actions, spoken)
    return CutPlan(
        video="v.mkv", sha256="0", duration_s=15.0, recogniser="fake", steps=steps, instructions=instructions
    )


def plan() -> CutPlan:
    actions = [act(2), act(5), act(7, "type"), act(12)]
    return cut_of(actions, [say(0.5, "one two"), say(3, "three four five"), say(9, "six")])


def wordings(cut: CutPlan) -> list[str]:
    said = [cut.instruction(step.instruction) for step in cut.steps]
    return ["" if one is None else one.wording for one in said]


def unused(cut: CutPlan) -> set[int]:
    return {one.id for one in cut.instructions} - {step.instruction for step in cut.steps}


SENTENCE = say(1, "please open the first one", word_s=0.5)


@pytest.mark.parametrize(
    ("actions", "spoken", "words"),
    [
        ([act(2), act(5), act(7), act(12)], [say(3, "click shoes"), say(8, "then"), say(10, "go back")],
         ["", "click shoes", "click shoes", "then go back"]),
        # Once half of it is said.
        ([act(2.6), act(9)], [SENTENCE], ["please open the first one"] * 2),
        ([act(2.0), act(9)], [SENTENCE], ["", "please open the first one"]),
        # Scrolling is a step only where nothing else was asked for.
        ([act(2, "scroll"), act(4, "scroll"), act(8, "scroll"), act(9)],
         [say(1, "scroll down"), say(6, "click the last one")], ["scroll down", "click the last one"]),
    ],
)  # fmt: skip
def test_words_go_to_the_next_action_and_stay_for_those_after_it(
    actions: list[ScreenChange], spoken: list[Instruction], words: list[str]
) -> None:
    assert wordings(cut_of(actions, spoken)) == words


def test_what_a_person_does_to_a_cut() -> None:
    cut = plan()
    merged = edits.merge_with_next(cut, 0)
    assert wordings(merged) == ["one two three four five"] * 2 + ["six"]
    assert merged.steps[0].screenshot_s == cut.steps[0].screenshot_s
    dropped = edits.drop(cut, 0)
    assert [one.heard for one in dropped.instructions if one.id in unused(dropped)] == ["one two"]
    corrected = edits.write_words(cut, 0, "one, too")
    assert corrected.instructions[0].heard == "one two"
    assert edits.write_words(corrected, 0, "one two") == cut
    assert wordings(corrected)[0] == "one, too"
    silent = replace(cut, steps=(CutStep(screenshot_s=1.0, action_s=1.0), *cut.steps))
    typed = edits.write_words(silent, 0, "start here")
    assert wordings(typed)[0] == "start here"
    assert "start here" not in [one.wording for one in edits.drop(typed, 0).instructions]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), st.floats(-2, 20)), max_size=12))
def test_whatever_is_done_steps_stay_in_order_and_no_heard_word_is_lost(doings: list[tuple[int, int, float]]) -> None:
    cut = plan()
    for doing, which, time_s in doings:
        index = which % max(1, len(cut.steps))
        if doing == 0 or not cut.steps:
            cut = edits.split_at(cut, time_s)
        else:
            cut = (
                edits.merge_with_next(cut, index), edits.drop(cut, index), edits.retime(cut, index, time_s),
                edits.same_words(cut, index),
                edits.write_words(cut, index, f"corrected {which}"),
            )[doing - 1]  # fmt: skip
        times = [step.screenshot_s for step in cut.steps]
        assert times == sorted(times)
        assert all(0 <= one <= cut.duration_s for one in times)
        known, carried = {one.id for one in cut.instructions}, {step.instruction for step in cut.steps} - {None}
        assert carried <= known
        assert all(one.end_s > one.start_s for one in cut.instructions if one.id in unused(cut))
        assert len(known) == len(cut.instructions)
    heard = sorted(word for one in cut.instructions for word in one.heard.split())
    assert heard == sorted(["one", "two", "three", "four", "five", "six"])


def test_a_plan_that_cannot_be_kept_is_said(tmp_path: Path) -> None:
    save_plan(tmp_path, plan())
    assert read_plan(tmp_path) == plan()
    (tmp_path / "file").write_text("")
    with pytest.raises(SaveFailed, match="still in this window"):
        save_plan(tmp_path / "file", plan())


def test_a_clip_has_a_margin_but_nobody_elses_words() -> None:
    one = Instruction(id=0, start_s=3.0, end_s=4.0)
    assert clip_bounds(one, [one], 10.0) == pytest.approx((2.8, 4.2))
    near = [one, Instruction(id=1, start_s=1.0, end_s=2.9), Instruction(id=2, start_s=4.1, end_s=5.0)]
    assert clip_bounds(one, near, 10.0) == (2.9, 4.1)


def test_two_sentences_are_found_within_a_third_of_a_second() -> None:
    samples = np.random.default_rng(0).normal(0, 12, 9 * 16_000).astype(np.int16)
    silence = Sound(rate_hz=16_000, samples=samples.copy())
    for start_s, length_s in ((1.0, 1.8), (5.0, 2.5)):
        speech = voice(length_s, seed=int(start_s))
        samples[round(start_s * 16_000) :][: len(speech)] += speech
    found = find_speech(Sound(rate_hz=16_000, samples=samples))
    assert [one.start_s for one in found] == pytest.approx([1.0, 5.0], abs=0.3)
    assert [one.end_s for one in found] == pytest.approx([2.8, 7.5], abs=0.3)
    assert find_speech(silence) == []
