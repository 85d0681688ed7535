"""The extractor by rules: what kind of page it is, whose price is taken, what else a page says; and harmful pages."""

from __future__ import annotations

import asyncio
import gzip
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounding.benchmarks.agenticshop.extraction.structural import StructuralExtractor
from grounding.benchmarks.agenticshop.records import Attribute, Money, ProductFacts, Variant
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder, put_html
from grounding.records import Failure

from . import pages
from .pages import extracted, facts, html_of, json_ld, made_page, offer_json, product, quotes

# --- the class ------------------------------------------------------------------------------------------------------


def card(name: str) -> str:
    link = f'<a href="/p/{name}"><img src="{name}.png">Kettle {name}</a>'
    return f'<div class="item">{link}<p>$12.00</p><button>Add to cart</button></div>'


CARDS = "".join(map(card, ("alder", "birch", "cedar", "dogwood")))
AGGREGATE = json_ld(offers='{"@type": "AggregateOffer", "lowPrice": "9", "priceCurrency": "USD"}')
GUARD = '<iframe src="https://www.google.com/recaptcha/api2/anchor"></iframe>'


@pytest.mark.parametrize(
    ("more", "page_class"),
    [
        ({"status": 404}, "error"),
        ({"status": 403}, "blocked"),
        ({"status": None}, "error"),
        ({"failure": Failure(kind="missing", message="no such host")}, "error"),
        ({"content_type": "application/pdf"}, "other"),
    ],
)
def test_what_came_decides_first(more: dict[str, object], page_class: str) -> None:
    found = extracted(product(), **more)
    assert (found.page_class, found.facts) == (page_class, None)
    assert found.class_reason


@pytest.mark.parametrize(
    ("page_class", "body"),
    [
        ("error", f"<h1>Sorry, we couldn't find that page</h1><section><h2>You may also like</h2>{CARDS}</section>"),
        ("error", "<h2>Oops</h2><p>This product is no longer available on our site.</p>"),
        ("error", "<h1>This item has been removed</h1>"),
        ("blocked", "<h1>Are you a human?</h1><p>Please solve the puzzle.</p>"),
        ("blocked", "<p>Checking your browser before you continue. Just a moment...</p>"),
        ("blocked", f"<p>One check.</p>{GUARD}"),
        ("listing", f"<h1>Kettles</h1>{CARDS}"),
        ("listing", f'<h1>Kettles</h1><div class="hero"><img src="k.png"><p>Kettles from $9.00</p></div>{CARDS}'),
        ("other", "<h1>How to descale a kettle</h1><p>Use vinegar, which costs about $2.00 at most, and wait.</p>"),
        ("other", "<h1>Copper Kettle 1.7 L</h1><p>A kettle that we once made and are proud of.</p>"),
        ("other", ""),
    ],
)
def test_pages_of_no_product_also_where_their_data_claims_one(page_class: str, body: str) -> None:
    assert extracted(html_of(body, title="Harbour Goods")).page_class == page_class
    found = extracted(html_of(body, title="Harbour Goods", head=AGGREGATE))
    assert (found.page_class, found.facts) == (page_class, None)


@pytest.mark.parametrize(
    "html",
    [
        product(after=GUARD),
        product(after=f"<section><h2>Related products</h2>{CARDS}</section>"),
        product(after=f"<h2>Customers also bought</h2>{CARDS}"),
        product('<p class="price">$59.00</p><p>Currently unavailable</p>', buy=""),
        product('<p class="price">$59.00</p>', buy="", head=json_ld(offers=offer_json("59"))),
        html_of('<div class="t">Copper Kettle 1.7 L</div><b>$59.00</b><div role="button">Add to basket</div>'),
        product().replace("<header>", "<header><h1>Harbour Goods</h1>"),
    ],
)
def test_products(html: str) -> None:
    assert facts(html).title == "Copper Kettle 1.7 L"


# --- the price ------------------------------------------------------------------------------------------------------

PRICE = '<p class="price">$59.00</p>'
PROMOTION = '<div><a href="/p/other"><img src="o.png">Kettle Pro</a> <span class="price">$19.00</span></div>'


def price(html: str, **more: str) -> float | None:
    found = facts(html, **more).price
    return None if found is None else found.amount


