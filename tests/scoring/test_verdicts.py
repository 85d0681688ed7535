import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.records import Failure, Plan, Polygon, Prediction, Region, Session, Verdict
from grounding.scoring import judge, judge_all

from .builders import BUTTON, answer, box, point, step

KINDS = ["unparsed", "missing", "error"]


def plan(name="1/1", failure=None):
    return Plan(step_id=name, key="k", text=None if failure else "click Send", failure=failure)


@pytest.mark.parametrize(("x", "y"), [(15, 15), (10, 10), (20, 10), (10, 20), (20, 20), (10, 15.5), (20, 12)])
def test_a_point_inside_or_on_an_edge_hits(x, y):
    assert judge(step(), None, answer("1/1", x, y)) == Verdict(
        step_id="1/1", outcome="hit", point=point(x, y), distance_px=0.0
    )


def test_a_point_outside_misses_by_its_distance():
    assert judge(step(), None, answer("1/1", 23, 24)) == Verdict(
        step_id="1/1", outcome="miss", point=point(23, 24), distance_px=5.0
    )


def test_any_of_several_shapes():
    corners = tuple(point(x, y) for x, y in ((100, 0), (110, 0), (100, 10)))
    region = Region(boxes=(*BUTTON.boxes, box(50, 50, 60, 60)), polygons=(Polygon(points=corners),))
    assert judge(step(region=region), None, answer("1/1", 60, 60)).outcome == "hit"
    assert judge(step(region=region), None, answer("1/1", 102, 2)).outcome == "hit"
    assert judge(step(region=region), None, answer("1/1", 109, 9)).outcome == "miss"


def test_a_region_without_shapes_cannot_be_hit():
    assert judge(step(region=Region()), None, answer("1/1", 0, 0)) == Verdict(
        step_id="1/1", outcome="miss", point=point(0, 0)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_prediction_gives_its_kind(kind):
    failed = Prediction(step_id="1/1", key="k", point=None, failure=Failure(kind=kind, message="why"))
    assert judge(step(), plan(), failed) == Verdict(step_id="1/1", outcome=kind, reason="why")


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_plan_gives_its_kind_where_there_is_no_prediction(kind):
    failed = plan(failure=Failure(kind=kind, message="why"))
    assert judge(step(), failed, None) == Verdict(step_id="1/1", outcome=kind, reason="planner: why")


def test_a_prediction_goes_before_a_failed_plan():
    failed = plan(failure=Failure(kind="error", message="why"))
    assert judge(step(), failed, answer("1/1", 15, 15)).outcome == "hit"


@pytest.mark.parametrize("only", [None, plan()])
def test_a_step_that_was_never_asked_is_missing(only):
    assert judge(step(), only, None) == Verdict(step_id="1/1", outcome="missing", reason="never asked")


def test_a_reply_without_a_point_is_unparsed():
    silent = Prediction(step_id="1/1", key="k", point=None, raw="I cannot see it.")
    assert judge(step(), None, silent).outcome == "unparsed"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 10**400])
def test_coordinates_that_are_not_finite_are_unparsed(bad):
    verdict = judge(step(), None, answer("1/1", bad, 15))
    assert verdict.outcome == "unparsed"
    assert verdict.point is None
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict


def test_a_step_without_a_region_is_not_judged():
    with pytest.raises(ValueError, match="1/1 has no region"):
        judge(step(region=None), None, None)


def test_all_scored_steps_get_one_verdict_in_order():
    session = Session(participant="1", steps=tuple(step(f"1/{i}", None if i == 2 else BUTTON) for i in range(1, 6)))
    plans = [plan("1/4", Failure(kind="error", message="503"))]
    predictions = [answer("1/3", 0, 0), answer("1/1", 0, 0), answer("1/1", 15, 15), answer("9/9", 1, 1)]
    verdicts = judge_all([session], plans, predictions)
    assert [(v.step_id, v.outcome) for v in verdicts] == [
        ("1/1", "hit"),  # the later prediction counts
        ("1/3", "miss"),
        ("1/4", "error"),
        ("1/5", "missing"),
    ]


@settings(deadline=None)
@given(st.floats(allow_nan=True), st.floats(allow_nan=True))
def test_any_answer_gets_a_verdict_that_can_be_stored(x, y):
    verdict = judge(step(), None, answer("1/1", x, y))
    assert verdict.outcome in {"hit", "miss", "unparsed"}
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict
