"""Every way in which one item can be wrong, with everything the message must say."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from grounding.loaders.realwebassist import check

from .helpers import QUESTIONS, change, drop, only_problem

if TYPE_CHECKING:
    from conftest import TinyDataset

BOX = {"x": 1, "y": 2, "width": 3, "height": 4}
CORRECT_BOX = "correct it or set bounding_box to null"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"instruction": "  "}, 'instruction = "  ": is empty; write what the user said'),
        ({"instruction": 5}, "instruction = 5: must be text; write what the user said"),
        ({"instruction": None}, "instruction = null: must be text; write what the user said"),
        ({"task": True}, "task = true: must be text or a whole number; correct it or leave the field out"),
        ({"task": 1.5}, "task = 1.5: must be text or a whole number; correct it or leave the field out"),
        ({"task": None}, "task = null: must be text or a whole number; correct it or leave the field out"),
        ({"task": ["a"]}, 'task = ["a"]: must be text or a whole number; correct it or leave the field out'),
        (
            {"bounding_box": []},
            "bounding_box = []: is an empty list, which no click can hit; "
            "add a box, or set it to null for a step without a click",
        ),
        (
            {"bounding_box": [1]},
            "bounding_box[0] = 1: must be null, an object with x, y, width and height, or a list of such; "
            + CORRECT_BOX,
        ),
        (
            {"bounding_box": "none"},
            'bounding_box = "none": must be null, an object with x, y, width and height, or a list of such; '
            + CORRECT_BOX,
        ),
        ({"bounding_box": [BOX, {**BOX, "width": -3}]}, f"bounding_box[1].width = -3: must be above 0; {CORRECT_BOX}"),
        ({"bounding_box": {**BOX, "height": 0.0}}, f"bounding_box.height = 0.0: must be above 0; {CORRECT_BOX}"),
        ({"bounding_box": {**BOX, "x": True}}, f"bounding_box.x = true: must be a number; {CORRECT_BOX}"),
        ({"bounding_box": {**BOX, "y": "2"}}, f'bounding_box.y = "2": must be a number; {CORRECT_BOX}'),
        ({"bounding_box": {**BOX, "y": None}}, f"bounding_box.y = null: must be a number; {CORRECT_BOX}"),
        (
            {"bounding_box": {**BOX, "x": 10**30}},
            f"bounding_box.x = {10**30}: must be a number of pixels, at most 1,000,000,000; {CORRECT_BOX}",
        ),
        (
            {"bounding_box": {"x": 1, "y": 2, "width": 3}},
            f"bounding_box.height: is missing; {CORRECT_BOX}",
        ),
        (
            {"bounding_box": [{"x": 100, "y": 2, "width": 30, "height": 4.5}]},
            "bounding_box[0] = (100, 2 to 130, 6.5): has its centre outside its screenshot of 64 x 48 pixels; "
            f"give x, y, width and height in pixels of that picture: {CORRECT_BOX}",
        ),
        (
            {"bounding_box": {"x": -300, "y": 2, "width": 310, "height": 4}},
            "bounding_box = (-300, 2 to 10, 6): has its centre outside its screenshot of 64 x 48 pixels; "
            f"give x, y, width and height in pixels of that picture: {CORRECT_BOX}",
        ),
        ({"final_image": 3}, "final_image = 3: must be text; name the screenshot, like images/12.png"),
        ({"final_image": ""}, 'final_image = "": is empty; name the screenshot, like images/12.png'),
        (
            {"final_image": "images/77.png"},
            'final_image = "images/77.png": the file does not exist; add the file or correct the path',
        ),
        (
            {"final_image": "images"},
            'final_image = "images": the file is not a file; give the path of a PNG, JPEG or WebP file',
        ),
        (
            {"final_image": "images\\1.png"},
            'final_image = "images\\\\1.png": must be a path written with /; write it like images/12.png',
        ),
        (
            {"final_image": "images/1.png\0"},
            'final_image = "images/1.png\\u0000": must be a path written with /; write it like images/12.png',
        ),
        (
            {"final_image": "/etc/hosts"},
            'final_image = "/etc/hosts": must be a path inside the participant\'s folder; '
            "write it like images/12.png, without .. and without / at the start",
        ),
        (
            {"final_image": "images/../../../x.png"},
            'final_image = "images/../../../x.png": must be a path inside the participant\'s folder; '
            "write it like images/12.png, without .. and without / at the start",
        ),
        (
            {"final_image": "."},
            'final_image = ".": must be a path inside the participant\'s folder; '
            "write it like images/12.png, without .. and without / at the start",
        ),
    ],
)
def test_a_wrong_field(tiny_dataset: TinyDataset, fields: dict[str, Any], message: str) -> None:
    data_dir = tiny_dataset(edit=change(1, **fields))
    assert str(only_problem(data_dir)) == f"{data_dir / '1' / QUESTIONS}: item 1: {message}"


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("instruction", "instruction: is missing; write what the user said"),
        ("final_image", "final_image: is missing; name the screenshot, like images/12.png"),
        ("bounding_box", "bounding_box: is missing; add it, with null for a step without a click"),
    ],
)
def test_a_missing_field(tiny_dataset: TinyDataset, field: str, message: str) -> None:
    data_dir = tiny_dataset(edit=drop(3, field))
    assert str(only_problem(data_dir)) == f"{data_dir / '1' / QUESTIONS}: item 3: {message}"


@pytest.mark.parametrize(("item", "shown"), [(None, "null"), ([1], "[1]"), ("click", '"click"')])
def test_an_item_that_is_no_object(tiny_dataset: TinyDataset, item: Any, shown: str) -> None:
    data_dir = tiny_dataset(participants=1, edit=lambda _, items: items.insert(0, item))
    assert str(only_problem(data_dir)) == (
        f"{data_dir / '1' / QUESTIONS}: item 0: {shown}: must be an object with instruction, final_image and "
        "bounding_box; correct or remove it"
    )


def test_two_screenshots_with_one_id(tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset(participants=1, edit=change(1, final_image="images/1.jpg"))
    shutil.copy(data_dir / "1" / "images" / "1.png", data_dir / "1" / "images" / "1.jpg")
    assert str(only_problem(data_dir)) == (
        f'{data_dir / "1" / QUESTIONS}: item 1: final_image = "images/1.jpg": duplicate id: gives the step id 1/1, '
        "which item 0 (images/1.png) has already; give the screenshots different names"
    )


def test_a_screenshot_cut_short(tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset(participants=1)
    image = data_dir / "1" / "images" / "2.png"
    image.write_bytes(image.read_bytes()[:-10])
    assert str(only_problem(data_dir)) == (
        f'{data_dir / "1" / QUESTIONS}: item 1: final_image = "images/2.png": the file is cut short: the PNG does not '
        "reach its end; copy or download the file again"
    )


def test_a_broken_screenshot_is_named_once_however_often_it_is_used(tiny_dataset: TinyDataset) -> None:
    def edit(_: str, items: list[dict[str, Any]]) -> None:
        for item in items:
            item["final_image"] = "images/1.png"

    data_dir = tiny_dataset(participants=1, edit=edit)
    (data_dir / "1" / "images" / "1.png").write_bytes(b"")
    assert only_problem(data_dir).what == "the file is empty"


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="this system has no symbolic links")
class TestSymbolicLinks:
    def test_a_screenshot_elsewhere_is_refused(self, tiny_dataset: TinyDataset, tmp_path: Path) -> None:
        data_dir = tiny_dataset(participants=1)
        image = data_dir / "1" / "images" / "2.png"
        image.rename(tmp_path / "outside.png")
        image.symlink_to(tmp_path / "outside.png")
        problem = only_problem(data_dir)
        assert problem.what == f"leads out of the data set, to {(tmp_path / 'outside.png').resolve()}"
        assert problem.fix == "put the file itself there instead of a symbolic link"
        assert (problem.item, problem.field, problem.value) == (1, "final_image", '"images/2.png"')

    def test_an_images_folder_elsewhere_is_refused(self, tiny_dataset: TinyDataset, tmp_path: Path) -> None:
        data_dir = tiny_dataset(participants=1)
        (data_dir / "1" / "images").rename(tmp_path / "outside")
        (data_dir / "1" / "images").symlink_to(tmp_path / "outside")
        problems = check(data_dir)
        assert [problem.item for problem in problems] == [0, 1, 2, 3]
        assert all("leads out of the data set" in problem.what for problem in problems)

    def test_links_within_the_data_set_are_followed(self, tiny_dataset: TinyDataset) -> None:
        data_dir = tiny_dataset()
        shutil.rmtree(data_dir / "2" / "images")
        (data_dir / "2" / "images").symlink_to(data_dir / "1" / "images")
        (data_dir / "1" / "images" / "4.png").unlink()
        (data_dir / "1" / "images" / "4.png").symlink_to("1.png")
        assert check(data_dir) == []
