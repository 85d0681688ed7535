from __future__ import annotations

import math

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding.records import Verdict
from grounding.scoring.scored import judge

from .builders import Played, answer, step


def test_steps_are_put_beside_their_verdicts_by_task():
    sessions = Played({"1": {"a": "+. -+", "b": "..", "c": "?"}, "2": {"a": "u"}}).joined()
    assert [s.participant for s in sessions] == ["1", "2"]
    assert [s.skipped for s in sessions] == [3, 0]
    assert [[t.label for t in s.tasks] for s in sessions] == [["a", "c"], ["a"]]  # nothing of b is scored
    outcomes = [[scored.verdict.outcome for scored in task.steps] for task in sessions[0].tasks]
    assert outcomes == [["hit", "miss", "hit"], ["missing"]]


@settings(deadline=None)
@given(st.floats(), st.floats())
@example(math.nan, 15)
@example(15, -math.inf)
def test_any_answer_gets_a_verdict_that_can_be_stored(x, y):
    verdict = judge(step(), None, answer("1/1", x, y))
    assert (verdict.outcome == "unparsed") == (verdict.point is None) == (not (math.isfinite(x) and math.isfinite(y)))
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict
