"""From a need to a few words."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.webagents.agenticshop.agents.searching.queries import MAX_QUERY_WORDS, liked_names, queries_of
from grounding.webagents.agenticshop.agents.searching.words import singular, telling_words, words_of
from webagents.agenticshop.agents.small_shop import VIEW


@pytest.mark.parametrize(
    ("query", "kind", "queries"),
    [
        ("looking for a desk lamp", "Desk Lamps", ("desk lamp", "Lamps")),
        ("need a new electric kettle", "Kettles", ("electric kettle", "Kettles")),
        ("searching for Cinder Yard coffee", "Coffee", ("Cinder Yard coffee", "Coffee")),
        ("want caffeine-free herbal tea", "Herbal tea", ("caffeine-free herbal tea", "Herbal tea", "tea")),
        ("show me something", "Mugs", ("Mugs",)),
    ],
)
def test_what_was_asked_for_then_less(query: str, kind: str, queries: tuple[str, ...]) -> None:
    assert queries_of(msgspec.structs.replace(VIEW, query=query, product_type=kind)) == queries


def test_long_queries_are_cut_short() -> None:
    view = msgspec.structs.replace(VIEW, query=" ".join(f"word{number}" for number in range(30)))
    assert len(queries_of(view)[0].split()) == MAX_QUERY_WORDS


def test_who_asks_for_nothing_is_searched_for_by_what_is_liked_and_what_shops_have() -> None:
    context = msgspec.structs.replace(VIEW.context, brand_preferences="Loves Brightwell and Heath.")
    view = msgspec.structs.replace(
        VIEW, scenario="casual_browsing", product_type=None, budget=None, query="show me something", context=context
    )
    queries = queries_of(view, ("Dimmable lights", "Rugs", "About us"))
    assert queries[:3] == ("Brightwell", "Heath", "Dimmable lights")
    assert "Rugs" not in queries


@pytest.mark.parametrize(
    ("text", "liked", "shunned"),
    [
        ("Has bought teas of Hollin & Fray for years.", ("Hollin & Fray",), ()),
        ("Buys Brasso and Norrvik, and stays away from lamps by Tilda Home.", ("Brasso", "Norrvik"), ("Tilda Home",)),
        ("Trusts Datastone since a drive survived. No-name drives are ruled out.", ("Datastone",), ()),
        ("Likes Sorrel, but Pippa Lane was a disappointment.", ("Sorrel",), ("Pippa Lane",)),
        ("Tilda Home is for students. Likes what Tilda Home makes.", ("Tilda Home",), ()),
        ("Shows no loyalty at all.", (), ()),
        ("", (), ()),
    ],
)  # fmt: skip
def test_names_that_are_liked_and_shunned(text: str, liked: tuple[str, ...], shunned: tuple[str, ...]) -> None:
    names = liked_names(text)
    assert (names.liked, names.shunned) == (liked, shunned)


@given(st.text(max_size=200))
def test_any_text_can_be_searched_for(text: str) -> None:
    view = msgspec.structs.replace(VIEW, query=text)
    assert all(query.strip() for query in queries_of(view))
    names = liked_names(text)
    assert not set(names.liked) & set(names.shunned)


@pytest.mark.parametrize(
    ("plural", "one"),
    [("lamps", "lamp"), ("dresses", "dress"), ("batteries", "battery"), ("glass", "glass"), ("boxes", "box")],
)  # fmt: skip
def test_plurals_are_one_word_with_their_singular(plural: str, one: str) -> None:
    assert singular(plural) == singular(one) == one


def test_words_that_say_nothing_are_left_out() -> None:
    assert telling_words("The user prefers lamps that are dimmable and lamps") == ["lamp", "dimmable"]
    assert words_of("Dorrit\u2019s Dark-Chocolate") == ["dorrit", "dark", "chocolate"]
