"""What ends a task."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.errors import UserError
from grounding.records import Call
from grounding.webagents.agenticshop.agents.browsing.limits import BrowsingLimits, Repeats, dollars_left


@given(st.lists(st.floats(0, 10), max_size=20), st.floats(0.01, 50))
def test_a_limit_in_dollars_leaves_room_for_one_more_as_dear_as_any(costs: list[float], limit: float) -> None:
    calls = [Call(seconds=1.0, cost_usd=cost) for cost in costs]
    assert dollars_left(calls, limit) == (sum(costs) + max(costs, default=0) <= limit)
    assert dollars_left(calls, None)


def test_what_may_have_been_charged_counts() -> None:
    assert not dollars_left([Call(seconds=1.0, unreported_usd=0.6)], 1.0)


def test_the_same_on_the_same_page_is_noticed() -> None:
    repeats = Repeats(2)
    said = [repeats.note("page", "click 1") for _ in range(4)]
    assert said == ["fresh", "repeated", "repeated", "loop"]
    assert repeats.note("page", "click 2") == "fresh"
    assert repeats.note("other", "click 1") == "fresh"


def test_a_circle_over_two_pages_is_noticed() -> None:
    repeats = Repeats(2)
    said = [repeats.note(page, "back") for _ in range(4) for page in ("a", "b")]
    assert said.index("loop") == 6


@pytest.mark.parametrize(
    "wrong",
    [{"max_steps": 0}, {"max_seconds": 0.0}, {"max_seconds": float("inf")}, {"max_usd": 0.0}, {"max_invalid": 0},
     {"max_losses": -1}, {"max_repeats": 0}, {"max_page_seconds": -1.0}],
)  # fmt: skip
def test_limits_without_room_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UserError, match=next(iter(wrong))):
        BrowsingLimits(**wrong).checked()  # type: ignore[arg-type]
