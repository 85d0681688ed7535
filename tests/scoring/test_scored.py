from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.records import Failure, Plan, Session, Verdict
from grounding.scoring.scored import judge
from scoring.builders import judge_all

from .builders import BUTTON, Played, answer, step


def test_steps_are_put_beside_their_verdicts_by_task():
    sessions = Played({"1": {"a": "+. -+", "b": "..", "c": "?"}, "2": {"a": "u"}}).joined()
    assert [s.participant for s in sessions] == ["1", "2"]
    assert [s.skipped for s in sessions] == [3, 0]
    assert [[t.label for t in s.tasks] for s in sessions] == [["a", "c"], ["a"]]  # nothing of b is scored
    outcomes = [[scored.verdict.outcome for scored in task.steps] for task in sessions[0].tasks]
    assert outcomes == [["hit", "miss", "hit"], ["missing"]]


@pytest.mark.parametrize(
    ("line", "hits"),
    [
        ("+", (True,)),
        ("++ +- -", (True, False, False)),
        (".+ .. +", (True, True)),  # the second instruction has no scored step
        ("u e m ?", (False,) * 4),
    ],
)
def test_an_instruction_is_right_when_all_its_scored_steps_are(line, hits):
    (session,) = Played({"1": {"t": line}}).joined()
    assert session.tasks[0].instruction_hits() == hits


def plan(name="1/1", failure=None):
    return Plan(step_id=name, key="k", text=None if failure else "click Send", failure=failure)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 10**400])
def test_coordinates_that_are_not_finite_are_unparsed(bad):
    verdict = judge(step(), None, answer("1/1", bad, 15))
    assert verdict.outcome == "unparsed"
    assert verdict.point is None
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict


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
