"""What a wrong step is, and what the reference says of it, line by line of both tables."""

from __future__ import annotations

import pytest

from analysis.looking import answer, plan, step
from grounding.analysis.labels import Kind, Said, wrong_step
from grounding.benchmarks.clicks.judging import ReferenceAnswer, reference_opinion
from grounding.records import Failure, Outcome, Plan, Prediction, Verdict


def failed(kind: str) -> Failure:
    return Failure(kind=kind, message="why")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("planned", "answered", "kind", "may_change"),
    [
        (plan(), answer(), "wrong_place", False),
        (plan(), answer(None, failure=failed("unparsed")), "no_place", False),
        (plan(), answer(float("nan")), "no_place", False),
        (plan(None, failure=failed("unparsed")), None, "no_plan", False),
        (plan(None, failure=failed("missing")), None, "no_plan", False),
        (plan(None, failure=failed("error")), None, "unanswered", True),
        (plan(), answer(None, failure=failed("error")), "unanswered", True),
        (plan(), answer(None, failure=failed("missing")), "unanswered", False),
        (plan(), None, "unanswered", True),
        (None, None, "unanswered", True),
    ],
)
def test_the_kind_of_a_wrong_step(
    planned: Plan | None, answered: Prediction | None, kind: Kind, may_change: bool
) -> None:
    found = wrong_step(step(), planned, answered)
    assert found is not None
    assert (found.kind, found.may_change) == (kind, may_change)
    assert found.is_asked == (kind in ("wrong_place", "no_place"))


def verdict(outcome: Outcome) -> Verdict:
    return Verdict(step_id="1/1", outcome=outcome, reason="because")


@pytest.mark.parametrize(
    ("text", "outcome", "said"),
    [
        (None, None, "missing"),
        ("the blue one", None, "error"),
        ("the blue one", "error", "error"),
        ("the blue one", "missing", "missing"),
        ("the blue one", "hit", "reasoning"),
        ("the blue one", "miss", "grounding"),
        ("the blue one", "unparsed", "grounding"),
        ("click it", "hit", "grounding"),
        ("click it", None, "grounding"),
    ],
)
def test_the_table(text: str | None, outcome: Outcome | None, said: Said) -> None:
    wrong = wrong_step(step(), plan("click it"), answer())
    assert wrong is not None
    given = ReferenceAnswer(text=text, verdict=None if outcome is None else verdict(outcome))
    opinion = reference_opinion(wrong, given)
    assert (opinion.source, opinion.step_id, opinion.said) == ("reference", "1/1", said)
    assert opinion.because
