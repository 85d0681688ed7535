"""Prices in words: what is read, what is not, and what a price is for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.webagents.agenticshop.extraction.kinds import price_kind
from grounding.webagents.agenticshop.extraction.price import (
    BREAK,
    MAX_AMOUNT,
    currency_of,
    find_prices,
    parse_money,
)


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("$12.99", 12.99, "USD"),
        ("$ 12.99", 12.99, "USD"),
        ("$1,299.00", 1299.0, "USD"),
        ("$1,299", 1299.0, "USD"),
        ("USD 12.5", 12.5, "USD"),
        ("USD $15", 15.0, "USD"),
        ("US$ 7", 7.0, "USD"),
        ("12.5 USD", 12.5, "USD"),
        ("1.299,00 €", 1299.0, "EUR"),
        ("1\u00a0299,00\u00a0€", 1299.0, "EUR"),
        ("1 299,00 €", 1299.0, "EUR"),
        ("19,- €", 19.0, "EUR"),
        ("12€99", 12.99, "EUR"),
        ("€ 4", 4.0, "EUR"),
        ("£.75", 0.75, "GBP"),
        ("£3.50 each", 3.5, "GBP"),
        ("CHF 1'299.\u2013", 1299.0, "CHF"),
        ("¥1,200", 1200.0, "JPY"),
        ("₹1,29,999", 129999.0, "INR"),
        ("C$ 20.00", 20.0, "CAD"),
        ("199 kr", 199.0, "SEK"),
        ("49,90 zł", 49.9, "PLN"),
        (f"${BREAK}12{BREAK}.{BREAK}99", 12.99, "USD"),
    ],
)
def test_one_price(text: str, amount: float, currency: str) -> None:
    found = parse_money(text)
    assert found is not None
    assert (found.amount, found.currency) == (amount, currency)


@pytest.mark.parametrize(
    "text",
    ["", "Free", "NaN", "$", "$NaN", "$1e9", "$5M", "Infinity €", "$999999999999999999999", "4.5 stars", "50 %"],
)
def test_no_price(text: str) -> None:
    assert parse_money(text) is None


def test_a_bare_number_takes_the_currency_that_the_page_names() -> None:
    found = parse_money("12.50", "EUR")
    assert found is not None
    assert (found.amount, found.currency) == (12.5, "EUR")


@pytest.mark.parametrize(
    ("sign", "hint", "code"),
    [
        ("$", "", "USD"),
        ("$", "CAD", "CAD"),
        ("$", "EUR", "USD"),
        ("¥", "CNY", "CNY"),
        ("kr", "NOK", "NOK"),
        ("€", "USD", "EUR"),
    ],
)
def test_signs_that_currencies_share_follow_the_hint(sign: str, hint: str, code: str) -> None:
    assert currency_of(sign, hint) == code


@given(st.integers(0, 99_999_999), st.sampled_from(["us", "de", "fr", "ch"]))
def test_every_written_amount_is_read_back(cents: int, style: str) -> None:
    amount = cents / 100
    plain = f"{amount:,.2f}"
    written = {
        "us": f"${plain}",
        "de": plain.replace(",", "_").replace(".", ",").replace("_", ".") + " €",
        "fr": plain.replace(",", "\u202f").replace(".", ",") + "\u00a0€",
        "ch": "CHF " + plain.replace(",", "'"),
    }[style]
    found = parse_money(written)
    assert found is not None
    assert found.amount == pytest.approx(amount)


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(text: str) -> None:
    for price in find_prices(text + "$" + text):
        assert 0 <= price.amount <= MAX_AMOUNT
        assert price.start < price.end


@given(st.lists(st.integers(1, 9_999), min_size=1, max_size=6))
def test_prices_are_found_in_their_order(amounts: list[int]) -> None:
    text = " and ".join(f"${amount}" for amount in amounts)
    assert [price.amount for price in find_prices(text)] == amounts


def test_ranges_and_least_prices() -> None:
    (both,) = find_prices("$10.00 \u2013 $20.00")
    assert (both.amount, both.highest) == (10.0, 20.0)
    (least,) = find_prices("from $10")
    assert least.open_below
    assert least.amount == 10.0


def test_elements_that_meet_are_not_one_number() -> None:
    assert [price.amount for price in find_prices(f"$12.99{BREAK}4.5 stars")] == [12.99]
    assert [price.amount for price in find_prices(f"$12{BREAK}128 reviews")] == [12.0]


def kinds(text: str) -> list[str]:
    prices = find_prices(text)
    return [price_kind(text, prices, place) for place in range(len(prices))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$12.99", ["current"]),
        ("$12.99 / 100 g", ["unit"]),
        ("$12.99/lb", ["unit"]),
        ("$18.00 ($0.75 / oz)", ["current", "unit"]),
        ("Unit price: $3.20", ["unit"]),
        ("was $20.00 now $15.00", ["list", "current"]),
        ("List price: $49.99", ["list"]),
        ("MSRP $49.99", ["list"]),
        ("statt 49,99 €", ["list"]),
        ("Save $5 (25%)", ["saving"]),
        ("$5 off", ["saving"]),
        ("4 payments of $9.99", ["instalment"]),
        ("$5.99/mo", ["recurring"]),
        ("$8.49 with Subscribe & Save", ["recurring"]),
        ("Shipping: $4.99", ["shipping"]),
        ("$4.99 shipping", ["shipping"]),
        ("Free shipping over $35", ["threshold"]),
        ("Spend $50 more", ["threshold"]),
        ("Orders of $35.00 or more", ["threshold"]),
        ("Total: $45.98", ["total"]),
        ("2-year protection plan $5.99", ["extra"]),
        ("Used from $8.00", ["used"]),
        ("Price: $39.00 + $5.00 shipping", ["current", "shipping"]),
    ],
)
def test_what_a_price_is_for(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected
