"""The offline agent: what it searches for, takes for a product and prefers, and in a real browser in many shops."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.agenticshop.agents.small_shop import SITES, VIEW, Stage, staged
from grounding.benchmarks.agenticshop.agents import site_search
from grounding.benchmarks.agenticshop.agents.site_search import (
    MAX_QUERY_WORDS,
    SiteSearchAgent,
    makers_in,
    queries_of,
    rank,
    read_cards,
)
from grounding.benchmarks.agenticshop.records import Curation, Money, ProductFacts, ShopperView, Site
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder
from grounding.errors import UserError


@pytest.mark.parametrize(
    ("query", "kind", "queries"),
    [
        ("looking for a desk lamp", "Desk Lamps", ["desk lamp", "Desk Lamps"]),
        ("searching for Cinder Yard coffee", "Coffee", ["Cinder Yard coffee", "Coffee"]),
        ("want caffeine-free herbal tea", "Herbal tea", ["caffeine-free herbal tea", "Herbal tea"]),
        ("show me something", "Mugs", ["Mugs"]),
    ],
)
def test_what_was_asked_for_then_less(query: str, kind: str, queries: list[str]) -> None:
    assert queries_of(msgspec.structs.replace(VIEW, query=query, product_type=kind)) == queries
    long = msgspec.structs.replace(VIEW, query=" ".join(f"word{number}" for number in range(30)))
    assert len(queries_of(long)[0].split()) == MAX_QUERY_WORDS


EXPLORING = msgspec.structs.replace(
    VIEW, scenario="casual_browsing", product_type=None, budget=None, query="show me something"
)


def test_who_asks_for_nothing_is_searched_for_by_what_is_liked_and_wished_for() -> None:
    context = msgspec.structs.replace(VIEW.context, brand_preferences="Loves Brightwell and Heath.")
    view = msgspec.structs.replace(EXPLORING, context=context)
    assert queries_of(view) == ["Brightwell", "Heath", "dimmable"]


@pytest.mark.parametrize(
    ("text", "liked", "shunned"),
    [
        ("Loves Brightwell and Hollin & Fray, but avoids Glare.", ["Brightwell", "Hollin & Fray"], ["Glare"]),
        ("Found Pico because it is made without glue.", ["Pico"], []),
        ("A Glare lamp broke, so never again. Takes Heath, too.", ["Heath"], ["Glare"]),
        ("Cheap brands such as Glare are avoided. Owns a Glare.", [], ["Glare"]),
        ("Has no favourites.", [], []),
    ],
)
def test_makers_are_liked_or_shunned(text: str, liked: list[str], shunned: list[str]) -> None:
    assert makers_in(text) == (liked, shunned)


# --- what is a product ------------------------------------------------------------------------------------------------


SEARCHED = "http://oak.shop.test/search?q=lamp"


def card(number: int, more: str = "") -> str:
    link = f'<a href="/p/{number}"><img src="/{number}.png"><h3>Lamp {number}</h3></a>'
    return f'<li class="card">{link} <b>$30.00</b>{more}</li>'


def page(*cards: str, said: str = "4 results") -> str:
    return f"<html><body><h1>{said}</h1><ul>{''.join(cards)}</ul></body></html>"


@pytest.mark.parametrize(
    "other",
    [
        '<li class="card"><a href="/about">About us</a></li>', f"<nav>{card(9)}</nav>", f"<footer>{card(9)}</footer>",
        f"<section><h2>Sponsored</h2>{card(9)}</section>", f'<div class="promo-strip">{card(9)}</div>',
        card(9).replace("/p/9", "http://elsewhere.test/p/9"), card(9).replace("/p/9", "/"),
    ],
)  # fmt: skip
def test_products_are_read_in_the_order_of_the_page_and_nothing_else(other: str) -> None:
    found = read_cards(SEARCHED, page(card(1), card(2), other, card(3), card(1)))
    assert [url.rsplit("/", 1)[-1] for url in found] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("said", "nothing"),
    [
        ("Nothing found for “x”", True), ("We found nothing. A shorter word may help.", True), ("0 hits for “x”", True),
        ("No products match.", True), ("12 results", False), ("10 hits for lamp", False),
        ("Nothing beats a good lamp", False),
    ],
)  # fmt: skip
def test_a_page_says_that_it_has_nothing(said: str, nothing: bool) -> None:
    assert (read_cards(SEARCHED, page(card(1), said=said)) == {}) is nothing


# --- what fits --------------------------------------------------------------------------------------------------------


def lamp(title: str = "Desk Lamp", **facts: Any) -> ProductFacts:
    usual: dict[str, Any] = {
        "title": title, "brand": "Nami", "price": Money(amount=30.0, currency="USD"), "availability": "in_stock",
        "rating": 4.4, "rating_count": 100,
    }  # fmt: skip
    return ProductFacts(**{**usual, **facts})


def order(*facts: ProductFacts, view: ShopperView = VIEW) -> list[int]:
    ranked = rank(view, {str(place): one for place, one in enumerate(facts)})
    return [int(one.url) for one in ranked]


@pytest.mark.parametrize(
    "worse",
    [
        {"price": Money(amount=55.0, currency="USD")},
        {"price": Money(amount=36.0, currency="USD"), "shipping": Money(amount=8.0, currency="USD")},
        {"availability": "sold_out"}, {"rating": 3.0}, {"title": "Floor mat"}, {"title": "Lamp shade"}, {"price": None},
    ],
)  # fmt: skip
def test_the_better_one_is_first_wherever_it_was_found(worse: dict[str, Any]) -> None:
    assert order(lamp(**worse), lamp()) == [1, 0]
    assert order(lamp(), lamp(**worse)) == [0, 1]


def test_makers_and_wishes_count_and_who_wants_nothing_gets_no_two_of_a_kind() -> None:
    context = msgspec.structs.replace(VIEW.context, brand_preferences="Loves Brightwell, but avoids Glare.")
    view = msgspec.structs.replace(VIEW, context=context)
    assert order(lamp(brand="Glare"), lamp(), lamp(brand="Brightwell"), view=view) == [2, 1, 0]
    assert order(lamp(description="Plain."), lamp(description="A dimmable light.")) == [1, 0]
    facts = [lamp("Glass tea pot, 1 litre"), lamp("Glass tea pot, 2 litre"), lamp("Coffee grinder")]
    assert order(*facts) == [0, 1, 2]
    assert order(*facts, view=EXPLORING) == [0, 2, 1]


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with staged() as stage:
        yield stage


def test_without_shops_it_says_where_to_find_some() -> None:
    agent = SiteSearchAgent()
    with pytest.raises(UserError, match="sample-mall"):
        asyncio.run(agent.curate(msgspec.structs.replace(VIEW, sites=()), "k"))


@pytest.mark.slow
def test_every_kind_of_box_is_found_and_the_best_products_chosen(stage: Stage, tmp_path: Path) -> None:
    closed = Site(name="gone", home_url="http://gone.shop.test/")
    view = msgspec.structs.replace(VIEW, sites=(*SITES, closed))
    agent = SiteSearchAgent()
    agent.use(stage.web, EvidenceFolder(tmp_path / "evidence"))

    async def twice() -> tuple[Curation, Curation]:
        one, other = await asyncio.gather(agent.curate(view, "k"), agent.curate(view, "k"))
        await agent.aclose()
        return one, other

    curation, again = stage.run(twice())
    assert curation.failure is None
    chosen = [one.url for one in curation.products]
    # Two that are in stock, by the maker that is liked and within the budget; then the other within the budget.
    assert sorted(chosen[:2]) == ["http://oak.shop.test/p/lamp-1", "http://pine.shop.test/p/lamp-5"]
    assert chosen[2] == "http://pine.shop.test/p/lamp-4"
    assert [one.url for one in again.products] == chosen
    searches = {step.url: step for step in curation.trace if step.action == 'search "desk lamp"'}
    assert "http://oak.shop.test/search?q=desk+lamp" in searches
    assert len(searches["http://pine.shop.test/"].cited_urls) == 2
    assert searches["http://fir.shop.test/search?keyword=desk+lamp"].observation == "nothing was found"
    assert any(
        (step.url == closed.home_url and "no-such-host" in step.observation) or "refused" in step.observation
        for step in curation.trace
    )
    looked_at = {step.url for step in curation.trace if step.action == "look at product"}
    assert not any("promo" in url for url in looked_at)
    assert [step.kind for step in curation.trace][-3:] == ["purchase_decision"] * 3


@pytest.mark.slow
def test_a_shop_that_hangs_costs_no_more_than_its_own_products(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_search, "SHOP_S", 8.0)
    hung = Site(name="hung", home_url="http://fir.shop.test/alerts")
    view = msgspec.structs.replace(VIEW, sites=(hung, *SITES[:2]))
    agent = SiteSearchAgent()
    agent.use(stage.web, EvidenceFolder(tmp_path / "evidence"))
    curation = stage.run(agent.curate(view, "k"))
    assert len(curation.products) == 3
    (lost,) = (step for step in curation.trace if step.url == hung.home_url)
    assert "the shop was not searched within 8 s" in lost.observation