@pytest.mark.parametrize(
    ("offer", "expected"),
    [
        ("<p>$59.00</p>", 59.0),
        ('<p><del><span class="amount">$69.00</span></del> <ins><span class="amount">$59.00</span></ins></p>', 59.0),
        ('<p><span class="old-price">$69.00</span> <span class="new-price">$59.00</span></p>', 59.0),
        ("<dl><dt>List price</dt><dd>$69.00</dd><dt>Price</dt><dd>$59.00</dd></dl>", 59.0),
        ("<p>Was $69.00, now $59.00. Save $10.00</p>", 59.0),
        ('<p>$3.47 / 100 ml</p><p class="price">$59.00</p><p>or 4 payments of $14.75</p>', 59.0),
        ('<p class="price">$59.00</p><p>$5.99 shipping</p><p>Total: $64.99</p>', 59.0),
        ('<p class="price">$59<sup>95</sup></p>', 59.95),
        ('<p class="price">from $49.00</p>', 49.0),
        ('<p class="price">1.059,00 €</p>', 1059.0),
    ],
)
def test_the_price_of_an_offer(offer: str, expected: float) -> None:
    assert price(product(offer)) == expected


@pytest.mark.parametrize(
    "promotion",
    [
        PROMOTION,
        f"<section><h2>You may also like</h2>{PROMOTION}</section>",
        f"<h2>Customers also bought</h2>{PROMOTION}",
        f'<div class="upsell">{PROMOTION}</div>',
        f'<aside aria-label="Sponsored">{PROMOTION}</aside>',
        '<div class="banner">Today only: Kettle Pro for $19.00</div>',
        '<div class="claim">You may also like</div><div class="looks"><a href="/x"><img src="x"><b>$19</b></a></div>',
        '<p style="display:none" class="price">$19.00</p>',
        '<section id="reviews"><h2>Customer reviews</h2><p class="price">I paid $19.00 elsewhere, sadly.</p></section>',
        "<template><p class=price>$19.00</p></template><script>var price = '$19.00'</script>",
    ],
)
def test_no_other_products_price_is_taken(promotion: str) -> None:
    """The failure that the paper names: the price of a promoted product is taken for the page's own."""
    assert price(product(promotion + PRICE)) == 59.0
    assert price(product(PRICE, after=promotion)) == 59.0
    assert price(product(f'<div class="offer">{PRICE}{promotion}</div>')) == 59.0


def test_the_visible_price_wins_over_data_where_it_is_clear() -> None:
    head = json_ld(offers=offer_json("49.00"))
    found = facts(product(PRICE, head=head))
    assert found.price == Money(amount=59.0, currency="USD")
    assert quotes(found, "price") == {"page": "$59.00", "json-ld": "49 USD"}
    unclear = "<p>Blue kettle, with a handle of oak and a lid of copper: $69.00</p><p>Red kettle, as above: $59.00</p>"
    assert price(product(unclear, buy="", head=head)) == 49.0
    shown = "Copper Kettle 1.7 L\n$59.00\nAdd to cart"
    assert price(product(f'<p class="price js-only">$49.00</p>{PRICE}'), text=shown) == 59.0


def test_the_datas_price_is_taken_where_the_page_says_the_least_of_several() -> None:
    head = json_ld(offers=offer_json("59.00"))
    assert price(product('<p class="price">from $49.00</p>', head=head)) == 59.0


def test_of_two_prices_as_loud_the_one_after_the_title_is_taken() -> None:
    before = '<p class="price">$19.00</p>'
    more = "<p>A line of the description, and nothing else.</p>" * 20
    assert price(product(f"{more}{PRICE}").replace("<main>", f"<main>{before}")) == 59.0


def test_data_or_language_name_the_currency_of_a_shared_sign() -> None:
    found = facts(product(PRICE, head=json_ld(offers=offer_json("59.00", "CAD"))))
    assert found.price == Money(amount=59.0, currency="CAD")
    assert facts(product(PRICE, lang="en-AU")).price == Money(amount=59.0, currency="AUD")


