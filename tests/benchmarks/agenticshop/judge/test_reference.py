"""The offline reference: what it decides off a page's facts, and what it leaves open instead of guessing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grounding.benchmarks.agenticshop.judge.base import ReferenceJudge, decide
from grounding.benchmarks.agenticshop.records import Attribute, Money, ProductFacts
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder

from .subjects import FACTS, items, subject


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Price is at most $50", True),
        ("Listed price falls within $50\u2013$80", False),
        ("Total price including shipping is at most $50", False),
        ("Price is at most $40 or \u20ac50", False),
        ("Price is at most \u00a350", None),
        ("Price per 100 ml is at most $50", None),
        ("Item price is equal to or greater than $8 and equal to or less than $15", None),
        ("Shipping is free", False),
        ("Average customer rating is at least 4.5 out of 5", True),
        ("Average customer rating is at least 4.5 out of 5 or 9 out of 10", True),
        ("Average customer rating is at least 9.4 out of 10", False),
        ("Average rating is 4.0 or higher with a minimum of 10 reviews", None),
        ("Product has at least 200 customer ratings", True),
        ("Product is in stock", True),
        ("Product brand is Brewster Lane or Alder", True),
        ("Product brand is not Brewster Lane", False),
        ("Brand listed as Alder flagged as low trust", None),
        ("Delivery takes at most 3 days", False),
        ("Returns are accepted for at least 30 days", True),
        ("Warranty is at least 3 years", False),
        ("Material is steel or copper", True),
        ("Induction is not yes", True),
        ("Product is dishwasher safe", False),
        ("Product is available in black", True),
        ("Product is available in red", False),
        ("Product pictures show a plain design", None),
        ("If the price exceeds $25, the page explains why", None),
        ("At least one review mentions the handle", None),
    ],
)
def test_what_follows_from_facts(text: str, expected: bool | None) -> None:
    assert decide(text, FACTS).satisfied is expected, decide(text, FACTS)


@pytest.mark.parametrize(
    ("asked", "facts", "expected"),
    [
        ("Warranty is at least 2 years", {"warranty_text": "24 months"}, True),
        ("Warranty is at least 1 month", {"warranty_text": "14 days"}, False),
        ("Delivery takes at most 12 months", {"delivery_text": "within 1 year"}, True),
        ("Returns are accepted and the warranty is at least 2 years", {"returns_text": "30 days"}, None),
        ("Delivery is not within 3 days", {"delivery_text": "2 days"}, None),
        ("Product has more than 100 reviews", {"rating_count": 100}, False),
        ("Product has at least 100 reviews", {"rating_count": 100}, True),
        ("Price is under $20", {"price": Money(amount=20, currency="USD")}, False),
        ("Price is over $20", {"price": Money(amount=20, currency="USD")}, False),
        ("Price is at most $20", {"price": Money(amount=20, currency="USD")}, True),
        ("Price is at most $1,299", {"price": Money(amount=1250, currency="USD")}, True),
        ("Price is at most 1.299,99 \u20ac", {"price": Money(amount=1250, currency="EUR")}, None),
        ("Price is at most 1 299 \u20ac", {"price": Money(amount=1250, currency="EUR")}, None),
        ("Weight is 5 kg", {"attributes": (Attribute(name="Weight", value="0.5 kg"),)}, False),
        ("Weight is 5 kg", {"attributes": (Attribute(name="Weight", value="5kg"),)}, True),
        ("Weight is 1,5 kg", {"attributes": (Attribute(name="Weight", value="5 kg"),)}, False),
        ("Product is dishwasher safe", {"attributes": (Attribute(name="Dishwasher safe", value="No"),)}, False),
        ("Product is dishwasher safe", {"attributes": (Attribute(name="Dishwasher safe", value="Yes"),)}, True),
        ("Product is waterproof", {"features": ("This isn't waterproof",)}, False),
        ("Product is waterproof", {"features": ("It is not fully waterproof",)}, False),
        ("Product is waterproof", {"features": ("Not waterproof when open, waterproof when shut",)}, True),
        ("Product contains no sugar", {"attributes": (Attribute(name="Contains", value="no sugar"),)}, True),
    ],
)
def test_amounts_units_and_words_that_deny(asked: str, facts: dict[str, Any], expected: bool | None) -> None:
    assert decide(asked, ProductFacts(title="A thing", **facts)).satisfied is expected


@pytest.mark.parametrize(
    ("what", "asked"),
    [
        ("price", "Price is at most $500"),
        ("rating", "Average customer rating is at least 1 out of 5"),
        ("rating_count", "Product has at least 1 customer ratings"),
        ("shipping", "Shipping is free"),
        ("brand", "Product brand is Brewster Lane"),
        ("returns_text", "Returns are accepted for at least 30 days"),
    ],
)
def test_what_the_page_does_not_say_is_not_satisfied(what: str, asked: str) -> None:
    gone: dict[str, Any] = {what: "" if isinstance(getattr(FACTS, what), str) else None}
    assert decide(asked, msgspec.structs.replace(FACTS, **gone)).satisfied is False


def test_what_is_open_is_flagged_and_one_text_for_facts_decides_nothing(tmp_path: Path) -> None:
    def judged(**more: Any) -> list[tuple[str, ...]]:
        product = subject(items("Price is at most $50", "Looks nice"), **more)
        said = asyncio.run(ReferenceJudge().judge(product, EvidenceFolder(tmp_path), "k"))
        return [one.flags for one in said.verdicts]

    assert judged() == [(), ("undecided",)]
    assert judged(facts=msgspec.structs.replace(FACTS, title="")) == [("undecided",)] * 2
    assert judged(page_class="listing", facts=None) == [(), ()]
