"""What a reply is worth: the evaluation's own verdict, and terms that stay between 0 and 1."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.grounders.replies import read_reply
from grounding.pictures import picture_sizes
from grounding.records import Point, Polygon, Region, Size
from grounding.regions import distance_px, is_hit
from grounding.training.grounder.reading import judged
from grounding.training.grounder.records import GrpoRule, RewardTerm
from grounding.training.grounder.rewards import check_terms, diagonal_px, grade, narrowed
from training.grounder.steps import box, example, small_card, step

HIT, FORMAT = RewardTerm(kind="hit"), RewardTerm(kind="format")
DISTANCE = RewardTerm(kind="distance", reach=0.25)
ALL = GrpoRule(rewards=(HIT, FORMAT, DISTANCE))
CARD = small_card(image={"resize": "none"}, answer={"form": "point", "space": "original_px"})
SIZE = Size(width=300, height=400)
GOLD = box(100, 100, 140, 120)
ASKED = example(step(size=SIZE, boxes=(GOLD,)))

replies = st.one_of(
    st.text(max_size=60),
    st.builds("({},{})".format, st.integers(-50, 450), st.integers(-50, 450)),
    st.builds("[{:.2f}, {:.2f}]".format, st.floats(-1e12, 1e12), st.floats(-1e12, 1e12)),
    st.sampled_from(["(nan, nan)", "(1e400, 1)", "(" + "9" * 400 + ",1)", "", "(12", "(1,2,3,4)"]),
)


def graded(text: str, **fields: Any) -> dict[str, float]:
    return grade(ASKED, CARD, GrpoRule(**{"rewards": ALL.rewards, **fields}), text).terms


def test_a_click_in_the_gold_box_is_worth_everything() -> None:
    assert graded("(100,120)") == {"hit": 1.0, "format": 1.0, "distance": 1.0}


def test_a_near_miss_is_worth_its_nearness() -> None:
    assert diagonal_px(SIZE) == 500
    assert graded("(165,100)") == {"hit": 0.0, "format": 1.0, "distance": pytest.approx(1 - 25 / 125)}
    assert graded("(290,100)") == {"hit": 0.0, "format": 1.0, "distance": 0.0}


def test_words_are_worth_nothing() -> None:
    assert graded("there") == {"hit": 0.0, "format": 0.0, "distance": 0.0}


@given(replies)
def test_every_term_is_between_0_and_1_and_only_a_hit_is_worth_all(text: str) -> None:
    result = grade(ASKED, CARD, ALL, text)
    assert all(0.0 <= value <= 1.0 for value in result.terms.values())
    hit = judged(ASKED, CARD, text, picture_sizes(SIZE, CARD.image)).outcome == "hit"
    assert result.terms["hit"] == float(hit)
    if hit:
        assert set(result.terms.values()) == {1.0}
    assert result.terms["hit"] <= result.terms["distance"] <= result.terms["format"]


@given(st.floats(-500, 800), st.floats(-500, 800), st.floats(-500, 800), st.floats(-500, 800))
def test_what_is_farther_off_is_never_worth_more(x: float, y: float, other_x: float, other_y: float) -> None:
    def worth(x: float, y: float) -> tuple[float, float]:
        place = read_reply(f"({x:.3f},{y:.3f})", CARD.answer, picture_sizes(SIZE, CARD.image)).point
        assert place is not None
        off = distance_px(Region(boxes=(GOLD,)), place)
        assert off is not None
        return off, graded(f"({x:.3f},{y:.3f})")["distance"]

    (off, value), (other_off, other) = worth(x, y), worth(other_x, other_y)
    assert value >= other if off <= other_off else value <= other


@given(st.integers(0, 300), st.integers(0, 400))
def test_the_reward_sees_the_models_own_numbers(x: int, y: int) -> None:
    card = small_card(image={"resize": "none"}, answer={"form": "point", "space": "rel_1000"})
    place = Point(x_px=x * 300 / 1000, y_px=y * 400 / 1000)
    assert grade(ASKED, card, ALL, f"({x},{y})").terms["hit"] == float(is_hit(Region(boxes=(GOLD,)), place))


def test_the_prefill_belongs_to_the_reply() -> None:
    card = small_card(image={"resize": "none"}, answer={"form": "point", "space": "original_px"}, prefill="at (")
    assert grade(ASKED, card, ALL, "110,110)").terms["hit"] == 1.0


def test_weights_make_the_sum() -> None:
    rule = GrpoRule(rewards=(RewardTerm(kind="hit", weight=2.0), RewardTerm(kind="format", weight=0.25)))
    assert grade(ASKED, CARD, rule, "(110,110)").reward == 2.25
    assert grade(ASKED, CARD, rule, "(1,1)").reward == 0.25
    assert grade(ASKED, CARD, rule, "(110,110)").point == Point(x_px=110, y_px=110)


def test_with_one_box_only_the_first_counts() -> None:
    two = example(step(size=SIZE, boxes=(GOLD, box(200, 200, 220, 220))))
    rule = GrpoRule(rewards=(HIT,), multi_box=False)
    assert grade(two, CARD, GrpoRule(rewards=(HIT,)), "(210,210)").reward == 1.0
    assert grade(two, CARD, rule, "(210,210)").reward == 0.0
    assert grade(two, CARD, rule, "(110,110)").reward == 1.0


def test_the_first_of_polygons_too() -> None:
    shape = Polygon(points=(Point(x_px=0, y_px=0), Point(x_px=9, y_px=0), Point(x_px=0, y_px=9)))
    asked = step(polygons=(shape, shape))
    assert narrowed(asked).region == Region(polygons=(shape,))
    assert narrowed(step(boxes=(GOLD,))) == step(boxes=(GOLD,))


def test_where_the_target_is_absent_saying_so_is_right() -> None:
    card = small_card(image={"resize": "none"}, answer={"form": "point", "space": "original_px", "refusal": "none"})
    absent = example(step(region=Region(), target_absent=True))
    assert grade(absent, card, ALL, "none").terms == {"hit": 1.0, "format": 1.0, "distance": 1.0}
    assert grade(absent, card, ALL, "(1,1)").terms == {"hit": 0.0, "format": 1.0, "distance": 0.0}
    assert grade(ASKED, card, ALL, "none").terms == {"hit": 0.0, "format": 1.0, "distance": 0.0}


def test_terms_must_be_told_apart() -> None:
    check_terms([HIT, FORMAT])
    with pytest.raises(UserError, match="at least one"):
        check_terms([])
    with pytest.raises(UserError, match="distance"):
        check_terms([DISTANCE, HIT, DISTANCE])
