"""What sending costs: free, free from a sum on, a cost, or not said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.webagents.agenticshop.extraction.shipping import ShippingWords, decide, read_words
from grounding.webagents.agenticshop.records import Money


def cost(text: str, price: float | None = 20.0) -> float | None:
    money = None if price is None else Money(amount=price, currency="USD")
    found = decide(ShippingWords(own=read_words(text, "USD")), money).cost
    return None if found is None else found.amount


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Free shipping", 0.0),
        ("FREE delivery Tuesday", 0.0),
        ("Ships free", 0.0),
        ("Shipping: free", 0.0),
        ("Shipping is on us", 0.0),
        ("Free standard shipping on this item", 0.0),
        ("Versandkostenfrei", 0.0),
        ("Shipping: $4.99", 4.99),
        ("$4.99 shipping", 4.99),
        ("+ $4.99 delivery", 4.99),
        ("plus 9,90 € shipping", 9.9),
        ("Delivery from $3.95", 3.95),
        ("Delivered in 3 days for $2.50", 2.5),
        ("Price: $20.00 + $5.00 shipping", 5.0),
        ("Standard shipping $4.99 · Express $12.00", 4.99),
        ("Express shipping $14.99. Standard shipping $4.99.", 4.99),
        ("Free shipping over $35", None),
        ("Free shipping over $20", None),
        ("Free shipping on orders of $20 or more", 0.0),
        ("Free shipping on orders over $15", 0.0),
        ("Spend $40 for free shipping", None),
        ("Add $15.00 more for free shipping", None),
        ("Shipping $4.99. Free over $50.", 4.99),
        ("Shipping $4.99. Free over $15.", 0.0),
        ("Shipping is $6.50, free from $60", 6.5),
        ("Free delivery on orders of $50 or more, otherwise $4.90", 4.9),
        ("Free delivery for Plus members", None),
        ("Free shipping with code SHIP", None),
        ("Free shipping on your first order", None),
        ("Free returns", None),
        ("Free return shipping", None),
        ("Free store pickup", None),
        ("Shipping calculated at checkout", None),
        ("International shipping $20", None),
    ],
)
def test_the_cost_for_a_product_of_20(text: str, expected: float | None) -> None:
    assert cost(text) == expected


def test_a_threshold_is_not_held_against_an_unknown_price() -> None:
    assert cost("Free shipping over $35", None) is None
    assert cost("Free shipping", None) == 0.0


def test_words_beside_the_product_decide_before_those_of_the_site() -> None:
    own, general = read_words("plus $9.90 shipping", "USD"), read_words("Free shipping on orders from $60", "USD")
    found = decide(ShippingWords(own=own, general=general), Money(amount=159.0, currency="USD"))
    assert found.cost == Money(amount=9.9, currency="USD")
    alone = decide(ShippingWords(general=general), Money(amount=159.0, currency="USD"))
    assert alone.cost == Money(amount=0.0, currency="USD")


@given(st.floats(1, 500), st.integers(1, 500))
def test_free_from_a_sum_on_is_free_exactly_from_there(price: float, least: int) -> None:
    price = round(price, 2)
    assert (cost(f"Free shipping on orders of ${least} or more", price) == 0.0) == (price >= least)
    assert (cost(f"Free shipping over ${least}", price) == 0.0) == (price > least)


@given(st.text(max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    for word in read_words(f"shipping {text} $5 {text}", ""):
        assert word.cost is None or word.cost.amount >= 0
