"""Replies to places: what is read, what is not, and that no reply whatever can do harm."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grounding.cards import AnswerRule
from grounding.geometry import ModelBox, ModelPoint
from grounding.grounders.base import MAX_REPLY_CHARS, read_answer


def read(reply: str, **rule: Any) -> tuple[float, ...] | None:
    """The numbers that are read from a reply: two for a point, four for a box."""
    place = read_answer(reply, msgspec.convert({"form": "point", "space": "rel_1000", **rule}, AnswerRule))
    if place is None:
        return None
    assert place.space == "rel_1000"
    return (place.x, place.y) if isinstance(place, ModelPoint) else (place.x1, place.y1, place.x2, place.y2)


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ("(10, 20)", (10, 20)),
        ("[10, 20]", (10, 20)),
        (" (  10\n,\t20 ) ", (10, 20)),
        ("(10.5, 20.25)", (10.5, 20.25)),
        ("(0.73, 0.21)", (0.73, 0.21)),
        ("(-3, +4)", (-3, 4)),
        ("<point>[[10, 20]]</point>", (10, 20)),
        ('{"coordinate": [10, 20]}', (10, 20)),
        ("(1, 2) or (3, 4)", (1, 2)),
        ("点击(10, 20)按钮", (10, 20)),
        # Nothing but the numbers.
        ("10, 20", (10, 20)),
        ("10, 20<|im_end|>", (10, 20)),
        # Not a point.
        ("", None),
        ("at 10, 20", None),
        ("10, 20, 30", None),
        ("(10 20)", None),
        ("(10, 20", None),
        ("(10, )", None),
        ("(--1, 2)", None),
    ],
)
def test_points(reply: str, place: tuple[float, float] | None) -> None:
    assert read(reply) == place


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ("[1, 2, 3, 4]", (1, 2, 3, 4)),
        ("(1,2),(3,4)", (1, 2, 3, 4)),
        ("[[1,2],[3,4]]", (1, 2, 3, 4)),
        ("<|box_start|>(576,12),(592,42)<|box_end|>", (576, 12, 592, 42)),
        ("[30, 40, 10, 20]", (30, 40, 10, 20)),  # corners are put in order later
        ("[1,2,3,4] [5,6,7,8]", (1, 2, 3, 4)),
        ("(1, 2)", None),
        ("[1, 2, 3]", None),
    ],
)
def test_boxes(reply: str, place: tuple[float, ...] | None) -> None:
    assert read(reply, form="box") == place


@pytest.mark.parametrize(
    "reply",
    ["I can't find (10, 20).", "(10, 20)? Sorry, NOT POSSIBLE", "terminate\n(10, 20)", "[-1, -1]", "( -1,-1 )"],
)
@pytest.mark.parametrize("match", ["first", "last"])
def test_a_refusal_comes_before_any_number(reply: str, match: str) -> None:
    refusal = r"(?i)can't|not possible|^terminate|[\[(]\s*-1\s*,\s*-1\s*[\])]"
    assert read(reply, match=match, refusal=refusal) is None
    assert read("(10, 20)", match=match, refusal=refusal) == (10, 20)


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ("b(1,2)", (1, 2)),
        ("a(1,2) b(3,4)", (3, 4)),  # the first pattern that is found at all, wherever it stands
        ("a(1,2) a(5,6)", (1, 2)),
        ("c(1,2)", None),
    ],
)
def test_patterns_are_tried_in_turn(reply: str, place: tuple[float, float] | None) -> None:
    assert read(reply, pattern=[r"b\((\d),(\d)\)", r"a\((\d),(\d)\)"]) == place


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ("<think>(9, 9)</think><answer>(1, 2)</answer> (8, 8)", (1, 2)),
        ("<answer>(1, 2)</answer><answer>(3, 4)</answer>", (1, 2)),
        ("<answer>\n(1,\n2)\n</answer>", (1, 2)),
        ("<answer>no, I can't</answer>", None),
        ("<think>no (9, 9)</think><answer>(1, 2)</answer>", (1, 2)),  # a refusal counts in the answer alone
        ("(1, 2)", None),
        ("<answer>(1, 2)", None),
        ("<answer></answer>(1, 2)", None),
    ],
)
def test_only_the_part_that_holds_the_answer_is_read(reply: str, place: tuple[float, float] | None) -> None:
    rule = {"within": "(?s)<answer>(.*?)</answer>", "refusal": "no"}
    assert read(reply, **rule) == place


@pytest.mark.parametrize(
    ("reply", "space"),
    [
        ("[0.73, 0.21]", "rel_1"),
        ("[730, 210]", "rel_1000"),
        ("[0, 1]", "rel_1"),
        ("[0, 2]", "rel_1000"),
        ("[1.02, 0.5]", "rel_1"),  # outside, not on the grid
        ("(100,200),(300,400)", "rel_1000"),
    ],
)
def test_whole_numbers_above_1_are_on_the_grid_that_the_card_names(reply: str, space: str) -> None:
    rule = AnswerRule(form="point_or_box", space="rel_1", whole_numbers="rel_1000")
    place = read_answer(reply, rule)
    assert place is not None
    assert place.space == space
    plain = read_answer(reply, AnswerRule(form="point_or_box", space="rel_1"))
    assert plain is not None
    assert plain.space == "rel_1"


def test_of_a_long_reply_the_beginning_is_read_or_the_end() -> None:
    filler = "word " * 200_000  # a megabyte
    assert len(filler) > MAX_REPLY_CHARS
    assert read("(1, 2)" + filler + "(3, 4)") == (1, 2)
    assert read("(1, 2)" + filler + "(3, 4)", match="last") == (3, 4)
    assert read(filler + "(3, 4)") is None
    assert read("no" + filler + "(3, 4)", refusal="^no") is None


HOSTILE = [
    "(" + "1" * 1_000_000,
    "(1," + "1" * 1_000_000,
    "(1,2,3," + "1" * 1_000_000,
    "(" + " " * 1_000_000,
    "(1" + " " * 1_000_000,
    "(" * 1_000_000,
    "(1,2" * 250_000,
    "(1,2)," * 200_000,
    "-." * 500_000,
    "(1." + "0" * 1_000_000,
    "[" + "1,2,3," * 200_000,
]


@pytest.mark.parametrize("reply", HOSTILE, ids=lambda reply: repr(reply[:8]))
@pytest.mark.parametrize("form", ["point", "box", "point_or_box"])
@pytest.mark.parametrize("match", ["first", "last"])
@pytest.mark.timeout(5)  # the slow way took minutes: every run of digits was cut at every place
def test_a_megabyte_made_to_hurt(reply: str, form: str, match: str) -> None:
    rule = AnswerRule(form=form, space="rel_1", match=match)  # type: ignore[arg-type]
    place = read_answer(reply, rule)
    assert place is None or "(1,2)" in reply


rules = st.builds(
    AnswerRule,
    form=st.sampled_from(["point", "box", "point_or_box"]),
    space=st.just("rel_1"),
    match=st.sampled_from(["first", "last"]),
    pattern=st.none(),
    refusal=st.sampled_from([None, "no", r"^\s*$"]),
) | st.builds(
    AnswerRule,
    form=st.just("point"),
    space=st.just("rel_1"),
    match=st.sampled_from(["first", "last"]),
    pattern=st.sampled_from([r"(.*),(.*)", r"(\S*) (\S*)", r"([^(]+)|(\d+)"]),
)
odd_text = st.text(st.sampled_from("0123456789.,-+()[] \n٣e_∞"), max_size=200)


@given(st.text() | odd_text, rules)
@example("(" + "9" * 400 + ", 1)", AnswerRule(form="point", space="rel_1"))
def test_no_reply_can_do_more_than_name_a_place(reply: str, rule: AnswerRule) -> None:
    place = read_answer(reply, rule)
    if isinstance(place, ModelPoint):
        assert rule.form != "box"
        assert all(math.isfinite(number) for number in (place.x, place.y))
    elif isinstance(place, ModelBox):
        assert rule.form != "point"
        assert all(math.isfinite(number) for number in (place.x1, place.y1, place.x2, place.y2))
    else:
        assert place is None


number = st.integers(-9999, 9999) | st.decimals(-9999, 9999, places=2)


@given(*[number] * 4, st.sampled_from(["({}, {}, {}, {})", "[{},{},{},{}]", "({},{}),({},{})", "[[{},{}],[{},{}]]"]))
def test_every_box_that_is_written_is_read(x1: float, y1: float, x2: float, y2: float, form: str) -> None:
    assert read(form.format(x1, y1, x2, y2), form="box") == tuple(map(float, (x1, y1, x2, y2)))
