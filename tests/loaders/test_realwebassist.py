from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grounding.loaders import realwebassist
from grounding.loaders.problems import DatasetProblems
from grounding.loaders.realwebassist import check, load
from grounding.records import Box, Region, Size, Step

from .helpers import QUESTIONS, change, drop

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


def test_paths_of_screenshots_are_absolute(tiny_dataset: TinyDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    data_dir = tiny_dataset()
    monkeypatch.chdir(data_dir.parent)
    assert load(Path("tiny")).sessions == load(data_dir).sessions


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
    "box", [{"x": -8, "y": -8, "width": 16, "height": 20}, {"x": 50, "y": 0, "width": 28, "height": 60}]
)
def test_a_box_may_hang_over_the_edge(tiny_dataset: TinyDataset, box: dict[str, int]) -> None:
    region = first_steps(tiny_dataset(edit=change(0, bounding_box=box)))[0].region
    assert region is not None
    assert region.boxes[0].right_px == box["x"] + box["width"]


def test_a_missing_task_is_unknown_by_position(tiny_dataset: TinyDataset) -> None:
    assert first_steps(tiny_dataset(edit=drop(3, "task")))[3].task == "unknown_3"


def test_a_task_may_be_a_number(tiny_dataset: TinyDataset) -> None:
    steps = first_steps(tiny_dataset(edit=lambda _, items: [item.update(task=7) for item in items]))
    assert [step.task for step in steps] == [7, 7, 7, 7]


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


def test_an_action_may_be_absent(tiny_dataset: TinyDataset) -> None:
    assert first_steps(tiny_dataset(edit=drop(0, "action")))[0].action == ""


def test_unknown_fields_are_ignored(tiny_dataset: TinyDataset) -> None:
    assert load(tiny_dataset("a", edit=change(0, audio="1.wav"))).fingerprint == load(tiny_dataset("b")).fingerprint


def test_a_text_is_kept_as_it_is(tiny_dataset: TinyDataset) -> None:
    text = " Ähm, the\tsecond\none 😀 "
    assert first_steps(tiny_dataset(edit=change(0, instruction=text)))[0].instruction == text


def test_steps_that_share_a_screenshot_are_numbered(tiny_dataset: TinyDataset) -> None:
    def edit(_: str, items: list[dict[str, object]]) -> None:
        items[2]["final_image"] = items[3]["final_image"] = "./images//1.png"

    steps = first_steps(tiny_dataset(edit=edit))
    assert [step.id for step in steps] == ["1/1", "1/2", "1/1#2", "1/1#3"]
    assert steps[3].screenshot is steps[0].screenshot


def test_instructions_run_over_steps_that_are_not_scored(tiny_dataset: TinyDataset) -> None:
    def edit(_: str, items: list[dict[str, object]]) -> None:
        for item, text in zip(items, ["a", "b", "b", "b"], strict=True):
            item.update(task="one", instruction=text)

    assert [step.instruction_index for step in first_steps(tiny_dataset(edit=edit))] == [0, 1, 1, 1]


def test_equal_records_are_one_record(tiny_dataset: TinyDataset) -> None:
    first, second = load(tiny_dataset(), history="auto").sessions
    assert first.steps[0].instruction is second.steps[0].instruction
    assert first.steps[0].history_entry is second.steps[0].history_entry
    assert first.steps[0].screenshot.size is second.steps[3].screenshot.size


def test_screenshots_may_be_jpeg_and_webp(tiny_dataset: TinyDataset) -> None:
    from PIL import Image

    data_dir = tiny_dataset(participants=1, edit=lambda _, items: items[0].update(final_image="images/1.webp"))
    with Image.open(data_dir / "1" / "images" / "1.png") as image:
        image.save(data_dir / "1" / "images" / "1.webp")
    assert load(data_dir, deep=True).sessions[0].steps[0].screenshot.size == Size(width=64, height=48)


def test_the_name_is_kept(tiny_dataset: TinyDataset) -> None:
    assert load(tiny_dataset(), name="mine").name == "mine"


def test_every_problem_is_found_at_once_and_in_order(tiny_dataset: TinyDataset) -> None:
    def edit(participant: str, items: list[dict[str, object]]) -> None:
        if participant == "1":
            items[0].update(instruction="", task=True)
            items[1].update(bounding_box={"x": 1, "y": "2", "width": 0, "height": -1})
            items[3].update(final_image="../2/images/1.png")
        if participant == "2":
            items[0].update(bounding_box=[{"x": 500, "y": 0, "width": 10, "height": 10}])
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
        f"1/{QUESTIONS}: item 0: task = true: must be text or a whole number",
        f'1/{QUESTIONS}: item 0: instruction = "": is empty',
        f'1/{QUESTIONS}: item 1: bounding_box.y = "2": must be a number',
        f"1/{QUESTIONS}: item 1: bounding_box.width = 0: must be above 0",
        f"1/{QUESTIONS}: item 1: bounding_box.height = -1: must be above 0",
        f'1/{QUESTIONS}: item 3: final_image = "../2/images/1.png": must be a path inside',
        "1/extracted_actions_GT.json: has 1 entries where questions_with_task_updated.json has 4 items",
        f"2/{QUESTIONS}: item 0: bounding_box[0] = (500, 0 to 510, 10): has its centre outside its screenshot",
        f'2/{QUESTIONS}: item 1: final_image = "images/2.png": the file is not a PNG, JPEG or WebP image',
        f'2/{QUESTIONS}: item 3: final_image = "images/absent.png": the file does not exist',
        f"3/{QUESTIONS}: is not JSON: line 1, column 3: ",
    ]
    assert len(lines) == len(starts), lines
    assert [line[: len(start)] for line, start in zip(lines, starts, strict=True)] == starts
    with pytest.raises(DatasetProblems) as caught:
        load(data_dir, history="auto")
    assert list(caught.value.problems) == problems


def test_damage_inside_a_screenshot_is_found_by_check_only(tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset(participants=1)
    image = data_dir / "1" / "images" / "3.png"
    content = bytearray(image.read_bytes())
    content[len(content) // 2] ^= 0xFF
    image.write_bytes(content)
    load(data_dir)
    (problem,) = check(data_dir)
    assert (problem.item, problem.value) == (2, '"images/3.png"')
    assert problem.what.startswith("the file cannot be decoded (")
    with pytest.raises(DatasetProblems):
        load(data_dir, deep=True)


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


def test_a_history_that_is_wanted_only_if_present_may_be_absent(tiny_dataset: TinyDataset) -> None:
    assert check(tiny_dataset("without", history=None), history="if-present") == []
    broken = tiny_dataset("short", participants=1)
    (broken / "1" / "extracted_actions_GT.json").write_text("[]", encoding="utf-8")
    (problem,) = check(broken, history="if-present")
    assert "empty list" in problem.what
