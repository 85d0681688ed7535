"""The price that a page asks: the main one, never a promoted product's, and which of two sources is believed."""

from __future__ import annotations

import pytest

from grounding.webagents.agenticshop.records import Money

from .pages import facts, html_of, json_ld, offer_json, product, quotes

PROMOTION = '<div><a href="/p/other"><img src="o.png">Kettle Pro</a> <span class="price">$19.00</span></div>'


def price(html: str, **more: str) -> float | None:
    found = facts(html, **more).price
    return None if found is None else found.amount


@pytest.mark.parametrize(
    ("offer", "expected"),
    [
        ("<p>$59.00</p>", 59.0),
        ('<p class="price"><s>$69.00</s> $59.00</p>', 59.0),
        ('<p><del><span class="amount">$69.00</span></del> <ins><span class="amount">$59.00</span></ins></p>', 59.0),
        ('<p><span class="old-price">$69.00</span> <span class="new-price">$59.00</span></p>', 59.0),
        ('<p class="price">$59.00 <span style="text-decoration: line-through">$69.00</span></p>', 59.0),
        ("<dl><dt>List price</dt><dd>$69.00</dd><dt>Price</dt><dd>$59.00</dd></dl>", 59.0),
        ("<p>Was $69.00, now $59.00. Save $10.00</p>", 59.0),
        ('<p class="price">$59.00</p><p>$3.47 / 100 ml</p>', 59.0),
        ('<p>$3.47 / 100 ml</p><p class="price">$59.00</p>', 59.0),
        ('<p class="price">$59.00</p><p>or 4 payments of $14.75</p>', 59.0),
        ('<p class="price">$59.00</p><p>$5.99 shipping</p><p>Total: $64.99</p>', 59.0),
        ('<p class="price">$59<sup>95</sup></p>', 59.95),
        (
            '<p class="price"><span>$</span><span>59</span><span>.</span><span>95</span></p>',
            59.95,
        ),
        ('<p class="price">$59.00</p><p>Add a 2-year protection plan $7.99</p>', 59.0),
        ('<p class="price">from $49.00</p>', 49.0),
        ('<p class="price">$49.00 \u2013 $69.00</p>', 49.0),
        ('<p class="price">59,00 €</p>', 59.0),
        ('<p class="price price--regular">$59.00</p>', 59.0),
    ],
)
def test_the_price_of_an_offer(offer: str, expected: float) -> None:
    assert price(product(offer)) == expected


@pytest.mark.parametrize(
    "promotion",
    [
        f"<section><h2>You may also like</h2>{PROMOTION}</section>",
        f"<h2>Customers also bought</h2>{PROMOTION}",
        f'<div class="upsell">{PROMOTION}</div>',
        f'<aside aria-label="Sponsored">{PROMOTION}</aside>',
        PROMOTION,
        '<a class="deal" href="/p/other"><b>Deal of the day</b><i>Kettle Pro</i><span class="price">$19.00</span></a>',
        '<div class="banner">Today only: Kettle Pro for $19.00</div>',
        '<dialog open><p class="price">$19.00</p></dialog>',
        '<div class="claim">You may also like</div><div class="looks"><a href="/p/x"><img src="x"><b>'
        "$19.00</b></a></div>",
        '<div hidden><p class="price">$19.00</p></div>',
        '<p style="display:none" class="price">$19.00</p>',
        '<section id="reviews"><h2>Customer reviews</h2><p class="price">I paid $19.00 elsewhere, sadly.</p></section>',
        "<template><p class=price>$19.00</p></template><script>var price = '$19.00'</script>",
    ],
)
@pytest.mark.parametrize("where", ["before", "after", "within"])
def test_no_other_products_price_is_taken(promotion: str, where: str) -> None:
    """The failure that the paper names: the price of a promoted product is taken for the page's own."""
    offer = '<div class="offer"><p class="price">$59.00</p></div>'
    shown = {
        "before": product(promotion + offer),
        "after": product(offer, after=promotion),
        "within": product(f'<div class="offer"><p class="price">$59.00</p>{promotion}</div>'),
    }[where]
    assert price(shown) == 59.0


def test_a_page_without_any_marks_but_words() -> None:
    body = (
        "<h1>Copper Kettle 1.7 L</h1><div>A kettle of copper that whistles when the water is ready for tea.</div>"
        '<div>$59.00</div><div role="button">Add to bag</div><a href="/p/b"><div>Kettle B two</div><div>$9.00</div></a>'
    )
    assert price(html_of(body)) == 59.0


def test_the_visible_price_wins_over_data_where_it_is_clear() -> None:
    found = facts(product('<p class="price">$59.00</p>', head=json_ld(offers=offer_json("49.00"))))
    assert found.price == Money(amount=59.0, currency="USD")
    assert quotes(found, "price") == {"page": "$59.00", "json-ld": "49 USD"}


def test_data_wins_where_two_visible_prices_are_as_well_placed() -> None:
    offer = "<p>Blue kettle, with a handle of oak and a lid of copper: $69.00</p><p>Red kettle, as above: $59.00</p>"
    found = facts(product(offer, buy="", head=json_ld(offers=offer_json("49.00"))))
    assert found.price == Money(amount=49.0, currency="USD")


def test_data_names_the_currency_of_a_shared_sign() -> None:
    found = facts(product('<p class="price">$59.00</p>', head=json_ld(offers=offer_json("59.00", "CAD"))))
    assert found.price == Money(amount=59.0, currency="CAD")
    assert facts(product('<p class="price">$59.00</p>', lang="en-AU")).price == Money(amount=59.0, currency="AUD")


def test_a_price_that_the_browser_did_not_show_is_not_the_price() -> None:
    html = product('<p class="price js-only">$49.00</p><p class="price">$59.00</p>')
    assert price(html, text="Copper Kettle 1.7 L\n$59.00\nAdd to cart") == 59.0


def test_raised_cents_are_seen_without_a_point() -> None:
    html = product('<p class="price">$59<sup>95</sup></p>')
    assert price(html, text="Copper Kettle 1.7 L\n$5995\nAdd to cart") == 59.95


def test_the_struck_price_is_the_list_price() -> None:
    found = facts(product('<p class="price"><s>$69.00</s> <b>$59.00</b></p>'))
    assert found.list_price == Money(amount=69.0, currency="USD")
    assert facts(product('<p class="price">$59.00</p>')).list_price is None


def test_shipping_is_held_against_the_visible_price() -> None:
    assert facts(product('<p class="price">$20.00</p><p>Free shipping over $35</p>')).shipping is None
    found = facts(product('<p class="price">$59.00</p><p>Free shipping over $35</p>'))
    assert found.shipping == Money(amount=0.0, currency="USD")
    assert found.total == found.price
    table = "<table><tr><th>Shipping</th><td>$4.99</td></tr></table>"
    assert facts(product('<p class="price">$20.00</p>' + table)).shipping == Money(amount=4.99, currency="USD")


def test_a_promoted_products_free_shipping_is_not_this_ones() -> None:
    other = '<div><a href="/p/other"><img src="o.png">Kettle Pro</a> $19.00 Free shipping</div>'
    found = facts(product('<p class="price">$20.00</p><p>$4.99 shipping</p>', after=other))
    assert found.shipping == Money(amount=4.99, currency="USD")