@pytest.mark.parametrize(
    ("shown", "amount", "currency"),
    [
        ("3000 XAU", 3000.0, "XAU"),
        ("\u20ab1.250.000", 1_250_000.0, "VND"),
        ("RM 45.90", 45.9, "MYR"),
        ("AED 120", 120.0, "AED"),
        ("\u20b21.500", 1500.0, ""),
        ("\u20b91,29,999", 129_999.0, "INR"),
        ("Rs. 1,299.00", 1299.0, "INR"),
        ("1.299,- kr.", 1299.0, "SEK"),
        ("CHF 1\u2019299.\u2013", 1299.0, "CHF"),
        ("\uffe512,800", 12_800.0, "JPY"),
        ("12 000 Ft", 12_000.0, "HUF"),
        ("$59.00 per pair", 59.0, "USD"),
    ],
)
def test_a_price_in_any_currency_is_a_price(shown: str, amount: float, currency: str) -> None:
    found = facts(product(f'<p class="price">{shown}</p><p>TOP 10 of our kettles</p>'))
    assert found.price == Money(amount=amount, currency=currency)


def test_shipping_is_held_against_the_visible_price() -> None:
    other = '<div><a href="/p/other"><img src="o.png">Kettle Pro</a> $19.00 Free shipping</div>'

    def shipping(offer: str, after: str = "") -> Money | None:
        return facts(product(offer, after=after)).shipping

    assert shipping('<p class="price">$20.00</p><p>Free shipping over $35</p>') is None
    assert shipping(f"{PRICE}<p>Free shipping over $35</p>") == Money(amount=0.0, currency="USD")
    assert shipping(f"{PRICE}<p>$4.99 shipping</p>", after=other) == Money(amount=4.99, currency="USD")
    assert shipping(f"{PRICE}<table><tr><th>Shipping</th><td>$4.99</td></tr></table>") is not None


# --- what else a page says ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "currency", "list_price", "shipping", "rating", "count", "brand"),
    [
        (pages.LIKE_A_MARKETPLACE, "USD", 79.95, 0.0, 4.6, 1284, "Harbour"),
        (pages.LIKE_A_SMALL_SHOP, "USD", 79.95, None, None, None, "Harbour"),
        (pages.LIKE_AN_AUCTION, "USD", None, 8.5, None, None, ""),
        (pages.LIKE_A_GERMAN_SHOP, "EUR", 79.95, 4.9, 4.6, 212, "Harbour"),
        (pages.WITHOUT_NAMES, "USD", None, None, None, None, ""),
    ],
)
def test_layouts_of_real_kinds_of_shops(
    html: str, currency: str, list_price: float, shipping: float, rating: float, count: int, brand: str
) -> None:
    found = facts(html)
    assert found.title.startswith("Copper Kettle 1.7 L")
    assert (found.price, found.availability) == (Money(amount=59.95, currency=currency), "in_stock")
    amounts = [one and one.amount for one in (found.list_price, found.shipping)]
    assert (*amounts, found.rating, found.rating_count, found.brand) == (list_price, shipping, rating, count, brand)


@pytest.mark.parametrize(
    "around",
    [
        '<div class="stars">4.2</div><div class="count">87 reviews</div>{}<p>In stock</p>{}',
        '<span class="link">Reviews</span><div>{}</div><p>In stock</p>{}',
        '<div class="deal-box">{}<p>In stock</p></div>{}',
        '<div class="featured-product">{}</div>{}',
        '<aside class="buybox">{}<p>In stock</p>{}</aside>',
    ],
)
def test_what_sells_the_product_is_its_own_however_it_is_called(around: str) -> None:
    body = around.format('<p class="price">$40.00</p>', "<button>Add to cart</button>")
    found = facts(html_of(f"<main><h1>Copper Kettle 1.7 L</h1>{body}</main>"))
    assert (found.price, found.availability) == (Money(amount=40.0, currency="USD"), "in_stock")


WAS = "<p>Was \u00a380.00 Now \u00a360.00 Save \u00a320.00 (25%)</p>"


