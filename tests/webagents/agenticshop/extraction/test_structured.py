"""Data for machines: all three kinds out of HTML, bounded, and no page breaks the reading."""

from __future__ import annotations

import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.webagents.agenticshop.extraction.products import read_data
from grounding.webagents.agenticshop.extraction.structured import MAX_BLOCK_CHARS, MAX_BLOCKS, structured_data
from grounding.webagents.agenticshop.records import Attribute, Money, StructuredData, Variant

from .pages import URL, html_of, json_ld, offer_json


def sources(html: str) -> list[str]:
    return [block.source for block in structured_data(html, URL)]


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
    '<i itemprop="ratingCount">1,134</i></div>'
    '<div itemprop="review" itemscope itemtype="https://schema.org/Review"><p itemprop="reviewBody">'
    "Quick.</p></div></div>"
)
OPENGRAPH = (
    '<meta property="og:type" content="product"><meta property="og:title" content="Copper Kettle 1.7 L">'
    '<meta property="product:price:amount" content="12.50"><meta property="product:price:currency" content="GBP">'
    '<meta property="product:availability" content="in stock">'
)


def test_all_three_kinds_in_their_order() -> None:
    html = html_of(MICRODATA, head=json_ld(offers=offer_json("49.00")) + OPENGRAPH)
    assert sources(html) == ["json-ld", "microdata", "opengraph"]


def test_json_ld_says_what_it_says() -> None:
    head = json_ld(
        brand='{"@type": "Brand", "name": "Harbour"}',
        offers=offer_json(
            "49.00",
            availability='"https://schema.org/InStock"',
            seller='{"name": "Quay &amp; Co"}',
            shippingDetails='[{"shippingRate": {"value": "9.95", "currency": "USD"}}, '
            '{"shippingRate": {"value": 4.95, "currency": "USD"}}]',
        ),
        aggregateRating='{"ratingValue": 4.4, "ratingCount": 31, "reviewCount": 12}',
        review='[{"@type": "Review", "name": "Good", "reviewBody": "Boils fast.", "reviewRating": '
        '{"ratingValue": "4"}}]',
        additionalProperty='[{"@type": "PropertyValue", "name": "Capacity", "value": "1.7 l"}]',
        material='"Copper"',
        image='["a.png", "b.png"]',
    )
    main = read_data(structured_data(html_of("<h1>Copper Kettle 1.7 L</h1>", head=head), URL), URL).main
    assert main is not None
    assert (main.brand, main.seller) == ("Harbour", "Quay & Co")
    assert main.price == Money(amount=49.0, currency="USD")
    assert main.shipping == Money(amount=4.95, currency="USD")
    assert main.availability == "in_stock"
    assert (main.rating, main.ratings_count, main.reviews_count) == (4.4, 31, 12)
    assert [(one.title, one.text, one.rating) for one in main.reviews] == [("Good", "Boils fast.", 4.0)]
    assert main.attributes == (Attribute(name="Capacity", value="1.7 l"), Attribute(name="material", value="Copper"))
    assert main.picture_count == 2


def test_microdata_says_the_same_things() -> None:
    main = read_data(structured_data(html_of(MICRODATA), URL), URL, "Copper Kettle 1.7 L").main
    assert main is not None
    assert main.source == "microdata"
    assert main.price == Money(amount=58.0, currency="EUR")
    assert main.availability == "sold_out"
    assert (main.brand, main.rating, main.ratings_count) == ("Harbour", 4.7, 1134)
    assert [one.text for one in main.reviews] == ["Quick."]


def test_opengraph_is_taken_where_nothing_else_is() -> None:
    main = read_data(structured_data(html_of("", head=OPENGRAPH), URL), URL).main
    assert main is not None
    assert (main.source, main.price, main.availability) == ("opengraph", Money(amount=12.5, currency="GBP"), "in_stock")


@pytest.mark.parametrize("kind", ["application/ld+json", "Application/LD+JSON", "application/ld+json; charset=utf-8"])
def test_every_way_to_mark_json_ld(kind: str) -> None:
    assert sources(html_of("", head=script('{"@type": "Product"}', kind))) == ["json-ld"]


@pytest.mark.parametrize(
    "broken",
    ["{", "", "null", "[" * 50_000, '{"a": ' * 50_000, "1" * 50_000, "<!-- -->", '{"a": "\x00"', "undefined"],
)
def test_a_broken_block_takes_no_other_with_it(broken: str) -> None:
    html = html_of("", head=script(broken) + script('{"@type": "Product", "name": "a"}'))
    assert [json.loads(one.json).get("name") for one in structured_data(html, URL)] == ["a"]


def test_comments_and_trailing_commas_are_forgiven() -> None:
    assert sources(html_of("", head=script('// a comment\n[{"@type": "Product",},]'))) == ["json-ld"]


def test_numbers_that_json_does_not_have() -> None:
    head = json_ld(price="NaN", weight="1e999", sku="123456789012345678901234567890", name_='"\\ud800"')
    (block,) = structured_data(html_of("", head=head), URL)
    found = json.loads(block.json)
    assert found["price"] is None
    assert found["weight"] is None
    assert found["sku"] == "123456789012345678901234567890"


