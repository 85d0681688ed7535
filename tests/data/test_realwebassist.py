from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grounding.data.fields import DatasetProblems
from grounding.data.layouts import realwebassist
from grounding.data.layouts.realwebassist import load
from grounding.records import Box, Region, Size, Step

from .helpers import QUESTIONS, change, check

if TYPE_CHECKING:
    from conftest import TinyDataset


def first_steps(data_dir: Path) -> tuple[Step, ...]:
    return load(data_dir).sessions[0].steps


def test_a_release_folder_is_loaded(tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset()
    dataset = load(data_dir)
    assert (dataset.name, dataset.history_file) == ("realwebassist", "")
    assert [session.participant for session in dataset.sessions] == ["1", "2"]
    assert [step.id for step in dataset.sessions[1].steps] == ["2/1", "2/2", "2/3", "2/4"]
    step = dataset.sessions[1].steps[3]
    assert step == Step(
        id="2/4",
        participant="2",
        task="task 2.1",
        instruction_index=0,
        instruction="click thing 3",
        action="click",
        screenshot=step.screenshot,
        region=Region(boxes=(Box(left_px=19.0, top_px=12.0, right_px=35.0, bottom_px=24.0),)),
    )
    assert step.screenshot.path == str(data_dir / "2" / "images" / "4.png")
    assert step.screenshot.size == Size(width=64, height=48)
    assert dataset.sessions[0].steps[2].region is None


def test_a_box_may_be_one_object_or_several(tiny_dataset: TinyDataset) -> None:
    box = {"x": 1, "y": 2, "width": 3, "height": 4, "label": "ignored"}
    one, two = first_steps(
        tiny_dataset(edit=lambda _, items: (items[0].update(bounding_box=box), items[1].update(bounding_box=[box] * 2)))
    )[:2]
    expected = Box(left_px=1.0, top_px=2.0, right_px=4.0, bottom_px=6.0)
    assert one.region == Region(boxes=(expected,))
    assert two.region == Region(boxes=(expected, expected))


def test_the_right_edge_is_the_sum_as_the_official_scorer_computes_it(tiny_dataset: TinyDataset) -> None:
    box = {"x": 0.1, "y": 0.7, "width": 0.2, "height": 0.1}
    region = first_steps(tiny_dataset(edit=change(0, bounding_box=box)))[0].region
    assert region is not None
    assert region.boxes[0].right_px == 0.1 + 0.2 != 0.3
    assert region.boxes[0].bottom_px == 0.7 + 0.1 != 0.8
    assert isinstance(region.boxes[0].right_px, float)


@pytest.mark.parametrize(
    ("action", "text"),
    [
        ("type 'tea'", "type 'tea'"),
        (None, ""),
        ({"kind": "click", "at": [1, 2]}, '{"kind":"click","at":[1,2]}'),
        (3, "3"),
    ],
)
def test_an_action_may_be_anything(tiny_dataset: TinyDataset, action: object, text: str) -> None:
    assert first_steps(tiny_dataset(edit=change(0, action=action)))[0].action == text


def test_steps_that_share_a_screenshot_are_numbered(tiny_dataset: TinyDataset) -> None:
    def edit(_: str, items: list[dict[str, object]]) -> None:
        items[2]["final_image"] = items[3]["final_image"] = "./images//1.png"

    steps = first_steps(tiny_dataset(edit=edit))
    assert [step.id for step in steps] == ["1/1", "1/2", "1/1#2", "1/1#3"]
    assert steps[3].screenshot is steps[0].screenshot


def test_every_problem_is_found_at_once_and_in_order(tiny_dataset: TinyDataset) -> None:
    def edit(participant: str, items: list[dict[str, object]]) -> None:
        if participant == "1":
            items[0].update(instruction=None, task=[])
            items[1].update(bounding_box={"x": 1, "y": "2", "width": None, "height": 1})
            items[3].update(final_image="../2/images/1.png")
        if participant == "2":
            items[0].update(bounding_box=[])
            items[3]["final_image"] = "images/absent.png"

    data_dir = tiny_dataset(participants=4, edit=edit)
    (data_dir / "1" / "extracted_actions_GT.json").write_text("[{}]")
    (data_dir / "2" / "images" / "2.png").write_bytes(b"GIF89a")
    (data_dir / "3" / QUESTIONS).write_text("[{]")
    (data_dir / "4" / QUESTIONS).unlink()
    problems = check(data_dir, history="auto")
    lines = [str(problem).removeprefix(str(data_dir) + "/") for problem in problems]
    starts = [
        f"4: has no {QUESTIONS}",
        f"1/{QUESTIONS}: item 0: task = []: must be text or a whole number",
        f"1/{QUESTIONS}: item 0: instruction = null: must be text",
        f'1/{QUESTIONS}: item 1: bounding_box.y = "2": must be a number',
        f"1/{QUESTIONS}: item 1: bounding_box.width = null: must be a number",
        f'1/{QUESTIONS}: item 3: final_image = "../2/images/1.png": must be a path inside',
        f"2/{QUESTIONS}: item 1: the screenshot {data_dir}/2/images/2.png is not a PNG, JPEG or WebP image",
        f"2/{QUESTIONS}: item 3: the screenshot {data_dir}/2/images/absent.png does not exist",
        f"3/{QUESTIONS}: is not JSON: line 1, column 3: ",
    ]
    assert len(lines) == len(starts), lines
    assert [line[: len(start)] for line, start in zip(lines, starts, strict=True)] == starts
    with pytest.raises(DatasetProblems) as caught:
        load(data_dir, history="auto")
    assert list(caught.value.problems) == problems
    oddities = [str(oddity).removeprefix(str(data_dir) + "/") for oddity in caught.value.oddities]
    assert [line.split(":")[0] for line in oddities] == ["1/extracted_actions_GT.json", f"2/{QUESTIONS}"]


@pytest.mark.slow
def test_a_large_data_set_stays_small_in_memory(tiny_dataset: TinyDataset) -> None:
    import tracemalloc

    data_dir = tiny_dataset(participants=1, steps=1700)
    for number in range(2, 11):
        shutil.copytree(data_dir / "1", data_dir / str(number))
    tracemalloc.start()
    dataset = realwebassist.load(data_dir, history="auto")
    used_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(len(session.steps) for session in dataset.sessions) == 17_000
    assert used_bytes < 60e6