@pytest.mark.parametrize(
    ("shown", "field", "expected"),
    [
        (WAS, "price", Money(amount=60.0, currency="GBP")),
        (WAS, "list_price", Money(amount=80.0, currency="GBP")),
        ("<p>60 \u20ac</p><p>Livraison gratuite d\u00e8s 50 \u20ac</p>", "shipping", Money(amount=0.0, currency="EUR")),
        ("<p>60,00 \u20ac</p><p>Versandkostenfrei ab 50 \u20ac</p>", "shipping", Money(amount=0.0, currency="EUR")),
        ('<div class=rating aria-label="Rated 4,7 von 5 Sternen"></div><a>1.284 Bewertungen</a><p>60 \u20ac</p>',
         "rating_count", 1284),
        ('<div class=rating aria-label="Rated 4,7 von 5 Sternen"></div><p>60 \u20ac</p>', "rating", 4.7),
        ("<div class=rating>\u2605\u2605\u2605\u2605\u2606 <b>4.2</b> (1.2k)</div><p>$60</p>", "rating", 4.2),
        ("<div class=rating>4.5 \u2605 (1.2k)</div><p>$60</p>", "rating_count", 1200),
        ("<div class=rating><p>5 star 60%</p></div><p>4.3 out of 5 stars</p><p>$60</p>", "rating", 4.3),
        ("<div class=rating>0.0 (0)</div><p>$60</p>", "rating", None),
        ("<link itemprop=availability href=OutOfStock><p>$60</p>", "availability", "sold_out"),
    ],
)  # fmt: skip
def test_how_shops_write_it(shown: str, field: str, expected: object) -> None:
    head = json_ld(offers='{"availability": "https://schema.org/OutOfStock"}') if "OutOfStock" in shown else ""
    html = html_of(f"<h1>Copper Kettle 1.7 L</h1>{shown}<button>Add to cart</button>", head=head)
    assert getattr(facts(html), field) == expected


def test_a_number_in_a_name_is_no_error() -> None:
    assert extracted(html_of("<h1>Headphones 404 Pro</h1><p>$60.00</p><p>In stock</p>")).page_class == "product"
    assert extracted(html_of("<h1>Error 404</h1><p>Try our shop.</p>")).page_class == "error"


ITEMS = "<ul><li>Boils fast</li><li>Cool handle</li></ul>"
DESCRIBED = "<p>A kettle for people who like tea.</p>"
TABLE = (
    "<table><tr><th>Material</th><td>Copper</td></tr><tr><td>a</td><td>b</td><td>c</td></tr></table>"
    "<dl><dt>Power</dt><dd>2200 W</dd></dl>"
    "<ul><li>Colour: Red</li><li>Shipping: $4.99</li></ul>"
    "<section><h2>Related products</h2><table><tr><th>Size</th><td>9 m</td></tr></table></section>"
)


@pytest.mark.parametrize(
    ("field", "shown", "expected"),
    [
        ("brand", '<p>by <a href="/b/harbour">Harbour</a></p>', "Harbour"),
        ("brand", "<p>Visit the Harbour Store</p>", "Harbour"),
        ("brand", '<p class="product-vendor">Harbour</p>', "Harbour"),
        ("brand", "<dl><dt>Manufacturer</dt><dd>Harbour</dd></dl>", "Harbour"),
        ("seller", "<p>Sold and shipped by Quay &amp; Co.</p>", "Quay & Co"),
        ("seller", "", ""),
        ("features", f"<h2>Features</h2>{ITEMS}", ("Boils fast", "Cool handle")),
        ("features", f"{DESCRIBED}{ITEMS}", ("Boils fast", "Cool handle")),
        ("features", '<ul><li><a href="/a">About us</a></li><li><a href="/b">Our shops</a></li></ul>', ()),
        ("description", f'<div class="product-description"><h2>Description</h2>{DESCRIBED}</div>', DESCRIBED[3:-4]),
        ("description", DESCRIBED, DESCRIBED[3:-4]),
        ("description", "<p itemprop=description>&lt;script&gt;alert(1)&lt;/script&gt; tea</p>",
         "<script>alert(1)</script> tea"),
        ("availability", "<p>Only 2 left</p>", "in_stock"),
        ("availability", "<p>Out of stock. Notify me when it is back.</p>", "sold_out"),
        ("availability", "", "in_stock"),
        ("availability", "<p>Other colours sold out</p><p>In stock</p>", "in_stock"),
        ("availability", "<p>Some sizes are out of stock</p>", "in_stock"),
        ("availability", "<select><option>1 L</option><option disabled>2 L sold out</option></select>", "in_stock"),
        ("delivery_text", "<p>Arrives in 3 to 5 business days</p>", "Arrives in 3 to 5 business days"),
        ("returns_text", "<p>Free returns within 30 days</p><p>Money-back guarantee</p>",
         "Free returns within 30 days | Money-back guarantee"),
        ("returns_text", "<table><tr><th>Returns</th><td>14 days, unopened</td></tr></table>",
         "Returns: 14 days, unopened"),
        ("warranty_text", "<p>2-year warranty on the body</p><p>Money-back guarantee</p>",
         "2-year warranty on the body"),
        ("picture_count", '<div class="gallery"><img src="/i/k-1.png"><img src="/i/k-2.png"></div>', 2),
        ("attributes", TABLE, tuple(Attribute(name=name, value=value) for name, value in (
            ("Material", "Copper"), ("Power", "2200 W"), ("Colour", "Red")))),
        ("variants", "<select><option>Choose a size</option><option selected>1 L \u2013 $49.00</option>"
         "<option disabled>2 L</option></select>",
         (Variant(name="1 L", price=Money(amount=49.0, currency="USD")), Variant(name="2 L", availability="sold_out"))),
        ("variants", '<label><input type="radio"> Red</label><input type="radio" id="b"><label for="b">Blue</label>',
         (Variant(name="Red"), Variant(name="Blue"))),
        ("variants", '<button aria-pressed="true">Red</button><button>Blue</button>',
         (Variant(name="Red"), Variant(name="Blue"))),
        ("variants", '<select name="quantity"><option>1</option><option>2</option></select>', ()),
    ],
)  # fmt: skip
def test_a_fact_of_the_page(field: str, shown: str, expected: object) -> None:
    assert getattr(facts(product(f"{PRICE}", after=shown)), field) == expected


