"""The words of a request against those of the release, and the schema against the openai package's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grounding.errors import UserError
from grounding.webagents.agenticshop.agents.search.prompt import (
    curation_prompt,
    curation_prompts,
    inlined,
    request_text,
)
from grounding.webagents.agenticshop.records import UserContext
from webagents.agenticshop.agents.search.helpers import SITES, view

PROMPTS = curation_prompts()


def test_a_full_need_is_worded_as_in_the_release() -> None:
    assert curation_prompt(PROMPTS, view()) == (
        "You are a shopping assistant helping a user find products that fit their context and needs. "
        "The user is looking for kettle. "
        "The user's situation is: The old kettle leaks. They are thinking a budget under $40. "
        'The user says: "a copper kettle". '
        "The user's shopping preferences and context are as follows: "
        'brand_preferences: "Likes \'Hearth\'.". price_sensitivity: "Looks at prices.". '
        "Task: search online and recommend the top 3 products among your search results. "
        "For each pick, briefly explain why it fits this user, referencing their budget, needs, and preferences. "
        "The URL should be a direct link to the product selling page."
    )


def test_what_is_missing_is_left_out() -> None:
    bare = view(product_type=None, budget=None, query="", situation="", context=UserContext())
    assert curation_prompt(PROMPTS, bare) == PROMPTS.opening + PROMPTS.task


def test_the_system_text_stands_before_the_prompt_with_nothing_between() -> None:
    text = request_text(PROMPTS, view(), in_words=False)
    assert text == PROMPTS.system + curation_prompt(PROMPTS, view())
    assert "product page.You are a shopping assistant" in text


def test_shops_and_form_are_added_behind() -> None:
    text = request_text(PROMPTS, view(sites=SITES), in_words=True)
    assert text.startswith(PROMPTS.system + curation_prompt(PROMPTS, view()))
    assert "hearth (http://hearth.mall.test/), brook (http://brook.mall.test/)" in text
    assert text.endswith('"reasoning": "..."}]}')


def test_words_of_a_user_are_not_filled_again() -> None:
    text = curation_prompt(PROMPTS, view(query="a <BUDGET> {query} kettle"))
    assert "a <BUDGET> {query} kettle" in text


def test_the_schema_is_what_the_openai_package_makes_of_the_releases_classes() -> None:
    words = {"product_name": "The name of the product", "product_url": "The URL of the product page"}
    words["reasoning"] = "Why the product fits the user's context and needs"
    fields = {
        name: {"description": said, "title": name.replace("_", " ").title(), "type": "string"}
        for name, said in words.items()
    }
    result: dict[str, Any] = {"properties": fields, "required": list(fields), "title": "SearchResult"}
    result |= {"type": "object", "additionalProperties": False}
    several = {
        "description": "Exactly three products with URL and reasoning",
        "items": {"$ref": "#/$defs/SearchResult"},
        "title": "Search Results",
        "type": "array",
    }
    payload = {
        "$defs": {"SearchResult": result},
        "properties": {"search_results": several},
        "required": ["search_results"],
        "title": "SearchResultsPayload",
        "type": "object",
        "additionalProperties": False,
    }
    assert payload == PROMPTS.schema
    assert json.dumps(inlined(PROMPTS.schema)).count("product_url") == 2
    assert "$" not in json.dumps(inlined(PROMPTS.schema))


def test_a_wording_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="nothing-like-it"):
        curation_prompts("nothing-like-it")
