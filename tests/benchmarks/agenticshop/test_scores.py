"""Answers to places, places to the paper's figures and the release's: rules, formulas and what is in no figure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from benchmarks.agenticshop.made import (
    CHECKLIST,
    made_curation,
    made_extraction,
    made_judgement,
    made_task,
    verdicts_of,
)
from grounding.benchmarks.agenticshop.records import (
    DIMENSIONS,
    ROWS,
    SCENARIOS,
    Attribute,
    Curation,
    Dimension,
    Extraction,
    ItemVerdict,
    Money,
    PageClass,
    ProductFacts,
    Reported,
    Scenario,
    Target,
    TraceStep,
    product_id,
    scenario_named,
)
from grounding.benchmarks.agenticshop.scores import (
    WRONG,
    Link,
    PlaceOutcome,
    PlaceVerdict,
    StoredRun,
    TaskVerdicts,
    behaviours,
    estimates,
    is_of_target,
    is_success,
    judge_scores,
    official_figures,
    spending_limits,
    task_score,
)
from grounding.errors import UserError
from grounding.records import Failure

ALL = tuple(item.id for item in CHECKLIST)
LINKS: dict[str, Link] = {
    "judged": "product",
    "unreachable": "invalid",
    "not-product": "irrelevant",
    "blocked": "blocked",
}

# --- one place -------------------------------------------------------------------------------------------------------


def verdict_of(extraction: Extraction | None, *, judged: bool = True) -> PlaceVerdict:
    task = made_task()
    judgements = {product_id(task.id, 0): made_judgement(task, 0, ALL)} if judged else {}
    return verdicts_of(task, made_curation(task, ["http://a.test/1"]), (extraction,), judgements)[0]


def outcomes_of(curation: Curation | None) -> set[PlaceOutcome]:
    return {one.outcome for one in verdicts_of(made_task(), curation)}


def test_three_places_whatever_the_agent_named():
    task = made_task()
    urls = [f"http://a.test/{rank}" for rank in range(5)]
    extractions = tuple(made_extraction(task, rank, urls[rank]) for rank in range(3))
    judgements = {product_id(task.id, rank): made_judgement(task, rank, ALL[:rank]) for rank in range(3)}
    found = verdicts_of(task, made_curation(task, urls), extractions, judgements)
    assert [(one.outcome, one.share, one.url) for one in found] == [
        ("judged", rank / 4, urls[rank]) for rank in (0, 1, 2)
    ]
    found = verdicts_of(task, made_curation(task, urls[:1]), extractions[:1], judgements)
    expected = [("judged", 0.0, 4), *[("not-curated", 0.0, 4)] * 2]
    assert [(one.outcome, one.share, len(one.items)) for one in found] == expected


@pytest.mark.parametrize(
    ("page_class", "outcome", "attribution"),
    [
        ("error", "unreachable", "invalid"),
        (None, "unreachable", "invalid"),
        ("listing", "not-product", "irrelevant"),
        ("other", "not-product", "irrelevant"),
        ("blocked", "blocked", ""),
    ],
)
def test_pages_that_are_no_products_count_for_nothing(
    page_class: PageClass | None, outcome: PlaceOutcome, attribution: str
):
    one = verdict_of(made_extraction(made_task(), 0, "http://a.test/1", page_class=page_class, facts=None))
    assert (one.outcome, one.link if one.link in WRONG else "", one.share) == (outcome, attribution, 0.0)


def test_what_is_not_done_is_open_and_what_failed_is_an_error():
    task, url = made_task(), "http://a.test/1"
    assert verdict_of(None).outcome == verdict_of(made_extraction(task, 0, url), judged=False).outcome == "open"
    broken = verdict_of(made_extraction(task, 0, url, failure=Failure(kind="error", message="browser-crashed: gone")))
    assert (broken.outcome, broken.reason) == ("error", "browser-crashed: gone")
    unread = verdict_of(made_extraction(task, 0, url, failure=Failure(kind="unparsed", message="no JSON")))
    assert (unread.outcome, unread.share) == ("unparsed", None)
    assert outcomes_of(None) == {"open"}
    for kind, outcome in (("error", "error"), ("missing", "missing"), ("unparsed", "not-curated")):
        failed = made_curation(task, [], failure=Failure(kind=kind, message="500"))  # type: ignore[arg-type]
        assert outcomes_of(failed) == {outcome}


def test_undecided_and_missing_items_are_never_satisfied_and_in_no_figure():
    task = made_task()
    said = (
        ItemVerdict(item=ALL[0], satisfied=True),
        ItemVerdict(item=ALL[1], satisfied=True, flags=("undecided",)),
        ItemVerdict(item=ALL[2], satisfied=True, flags=("quote-not-found",)),
    )
    extraction = made_extraction(task, 0, "http://a.test/0")
    judgements = {product_id(task.id, 0): made_judgement(task, 0, (), verdicts=said)}
    one = verdicts_of(task, made_curation(task, ["http://a.test/0"]), (extraction,), judgements)[0]
    assert [item.satisfied for item in one.items] == [True, False, True, False]
    assert (one.items[3].flags, one.share) == (("missing",), 1.0)
    assert msgspec.structs.replace(one, items=one.items[1:2]).share is None


@pytest.mark.parametrize(
    ("words", "low", "high", "money", "over"),
    [
        ("around $10\u2013$14 for a 24-pack", 10.0, 14.0, (14.0, "USD"), False),
        ("a 2-pack for under $30", None, 30.0, (30.01, "USD"), True),
        ("around $1,900\u2013$2,100", 1900.0, 2100.0, (300_000.0, "JPY"), None),
        ("20 \u20ac at most", None, 20.0, (30.0, ""), None),
        ("at least $40", 40.0, None, (300.0, "USD"), None),
        ("no more than 15 dollars", None, 15.0, (16.0, "USD"), None),
        ("under JPY 2,500", None, 2500.0, (3000.0, "JPY"), True),
        ("under 25", None, 25.0, (30.0, "USD"), None),
        (None, None, None, (30.0, "USD"), None),
    ],
)
def test_budgets_as_people_write_them_hold_in_their_own_currency(
    words: str | None, low: float | None, high: float | None, money: tuple[float, str], over: bool | None
):
    found = spending_limits(words)
    assert (found.low, found.high) == (low, high)
    assert found.exceeded_by(Money(amount=money[0], currency=money[1])) is over


def test_over_budget_counts_shipping_and_a_target_is_found_by_brand_and_type():
    usd = Money(amount=18.0, currency="USD")
    for shipping, over in ((Money(amount=2.5, currency="USD"), True), (None, False)):
        facts = ProductFacts(title="Tea", price=usd, shipping=shipping)
        assert verdict_of(made_extraction(made_task(), 0, "http://a.test/1", facts=facts)).over_budget is over
    task = made_task(target=Target(title="Alder black tea", brand="Alder", product_type="Teas"))
    extractions = (
        made_extraction(task, 0, "http://a.test/0"),
        made_extraction(task, 1, "http://a.test/1", facts=ProductFacts(title="Birch tea", brand="Birch")),
    )
    judgements = {product_id(task.id, rank): made_judgement(task, rank, ()) for rank in range(2)}
    places = verdicts_of(task, made_curation(task, [one.url for one in extractions]), extractions, judgements)
    assert [one.found for one in places] == [True, False, False]


@pytest.mark.parametrize(
    ("brand", "kind", "page_brand", "found"),
    [
        ("LARK & PINE", "Baking Dish", "Lark & Pine", True),
        ("Lark & Pine Kitchen Ltd", "Dessert", "Lark & Pine", True),
        ("Lark & Pine", "creme cups", "", True),
        ("Pine", "Dessert", "Lark & Pine", False),
        # A title that names another's brand beside is no proof.
        ("Lark & Pine", "Dessert", "Birch", False),
        ("Lark & Pine", "Baking Trays", "Lark & Pine", False),
        ("Lark & Pine", "the of", "Lark & Pine", False),
    ],
)
def test_brands_and_types_are_compared_as_words(brand: str, kind: str, page_brand: str, found: bool):
    facts = ProductFacts(
        title="Crème Brûlée Cups by Lark & Pine, 6 pack",
        brand=page_brand,
        categories=("Desserts",),
        attributes=(Attribute(name="Type", value="Baking dishes"),),
    )
    assert is_of_target(facts, Target(brand=brand, product_type=kind)) is found


def test_every_name_of_a_scenario_leads_back() -> None:
    assert tuple(ROWS) == SCENARIOS
    for row in ROWS.values():
        for name in (row.scenario, row.key, row.pipeline_key, row.title.upper(), row.folder):
            assert scenario_named(name) == row.scenario
    # Three scenarios share this folder, so that it names none of them.
    with pytest.raises(UserError, match="no scenario is called"):
        scenario_named("Grocery_and_Gourmet_Food")


# --- figures ---------------------------------------------------------------------------------------------------------


def place(rank: int, outcome: PlaceOutcome = "judged", user: str = "a", **more: Any) -> PlaceVerdict:
    satisfied: dict[Dimension, Sequence[bool]] = more.pop("satisfied", {})
    fields: dict[str, Any] = {
        "task": f"explicit_title/{user}",
        "user": user,
        "scenario": "explicit_title",
        "rank": rank,
        "judge": "reference",
        "outcome": outcome,
        "link": LINKS.get(outcome, ""),
        "url": "" if outcome == "not-curated" else f"http://a.test/{rank}",
        "items": tuple(
            ItemVerdict(item=f"{dimension}/{number}", satisfied=one and outcome == "judged")
            for dimension, found in satisfied.items()
            for number, one in enumerate(found)
        ),
    }
    return PlaceVerdict(**{**fields, **more})


def drawn_verdicts(seed: int) -> list[TaskVerdicts]:
    """Verdicts over drawn tasks, some places of which hold no product."""
    draw, tasks = random.Random(seed), []
    outcomes: list[PlaceOutcome] = ["judged", "judged", "judged", "unreachable", "not-product", "not-curated"]
    for user in range(12):
        scenario: Scenario = draw.choice(SCENARIOS)
        sizes = {dimension: draw.randint(0, 4) for dimension in DIMENSIONS} | {"brand_preferences": 2}
        places = []
        for rank in range(3):
            satisfied = {name: [draw.random() < 0.4 for _ in range(size)] for name, size in sizes.items()}
            places.append(place(rank, draw.choice(outcomes), f"u{user}", scenario=scenario, satisfied=satisfied))
        tasks.append(tuple(places))
    return tasks


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_the_papers_formula_on_drawn_verdicts(seed: int):
    tasks = drawn_verdicts(seed)
    scores = judge_scores("reference", tasks, seed=seed)
    # The formula of section 3.4.2, read again: mean over users, over M products, over the items of the user's list.
    totals: dict[Scenario, list[float]] = {}
    for of_user in tasks:
        shares = [sum(item.satisfied for item in one.items) / len(one.items) for one in of_user]
        totals.setdefault(of_user[0].scenario, []).append(sum(shares) / 3)
    for scenario, found in totals.items():
        assert scores.figures[scenario]["score"].value == pytest.approx(sum(found) / len(found))
    every, overall = [score for found in totals.values() for score in found], scores.figures["all tasks"]["score"]
    assert overall.value == pytest.approx(sum(every) / len(every))
    assert overall.low is not None
    assert overall.high is not None
    assert overall.low <= overall.value <= overall.high


def test_success_leaves_only_tasks_of_three_product_pages():
    half: Any = {"brand_preferences": [True, False]}
    first = tuple(place(rank, satisfied=half) for rank in range(3))
    second = tuple(place(rank, "unreachable" if rank == 2 else "judged", "b", satisfied=half) for rank in range(3))
    assert (is_success(first), is_success(second)) == (True, False)
    assert (task_score(first), task_score(second)) == (0.5, pytest.approx(1 / 3))
    scores = judge_scores("reference", (first, second))
    found = scores.figures["all tasks"]
    assert (scores.successes, found["success"].value, found["success"].n) == (1, 0.5, 1)
    # One user makes no interval.
    assert found["success"].low is None
    assert found["score"].low is not None


def test_dimensions_pooled_and_by_task():
    one: Any = {"price_sensitivity": [True], "brand_preferences": [True]}
    two: Any = {"price_sensitivity": [False] * 4}
    tasks = [
        tuple(place(rank, user=user, satisfied=said) for rank in range(3)) for user, said in (("a", one), ("b", two))
    ]
    found = judge_scores("reference", tasks).figures["all tasks"]
    assert found["price_sensitivity"].value == pytest.approx(3 / 15)
    assert found["price_sensitivity, by task"].value == pytest.approx(0.5)
    # A list without the dimension is in neither figure; a dimension that nobody has is no nought.
    assert (found["brand_preferences, by task"].n, found["review_sensitivity"].value) == (1, None)


def test_what_was_not_measured_is_in_no_figure():
    half: Any = {"brand_preferences": [True, False]}
    outcomes: tuple[PlaceOutcome, ...] = ("judged", "unparsed", "blocked")
    tasks = [tuple(place(rank, outcome, satisfied=half) for rank, outcome in enumerate(outcomes))]
    lost: tuple[PlaceOutcome, ...] = ("error", "open", "missing")
    tasks.append(tuple(place(rank, outcome, "b", satisfied=half) for rank, outcome in enumerate(lost)))
    scores = judge_scores("one", tasks)
    # Half of one product and a page that wanted to see a human; the second user was not measured at all.
    figures = scores.figures["all tasks"]
    assert (figures["score"].value, figures["score"].n, figures["unblocked"].value) == (0.25, 1, 0.5)
    assert figures["brand_preferences"].n == 4
    assert scores.unmeasured == {"error": 1, "missing": 1, "open": 1, "unparsed": 1}
    nothing = estimates([], [], {"always": lambda _one: [True]})["always"]
    assert (nothing.value, nothing.n, nothing.low) == (None, 0.0, None)


def test_errors_of_attribution_are_of_the_pages_that_could_be_looked_at():
    failed: Any = {"price_sensitivity": [False]}
    dear = place(0, has_reviews=False, satisfied=failed, over_budget=True)
    cheap = place(0, user="b", has_reviews=True, satisfied=failed, over_budget=False)
    others = place(1, "blocked", "b"), place(2, "not-curated", "b")
    tasks = [(dear, place(1, "unreachable"), place(2, "not-product")), (cheap, *others)]
    figures = judge_scores("one", tasks).figures["all tasks"]
    # Four pages could be looked at; the one that wanted to see a human says nothing of the agent.
    expected = {"blocked": (0.2, 5), "wrong": (0.5, 4), "no_review": (0.5, 2), "over_budget": (0.5, 2)}
    assert {name: (figures[name].value, figures[name].n) for name in expected} == expected
    assert figures["invalid"].value == figures["irrelevant"].value == 0.5
    open_item = ItemVerdict(item="price_sensitivity/0", satisfied=False, flags=("undecided",))
    undecided = judge_scores("one", [(place(0, items=(open_item,), over_budget=True),)])
    assert undecided.figures["all tasks"]["over_budget"].n == 0


def test_an_item_on_the_price_that_the_judge_forgot_is_no_failure():
    forgotten = ItemVerdict(item="price_sensitivity/0", satisfied=False, flags=("missing",))
    met = ItemVerdict(item="price_sensitivity/1", satisfied=True)
    scores = judge_scores("one", [(place(0, items=(forgotten, met), over_budget=True),)])
    assert scores.figures["all tasks"]["over_budget"].n == 0


def test_product_pages_without_reviews_hang_on_no_judge():
    tasks = [(place(0, "open", link="product", has_reviews=False), place(1, "unparsed", link="product"))]
    found = judge_scores("", tasks).figures["all tasks"]["no_review"]
    assert (found.value, found.n) == (1.0, 1)


def test_success_is_not_known_where_a_page_was_not_looked_at():
    product, lost = place(0), place(1, "error")
    assert is_success((product, product, lost)) is None
    assert is_success((place(0, "unreachable"), product, lost)) is False
    assert is_success((place(0, "not-curated"), product, lost)) is False
    assert is_success((product, place(1, "unparsed", link="product"))) is True


def test_a_judge_that_does_not_see_pages_has_measured_nothing_of_a_page_before_it_is_asked():
    task, urls = made_task(), ["http://a.test/0", "http://a.test/1"]
    extractions = [made_extraction(task, rank, url, page_class="error", facts=None) for rank, url in enumerate(urls)]
    first = made_judgement(task, 0, (), condition="url-only")
    for judgements, outcomes in ((first, ["judged", "open"]), (None, ["unreachable", "unreachable"])):
        said = {} if judgements is None else {product_id(task.id, 0): judgements}
        places = verdicts_of(task, made_curation(task, urls), extractions, said)
        assert [one.outcome for one in places[:2]] == outcomes


def test_a_search_succeeds_with_one_product_of_the_target():
    said = {"a": (False, True, False), "b": (False, False, None), "c": (None, None, None)}
    tasks = [tuple(place(rank, user=user, found=one) for rank, one in enumerate(of)) for user, of in said.items()]
    found = judge_scores("one", tasks).figures["explicit_title"]["found"]
    assert (found.value, found.n) == (0.5, 2)


def test_steps_are_counted_by_what_they_are_for():
    seeking, comparing = (
        TraceStep(action="x", kind=kind) for kind in ("information_seeking", "alternative_evaluation")
    )
    first, second = made_task("a"), made_task("b")
    trace = (seeking, comparing, comparing, TraceStep(action="scroll"))
    curations = {
        first.id: made_curation(first, [], trace=trace),
        second.id: made_curation(second, [], trace=(seeking,)),
    }
    run = StoredRun(tasks=(first, second), curations=curations, extractions={}, judgements={})
    found = behaviours(run)
    assert (found.steps, found.labelled, found.steps_per_task) == (5, 4, 2.5)
    assert found.shares["information_seeking"].value == pytest.approx(0.5)
    assert behaviours(msgspec.structs.replace(run, curations={})).steps_per_task is None
    # Where nobody asked the agent what its steps are for, there is no figure.
    assert behaviours(run, says_why=False).shares == {}


# --- the release's arithmetic ---------------------------------------------------------------------------------------


def said(percentage: float | None, **dimensions: str) -> Reported:
    return Reported(satisfaction_percentage=percentage, dimensions=dimensions)


def test_percentages_are_averaged_as_the_judge_wrote_them_and_dimensions_are_summed_within_a_user():
    # A judge that answers 0.5 and means 50 is averaged as 0.5; what is no sum of a dimension is nought.
    one = said(50.0, price_sensitivity="1 / 3", review_sensitivity="2 of 3")
    users: list[TaskVerdicts] = [
        (place(0, reported=one), place(1, reported=said(0.5, price_sensitivity="2/3", review_sensitivity="66%"))),
        (place(0, user="b", reported=said(30.0, price_sensitivity="0/0", review_sensitivity=f"{'9' * 5_000}/1")),),
        # A user without reports adds nought, and one without products is absent.
        (place(0, "unreachable", "c"),),
        tuple(place(rank, "not-curated", "d") for rank in range(3)),
        (place(0, "error", "e", url=""),),
        (place(0, "missing", "f", link=""),),
    ]
    found = official_figures(users)
    assert found.satisfaction_percentage == pytest.approx((25.25 + 30.0 + 0) / 3, abs=1e-4)
    assert (found.users, found.products) == (3, 3)
    assert found.dimensions["price_sensitivity"] == pytest.approx(50 / 3, abs=1e-4)
    assert found.dimensions["review_sensitivity"] == 0.0
