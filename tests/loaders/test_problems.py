from __future__ import annotations

import copy
import pickle

import pytest

from grounding.errors import UserError
from grounding.loaders.problems import DatasetProblems, Problem, shorten

WIDTH = Problem(
    file="d/questions.json",
    item=12,
    field="bounding_box[0].width",
    value="-3",
    what="must be above 0",
    fix="correct it or set bounding_box to null",
)


def test_a_problem_is_one_line() -> None:
    assert str(WIDTH) == (
        "d/questions.json: item 12: bounding_box[0].width = -3: must be above 0; correct it or set bounding_box to null"
    )


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem(file="d", what="does not exist", fix="make it"), "d: does not exist; make it"),
        (
            Problem(file="f", item=0, field="task", what="is missing", fix="add it"),
            "f: item 0: task: is missing; add it",
        ),
        (Problem(file="f", item=0, value="3", what="is no object", fix="x"), "f: item 0: 3: is no object; x"),
    ],
)
def test_parts_that_do_not_apply_are_left_out(problem: Problem, text: str) -> None:
    assert str(problem) == text


def test_the_error_lists_every_problem() -> None:
    error = DatasetProblems([WIDTH, WIDTH])
    assert isinstance(error, UserError)
    assert error.problems == (WIDTH, WIDTH)
    assert str(error) == f"the data set has 2 problems:\n  {WIDTH}\n  {WIDTH}"


def test_the_error_lists_fifty_problems_and_counts_the_rest() -> None:
    text = str(DatasetProblems([WIDTH] * 53))
    assert text.count("must be above 0") == 50
    assert text.startswith("the data set has 53 problems:\n")
    assert text.endswith("\n  … and 3 more")


def test_one_problem_is_singular() -> None:
    assert str(DatasetProblems([WIDTH])).startswith("the data set has 1 problem:\n")


def test_the_error_can_be_sent_to_another_process() -> None:
    error = DatasetProblems([WIDTH])
    assert pickle.loads(pickle.dumps(error)).problems == error.problems  # noqa: S301
    assert copy.copy(error).problems == error.problems


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (-3.5, "-3.5"),
        ("günstig", '"günstig"'),
        ("a\x1b[31m\u202e", '"a\\u001b[31m\\u202e"'),
        ("two\nlines", '"two\\nlines"'),
        ({"x": [1]}, '{"x": [1]}'),
    ],
)
def test_values_are_shown_as_json(value: object, text: str) -> None:
    assert shorten(value) == text


def test_long_values_are_cut() -> None:
    text = shorten("a" * 500)
    assert len(text) == 60
    assert text.endswith("a…")
