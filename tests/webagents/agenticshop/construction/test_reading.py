"""Replies to what they say, or why nothing can be read from them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.records import Failure
from grounding.webagents.agenticshop.construction.reading import read_checklist, read_context, read_need
from grounding.webagents.agenticshop.records import DIMENSIONS, UserContext

CONTEXT = {name: f"About {name}." for name in DIMENSIONS}
QUERIES = {name: f"say {name}" for name in ("explicit_title", "attribute_specific", "brand_categorical", "categorical")}
NEED: dict[str, Any] = {"situation": "s", "budget_range": "b", "query": QUERIES}
LISTS = {name: [f"The {name} is there.", "Two."] for name in DIMENSIONS}


def why(found: object) -> str:
    assert isinstance(found, Failure), found
    assert found.kind == "unparsed"
    return found.message


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(CONTEXT),
        f"```json\n{json.dumps(CONTEXT, indent=2)}\n```",
        f"Here: {json.dumps({'user_profile': CONTEXT})} done",
        json.dumps(
            {
                {"functional_requirements": "performance_standards", "aesthetic_preferences": "design_sensibility"}.get(
                    name, name
                ): said
                for name, said in CONTEXT.items()
            }
        ),
    ],
)
def test_a_context_is_read_in_every_usual_form(text: str) -> None:
    found = read_context(text)
    assert isinstance(found, UserContext)
    assert found.functional_requirements == "About functional_requirements."


def test_a_context_has_all_six_dimensions() -> None:
    assert "says nothing of price_sensitivity" in why(read_context(json.dumps({**CONTEXT, "price_sensitivity": " "})))
    assert "no JSON" in why(read_context("I can't."))
    assert "9,000 characters" in why(read_context(json.dumps({**CONTEXT, "price_sensitivity": "x" * 9000})))


def test_a_need_has_situation_budget_and_four_queries() -> None:
    found = read_need(f"Sure. {json.dumps(NEED)}")
    assert not isinstance(found, Failure)
    assert (found.situation, found.budget, found.categorical) == ("s", "b", "say categorical")
    assert "no categorical" in why(read_need(json.dumps({**NEED, "query": {**QUERIES, "categorical": ""}})))
    assert "query is no object" in why(read_need(json.dumps({**NEED, "query": "tea"})))


def test_a_checklist_has_items_in_all_dimensions() -> None:
    found = read_checklist(f"checklist: {json.dumps(LISTS)}")
    assert not isinstance(found, Failure)
    assert [item.id for item in found[:2]] == ["brand_preferences/0", "brand_preferences/1"]
    assert len(found) == 12
    assert "has 0 items" in why(read_checklist(json.dumps({**LISTS, "price_sensitivity": [" "]})))
    assert "has 13 items" in why(read_checklist(json.dumps({**LISTS, "price_sensitivity": ["x"] * 13})))
    assert "no list of texts" in why(read_checklist(json.dumps({**LISTS, "price_sensitivity": "cheap"})))


@given(st.text(max_size=200))
def test_nothing_makes_them_fail(text: str) -> None:
    for read in (read_context, read_need, read_checklist):
        assert isinstance(read(text), Failure)
