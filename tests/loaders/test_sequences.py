from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.loaders.sequences import IdClash, id_clashes, instruction_indices, step_ids
from grounding.records import TaskLabel


def test_ids_come_from_the_screenshots() -> None:
    images = ["images/1.png", "images/2.png", "images/1.png", "images/3.jpg", "images/1.png"]
    assert step_ids("3", images) == ["3/1", "3/2", "3/1#2", "3/3", "3/1#3"]


@pytest.mark.parametrize(
    ("images", "clash"),
    [
        (["images/1.png", "images/1.jpg"], IdClash(id="p/1", item=1, earlier_item=0)),
        (["a/1.png", "b/1.png"], IdClash(id="p/1", item=1, earlier_item=0)),
        (["1#2.png", "1.png", "1.png"], IdClash(id="p/1#2", item=2, earlier_item=0)),
    ],
)
def test_different_screenshots_with_one_id_clash(images: list[str], clash: IdClash) -> None:
    assert id_clashes(step_ids("p", images)) == [clash]


@given(st.lists(st.integers(min_value=0, max_value=9)))
def test_ids_are_unique_and_count_the_uses_of_a_screenshot(numbers: list[int]) -> None:
    ids = step_ids("7", [f"images/{number}.png" for number in numbers])
    assert id_clashes(ids) == []
    for position, number in enumerate(numbers):
        use = numbers[: position + 1].count(number)
        assert ids[position] == (f"7/{number}" if use == 1 else f"7/{number}#{use}")


@given(st.lists(st.sampled_from(["a", "b", "c#2", "c"])))
def test_every_step_with_an_id_that_is_taken_is_a_clash(ids: list[str]) -> None:
    assert {clash.item for clash in id_clashes(ids)} == {n for n, one in enumerate(ids) if one in ids[:n]}
    assert all(ids[clash.item] == ids[clash.earlier_item] == clash.id for clash in id_clashes(ids))


def test_instructions_are_runs_of_equal_text_within_a_task() -> None:
    tasks: list[TaskLabel] = ["a", "a", "a", "b", "a", "b", "a", "a"]
    texts = ["x", "x", "y", "y", "y", "x", "x", "x"]
    assert instruction_indices(tasks, texts) == [0, 0, 1, 0, 1, 1, 2, 2]


def test_a_text_and_a_number_are_different_tasks() -> None:
    assert instruction_indices(["1", 1, "1", 1], ["x", "x", "y", "x"]) == [0, 0, 1, 0]


STEPS = st.lists(st.tuples(st.sampled_from(["a", "b", 1, "1"]), st.sampled_from(["go", "go ", "stop"])))


@given(STEPS)
def test_indices_are_those_of_the_runs(steps: list[tuple[TaskLabel, str]]) -> None:
    indices = instruction_indices([task for task, _ in steps], [text for _, text in steps])
    for label in {task for task, _ in steps}:
        mine = [(text, index) for (task, text), index in zip(steps, indices, strict=True) if task == label]
        runs = [list(run) for _, run in groupby(mine, key=lambda one: one[0])]
        assert [{index for _, index in run} for run in runs] == [{n} for n in range(len(runs))]
