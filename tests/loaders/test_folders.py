from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.loaders import realwebassist
from grounding.loaders.folders import match_name, natural_key

from .helpers import QUESTIONS, only_problem

if TYPE_CHECKING:
    from conftest import TinyDataset


def loaded_participants(data_dir: Path, **options: object) -> list[str]:
    return [session.participant for session in realwebassist.load(data_dir, **options).sessions]  # type: ignore[arg-type]


def test_participants_come_in_natural_order(tiny_dataset: TinyDataset) -> None:
    assert loaded_participants(tiny_dataset(participants=11, steps=1)) == [str(n) for n in range(1, 12)]


@given(st.lists(st.integers(min_value=0, max_value=10**6)))
def test_numbers_sort_as_numbers(numbers: list[int]) -> None:
    assert sorted((f"p{n}" for n in numbers), key=natural_key) == [f"p{n}" for n in sorted(numbers)]


@given(st.lists(st.text(max_size=5)))
def test_any_names_can_be_sorted(names: list[str]) -> None:
    assert sorted(sorted(names, key=natural_key)) == sorted(names)


def test_a_name_is_matched_whatever_its_case() -> None:
    assert match_name("a_gt.json", ["b", "a_GT.json"]) == "a_GT.json"
    assert match_name("a_gt.json", ["A_gt.json", "a_gt.json", "a_GT.json"]) == "a_gt.json"
    assert match_name("a_gt.json", ["a_gt.json/"]) is None


def test_the_parent_of_the_folder_is_accepted(tiny_dataset: TinyDataset) -> None:
    inner = tiny_dataset("release/full_human_dataset")
    (inner.parent / "plans").mkdir()
    (inner.parent / "README.md").touch()
    assert realwebassist.load(inner.parent).fingerprint == realwebassist.load(inner).fingerprint


def test_one_participants_folder_is_accepted(tiny_dataset: TinyDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    data_dir = tiny_dataset()
    assert loaded_participants(data_dir / "2") == ["2"]
    monkeypatch.chdir(data_dir / "2")
    assert loaded_participants(Path()) == ["2"]


def test_participants_can_be_chosen(tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset(participants=3)
    (data_dir / "2" / QUESTIONS).write_text("broken")
    assert loaded_participants(data_dir, participants=("3", "1")) == ["1", "3"]


def test_an_unknown_participant_is_a_problem(tiny_dataset: TinyDataset) -> None:
    problem = only_problem(tiny_dataset(), participants=["2", "11"])
    assert str(problem).endswith('tiny: participants = "11": there is no such participant; choose from 1, 2')


def test_other_folders_are_passed_over(tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset()
    for name in ("plans", ".cache/1/images", "__MACOSX/1/images", "notes/1/images"):
        (data_dir / name).mkdir(parents=True)
    (data_dir / "plans" / "gpt.json").write_text("{}")
    (data_dir / "3.txt").touch()
    assert loaded_participants(data_dir) == ["1", "2"]


def test_a_participant_without_the_questions_file_is_a_problem(tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset()
    (data_dir / "2" / QUESTIONS).rename(data_dir / "2" / "questions_gt.json")
    problem = only_problem(data_dir)
    assert problem.file == str(data_dir / "2")
    assert problem.what == (f"has no {QUESTIONS} (it holds extracted_actions_GT.json, images/, questions_gt.json)")
    assert "choose another questions file" in problem.fix


def test_an_empty_numbered_folder_is_a_problem(tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset()
    (data_dir / "3").mkdir()
    assert only_problem(data_dir).what == f"has no {QUESTIONS} (it is empty)"


def test_every_participant_lacks_a_questions_file_that_nobody_has(tiny_dataset: TinyDataset) -> None:
    problems = realwebassist.check(tiny_dataset(), questions="questions_Wlarge.json")
    assert [Path(problem.file).name for problem in problems] == ["1", "2"]
    assert all(problem.what.startswith("has no questions_Wlarge.json (it holds ") for problem in problems)


def test_another_questions_file_can_be_chosen_whatever_its_case(tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset(participants=1)
    (data_dir / "1" / QUESTIONS).rename(data_dir / "1" / "questions_Wlarge.json")
    assert loaded_participants(data_dir, questions="QUESTIONS_wlarge.json") == ["1"]


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    assert only_problem(tmp_path / "absent").what == "does not exist"
    (tmp_path / "file").touch()
    assert only_problem(tmp_path / "file").what == "is not a folder"


def test_a_folder_with_something_else_in_it(tmp_path: Path) -> None:
    (tmp_path / "holiday.mp4").touch()
    problem = only_problem(tmp_path)
    assert problem.what == "has no participants' folders (it holds holiday.mp4)"
    assert problem.fix == f"give the folder in which 1/{QUESTIONS} and 1/images/ lie"


def test_a_folder_with_several_data_sets(tiny_dataset: TinyDataset) -> None:
    first = tiny_dataset("all/a")
    tiny_dataset("all/b")
    problem = only_problem(first.parent)
    assert problem.what == "holds several data sets (a, b)"
    assert problem.fix == f"give one of them, such as {first}"


def test_a_data_folder_whose_name_is_a_number_is_no_participant(tiny_dataset: TinyDataset) -> None:
    assert loaded_participants(tiny_dataset("2025")) == ["1", "2"]


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="this system has no symbolic links")
def test_folders_may_be_symbolic_links(tiny_dataset: TinyDataset, tmp_path: Path) -> None:
    data_dir = tiny_dataset()
    shutil.move(data_dir / "2", tmp_path / "elsewhere")
    (data_dir / "2").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "link").symlink_to(data_dir)
    assert loaded_participants(tmp_path / "link") == ["1", "2"]
    assert loaded_participants(tmp_path / "link" / "2") == ["2"]
