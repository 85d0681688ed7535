"""What a problem says, and what is wrong with a JSON file."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.data.fields import DatasetProblems, Problem, read_json_list, shorten

WIDTH = Problem(
    file="d/questions.json",
    item=12,
    field="bounding_box[0].width",
    value="-3",
    what="must be above 0",
    fix="correct it or set bounding_box to null",
)


def test_problems_are_lines_of_one_error() -> None:
    line = f"d/questions.json: item 12: bounding_box[0].width = -3: must be above 0; {WIDTH.fix}"
    assert str(WIDTH) == line
    assert str(DatasetProblems([WIDTH])) == f"the data set has 1 problem:\n  {line}"
    text = str(DatasetProblems([WIDTH] * 53))
    assert text.startswith("the data set has 53 problems:\n")
    assert (text.count("must be above 0"), text.endswith("\n  … and 3 more")) == (50, True)
    error = DatasetProblems([WIDTH])  # It comes back from other processes.
    assert pickle.loads(pickle.dumps(error)).problems == copy.copy(error).problems == (WIDTH,)  # noqa: S301


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ("günstig", '"günstig"'),
        ("a\x1b[31m\u202e", '"a\\u001b[31m\\u202e"'),
        ({"x": [1]}, '{"x": [1]}'),
        ("a" * 500, '"' + "a" * 58 + "…"),
    ],
)
def test_values_are_shown_as_json(value: object, text: str) -> None:
    assert shorten(value) == text


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b" \n", "is empty"),
        (b"[]", "holds an empty list"),
        (b'{"a": 1}', "must hold a list"),
        (b'[1,\n "\xc3\xa4" x]', "is not JSON: line 2, column 6: "),
        (b"[NaN]", "is not JSON: line 1, column "),
        (b"[1, 1e999]", "holds a number out of range"),
        (b'["ok",\n "\xff"]', "is not UTF-8"),
        (b"[" * 100_000, "is nested too deeply"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_place(tmp_path: Path, content: bytes, what: str) -> None:
    (tmp_path / "f.json").write_bytes(content)
    problems: list[Problem] = []
    assert read_json_list(tmp_path / "f.json", problems) is None
    (problem,) = problems
    assert problem.what.startswith(what)
    assert problem.file == str(tmp_path / "f.json")


@given(st.binary(max_size=60))
def test_any_bytes_give_items_or_one_problem(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(b"\xef\xbb\xbf[" + content)  # A byte order mark is passed over.
    problems: list[Problem] = []
    assert (read_json_list(path, problems) is None) == (len(problems) == 1)
