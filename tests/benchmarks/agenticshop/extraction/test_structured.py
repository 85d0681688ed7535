"""Data for machines: all three kinds out of HTML, bounded, and no page breaks the reading."""

from __future__ import annotations

import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.benchmarks.agenticshop.extraction.document import MAX_BLOCKS, PageData, read_data, structured_data
from grounding.benchmarks.agenticshop.records import Attribute, Money, StructuredData

from .pages import URL, html_of, json_ld, offer_json


def data_of(head: str, body: str = "", *, url: str = URL, title: str = "") -> PageData:
    return read_data(structured_data(html_of(body, head=head), url), url, title)


def script(content: str, kind: str = "application/ld+json") -> str:
    return f'<script type="{kind}">{content}</script>'


MICRODATA = (
    '<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">Copper Kettle 1.7 L</h1>'
    '<span itemprop="brand" itemscope itemtype="https://schema.org/Brand"><b itemprop="name">Harbour</b></span>'
    '<div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><meta itemprop="priceCurrency" content="EUR">'
    '<span itemprop="price" content="58.00">58,00 €</span>'
    '<link itemprop="availability" href="https://schema.org/SoldOut"></div>'
    '<div itemprop="aggregateRating" itemscope itemtype="https://schema.org/AggregateRating">'
    '<meta itemprop="bestRating" content="10"><b itemprop="ratingValue">9.4</b> '
    '<i itemprop="ratingCount">1,134</i></div></div>'
)
OPENGRAPH = (
    '<meta property="og:type" content="product"><meta property="og:title" content="Copper Kettle 1.7 L">'
    '<meta property="product:price:amount" content="12.50"><meta property="product:price:currency" content="GBP">'
    '<meta property="product:availability" content="in stock">'
)


def test_json_ld_says_what_it_says() -> None:
    head = json_ld(
        brand='{"@type": "Brand", "name": "Harbour"}',
        offers=offer_json("49.00", availability='"https://schema.org/InStock"', seller='{"name": "Quay &amp; Co"}'),
        aggregateRating='{"ratingValue": 4.4, "ratingCount": 31, "reviewCount": 12}',
        additionalProperty='[{"@type": "PropertyValue", "name": "Capacity", "value": "1.7 l"}]',
    )
    facts = data_of(head).facts
    assert (facts.brand, facts.seller, facts.availability) == ("Harbour", "Quay & Co", "in_stock")
    assert (facts.price, facts.rating, facts.rating_count) == (Money(amount=49.0, currency="USD"), 4.4, 31)
    assert facts.attributes == (Attribute(name="Capacity", value="1.7 l"),)


def test_json_ld_may_call_its_product_so_in_small_letters() -> None:
    found = data_of(script('{"@type": "product", "name": "Kettle", "offers": {"price": "49", "priceCurrency": "USD"}}'))
    assert (found.source, found.facts.title) == ("json-ld", "Kettle")
    assert found.facts.price == Money(amount=49.0, currency="USD")


def test_microdata_says_the_same_things_and_opengraph_is_taken_where_nothing_else_is() -> None:
    found = data_of("", MICRODATA, title="Copper Kettle 1.7 L")
    facts = found.facts
    assert (found.source, facts.price, facts.brand) == ("microdata", Money(amount=58.0, currency="EUR"), "Harbour")
    assert (facts.availability, facts.rating, facts.rating_count) == ("sold_out", 4.7, 1134)
    html = html_of(MICRODATA, head=json_ld(offers=offer_json("49.00")) + OPENGRAPH)
    assert [block.source for block in structured_data(html, URL)] == ["json-ld", "microdata", "opengraph"]
    found = data_of(OPENGRAPH)
    assert (found.source, found.facts.availability) == ("opengraph", "in_stock")
    assert found.facts.price == Money(amount=12.5, currency="GBP")


@pytest.mark.parametrize(
    ("offers", "query", "amount"),
    [
        (f"[{offer_json('15')}, {offer_json('12')}]", "", 12.0),
        ('{"@type": "AggregateOffer", "lowPrice": "9", "highPrice": "20", "priceCurrency": "USD"}', "", 9.0),
        (f"[{offer_json('12')}, {offer_json('15', url=json.dumps(URL + '?form=2'))}]", "?form=2", 15.0),
        ('{"priceSpecification": {"price": "7,50", "priceCurrency": "EUR"}}', "", 7.5),
    ],
)
def test_the_price_is_that_of_the_pages_own_address_or_the_least(offers: str, query: str, amount: float) -> None:
    price = data_of(json_ld(offers=offers), url=URL + query).facts.price
    assert price is not None
    assert price.amount == amount


def test_the_main_product_is_the_one_that_the_page_names() -> None:
    head = "".join(script(f'{{"@type": "Product", "name": "Kettle {one}"}}') for one in "ab")
    head += json_ld(offers=offer_json("49"))
    assert data_of(head, title="Copper Kettle 1.7 L").facts.price == Money(amount=49.0, currency="USD")
    assert data_of(head, title="Something else").source == ""


# --- harm -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Application/LD+JSON", "application/ld+json; charset=utf-8"])
@pytest.mark.parametrize(
    "broken", ["{", "", "null", "[" * 50_000, '{"a": ' * 50_000, "1" * 50_000, "<!-- -->", '{"a": "\x00"', "undefined"]
)
def test_a_broken_block_takes_no_other_with_it(broken: str, kind: str) -> None:
    html = html_of("", head=script(broken) + script('// a comment\n{"@type": "Product", "name": "a",}', kind))
    assert [json.loads(one.json).get("name") for one in structured_data(html, URL)] == ["a"]


def test_too_much_is_left_out() -> None:
    many = "".join(script('{"@type": "Thing"}') for _ in range(MAX_BLOCKS + 20))
    assert len(structured_data(html_of("", head=many), URL)) == MAX_BLOCKS
    large = script(json.dumps({"@type": "Product", "x": ["y" * 19_000] * 11}))
    assert structured_data(html_of("", head=large), URL) == ()
    nodes = "<b itemprop=name>x</b>" * 20_000
    began = time.perf_counter()
    assert structured_data(html_of(f'<div itemscope itemtype="a/Product">{nodes}</div>'), URL) == ()
    assert time.perf_counter() - began < 10


KEYS = ["@type", "@graph", "offers", "price", "name", "review", "aggregateRating", "properties", "type"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
        max_leaves=30,
    )
)
def test_any_json_is_read(value: object) -> None:
    node = {"@type": "Product", "offers": value, "aggregateRating": value, "review": value, "brand": value}
    text = msgspec.json.encode([node, value]).decode()
    read_data([StructuredData(source="json-ld", json=text), StructuredData(source="opengraph", json=text)], URL)
