"""The paper's definitions by hand and written a second time, and the verdicts that they count."""

from __future__ import annotations

import math
from itertools import groupby

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding.records import Verdict
from grounding.scoring.scored import judge

from .builders import Played, answer, step

# one task: instructions of one to four steps, "." without a region
lines = st.lists(st.text("+-uem.?", min_size=1, max_size=4), min_size=1, max_size=6).map(" ".join)
played = st.dictionaries(
    st.sampled_from(["1", "2", "10"]), st.dictionaries(st.sampled_from(["a", "b", "c", 1]), lines, max_size=4)
).map(Played)


def paper(data):
    return data.summary(resamples=50).scores.paper


def test_by_hand():
    scores = paper(
        Played(
            {
                "1": {
                    "book": "+ ++ +- +",  # 5 of 6 steps, 3 of 4 instructions, 2 lead
                    "mail": ". +. -",  # 1 of 2 steps, 1 of 2 instructions, 1 leads
                    "read": "..",  # not scored
                },
                "2": {"book": "+ .. +", "find": "u +"},  # all right; nothing leads
            }
        )
    )
    assert (scores.step_accuracy.k, scores.step_accuracy.n) == (9, 12)
    assert scores.step_accuracy.value == 75
    assert (scores.instruction_accuracy.k, scores.instruction_accuracy.n) == (7, 10)
    assert scores.instruction_accuracy.value == 70
    assert scores.average_progress.value == pytest.approx((50 + 50 + 100 + 0) / 4)
    assert (scores.average_progress.k, scores.average_progress.n) == (None, 4)
    assert (scores.task_success.k, scores.task_success.n, scores.task_success.value) == (1, 4, 25)


def in_other_words(data):
    """Section 3.2 once more, from flat rows: (participant, label) -> [(instruction, is a hit)].

    A step without a verdict was never asked: it is no step, and its task none that anybody is through with.
    """
    asked = {v.step_id for v in data.verdicts}
    hits = {v.step_id for v in data.verdicts if v.outcome == "hit"}
    rows = [
        ((step.participant, step.task), step.instruction_index, step.id in hits if step.id in asked else None)
        for session in data.sessions
        for step in session.steps
        if step.region is not None
    ]
    steps = [hit for *_, hit in rows if hit is not None]
    by_task = {}
    for task, instruction, hit in rows:
        by_task.setdefault(task, []).append((instruction, hit))
    instructions = {
        task: [all(hit for _, hit in run) for _, run in groupby(pairs, lambda pair: pair[0])]
        for task, pairs in by_task.items()
        if all(hit is not None for _, hit in pairs)
    }
    flat = [right for run in instructions.values() for right in run]
    progress = [[*run, False].index(False) / len(run) for run in instructions.values()]
    success = [False not in run for run in instructions.values()]
    return [100 * sum(x) / len(x) if x else None for x in (steps, flat, progress, success)]


@settings(deadline=None, max_examples=150)
@given(played)
def test_against_a_second_writing_of_the_definitions(data):
    scores = paper(data)
    values = [
        scores.step_accuracy.value,
        scores.instruction_accuracy.value,
        scores.average_progress.value,
        scores.task_success.value,
    ]
    assert values == [pytest.approx(value) for value in in_other_words(data)]


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
