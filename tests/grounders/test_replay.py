"""Answers recorded elsewhere: what a line may say, and how a wrong one is refused with its number."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from fakes.make import query
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.grounders.base import SavedPredictions
from grounding.records import Box, Point, Prediction

STEPS = ["1/1", "1/2", "1/3", "2/1"]


def saved(path: Path, content: str | bytes) -> SavedPredictions:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return SavedPredictions(path, STEPS)


def answer(grounder: SavedPredictions, step: str = "1/1") -> Prediction:
    return asyncio.run(grounder.ground(query(step=step)))


@pytest.mark.parametrize("corners", [[10, 20, 30, 50], [30, 50, 10, 20], [30, 20, 10, 50]])
def test_a_box_stands_for_its_middle_whatever_the_order_of_corners(tmp_path: Path, corners: list[int]) -> None:
    found = answer(saved(tmp_path / "a.jsonl", json.dumps({"step": "1/1", "box": corners})))
    assert found.point == Point(x_px=20, y_px=35)
    assert found.box == Box(left_px=10, top_px=20, right_px=30, bottom_px=50)
    assert found.failure is None


def test_a_null_may_say_that_there_is_no_such_place(tmp_path: Path) -> None:
    found = answer(saved(tmp_path / "a.jsonl", '{"step": "1/1", "point": null, "declined": true}'))
    assert found.declined
    assert found.point is None
    assert found.failure is not None
    assert not answer(saved(tmp_path / "b.jsonl", '{"step": "1/1", "point": null}')).declined
    with pytest.raises(UserError, match='"declined" says that there is no such place'):
        saved(tmp_path / "c.jsonl", '{"step": "1/1", "point": [1, 2], "declined": true}')


GOOD = '{"step": "1/1", "point": [1, 2]}\n\n'


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"step": "1/2", "point": [1, 2', "truncated; expected"),
        ("not JSON", "malformed"),
        ('{"step": "1/2", "point": [NaN, 2]}', "malformed"),
        ('{"step": "1/2", "point": [Infinity, 2]}', "malformed"),
        ('{"step": "1/2", "point": [1e999, 2]}', "Number out of range"),
        ('{"step": "1/2", "point": [-1e999, 2]}', "Number out of range"),
        (f'{{"step": "1/2", "point": [{"9" * 400}, 2]}}', "Number out of range"),
        ('{"step": "1/2", "point": [1]}', "length 2"),
        ('{"step": "1/2", "point": [1, 2, 3]}', "length 2"),
        ('{"step": "1/2", "point": [1, null]}', "Expected `float`, got `null`"),
        ('{"step": "1/2", "point": ["1", "2"]}', "Expected `float`, got `str`"),
        ('{"step": "1/2", "point": {"x": 1, "y": 2}}', "Expected `array | null`, got `object`"),
        ('{"step": "1/2", "box": [1, 2]}', "length 4"),
        ('{"step": 12, "point": [1, 2]}', "Expected `str`, got `int`"),
        ('{"point": [1, 2]}', "missing required field `step`"),
        ("null", "Expected `object`, got `null`"),
        ("[]", "Expected `object`, got `array`"),
        ('{"step": "1/2", "x": ' + "[" * 100_000, "recursion depth exceeded"),
        ('{"step": "1/2"}', 'exactly one of "point" and "box"'),
        ('{"step": "1/2", "point": [1, 2], "box": [1, 2, 3, 4]}', 'exactly one of "point" and "box"'),
        ('{"step": "1/2", "point": null, "box": null}', 'exactly one of "point" and "box"'),
        ('{"step": "1/2", "box": [1e308, 0, 1.7e308, 0]}', "too large to have a middle"),
        ('{"step": "1/9", "point": [1, 2]}', "the data set has no step '1/9' (its ids look like 1/1)"),
        ('{"step": "", "point": [1, 2]}', "the data set has no step ''"),
        ('{"step": "1/1", "point": [1, 2]}', "step 1/1 has a line already; keep one"),
        ('{"step": "1/1", "point": null}', "step 1/1 has a line already; keep one"),
    ],
)
def test_a_wrong_line_is_refused_with_its_number(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "a.jsonl"
    with pytest.raises(UserError) as caught:
        saved(path, GOOD + line + "\n")
    assert str(caught.value).startswith(f"--predictions {path}, line 3: ")
    assert words in str(caught.value)


places = (
    st.none()
    | st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2)
    | st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=4)
)


@given(st.dictionaries(st.sampled_from(STEPS), places))
def test_everything_that_was_recorded_is_played_back(
    tmp_path_factory: pytest.TempPathFactory, recorded: dict[str, Any]
) -> None:
    lines = [
        json.dumps({"step": step, "box" if place is not None and len(place) == 4 else "point": place})
        for step, place in recorded.items()
    ]
    grounder = saved(tmp_path_factory.mktemp("replay") / "a.jsonl", "\n".join(lines))
    for step in STEPS:
        found = answer(grounder, step)
        place = recorded.get(step)
        assert (found.point is None) == (place is None) == (found.failure is not None)
        if place is not None and len(place) == 2:
            assert (found.point.x_px, found.point.y_px) == tuple(place) if found.point else False
        assert (found.box is not None) == (place is not None and len(place) == 4)
