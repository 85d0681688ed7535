"""Products out of replies of every form."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.records import Failure
from grounding.webagents.agenticshop.agents.search.reading import read_products
from grounding.webagents.agenticshop.records import Curated

ONE = {"product_name": "Kettle", "product_url": "http://a.test/k", "reasoning": "cheap"}


def urls(text: str) -> list[str]:
    found = read_products(text)
    assert not isinstance(found, Failure), found
    return [product.url for product in found]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"search_results": [ONE]}),
        f"Sure!\n```json\n{json.dumps({'search_results': [ONE]}, indent=2)}\n```\nEnjoy.",
        json.dumps([ONE]),
        json.dumps({"products": [ONE]}),
        json.dumps(ONE),
        "I thought of [1] and {a kettle}: " + json.dumps({"search_results": [ONE]}),
        json.dumps({"note": "none yet"}) + json.dumps({"search_results": [ONE]}),
    ],
)
def test_every_usual_form_is_read(text: str) -> None:
    assert urls(text) == ["http://a.test/k"]


def test_the_last_list_of_products_counts() -> None:
    other = {**ONE, "product_url": "http://a.test/other"}
    assert urls(f"{json.dumps([ONE])} No, better: {json.dumps([other])}") == ["http://a.test/other"]


def test_a_wrong_address_is_not_corrected() -> None:
    assert urls(json.dumps([{**ONE, "product_url": " [shop](http://a.test/k) "}])) == ["[shop](http://a.test/k)"]


def test_entries_without_an_address_are_no_products() -> None:
    assert urls(json.dumps([{"product_name": "x"}, {**ONE, "product_url": " "}, ONE, 3])) == ["http://a.test/k"]


def test_marks_of_citations_are_left_out_of_words() -> None:
    marked = {**ONE, "reasoning": "cheap \ue200cite\ue202turn1search0\ue201 and good"}
    found = read_products(json.dumps([marked]))
    assert isinstance(found, tuple)
    assert found[0].reasoning == "cheap and good"


@pytest.mark.parametrize("text", ["", "no", '{"search_results": [', "{" * 5000, "[" * 100_000])
def test_without_products_there_is_a_reason(text: str) -> None:
    found = read_products(text)
    assert isinstance(found, Failure)
    assert found.kind == "unparsed"


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=20).filter(str.strip), min_size=1, max_size=5))
def test_any_words_before_a_list_leave_it_whole(before: str, names: list[str]) -> None:
    text = before.replace("{", "").replace("[", "").replace('"', "") + json.dumps([{"product_url": n} for n in names])
    assert urls(text) == [name.strip() for name in names]


@given(st.text(max_size=300))
def test_nothing_makes_it_fail(text: str) -> None:
    found = read_products(text)
    assert isinstance(found, Failure) or all(isinstance(one, Curated) for one in found)
