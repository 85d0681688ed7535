from __future__ import annotations

import pytest

from grounding.webagents.agenticshop.records import Curation, TraceStep
from grounding.webagents.agenticshop.scores.behaviour import (
    attribution_figures,
    behaviours,
    search_success,
    seconds_per_task,
)
from grounding.webagents.agenticshop.scores.verdicts import ItemResult, PlaceOutcome, PlaceVerdict


def place(rank: int, outcome: PlaceOutcome, user: str = "a", **more: object) -> PlaceVerdict:
    fields: dict[str, object] = {
        "task": f"explicit_title/{user}",
        "user": user,
        "scenario": "explicit_title",
        "rank": rank,
        "judge": "rules",
        "outcome": outcome,
        "url": "" if outcome == "not-curated" else f"http://a.test/{rank}",
    }
    return PlaceVerdict(**{**fields, **more})  # type: ignore[arg-type]


PRICE = (ItemResult(dimension="price_sensitivity", item="price_sensitivity/0", satisfied=False),)


def test_errors_are_of_the_pages_that_could_be_looked_at():
    tasks = [
        (place(0, "judged", has_reviews=False), place(1, "unreachable"), place(2, "not-product")),
        (place(0, "judged", "b", has_reviews=True), place(1, "blocked", "b"), place(2, "not-curated", "b")),
    ]
    found = attribution_figures(tasks)
    assert (found.products, found.blocked) == (5, 1)
    # Four pages could be looked at; the one that wanted to see a human says nothing of the agent.
    assert (found.error.value, found.error.n) == (0.5, 4)
    assert (found.invalid.value, found.irrelevant.value) == (0.5, 0.5)
    assert (found.no_review.value, found.no_review.n) == (0.5, 2)


def test_over_budget_is_of_the_products_that_fail_on_the_price():
    undecided = (ItemResult(dimension="price_sensitivity", item="x", satisfied=False, flags=("undecided",)),)
    tasks = [
        (
            place(0, "judged", items=PRICE, over_budget=True),
            place(1, "judged", items=PRICE, over_budget=False),
            place(2, "judged", items=undecided, over_budget=True),
        )
    ]
    found = attribution_figures(tasks).over_budget
    assert (found.value, found.n) == (0.5, 2)


def test_a_search_succeeds_with_one_product_of_the_target():
    tasks = [
        (place(0, "judged", found=False), place(1, "judged", found=True), place(2, "not-curated", found=False)),
        (place(0, "judged", "b", found=False), place(1, "unreachable", "b", found=False), place(2, "judged", "b")),
        (place(0, "judged", "c"), place(1, "judged", "c"), place(2, "judged", "c")),
    ]
    found = search_success(tasks)
    assert list(found) == ["explicit_title"]
    assert (found["explicit_title"].value, found["explicit_title"].n) == (0.5, 2)


def test_steps_are_counted_by_what_they_are_for():
    seeking = TraceStep(action="search", kind="information_seeking")
    comparing = TraceStep(action="open", kind="alternative_evaluation")
    silent = TraceStep(action="scroll")
    curations = [
        Curation(step_id="explicit_title/a", key="k", trace=(seeking, comparing, comparing, silent), seconds=4.0),
        Curation(step_id="explicit_title/b", key="k", trace=(seeking,), seconds=2.0),
    ]
    found = behaviours(curations, {"explicit_title/a": "a", "explicit_title/b": "b"})
    assert (found.steps, found.labelled, found.steps_per_task, seconds_per_task(curations)) == (5, 4, 2.5, 3.0)
    assert found.shares["information_seeking"].value == pytest.approx(0.5)
    assert sum(one.value or 0 for one in found.shares.values()) == pytest.approx(1.0)
    assert behaviours([], {}).steps_per_task is None
