"""What a model was shown is kept, one picture for each step."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.make import query
from hypothesis import given
from hypothesis import strategies as st

from grounding.grounders.som.kept import KeptMarks, file_stem, keep, read_kept
from grounding.marks.regions import Mark
from grounding.records import Box, Point, Size

MARK = Mark(number=1, box=Box(left_px=0, top_px=0, right_px=4, bottom_px=2), point=Point(x_px=2, y_px=1))


def kept(step: str) -> KeptMarks:
    return KeptMarks(
        step_id=step,
        screenshot_sha256="0" * 64,
        original=Size(width=8, height=6),
        marked=Size(width=80, height=60),
        proposer="widgets 1",
        marks=(MARK,),
    )


@pytest.mark.parametrize(
    ("step", "stem"),
    [
        ("1/1", "1_1"),
        ("3/42#2", "3_42#2"),
        ("ann/shot 1", "ann_shot%201"),
        ("a_b/c", "a%5Fb_c"),
        ("a/b_c", "a_b_c"),
        ("../../etc", ".._..%2Fetc"),
        ("1/images/2", "1_images%2F2"),
    ],
)
def test_names_of_files(step: str, stem: str) -> None:
    assert file_stem(step) == stem


ids = st.text(st.characters(exclude_categories=["Cs"]), max_size=120)


@given(ids, ids, ids, ids)
def test_different_steps_have_different_files(one: str, stem: str, other: str, other_stem: str) -> None:
    first, second = f"{one.replace('/', '')}/{stem}", f"{other.replace('/', '')}/{other_stem}"
    assert (file_stem(first) == file_stem(second)) == (first == second)
    assert len(file_stem(first)) <= 150
    assert "/" not in file_stem(first)
    assert "\0" not in file_stem(first)


def test_files_of_steps_lie_side_by_side(tmp_path: Path) -> None:
    for number, step in enumerate(("1/7", "1/7#2", "2/7")):
        keep(tmp_path, query(step=step), b"picture %d" % number, kept(step))
    names = sorted(path.name for path in (tmp_path / "marks").iterdir())
    assert names == ["1_7#2.json", "1_7#2.png", "1_7.json", "1_7.png", "2_7.json", "2_7.png"]
    assert (tmp_path / "marks" / "1_7.png").read_bytes() == b"picture 0"
    assert read_kept(tmp_path / "marks" / "1_7#2.json") == kept("1/7#2")
