"""What fits a need, by what a page says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from grounding.webagents.agenticshop.agents.searching.ranking import (
    Candidate,
    different,
    need_of,
    quick_points,
    rank,
)
from grounding.webagents.agenticshop.records import Money, ProductFacts, ShopperView
from webagents.agenticshop.agents.small_shop import VIEW

NEED = need_of(VIEW)


def lamp(title: str = "Desk Lamp", **facts: Any) -> ProductFacts:
    usual: dict[str, Any] = {
        "title": title, "brand": "Nami", "price": Money(amount=30.0, currency="USD"), "availability": "in_stock",
        "rating": 4.4, "rating_count": 100,
    }  # fmt: skip
    return ProductFacts(**{**usual, **facts})


def order(*facts: ProductFacts, view: ShopperView = VIEW) -> list[int]:
    candidates = [Candidate(url=f"http://x.test/{place}", place=place, facts=one) for place, one in enumerate(facts)]
    return [one.candidate.place for one in rank(need_of(view), candidates)]


def test_a_need_knows_words_makers_and_the_limit() -> None:
    assert NEED.asked == NEED.kind == ("desk", "lamp")
    assert (NEED.liked, NEED.shunned, NEED.most) == (("Brightwell",), (), 40.0)


@pytest.mark.parametrize(
    "worse",
    [
        {"price": Money(amount=55.0, currency="USD")},
        {"price": Money(amount=36.0, currency="USD"), "shipping": Money(amount=8.0, currency="USD")},
        {"availability": "sold_out"},
        {"rating": 3.0},
        {"title": "Floor mat"},
        {"title": "Lamp shade"},
        {"price": None},
    ],
)
def test_the_better_one_is_first_wherever_it_was_found(worse: dict[str, Any]) -> None:
    bad = lamp(**worse) if "title" not in worse else lamp(worse["title"])
    assert order(bad, lamp()) == [1, 0]
    assert order(lamp(), bad) == [0, 1]


def test_makers_that_are_liked_or_shunned_count() -> None:
    context = msgspec.structs.replace(VIEW.context, brand_preferences="Loves Brightwell, but avoids Glare.")
    view = msgspec.structs.replace(VIEW, context=context)
    assert order(lamp(brand="Glare"), lamp(), lamp(brand="Brightwell"), view=view) == [2, 1, 0]


def test_wishes_tell_equal_products_apart() -> None:
    assert order(lamp(description="Plain."), lamp(description="A dimmable light.")) == [1, 0]


def test_equals_stay_in_the_order_in_which_they_were_found() -> None:
    assert order(lamp(), lamp(), lamp()) == [0, 1, 2]
    assert order() == []


def test_a_quick_look_prefers_what_was_asked_for() -> None:
    assert quick_points(NEED, "Brightwell desk lamp $20", sold_out=False) > quick_points(
        NEED, "Desk lamp $20", sold_out=False
    )
    assert quick_points(NEED, "Desk lamp $20", sold_out=False) > quick_points(NEED, "Desk lamp $20", sold_out=True)
    assert quick_points(NEED, "Wool rug", sold_out=False) < 0


def test_who_wants_nothing_in_particular_gets_no_two_of_a_kind_first() -> None:
    facts = [lamp("Glass tea pot, 1 litre"), lamp("Glass tea pot, 2 litre"), lamp("Coffee grinder")]
    judged = rank(NEED, [Candidate(url=str(place), place=place, facts=one) for place, one in enumerate(facts)])
    assert [one.candidate.place for one in judged] == [0, 1, 2]
    assert [one.candidate.place for one in different(judged)] == [0, 2, 1]
