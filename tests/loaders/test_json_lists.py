from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.loaders.json_lists import read_json_list
from grounding.loaders.problems import Problem


def read(path: Path, content: bytes) -> tuple[list[object] | None, list[Problem]]:
    path.write_bytes(content)
    problems: list[Problem] = []
    return read_json_list(path, problems), problems


def problem(path: Path, content: bytes) -> Problem:
    items, problems = read(path, content)
    assert items is None
    assert len(problems) == 1
    assert problems[0].file == str(path)
    assert problems[0].item is None
    return problems[0]


def test_a_list_is_decoded(tmp_path: Path) -> None:
    assert read(tmp_path / "f", b' [1, 2.5, true, null, "\xc3\xa9\\ud83d\\ude00", {"a": []}] ') == (
        [1, 2.5, True, None, "é😀", {"a": []}],
        [],
    )


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    assert read(tmp_path / "f", b"\xef\xbb\xbf[1]") == ([1], [])


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty"),
        (b" \n\t", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"[]", "holds an empty list"),
        (b'[\n  {"a": 1},\n  {"b" 2}\n]', "is not JSON: line 3, column 8: Expecting ':' delimiter"),
        (b'["\xc3\xa9\xc3\xa9" 1]', "is not JSON: line 1, column 7: Expecting ',' delimiter"),
        (b'[{"a": 1}', "is not JSON: line 1, column 10: Expecting ',' delimiter"),
        (b'["abc', "is not JSON: line 1, column 2: Unterminated string"),
        (b"[1] 2", "is not JSON: line 1, column 5: Extra data"),
        (b'[\n{"x": NaN}]', "is not JSON: line 2, column 7: NaN is not a JSON number"),
        (b'["NaN", "\\"", -Infinity]', "is not JSON: line 1, column 15: -Infinity is not a JSON number"),
        (b"[Infinity, ]", "is not JSON: line 1, column 2: Infinity is not a JSON number"),
        (b'["\\ud800"]', "is not JSON"),
        (b"[1, 1e999]", "holds a number out of range: Number out of range - at `$[1]`"),
        (b'["ok",\n "\xff"]', "is not UTF-8 (line 2, column 3)"),
        ("[1]".encode("utf-16"), "is not UTF-8 (line 1, column 1)"),
        (b"[" * 100_000, "is nested too deeply"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, content: bytes, what: str) -> None:
    found = problem(tmp_path / "f.json", content)
    assert found.what.startswith(what)
    assert found.fix


def test_the_top_level_must_be_a_list(tmp_path: Path) -> None:
    found = problem(tmp_path / "f", b'{"questions": []}')
    assert (found.value, found.what) == ('{"questions": []}', "must hold a list, one element per step")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(b"[1]")
    path.chmod(0)
    problems: list[Problem] = []
    assert read_json_list(path, problems) is None
    assert problems[0].what == "cannot be read (Permission denied)"


@given(st.binary(max_size=60))
def test_any_bytes_give_items_or_one_problem(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    items, problems = read(path, b"[" + content)
    assert (items is None) == (len(problems) == 1)
