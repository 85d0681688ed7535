"""What kind of page it is: by what came, what can be read and how it is built; never by its own claim alone."""

from __future__ import annotations

import pytest

from grounding.records import Failure

from .pages import extracted, html_of, json_ld, offer_json, product


def card(name: str, cost: str = "$12.00") -> str:
    link = f'<a href="/p/{name}"><img src="{name}.png">Kettle {name}</a>'
    return f'<div class="item">{link}<p>{cost}</p><button>Add to cart</button></div>'


CARDS = "".join(card(name) for name in ("alder", "birch", "cedar", "dogwood"))


@pytest.mark.parametrize(
    ("more", "page_class"),
    [
        ({"status": 404}, "error"),
        ({"status": 410}, "error"),
        ({"status": 500}, "error"),
        ({"status": 403}, "blocked"),
        ({"status": 429}, "blocked"),
        ({"status": 503}, "blocked"),
        ({"status": None}, "error"),
        ({"failure": Failure(kind="missing", message="no such host")}, "error"),
        ({"content_type": "application/pdf"}, "other"),
    ],
)
def test_what_came_decides_first(more: dict[str, object], page_class: str) -> None:
    found = extracted(product(), **more)
    assert found.page_class == page_class
    assert found.class_reason
    assert found.facts is None


@pytest.mark.parametrize(
    "body",
    [
        "<h1>Page not found</h1><p>Try the search.</p>",
        "<h1>404</h1>",
        "<h1>Sorry, we couldn't find that page</h1>" + f"<section><h2>You may also like</h2>{CARDS}</section>",
        "<h2>Oops</h2><p>This product is no longer available on our site.</p>",
        "<p>The page you are looking for does not exist.</p>",
        "<h1>This item has been removed</h1>",
    ],
)
def test_not_found_with_status_200(body: str) -> None:
    assert extracted(html_of(body, title="Harbour Goods")).page_class == "error"


@pytest.mark.parametrize(
    "body",
    [
        "<h1>Are you a human?</h1><p>Please solve the puzzle.</p>",
        "<h1>Access denied</h1>",
        "<p>Checking your browser before you continue. Just a moment...</p>",
        "<p>We have detected unusual traffic from your network.</p><form><input name=captcha></form>",
        '<p>One check.</p><iframe src="https://www.google.com/recaptcha/api2/anchor"></iframe>',
        "<h1>Robot check</h1><p>Type the characters you see in this image</p>",
    ],
)
def test_human_checks(body: str) -> None:
    assert extracted(html_of(body, title="Harbour Goods")).page_class == "blocked"


def test_a_guard_on_a_product_page_is_no_obstacle() -> None:
    html = product(after='<iframe src="https://www.google.com/recaptcha/api2/anchor"></iframe>')
    assert extracted(html).page_class == "product"


@pytest.mark.parametrize(
    "html",
    [
        html_of(f"<h1>Kettles</h1>{CARDS}"),
        html_of(f"<h1>Kettles</h1><p>4 results, sorted by price</p>{CARDS}"),
        html_of(f'<h1>Kettles</h1><div class="hero"><img src="k.png"><p>Kettles from $9.00</p></div>{CARDS}'),
        html_of(
            f"<h1>Copper Kettle 1.7 L</h1><p>from $9.00</p>{CARDS}",
            head=json_ld(offers='{"@type": "AggregateOffer", "lowPrice": "9", "priceCurrency": "USD"}')
            + '<meta property="og:type" content="product">',
        ),
    ],
)
def test_listings_and_those_that_look_like_a_product(html: str) -> None:
    found = extracted(html)
    assert found.page_class == "listing", found.class_reason
    assert found.facts is None


def test_a_listing_that_calls_itself_a_product_is_told_so() -> None:
    html = html_of(f"<h1>Copper Kettle 1.7 L</h1>{CARDS}", head=json_ld(offers=offer_json("9")))
    found = extracted(html)
    assert found.page_class == "listing"
    assert "calls it a product" in found.class_reason


@pytest.mark.parametrize(
    "html",
    [
        product(),
        product(after=f"<section><h2>Related products</h2>{CARDS}</section>"),
        product(after=f"<h2>Customers also bought</h2>{CARDS}"),
        product('<p class="price">$59.00</p><p>Sold out</p>', buy="<button disabled>Sold out</button>"),
        product('<p class="price">$59.00</p><p>Currently unavailable</p>', buy=""),
        product('<p class="price">$59.00</p>', buy="", head=json_ld(offers=offer_json("59"))),
        product('<p class="price">$59.00</p>', buy='<div class="add">Add to bag</div>'),
        html_of('<div class="t">Copper Kettle 1.7 L</div><b>$59.00</b><div role="button">Add to basket</div>'),
    ],
)
def test_products(html: str) -> None:
    found = extracted(html)
    assert found.page_class == "product", found.class_reason
    assert found.facts is not None
    assert found.facts.title == "Copper Kettle 1.7 L"


@pytest.mark.parametrize(
    "body",
    [
        "<h1>How to descale a kettle</h1><p>Use vinegar, and wait for an hour. That costs about $2.00 at most.</p>",
        "<h1>Copper Kettle 1.7 L</h1><p>A kettle that we once made and are proud of.</p>",
        "",
        "<p>Welcome</p>",
    ],
)
def test_other_pages_whatever_they_claim(body: str) -> None:
    assert extracted(html_of(body, head=json_ld(offers=offer_json("59")))).page_class == "other"
    assert extracted(html_of(body)).page_class == "other"


def test_a_way_back_to_the_first_page_is_named() -> None:
    found = extracted(html_of("<p>Welcome</p>"), final_url="https://shop.test/")
    assert found.page_class == "other"
    assert "first page" in found.class_reason
