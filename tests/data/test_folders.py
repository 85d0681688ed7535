from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grounding.data.layouts import realwebassist

from .helpers import only_problem

if TYPE_CHECKING:
    from conftest import TinyDataset


def loaded_participants(data_dir: Path, **options: object) -> list[str]:
    return [session.participant for session in realwebassist.load(data_dir, **options).sessions]  # type: ignore[arg-type]


def test_participants_come_in_natural_order(tiny_dataset: TinyDataset) -> None:
    assert loaded_participants(tiny_dataset(participants=11, steps=1)) == [str(n) for n in range(1, 12)]


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


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    assert only_problem(tmp_path / "absent").what == "does not exist"
    (tmp_path / "file").touch()
    assert only_problem(tmp_path / "file").what == "is not a folder"


def test_a_folder_with_several_data_sets(tiny_dataset: TinyDataset) -> None:
    first = tiny_dataset("all/a")
    tiny_dataset("all/b")
    problem = only_problem(first.parent)
    assert problem.what == "holds several data sets (a, b)"
    assert problem.fix == f"give one of them, such as {first}"
