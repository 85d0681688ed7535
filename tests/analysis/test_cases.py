"""The table of wrong steps, line by line."""

from __future__ import annotations

import pytest

from analysis.looking import answer, plan, step
from grounding.analysis.labels import Kind, wrong_step
from grounding.records import Failure, Plan, Prediction


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
