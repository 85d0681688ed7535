"""The format of people's labels: what it may hold, and what is said of a line that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.looking import answer, plan, step
from grounding.analysis.labels import Labels, WrongStep, read_labels, wrong_step
from grounding.errors import UserError

KNOWN = {"1/1": None, "1/2": None, "1/3": None}
GOOD = {"step": "1/1", "label": "reasoning", "labeller": "ann"}


def wrongs() -> list[WrongStep]:
    found = [wrong_step(step(step_id), plan("click it"), answer()) for step_id in ("1/1", "1/2")]
    return [each for each in found if each is not None]


def file(tmp_path: Path, *lines: Any, name: str = "labels.jsonl") -> Path:
    path = tmp_path / name
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines) + "\n")
    return path


def read(*paths: Path) -> Labels:
    return read_labels(paths, wrongs(), KNOWN)


def said(labels: Labels, source: str) -> list[str]:
    return [opinion.said for opinion in labels.opinions[source]]


def test_several_labellers_in_several_files(tmp_path: Path) -> None:
    one = file(tmp_path, GOOD, "", {**GOOD, "step": "1/2", "label": "unclear", "labeller": "bob b.", "note": "both?"})
    two = file(tmp_path, {**GOOD, "step": "1/2", "label": "grounding"}, name="two.jsonl")
    found = read(one, two)
    assert list(found.opinions) == ["label:ann", "label:bob b."]
    assert said(found, "label:ann") == ["reasoning", "grounding"]
    assert said(found, "label:bob b.") == ["missing", "unclear"]
    assert found.opinions["label:bob b."][1].because == "both?"
    assert found.notes == ()


def test_the_last_label_counts_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    found = read(
        file(
            tmp_path,
            GOOD,
            {**GOOD, "label": "grounding", "plan": "click it"},
            {**GOOD, "label": "unclear", "plan": "click something else"},
            {**GOOD, "step": "1/3"},
        )
    )
    assert said(found, "label:ann") == ["grounding", "missing"]
    assert [note[:22] for note in found.notes] == [
        "1 labels were replaced",
        "1 labels were for anot",
        "1 labels are for steps",
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2: not JSON"),
        ("[]", "line 2: Expected `object`"),
        ({**GOOD, "label": "wrong"}, "line 2, field label: Invalid enum value 'wrong'"),
        ({"step": "1/1", "labeller": "ann"}, "missing required field `label`"),
        ({**GOOD, "step": 7}, "line 2, field step: Expected `str`"),
        ({**GOOD, "lable": "x"}, "unknown field `lable`"),
        ({**GOOD, "step": "9/9"}, "line 2, field step: '9/9' is no step of this run"),
        ({**GOOD, "labeller": ""}, "line 2, field labeller: ''"),
        ({**GOOD, "labeller": "a\u001b[31m"}, "line 2, field labeller"),
        ({**GOOD, "labeller": "x" * 65}, "line 2, field labeller"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: Any, words: str) -> None:
    path = file(tmp_path, GOOD, line)
    with pytest.raises(UserError) as told:
        read(path)
    assert str(path) in str(told.value)
    assert words in str(told.value)
