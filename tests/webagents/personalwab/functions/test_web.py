from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("bm25s")
pytest.importorskip("jsonschema")

from grounding.webagents.personalwab.functions.search import Bm25Search
from grounding.webagents.personalwab.functions.web import WebFunctions
from grounding.webagents.personalwab.records import FunctionCall, Product

PRODUCTS = {
    asin: Product(asin=asin, title=title, price="12.5", features=("sturdy",))
    for asin, title in {"A1": "oak desk", "A2": "oak lamp", "A3": "wool coat"}.items()
}
ALL = (
    *("search_product_by_query", "get_recommendations_by_history", "add_product_review", "stop"),
    "get_product_details_by_asin",
)


class Reversed:
    identity = "reversed"

    def recommend(self, sequence: Sequence[str], k: int = 10) -> tuple[str, ...]:
        return tuple(reversed(sequence))[:k]


WEB = WebFunctions(PRODUCTS, Bm25Search(PRODUCTS), Reversed())


def call(name: str, arguments: str, allowed: Sequence[str] = ALL):  # type: ignore[no-untyped-def]
    return WEB.call(FunctionCall(name=name, arguments=arguments), allowed=allowed)


def test_a_search_lists_products_in_the_releases_wording() -> None:
    seen = call("search_product_by_query", '{"query": "lamps of oak"}')
    assert seen.asins == ("A2", "A1")
    assert seen.text.startswith("\nProduct 0:\n- Title: oak lamp\n- Parent Asin: A2\n- Average Rating: None\n")
    assert "- Features: ['sturdy']\n" in seen.text
    assert (seen.error, seen.schema_valid) == ("", True)


def test_recommendations_that_the_shop_has_not_are_left_out() -> None:
    seen = call("get_recommendations_by_history", '{"product_sequence": ["A1", "gone", "A3"]}')
    assert seen.asins == ("A3", "A1")


@pytest.mark.parametrize(
    ("name", "arguments", "error", "valid", "text"),
    [
        ("search_product_by_query", '{"query": "zeppelin"}', "", True, "[]"),
        ("search_product_by_query", '{"query": 7}', "bad-arguments", False, "query: 7 is not of type 'string'"),
        ("search_product_by_query", '{"query": "oak", "page": 2}', "bad-arguments", False, "no argument 'page'"),
        ("search_product_by_query", "query=oak", "bad-json", False, "not JSON"),
        ("get_recommendations_by_history", '{"product_sequence": "A1"}', "", False, "[]"),
        ("get_recommendations_by_history", '{"product_sequence": [1]}', "", False, "[]"),
        ("get_recommendations_by_history", '{"product_sequence": 1}', "bad-arguments", False, "is not of type"),
        ("add_product_review", '{"review": ""}', "", True, "added"),
        ("add_product_review", '{"text": "fine"}', "bad-arguments", False, "no argument 'text'"),
        ("get_product_details_by_asin", '{"asin": "A1"}', "", True, "- Title: oak desk"),
        ("get_product_details_by_asin", '{"asin": "Z"}', "unknown-product", True, "there is no product Z"),
        ("stop", "{}", "", True, "ended"),
        ("buy", "{}", "unknown-function", False, "Unknown action buy"),
    ],
)
def test_every_call_gets_a_clear_observation(name: str, arguments: str, error: str, valid: bool, text: str) -> None:
    seen = call(name, arguments)
    assert (seen.error, seen.schema_valid) == (error, valid)
    assert text in seen.text


def test_a_function_that_was_not_offered_is_refused() -> None:
    seen = call("get_product_details_by_asin", '{"asin": "A1"}', allowed=("stop",))
    assert seen.error == "not-allowed"


@given(st.sampled_from((*ALL, "respond", "x")), st.text() | st.recursive(st.none(), st.lists).map(str))
def test_nothing_that_a_model_writes_raises(name: str, arguments: str) -> None:
    assert isinstance(call(name, arguments).text, str)


def test_what_a_model_calls_a_function_is_bounded() -> None:
    assert len(call("x" * 10_000, "").text) < 400