def test_ratings_are_counted_in_brackets_beside_what_is_called_stars() -> None:
    found = facts(product(PRICE, after='<div class="stars" aria-label="4.5 out of 5">(1,204)</div>'))
    assert (found.rating, found.rating_count) == (4.5, 1204)


@pytest.mark.parametrize(
    "crumbs",
    [
        '<nav aria-label="Breadcrumb"><ol><li>Home</li><li><a>Kitchen</a></li><li>Kettles</li></ol></nav>',
        '<p class="crumbs">Home / Kitchen / Kettles / Copper Kettle 1.7 L</p>',
    ],
)
def test_the_path_of_categories(crumbs: str) -> None:
    assert facts(product().replace("<main>", f"<main>{crumbs}")).categories == ("Kitchen", "Kettles")


@pytest.mark.parametrize(
    "shown",
    [
        '<section id="reviews"><h2>Customer reviews</h2><ul><li><h3>Good</h3><span aria-label="4 out of 5"></span>'
        '<p>Boils very fast.</p></li><li><h3>Bad</h3><i aria-label="2 stars"></i><p>It leaks.</p></li></ul></section>',
        "<h2>Opinions</h2><div><b>Good</b><p>Boils very fast.</p><i>4/5</i></div><div><b>Bad</b><p>It leaks.</p>"
        "<i>2/5</i></div>",
        '<div itemprop="review"><b>Good</b><i>4/5</i><p>Boils very fast.</p></div>'
        '<div itemprop="review"><b>Bad</b><i>2/5</i><p>It leaks.</p></div>',
    ],
)
def test_reviews_of_the_page(shown: str) -> None:
    found = [(one.title, one.text, one.rating) for one in facts(product(PRICE, after=shown)).reviews]
    assert found == [("Good", "Boils very fast.", 4.0), ("Bad", "It leaks.", 2.0)]


def test_every_fact_has_a_source_and_both_are_told_where_two_differ() -> None:
    head = json_ld(brand='{"name": "Harbour"}', offers=offer_json("59", availability='"https://schema.org/InStock"'))
    after = "<p>by Quay Goods</p><p>4.4 out of 5, 12 ratings</p><p>Sold out</p><p>$4.99 shipping</p><p>Sold by Quay</p>"
    found = facts(product('<p class="price"><s>$69.00</s> $59.00</p>', after=after, head=head, buy=""))
    assert (found.brand, found.availability) == ("Harbour", "sold_out")
    assert quotes(found, "brand") == {"page": "Quay Goods", "json-ld": "Harbour"}
    assert quotes(found, "availability") == {"page": "Sold out", "json-ld": "in_stock"}
    named = {"title", "price", "list_price", "shipping", "rating", "rating_count", "brand", "availability", "seller"}
    assert named <= {one.field for one in found.sources if one.quote}


