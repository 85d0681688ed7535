from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from grounding.data.layouts.realwebassist import load
from grounding.records import HistoryEntry

from .helpers import QUESTIONS, check

if TYPE_CHECKING:
    from conftest import TinyDataset


@pytest.mark.parametrize("history", ["auto", "AUTO", "extracted_actions_gt.json", "Extracted_Actions_GT.json"])
def test_the_history_file_is_found_whatever_its_case(tiny_dataset: TinyDataset, history: str) -> None:
    dataset = load(tiny_dataset(), history=history)
    assert dataset.sessions[0].steps[2].history_entry == HistoryEntry(
        instruction="click thing 2", action="Clicked thing 2"
    )
    assert dataset.history_file.casefold() == "extracted_actions_gt.json"


def test_auto_never_mixes_two_kinds_of_history(tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset()
    (data_dir / "2" / "extracted_actions_GT.json").rename(data_dir / "2" / "extracted_actions.json")
    (problem,) = check(data_dir, history="auto")
    assert str(problem).removeprefix(str(data_dir) + "/") == (
        '2: history = "extracted_actions_gt.json": the history file is not there (it holds extracted_actions.json, '
        f"{QUESTIONS}); add it, choose another history file, have one written (grounding caption), or "
        "run without history"
    )


def test_wrong_types_in_the_history_are_problems(tiny_dataset: TinyDataset) -> None:
    data_dir = tiny_dataset(participants=1)
    entries = [{"instruction": 3}, {"extracted_action": ["click"]}, "click", {}]
    file = data_dir / "1" / "extracted_actions_GT.json"
    file.write_text(json.dumps(entries))
    assert [str(problem) for problem in check(data_dir, history="auto")] == [
        f"{file}: item 0: instruction = 3: must be text; correct it or leave the field out",
        f'{file}: item 1: extracted_action = ["click"]: must be text; correct it or leave the field out',
        f'{file}: item 2: "click": must be an object with instruction and extracted_action; correct it',
    ]