def test_too_much_is_left_out() -> None:
    many = "".join(script('{"@type": "Thing"}') for _ in range(MAX_BLOCKS + 20))
    assert len(structured_data(html_of("", head=many), URL)) == MAX_BLOCKS
    large = script(json.dumps({"@type": "Product", "x": ["y" * 19_000] * (MAX_BLOCK_CHARS // 19_000 + 1)}))
    assert structured_data(html_of("", head=large), URL) == ()
    nodes = "<b itemprop=name>x</b>" * 20_000
    began = time.perf_counter()
    assert structured_data(html_of(f'<div itemscope itemtype="a/Product">{nodes}</div>'), URL) == ()
    assert time.perf_counter() - began < 10


@pytest.mark.parametrize(
    "html", ["", " ", "<!-- -->", "<p>", "\0", "<div>" * 5_000, "\ud800", "<html>", "&#0;&#x110000;"]
)
def test_odd_documents(html: str) -> None:
    assert structured_data(html, URL) == ()


@given(st.text(max_size=400))
def test_no_script_breaks_it(content: str) -> None:
    for block in structured_data(html_of("", head=script(content)), URL):
        read_data([block], URL)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    ["@type", "@graph", "offers", "price", "name", "review", "aggregateRating", "hasVariant"]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=30,
    )
)
def test_any_json_is_read_without_a_word(value: object) -> None:
    text = json.dumps({"@type": "Product", "offers": value, "aggregateRating": value, "review": value, "brand": value})
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:  # NaN, which other programs write.
        text = text.replace("NaN", "null").replace("-Infinity", "null").replace("Infinity", "null")
    read_data([StructuredData(source="json-ld", json=text)], URL)


def test_the_main_product_is_the_one_that_the_page_names() -> None:
    others = "".join(
        script(f'{{"@type": "Product", "name": "Kettle {one}", "offers": {offer_json("1")}}}') for one in "ab"
    )
    head = others + json_ld(offers=offer_json("49"))
    data = read_data(structured_data(html_of("", head=head), URL), URL, "Copper Kettle 1.7 L")
    assert data.main is not None
    assert data.main.price == Money(amount=49.0, currency="USD")
    assert data.products == 3
    unnamed = read_data(structured_data(html_of("", head=head), URL), URL, "Something else")
    assert unnamed.main is None


def test_related_products_within_a_product_are_not_counted() -> None:
    head = json_ld(isRelatedTo='[{"@type": "Product", "name": "x"}, {"@type": "Product", "name": "y"}]')
    assert read_data(structured_data(html_of("", head=head), URL), URL).products == 1


def test_several_offers_give_the_least_and_say_so() -> None:
    head = json_ld(offers=f"[{offer_json('15')}, {offer_json('12')}]")
    main = read_data(structured_data(html_of("", head=head), URL), URL).main
    assert main is not None
    assert (main.price, main.lowest_only) == (Money(amount=12.0, currency="USD"), True)
    head = json_ld(offers='{"@type": "AggregateOffer", "lowPrice": "9", "highPrice": "20", "priceCurrency": "USD"}')
    main = read_data(structured_data(html_of("", head=head), URL), URL).main
    assert main is not None
    assert (main.price, main.lowest_only) == (Money(amount=9.0, currency="USD"), True)


def test_the_offer_of_the_pages_own_address_is_taken() -> None:
    one = offer_json("15", url=f'"{URL}?form=2"')
    head = json_ld(offers=f"[{offer_json('12')}, {one}]")
    main = read_data(structured_data(html_of("", head=head), f"{URL}?form=2"), f"{URL}?form=2").main
    assert main is not None
    assert (main.price, main.lowest_only) == (Money(amount=15.0, currency="USD"), False)


def test_variants_of_a_group() -> None:
    def form(size: str, price: str, stock: str) -> str:
        offer = offer_json(price, availability=f'"https://schema.org/{stock}"')
        return f'{{"@type": "Product", "name": "K", "size": "{size}", "offers": {offer}}}'

    head = script(
        '{"@type": "ProductGroup", "name": "Kettle", "hasVariant": ['
        f"{form('1 L', '40', 'InStock')}, {form('2 L', '60', 'OutOfStock')}]}}"
    )
    main = read_data(structured_data(html_of("", head=head), URL), URL).main
    assert main is not None
    assert main.variants == (
        Variant(name="1 L", price=Money(amount=40.0, currency="USD"), availability="in_stock"),
        Variant(name="2 L", price=Money(amount=60.0, currency="USD"), availability="sold_out"),
    )


def test_crumbs_and_lists() -> None:
    crumbs = script(
        '{"@type": "BreadcrumbList", "itemListElement": [{"@type": "ListItem", "position": 2, "name": "Kettles"}, '
        '{"@type": "ListItem", "position": 1, "item": {"@id": "/", "name": "Home"}}]}'
    )
    assert read_data(structured_data(html_of("", head=crumbs), URL), URL).crumbs == ("Home", "Kettles")
    assert read_data(structured_data(html_of("", head=script('{"@type": "ItemList"}')), URL), URL).is_list
