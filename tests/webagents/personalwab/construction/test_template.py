"""Profiles and instructions by rules: only what reviews show, and never too long."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.webagents.personalwab.agents.words import meant_type
from grounding.webagents.personalwab.construction.records import Job, ProfileSubject
from grounding.webagents.personalwab.construction.template import (
    kind_of,
    template_instruction,
    template_profile,
    usual_prices,
)
from grounding.webagents.personalwab.records import Behaviour, Product, Review, TaskType
from webagents.personalwab.shops import PROFILE


def sold(asin: str, price: str = "10", *, categories: tuple[str, ...] = ("Home",), store: str = "Acme") -> Product:
    return Product(
        asin=asin,
        title=f"Acme blue {asin} lamp of oak",
        main_category="Home",
        categories=categories,
        price=price,
        store=store,
    )


def said(asin: str, text: str, rating: float = 5.0) -> Behaviour:
    return Behaviour(asin=asin, review=Review(asin=asin, timestamp_ms=1, rating=rating, title="So", text=text))


PRODUCTS = {asin: sold(asin, price) for asin, price in {"a": "5", "b": "6", "c": "20", "d": "None", "e": "30"}.items()}


def described(*behaviours: Behaviour, products: dict[str, Product] = PRODUCTS) -> dict[str, str]:
    subject = ProfileSubject(user_id="u", behaviours=behaviours)
    return msgspec.to_builtins(template_profile(subject, products, usual_prices(products.values())))


def test_prices_are_held_against_the_median_of_their_kind() -> None:
    assert usual_prices(PRODUCTS.values()) == {"Home": 13.0}
    assert described(said("a", "x"), said("b", "x"), said("d", "x"))["price_sensitivity"] == "High"
    assert described(said("c", "x"), said("e", "x"))["price_sensitivity"] == "Low"
    assert described(said("a", "x"), said("c", "x"))["price_sensitivity"] == "Medium"
    assert described(said("d", "x"))["price_sensitivity"] == "Medium"


def test_talk_and_tone_are_those_of_the_reviews() -> None:
    brief = described(said("a", "Good!"), said("b", "Fine!"))
    assert (brief["interaction_complexity"], brief["tone_and_style"]) == ("Low", "positive, enthusiastic, brief")
    long = described(said("a", "word " * 90, rating=1.0))
    assert (long["interaction_complexity"], long["tone_and_style"]) == ("High", "critical, matter-of-fact, detailed")


def test_aspects_and_brands_are_those_that_are_named() -> None:
    found = described(said("a", "The price is right and Acme is my brand."), said("b", "Too expensive, but light."))
    assert found["focus_aspect"].startswith("Price, ")
    assert set(found["focus_aspect"].split(", ")) == {"Price", "Weight", "Brand"}
    assert (found["brand_preference"], found["item_reference"]) == ("Acme", "names brands")
    assert "focus_aspect" not in described(said("a", "Nice."))


def test_what_purchases_do_not_show_stays_empty() -> None:
    assert "gender" not in described(said("a", "x"))
    assert "age" not in described(said("a", "x"))
    dresses = {asin: sold(asin, categories=("Clothing", "Women", "Dresses")) for asin in "ab"}
    assert described(said("a", "x"), said("b", "x"), products=dresses)["gender"] == "Female"


@given(st.integers(0, 50), st.sampled_from(["search", "recommend", "review"]), st.text(max_size=80))
def test_an_instruction_is_short_and_asks_for_its_type(seed: int, kind: TaskType, text: str) -> None:
    job = Job(id="u/1", user_id="u", type=kind, split="test", behaviour=said("a", text))
    made = template_instruction(job, PROFILE, PRODUCTS["a"], words=25, seed=seed)
    assert 0 < len(made.split()) <= 25
    assert "{" not in made.removesuffix(" ".join(text.split()))[:20]
    assert made == template_instruction(job, PROFILE, PRODUCTS["a"], words=25, seed=seed)
    if kind != "review":
        assert meant_type(made) == kind


def test_a_search_tells_of_its_product_but_not_its_title() -> None:
    product = sold("a", categories=("Home", "Desk Lamps"))
    job = Job(id="u/1", user_id="u", type="search", split="test", behaviour=said("a", "x"))
    made = template_instruction(job, PROFILE, product, words=40, seed=1)
    assert "Desk Lamps" in made
    assert product.title not in made
    assert "Acme" not in made


@pytest.mark.parametrize(("categories", "main", "kind"), [(("A", "B"), "M", "B"), ((), "M", "M"), ((), "", "products")])
def test_a_kind_is_the_narrowest_category(categories: tuple[str, ...], main: str, kind: str) -> None:
    assert kind_of(Product(asin="x", title="t", categories=categories, main_category=main)) == kind
