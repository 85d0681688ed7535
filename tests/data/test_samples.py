from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.data.fields import Four
from grounding.data.samples import WORDS, Convention, doubt, fault, instruction_indices, step_ids, to_box
from grounding.records import Box, Size, TaskLabel


def test_ids_come_from_the_screenshots() -> None:
    images = ["images/1.png", "images/2.png", "images/1.png", "images/3.jpg", "images/1.png"]
    assert step_ids("3", images) == ["3/1", "3/2", "3/1#2", "3/3", "3/1#3"]


def test_instructions_are_runs_of_equal_text_within_a_task() -> None:
    tasks: list[TaskLabel] = ["a", "a", "a", "b", "a", "b", "a", "a"]
    texts = ["x", "x", "y", "y", "y", "x", "x", "x"]
    assert instruction_indices(tasks, texts) == [0, 0, 1, 0, 1, 1, 2, 2]


STEPS = st.lists(st.tuples(st.sampled_from(["a", "b", 1, "1"]), st.sampled_from(["go", "go ", "stop"])))


@given(STEPS)
def test_indices_are_those_of_the_runs(steps: list[tuple[TaskLabel, str]]) -> None:
    indices = instruction_indices([task for task, _ in steps], [text for _, text in steps])
    for label in {task for task, _ in steps}:
        mine = [(text, index) for (task, text), index in zip(steps, indices, strict=True) if task == label]
        runs = [list(run) for _, run in groupby(mine, key=lambda one: one[0])]
        assert [{index for _, index in run} for run in runs] == [{n} for n in range(len(runs))]


SIZE = Size(width=1000, height=500)


@given(st.integers(0, 900), st.integers(0, 400), st.integers(2, 100), st.integers(2, 100), st.sampled_from(list(WORDS)))
def test_a_box_is_read_back_as_it_was_written(
    left: int, top: int, width: int, height: int, convention: Convention
) -> None:
    numbers = (left, top, width, height) if "wh" in convention else (left, top, left + width, top + height)
    across, down = (SIZE.width, SIZE.height) if convention.endswith("_rel") else (1, 1)
    written: Four = (numbers[0] / across, numbers[1] / down, numbers[2] / across, numbers[3] / down)
    found = to_box(written, convention, SIZE)
    edges = (found.left_px, found.top_px, found.right_px, found.bottom_px)
    assert edges == pytest.approx((left, top, left + width, top + height))
    assert fault(written, SIZE, convention) == ""


@pytest.mark.parametrize(
    ("numbers", "convention", "words"),
    [
        ((0.1, 0.2, 0.3, 0.4), "xywh", "between 0 and 1"),
        ((10, 10, 5, 20), "xyxy", "ends before it begins"),
        ((900, 10, 200, 20), "xywh", "outside its screenshot of 1000 x 500"),
        ((990, 10, 1015, 20), "xyxy", ""),
        ((0.1, 0.2, 3, 4), "xyxy_rel", "outside its screenshot"),
    ],
)
def test_faults(numbers: Four, convention: Convention, words: str) -> None:
    found = fault(numbers, SIZE, convention)
    assert (words in found) if words else found == ""


def test_the_fitting_convention_is_named_in_one_sentence() -> None:
    sound: list[tuple[Four, Size]] = [((10.0 * number, 10, 20, 20), SIZE) for number in range(19)]
    assert doubt([], "xywh") == doubt([*sound, ((2000, 10, 20, 20), SIZE)], "xywh") == ""
    corners: list[tuple[Four, Size]] = [((500.0 + number, 300, 600.0 + number, 330), SIZE) for number in range(10)]
    assert doubt(corners, "xywh") == (
        "10 of 10 boxes (100 %) end before they begin or lie outside their screenshots when read as left, top, width, "
        "height in pixels (xywh); as left, top, right, bottom in pixels (xyxy) none would: that is what they seem to be"
    )
    assert doubt([((5000.0, 5000.0, -3.0, -3.0), SIZE)] * 5, "xyxy").endswith("and no other convention fits better")
    assert to_box((10, 20, 30, 40), "xywh", SIZE) == Box(left_px=10, top_px=20, right_px=40, bottom_px=60)
