from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.webagents.agenticshop.agents.base import MAX_PRODUCTS
from grounding.webagents.agenticshop.agents.logs.answers import chosen_products, looks_like_product, named_products


def urls(text: str) -> list[str]:
    return [product.url for product in named_products(text)]


def test_json_goes_before_addresses() -> None:
    answer = {"search_results": [{"product_name": "A", "product_url": "https://a.example/1", "reasoning": "r"}]}
    text = f"See https://other.example/2 too.\n```json\n{json.dumps(answer)}\n```"
    assert urls(text) == ["https://a.example/1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Look at https://a.example/p/1.", ["https://a.example/p/1"]),
        ("(https://a.example/p/1)", ["https://a.example/p/1"]),
        ("https://a.example/wiki/Tea_(drink)", ["https://a.example/wiki/Tea_(drink)"]),
        ("[tea](https://a.example/p/1), https://a.example/p/2;", ["https://a.example/p/1", "https://a.example/p/2"]),
        ("https://a.example/p/1 and again https://a.example/p/1", ["https://a.example/p/1"]),
        ("from https://a.example/ this: https://a.example/p/1", ["https://a.example/p/1"]),
        ("only https://a.example/", ["https://a.example/"]),
        ("no address, javascript:alert(1), file:///etc/passwd", []),
    ],
)
def test_addresses_in_words(text: str, expected: list[str]) -> None:
    assert urls(text) == expected


def test_no_more_than_are_kept() -> None:
    assert len(named_products(" ".join(f"https://a.example/p/{number}" for number in range(50)))) == MAX_PRODUCTS


@pytest.mark.parametrize(
    ("url", "product"),
    [
        ("https://www.amazon.com/Some-Tea/dp/B000TEST01?th=1", True),
        ("https://www.walmart.com/ip/Tea/123456789", True),
        ("https://shop.example/products/alder-tea", True),
        ("https://shop.example/tea-alder-50-83721.html", True),
        ("https://shop.example/shop/dresses/linen-dress", True),
        ("https://shop.example/lamps/table-lamp-mond.html", True),
        ("https://shop.example/lamps/", False),
        ("https://shop.example/search?q=tea", False),
        ("https://shop.example/s?k=tea", False),
        ("https://shop.example/", False),
        ("https://shop.example/category/tea", False),
        ("about:blank", False),
        ("http://[broken", False),
    ],
)
def test_what_looks_like_a_product(url: str, product: bool) -> None:
    assert looks_like_product(url) is product


def test_the_last_product_page_only_without_an_address() -> None:
    pages = ["https://a.example/p/1", "https://a.example/p/2", "https://a.example/cart"]
    assert chosen_products("Done.", pages)[0][0].url == "https://a.example/p/2"
    assert chosen_products("https://b.example/p/9", pages)[0][0].url == "https://b.example/p/9"
    assert chosen_products("", [""]) == ((), "no answer")


@settings(max_examples=40)
@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    for rank, product in enumerate(named_products(text)):
        assert product.rank == rank
        assert product.url
