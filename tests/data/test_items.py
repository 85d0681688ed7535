"""Every way in which one item can be wrong, with everything the message must say."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from grounding.data.layouts.realwebassist import load

from .helpers import QUESTIONS, change, check, hub_cache, only_problem

if TYPE_CHECKING:
    from conftest import TinyDataset

BOX = {"x": 1, "y": 2, "width": 3, "height": 4}
CORRECT_BOX = "correct it: null is for a step without a click, which is not scored"
NO_BOX = f"must be null, an object with x, y, width and height, or a list of such; {CORRECT_BOX}"
SCREENSHOT = "name the screenshot, like images/12.png"
INSIDE = (
    "must be a path inside the participant's folder; write it like images/12.png, without .. and without / at the start"
)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"instruction": 5}, "instruction = 5: must be text; write what the user said"),
        ({"task": ["a"]}, 'task = ["a"]: must be text or a whole number; correct it or leave the field out'),
        ({"bounding_box": [1]}, f"bounding_box[0] = 1: {NO_BOX}"),
        ({"bounding_box": "none"}, f'bounding_box = "none": {NO_BOX}'),
        ({"bounding_box": {**BOX, "x": True}}, f"bounding_box.x = true: must be a number; {CORRECT_BOX}"),
        (
            {"bounding_box": {**BOX, "x": 10**30}},
            f"bounding_box.x = {10**30}: must be a number of pixels, at most 1,000,000,000; {CORRECT_BOX}",
        ),
        ({"bounding_box": {"x": 1, "y": 2, "width": 3}}, f"bounding_box.height: is missing; {CORRECT_BOX}"),
        ({"final_image": 3}, f"final_image = 3: must be text; {SCREENSHOT}"),
        ({"final_image": ""}, f'final_image = "": is empty; {SCREENSHOT}'),
        (
            {"final_image": "images\\1.png"},
            'final_image = "images\\\\1.png": must be a path written with /; write it like images/12.png',
        ),
        ({"final_image": "/etc/hosts"}, f'final_image = "/etc/hosts": {INSIDE}'),
        ({"final_image": "images/../../../x.png"}, f'final_image = "images/../../../x.png": {INSIDE}'),
    ],
)
def test_a_wrong_field(tiny_dataset: TinyDataset, fields: dict[str, Any], message: str) -> None:
    data_dir = tiny_dataset(edit=change(1, **fields))
    assert str(only_problem(data_dir)) == f"{data_dir / '1' / QUESTIONS}: item 1: {message}"


def test_what_is_missing_or_no_object(tiny_dataset: TinyDataset) -> None:
    def edit(_: str, items: list[dict[str, Any]]) -> None:
        for item, field in zip(items, ("instruction", "final_image", "bounding_box"), strict=False):
            del item[field]
        items[3] = None  # type: ignore[call-overload]

    data_dir = tiny_dataset(participants=1, edit=edit)
    assert [str(problem).partition(": item ")[2] for problem in check(data_dir)] == [
        "0: instruction: is missing; write what the user said",
        f"1: final_image: is missing; {SCREENSHOT}",
        "2: bounding_box: is missing; add it, with null for a step without a click",
        "3: null: must be an object with instruction, final_image and bounding_box; correct or remove it",
    ]


def test_screenshots_that_cannot_be_used(tiny_dataset: TinyDataset) -> None:
    def edit(_: str, items: list[dict[str, Any]]) -> None:
        for item, name in zip(items, ("1.png", "1.jpg", "77.png", "4.png"), strict=True):
            item["final_image"] = f"images/{name}"
        items.append({**items[3], "instruction": "the same broken picture"})

    data_dir = tiny_dataset(participants=1, edit=edit)
    images = data_dir / "1" / "images"
    shutil.copy(images / "1.png", images / "1.jpg")
    (images / "4.png").write_bytes((images / "4.png").read_bytes()[:-20])
    file = data_dir / "1" / QUESTIONS
    assert [str(problem).partition("; ")[0] for problem in check(data_dir)] == [
        f"{file}: item 1: gives the step id 1/1, which {file}: item 0 has already",
        f"{file}: item 2: the screenshot {images / '77.png'} does not exist",
        f"{file}: item 3: the screenshot {images / '4.png'} is damaged or cut short (Truncated File Read)",
    ]


def test_a_screenshot_elsewhere_is_refused(tiny_dataset: TinyDataset, tmp_path: Path) -> None:
    data_dir = tiny_dataset()
    image = data_dir / "1" / "images" / "2.png"
    image.rename(tmp_path / "outside.png")
    image.symlink_to(tmp_path / "outside.png")
    problem = only_problem(data_dir)
    assert problem.what == f"leads out of the data set, to {(tmp_path / 'outside.png').resolve()}"
    assert (problem.item, problem.field, problem.value) == (1, "final_image", '"images/2.png"')
    shutil.rmtree(data_dir / "2" / "images")
    (data_dir / "2" / "images").symlink_to(tmp_path)
    assert [one.item for one in check(data_dir)] == [1, 0, 1, 2, 3]


def test_links_within_the_data_set_are_followed(tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset()
    shutil.rmtree(data_dir / "2" / "images")
    (data_dir / "2" / "images").symlink_to(data_dir / "1" / "images")
    (data_dir / "1" / "images" / "4.png").unlink()
    (data_dir / "1" / "images" / "4.png").symlink_to("1.png")
    assert check(data_dir) == []


@pytest.mark.parametrize("inside", [".", "full_human_dataset/1"])
def test_a_hub_cache_is_read_wherever_one_points(tiny_dataset: TinyDataset, tmp_path: Path, inside: str) -> None:
    tiny_dataset("plain/full_human_dataset")
    snapshot = hub_cache(tmp_path / "plain", tmp_path / "hub")
    (tmp_path / "by-name").symlink_to(snapshot)
    for folder in (snapshot, tmp_path / "by-name"):
        found, plain = load(folder / inside, history="auto"), load(tmp_path / "plain" / inside, history="auto")
        assert found.fingerprint == plain.fingerprint
        assert Path(found.sessions[0].steps[0].screenshot.path).read_bytes()


@pytest.mark.parametrize(
    ("repository", "target"),
    [
        ("datasets--a--b", "outside"),
        ("datasets--a--b", "hub/datasets--c--d/blobs"),
        ("datasets--a--b", "hub/datasets--a--b/refs"),
        ("not-a-cache", "hub/not-a-cache/blobs"),
    ],
)
def test_a_link_out_of_a_hub_cache_is_refused(
    tiny_dataset: TinyDataset, tmp_path: Path, repository: str, target: str
) -> None:
    snapshot = hub_cache(tiny_dataset(participants=1), tmp_path / "hub", repository)
    link, elsewhere = snapshot / "1" / "images" / "2.png", tmp_path / target / "picture"
    elsewhere.parent.mkdir(parents=True, exist_ok=True)
    elsewhere.write_bytes(link.read_bytes())
    link.unlink()
    link.symlink_to(elsewhere)
    assert f"leads out of the data set, to {elsewhere}" in {problem.what for problem in check(snapshot)}
