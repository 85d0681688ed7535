from __future__ import annotations

import pytest

from grounding.records import Failure
from grounding.webagents.agenticshop.records import (
    Extraction,
    ItemVerdict,
    Money,
    PageClass,
    ProductFacts,
    Target,
    product_id,
)
from grounding.webagents.agenticshop.scores.verdicts import Answers, PlaceOutcome, place_verdicts
from webagents.agenticshop.made import CHECKLIST, made_curation, made_extraction, made_judgement, made_task

ALL = tuple(item.id for item in CHECKLIST)


def verdict_of(extraction: Extraction | None, judged: bool = True):
    task = made_task()
    judgements = {product_id(task.id, 0): made_judgement(task, 0, ALL)} if judged else {}
    answers = Answers(curation=made_curation(task, ["http://a.test/1"]), extractions=(extraction,))
    return place_verdicts(task, answers, judgements, "rules")[0]


def test_three_places_whatever_the_agent_named():
    task = made_task()
    urls = [f"http://a.test/{rank}" for rank in range(5)]
    answers = Answers(
        curation=made_curation(task, urls),
        extractions=tuple(made_extraction(task, rank, urls[rank]) for rank in range(3)),
    )
    judgements = {product_id(task.id, rank): made_judgement(task, rank, ALL[:rank]) for rank in range(3)}
    found = place_verdicts(task, answers, judgements, "rules")
    assert [one.outcome for one in found] == ["judged"] * 3
    assert [one.share for one in found] == [0.0, 0.25, 0.5]
    assert [one.url for one in found] == urls[:3]


def test_empty_places_satisfy_nothing():
    task = made_task()
    answers = Answers(
        curation=made_curation(task, ["http://a.test/0"]), extractions=(made_extraction(task, 0, "http://a.test/0"),)
    )
    found = place_verdicts(task, answers, {product_id(task.id, 0): made_judgement(task, 0, ALL)}, "rules")
    assert [one.outcome for one in found] == ["judged", "not-curated", "not-curated"]
    assert [one.share for one in found] == [1.0, 0.0, 0.0]
    assert all(len(one.items) == len(CHECKLIST) for one in found)


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
    task = made_task()
    one = verdict_of(made_extraction(task, 0, "http://a.test/1", page_class=page_class, facts=None))
    assert (one.outcome, one.attribution, one.share) == (outcome, attribution, 0.0)


def test_what_is_not_done_is_open_and_what_failed_is_an_error():
    task = made_task()
    assert verdict_of(None).outcome == "open"
    assert verdict_of(made_extraction(task, 0, "http://a.test/1"), judged=False).outcome == "open"
    broken = made_extraction(task, 0, "http://a.test/1", failure=Failure(kind="error", message="browser-crashed: gone"))
    assert (verdict_of(broken).outcome, verdict_of(broken).reason) == ("error", "browser-crashed: gone")
    unread = made_extraction(task, 0, "http://a.test/1", failure=Failure(kind="unparsed", message="no JSON"))
    assert verdict_of(unread).outcome == "not-judged"
    no_answer = place_verdicts(task, Answers(), {}, "rules")
    assert {one.outcome for one in no_answer} == {"open"}
    failed = made_curation(task, [], failure=Failure(kind="error", message="500"))
    assert {one.outcome for one in place_verdicts(task, Answers(curation=failed), {}, "rules")} == {"error"}
    unparsed = made_curation(task, [], failure=Failure(kind="unparsed", message="no list"))
    assert {one.outcome for one in place_verdicts(task, Answers(curation=unparsed), {}, "rules")} == {"not-curated"}


def test_undecided_and_missing_items_are_never_satisfied():
    task = made_task()
    said = (
        ItemVerdict(item=ALL[0], satisfied=True),
        ItemVerdict(item=ALL[1], satisfied=True, flags=("undecided",)),
        ItemVerdict(item=ALL[2], satisfied=True, flags=("quote-not-found",)),
    )
    judgement = made_judgement(task, 0, (), verdicts=said)
    answers = Answers(
        curation=made_curation(task, ["http://a.test/0"]), extractions=(made_extraction(task, 0, "http://a.test/0"),)
    )
    items = place_verdicts(task, answers, {product_id(task.id, 0): judgement}, "rules")[0].items
    assert [one.satisfied for one in items] == [True, False, True, False]
    assert items[3].flags == ("missing",)


def test_over_budget_counts_shipping_where_it_is_known():
    task = made_task()

    def over(**facts: Money | None) -> bool | None:
        found = made_extraction(task, 0, "http://a.test/1", facts=ProductFacts(title="Tea", **facts))
        return verdict_of(found).over_budget

    usd = "USD"
    assert over(price=Money(amount=20.0, currency=usd)) is False
    assert over(price=Money(amount=18.0, currency=usd), shipping=Money(amount=2.5, currency=usd)) is True
    assert over(price=None) is None


def test_a_target_is_found_by_brand_and_type():
    task = made_task(target=Target(title="Alder black tea", brand="Alder", product_type="Teas"))
    answers = Answers(
        curation=made_curation(task, ["http://a.test/0", "http://a.test/1"]),
        extractions=(
            made_extraction(task, 0, "http://a.test/0"),
            made_extraction(task, 1, "http://a.test/1", facts=ProductFacts(title="Birch tea", brand="Birch")),
        ),
    )
    judgements = {product_id(task.id, rank): made_judgement(task, rank, ()) for rank in range(2)}
    assert [one.found for one in place_verdicts(task, answers, judgements, "rules")] == [True, False, False]