# --- evidence, and harm ---------------------------------------------------------------------------------------------


def test_a_kept_page_is_read_again_the_same_and_missing_evidence_is_a_failure(tmp_path: Path) -> None:
    name = put_html(product(), EvidenceFolder(tmp_path))
    page = made_page(html_file=name)

    def read() -> Any:
        return asyncio.run(StructuralExtractor().extract(page, EvidenceFolder(tmp_path)))

    assert read() == read() == extracted(product())
    (tmp_path / name).unlink()
    assert (read().failure.kind, read().page_class) == ("error", None)


def test_evidence_of_others_that_is_broken_ends_no_run(tmp_path: Path) -> None:
    evidence, packed, raw = EvidenceFolder(tmp_path), gzip.compress(b"x" * 1000), b"\xff<h1>Kettle"

    def read(kept: bytes) -> Any:
        page = made_page(html_file=evidence.put(kept, ".html.gz"))
        return asyncio.run(StructuralExtractor().extract(page, evidence)).failure

    assert "can't be unpacked" in read(packed[:12] + b"\xff\xfe garbage" + packed[20:]).message
    assert read(gzip.compress(raw)) is None


@pytest.mark.parametrize(
    "body",
    [
        "<p>" + "word " * 200_000 + "</p>",
        "<p>" + "$1.00 " * 10_000 + "</p>",
        "<div>" * 3_000 + "deep" + "</div>" * 3_000,
        '<div class="review"><p>Words of a customer.</p></div>' * 800,
        "<p>" + "11," * 60_000 + "</p>" + "<p>\u20b9" + "11," * 1_500,
        '<div class="deal">$1</div><button>Buy</button>' * 800,
        *(f'<div class="{name}">' * 400 + "<b>x</b> " * 50_000 for name in ("reviews", "title", "related")),
        "<div>" + '<a href="/p/x">x</a> ' * 30_000 + "$5</div>",
        *("<div>" + f"<b class=a>{word}</b><i>x</i>" * 10_000 + "</div>" for word in ("Related", "Reviews")),
        "<div>" + "<h2>Related products</h2><i>x</i>" * 10_000 + "</div>",
        '<div class="deal">' * 400 + "<button>Buy</button>" * 3_000,
        "<label>" * 200 + "<input type=radio>" * 2_000 + "<b>x</b> " * 20_000,
        "<p>" + "<b>$5</b> " * 30_000,
        '<a href="/p/1"><img src="x"><b>$1.00</b></a>' * 800,
        "<h2>You may also like</h2><p>x</p>" * 800,
        "<p>" + "9" * 500_000 + " $" + "1," * 100_000 + "</p>",
        "<p>free shipping over " * 1_500,
        '<a href="http://[">$1</a><img src="http://["><b itemscope itemtype="http://["><a itemprop=url href="http://[">',
        "<p>&#0;&#xd800;&#x1f600;&lt;script&gt;alert(1)&lt;/script&gt; $1e400 NaN</p>",
    ],
)
def test_large_and_broken_pages_are_read_in_time(body: str) -> None:
    began = time.process_time()
    found = extracted(product(after=body), text="")
    assert time.process_time() - began < 6
    assert found.page_class is not None
    assert len(msgspec.json.encode(found)) < 2_000_000


SOUP = (
    "<div> </div> <p•class=price> <a•href='/p/1'> <h1> <h2>You•may•also•like </h2> <table><tr><td> <li> <select> "
    "<option> $5.00 4.5•out•of•5 Free•shipping•over•$9 \0 &#x110000; <!-- ]]> <span•itemprop=review•itemscope> "
    "<button>Add•to•cart sold•out Brand:• <dl><dt>x<dd>y <s> <svg>"
)


@settings(max_examples=60)
@given(st.lists(st.sampled_from([one.replace("•", " ") for one in SOUP.split(" ")]) | st.text(max_size=8), max_size=40))
def test_no_soup_of_tags_breaks_it(pieces: list[str]) -> None:
    found = extracted(html_of("".join(pieces)))
    assert found.page_class in ("product", "listing", "error", "blocked", "other")
    again = msgspec.json.decode(msgspec.json.encode(found.facts or ProductFacts()), type=ProductFacts)
    assert again == (found.facts or ProductFacts())
