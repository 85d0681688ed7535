"""Which links of a page are products."""

from __future__ import annotations

from typing import Any

import pytest

from grounding.webagents.agenticshop.agents.searching.cards import MAX_CARDS, read_results

Told = dict[str, Any]
HERE = "http://oak.shop.test/search?q=lamp"


def told(number: int = 1, **more: Any) -> Told:
    plain: Told = {
        "href": f"http://oak.shop.test/p/{number}", "link": f"Lamp {number}", "named": "", "alt": "",
        "text": f"Lamp {number} $30.00", "picture": True, "price": True, "alike": 4, "links": 1, "area": "",
        "marks": "card", "heading": "4 results", "top": 100 * number,
    }  # fmt: skip
    return {**plain, **more}


def page(*cards: Told, said: str = "4 results", url: str = HERE) -> Told:
    return {"url": url, "title": "Search", "cards": list(cards), "said": said}


def urls(*cards: Told, **more: Any) -> list[str]:
    return [card.url.rsplit("/", 1)[-1] for card in read_results(page(*cards, **more)).cards]


def test_blocks_with_link_price_and_picture_are_products_in_the_order_of_the_page() -> None:
    assert urls(told(2), told(1), told(3)) == ["1", "2", "3"]


@pytest.mark.parametrize(
    "other",
    [
        {"price": False},
        {"picture": False, "alike": 1},
        {"area": "nav"},
        {"area": "footer"},
        {"area": "aside"},
        {"heading": "Sponsored"},
        {"heading": "You may also like"},
        {"marks": "promo-strip"},
        {"marks": "sponsored_products"},
        {"href": "http://elsewhere.test/p/9"},
        {"href": "http://oak.shop.test/"},
        {"links": 30},
        {"link": "Details", "text": "$30"},
    ],
)
def test_what_is_no_result_is_left_out(other: dict[str, Any]) -> None:
    assert urls(told(1), told(9, **other)) == ["1"]


def test_several_links_to_one_product_are_one_with_its_longest_name() -> None:
    found = read_results(page(told(1, link=""), told(1, link="Oak lamp with shade"), told(1, link="More"))).cards
    assert [(card.name, card.place) for card in found] == [("Oak lamp with shade", 0)]


def test_a_heading_in_the_block_names_it() -> None:
    assert read_results(page(told(1, named="Arc", link="Arc $30.00 in stock"))).cards[0].name == "Arc"


def test_shops_of_one_name_are_one_shop() -> None:
    assert urls(told(1, href="http://www.oak.shop.test/p/1"), told(2, href="http://cdn.oak.shop.test/p/2")) == [
        "1",
        "2",
    ]


@pytest.mark.parametrize(
    "said",
    ["Nothing found for “x”", "We found nothing. A shorter word may help.", "0 hits for “x”", "No products match."],
)
def test_a_page_that_says_so_has_nothing(said: str) -> None:
    assert read_results(page(said=said)).nothing


@pytest.mark.parametrize("said", ["12 results", "30 products found", "10 hits for lamp", "Nothing beats a good lamp"])
def test_a_page_with_results_does_not_have_nothing(said: str) -> None:
    assert not read_results(page(told(), said=said)).nothing


def test_sold_out_products_are_marked() -> None:
    assert read_results(page(told(1, text="Lamp $3 · sold out"))).cards[0].sold_out
    assert not read_results(page(told(1))).cards[0].sold_out


def test_links_without_prices_are_the_shops_shelves() -> None:
    found = read_results(page(told(1), told(2, price=False, link="Rugs"), told(3, price=False, link="x" * 50)))
    assert found.shelves == ("Rugs",)


def test_there_is_an_end_to_them_and_to_nonsense() -> None:
    assert len(read_results(page(*[told(number) for number in range(1, 200)])).cards) == MAX_CARDS
    for meddled in (None, {}, {"url": 1}, page({"href": "x"})):
        with pytest.raises(ValueError, match="can't be read"):
            read_results(meddled)
