from __future__ import annotations

import random

import pytest

from grounding.webagents.agenticshop.records import COUNTED_PRODUCTS, DIMENSIONS, SCENARIOS, Dimension, Scenario
from grounding.webagents.agenticshop.scores.figures import Parts, estimates
from grounding.webagents.agenticshop.scores.judged import by_task, is_success, judge_scores, task_score
from grounding.webagents.agenticshop.scores.verdicts import ItemResult, PlaceOutcome, PlaceVerdict


def place(
    user: str,
    rank: int,
    satisfied: dict[Dimension, list[bool]],
    outcome: PlaceOutcome = "judged",
    scenario: Scenario = "explicit_title",
) -> PlaceVerdict:
    items = tuple(
        ItemResult(dimension=dimension, item=f"{dimension}/{number}", satisfied=one and outcome == "judged")
        for dimension, found in satisfied.items()
        for number, one in enumerate(found)
    )
    return PlaceVerdict(
        task=f"{scenario}/{user}",
        user=user,
        scenario=scenario,
        rank=rank,
        judge="rules",
        outcome=outcome,
        url=f"http://a.test/{user}/{rank}",
        items=items,
    )


def drawn_verdicts(seed: int) -> list[PlaceVerdict]:
    """Verdicts over drawn tasks, some places of which hold no product."""
    draw = random.Random(seed)
    verdicts = []
    for user in range(12):
        scenario = draw.choice(SCENARIOS)
        sizes = {dimension: draw.randint(0, 4) for dimension in DIMENSIONS}
        sizes["brand_preferences"] += 1
        for rank in range(COUNTED_PRODUCTS):
            satisfied = {name: [draw.random() < 0.4 for _ in range(size)] for name, size in sizes.items()}
            outcome = draw.choice(("judged", "judged", "judged", "unreachable", "not-product", "not-curated"))
            verdicts.append(place(f"u{user}", rank, satisfied, outcome, scenario))
    return verdicts


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_the_papers_formula_on_drawn_verdicts(seed: int):
    verdicts = drawn_verdicts(seed)
    scores = judge_scores("rules", by_task(verdicts), seed=seed)
    # The formula of section 3.4.2, read again: mean over users, over M products, over the items of the user's list.
    totals: dict[str, list[float]] = {}
    for scenario in SCENARIOS:
        users = sorted({one.user for one in verdicts if one.scenario == scenario})
        for user in users:
            of_user = [one for one in verdicts if one.user == user and one.scenario == scenario]
            total = 0.0
            for one in of_user:
                total += sum(1.0 for item in one.items if item.satisfied) / len(one.items)
            totals.setdefault(scenario, []).append(total / COUNTED_PRODUCTS)
    for scenario, found in totals.items():
        assert scores.scenarios[scenario].all.value == pytest.approx(sum(found) / len(found))  # type: ignore[index]
    every = [score for found in totals.values() for score in found]
    assert scores.overall.all.value == pytest.approx(sum(every) / len(every))
    assert scores.overall.all.low <= scores.overall.all.value <= scores.overall.all.high  # type: ignore[operator]


def test_success_leaves_only_tasks_of_three_product_pages():
    good = {"brand_preferences": [True, False]}
    verdicts = [place("a", rank, good) for rank in range(3)]  # type: ignore[arg-type]
    verdicts += [place("b", rank, good, "unreachable" if rank == 2 else "judged") for rank in range(3)]  # type: ignore[arg-type]
    first, second = by_task(verdicts)
    assert (is_success(first), is_success(second)) == (True, False)
    assert (task_score(first), task_score(second)) == (0.5, pytest.approx(1 / 3))
    score = judge_scores("rules", (first, second)).overall
    assert (score.successes, score.success.value, score.success.n) == (1, 0.5, 1)
    # One user makes no interval.
    assert score.success.low is None
    assert score.all.low is not None


def test_dimensions_pooled_and_by_task():
    verdicts = [place("a", rank, {"price_sensitivity": [True], "brand_preferences": [True]}) for rank in range(3)] + [
        place("b", rank, {"price_sensitivity": [False] * 4}) for rank in range(3)
    ]
    scores = judge_scores("rules", by_task(verdicts))
    assert scores.dimensions["price_sensitivity"].pooled.value == pytest.approx(3 / 15)
    assert scores.dimensions["price_sensitivity"].macro.value == pytest.approx(0.5)
    # A list without the dimension is in neither figure; a dimension that nobody has is no nought.
    assert scores.dimensions["brand_preferences"].macro.n == 1
    assert scores.dimensions["review_sensitivity"].pooled.value is None


def test_an_estimate_over_nothing_is_none():
    (nothing,) = estimates([], (lambda _one: Parts(above=1.0, below=1.0),), lambda one: one)
    assert (nothing.value, nothing.n, nothing.low) == (None, 0.0, None)
