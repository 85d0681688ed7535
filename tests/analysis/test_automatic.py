"""What the reference says, line by line of its table."""

from __future__ import annotations

import pytest

from analysis.looking import answer, plan, step
from grounding.analysis.labels import Said, wrong_step
from grounding.benchmarks.clicks.judging import ReferenceAnswer, reference_opinion
from grounding.records import Outcome, Verdict


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
