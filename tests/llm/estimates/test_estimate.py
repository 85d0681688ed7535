"""Requests to figures: what is multiplied with what, and what stays unknown."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
from fakes.make import planner_card

from grounding.llm.estimates import AlreadyAnswered, ModelEstimate, estimate_model, output_spread, total_usd
from grounding.llm.tokens import RequestTokens

REPLIES = {"low": 10, "expected": 100, "high": 1000, "source": "a table"}
PRICE = {"input_usd": 2.0, "output_usd": 8.0, "date": "2026-11-21", "cached_input_usd": 0.5}


def estimate(
    count: int = 10, known: AlreadyAnswered | None = None, *, most: int | None = 5000, **fields: Any
) -> ModelEstimate:
    images = fields.pop("images", 900)
    tokens = RequestTokens(text=100, images=images, output=None, input_most=None, output_most=most)
    return estimate_model("planner", planner_card(**fields), [tokens] * count, known or AlreadyAnswered())


def test_tokens_times_prices() -> None:
    found = estimate(price=PRICE, output_tokens=REPLIES)
    assert (found.requests, found.text_tokens, found.image_tokens) == (10, 1000, 9000)
    # The text may be off by a twentieth either way.
    assert found.low_usd == pytest.approx((9_950 * 2 + 10 * 10 * 8) / 1e6)
    assert found.expected_usd == pytest.approx((10_000 * 2 + 10 * 100 * 8) / 1e6)
    assert found.high_usd == pytest.approx((10_050 * 2 + 10 * 1000 * 8) / 1e6)
    assert found.price_date == "2026-11-21"
    assert found.notes == ()


def test_replies_of_unknown_length() -> None:
    # Bounded by the request's limit: between a token and that; by nothing: no dollars.
    bounded = estimate(price=PRICE, most=300)
    assert bounded.output is not None
    assert (bounded.output.low, bounded.output.high, bounded.output.source) == (1, 300, "the request's limit")
    unbounded = estimate(price=PRICE, most=None)
    assert (unbounded.output, unbounded.expected_usd) == (None, None)
    assert "the length of its replies is not known, so no dollars are stated" in unbounded.notes


def test_real_replies_say_more_than_the_card() -> None:
    outputs = tuple(range(300, 400))
    found = output_spread(planner_card(output_tokens=REPLIES), outputs, 100, None)
    assert found is not None
    assert found.expected == statistics.fmean(outputs)
    assert found.low == pytest.approx(found.expected - 2 * statistics.stdev(outputs) * (2 / 100) ** 0.5)
    assert found.source == "100 earlier replies to this prompt, 350 tokens on average"
    few = output_spread(planner_card(output_tokens=REPLIES), outputs[:4], 100, None)
    assert few is not None
    assert few.source == "the card: a table"


def test_the_total_is_over_what_has_a_price() -> None:
    priced, free = estimate(price=PRICE, output_tokens=REPLIES), estimate()
    total = total_usd([priced, free, priced])
    assert total is not None
    assert total[1] == pytest.approx(2 * (priced.expected_usd or 0))
