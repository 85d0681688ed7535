from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("jsonschema")

from grounding.webagents.personalwab.scores import by_attempt, figures, shop_scores, shop_time, transitions
from grounding.webagents.personalwab.verdicts import Attempt, ShopVerdict


def verdict(user: str, kind: str, result: float, *, before: int = 20, seconds: float | None = None) -> ShopVerdict:
    attempt = Attempt(turn=0, name="x", function=result > 0, result=result, outcome=result)
    return ShopVerdict(
        task_id=f"{user}{kind}{result}",
        user_id=user,
        type=kind,  # type: ignore[arg-type]
        rule="paper",
        which="last",
        function=result > 0,
        result=result,
        outcome=result,
        steps=2,
        seconds=seconds,
        attempts=(attempt,),
        end="stopped",
        earlier_behaviours=before,
    )


def test_overall_is_over_all_tasks_together() -> None:
    verdicts = [verdict("a", "search", 1.0), verdict("b", "search", 0.0), verdict("a", "review", 0.4, before=3)]
    scores = shop_scores(verdicts)
    assert scores.types["search"].result.value == pytest.approx(0.5)
    assert scores.types["review"].result.value == pytest.approx(0.4)
    assert scores.types["recommend"].function.value is None
    assert scores.overall.result.value == pytest.approx(1.4 / 3)
    assert (scores.overall.function.k, scores.overall.function.n) == (2, 3)
    assert (scores.overall.tasks, scores.overall.users) == (3, 2)
    assert scores.few["overall"].tasks == 1
    assert scores.few["search"].tasks == 0
    assert scores.by_choice["best"].result.value == pytest.approx(1.4 / 3)


def test_one_users_tasks_are_drawn_together() -> None:
    apart = figures([verdict(str(place), "search", float(place % 2)) for place in range(20)])
    together = figures([verdict("a" if place % 2 else "b", "search", float(place % 2)) for place in range(20)])
    assert apart.result.value == together.result.value == 0.5
    assert (together.result.low, together.result.high) == (0.0, 1.0)
    assert apart.result.low is not None
    assert apart.result.low > 0.2


def test_times_are_of_those_that_have_one() -> None:
    found = shop_time([verdict("a", "search", 1.0, seconds=2.0), verdict("b", "search", 1.0)], wall_s=3.0, retries=1)
    assert (found.task_s["overall"].value, found.task_s["search"].n) == (2.0, 1)
    assert found.task_s["review"].value is None
    assert (found.wall_s, found.retries) == (3.0, 1)


def test_nothing_has_no_figures() -> None:
    empty = figures([])
    assert (empty.result.value, empty.result.n, empty.result.low) == (None, 0, None)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1)), min_size=1, max_size=30))
def test_a_mean_lies_in_its_interval_of_users(rows: list[tuple[str, float]]) -> None:
    found = figures([verdict(user, "search", result) for user, result in rows])
    assert found.result.value == pytest.approx(sum(result for _, result in rows) / len(rows))
    assert found.result.low is not None
    assert found.result.high is not None
    assert -1e-9 <= found.result.low <= found.result.high <= 1 + 1e-9


def test_attempts_and_transitions_are_counted() -> None:
    rows = by_attempt([verdict("a", "search", 1.0), verdict("b", "search", 0.5)])
    assert [(row.attempt, row.tasks, row.mean_result) for row in rows["search"]] == [(1, 2, 0.75)]
    assert rows["review"] == ()
    found = transitions([("search", ["search", "respond", "search"]), ("search", ["search"])])
    assert [(one.turn, one.before, one.after, one.episodes) for one in found] == [
        (0, "search", "", 1),
        (0, "search", "respond", 1),
        (1, "respond", "search", 1),
        (2, "search", "", 1),
    ]
