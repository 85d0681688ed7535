"""A chat model that writes users: reads AgenticShop's prompts for context, query and checklist and answers from them.

What it says depends on the request alone: brands, titles and words are those of the prompt, so that a context, a query
or a checklist that belongs to somebody else can be told.
"""

from __future__ import annotations

import json
import re
from typing import Any

from fakes.chat_server import completion

Json = dict[str, Any]
DIMENSIONS = (
    *("brand_preferences", "price_sensitivity", "review_sensitivity"),
    *("functional_requirements", "aesthetic_preferences", "purchase_preferences"),
)
BAD_ITEM = "The product is attractive and has a reputable seller, free returns, and fast shipping"

_TITLE = re.compile(r"'title': (?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")")
_STORE = re.compile(r"'store': (?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")")
_KIND = re.compile(r"'categories': \[[^\]]*?'([^']+)'\]")


def construction_model(body: Json) -> Json:
    """The JSON of the reply to a request."""
    return completion(written(body["messages"][-1]["content"]))


def part_of(body: Json) -> str:
    """What a request asks for: ``context``, ``need`` or ``checklist``."""
    prompt = body["messages"][-1]["content"].lstrip()
    for part, beginning in {
        "context": "You are a user profile generator",
        "need": "You are a product search query generator",
        "checklist": "You are an expert product evaluator",
    }.items():
        if prompt.startswith(beginning):
            return part
    raise AssertionError(prompt[:200])


def written(prompt: str) -> str:
    """The text of the reply."""
    beginning = prompt.lstrip()
    if beginning.startswith("You are a user profile generator"):
        return f"```json\n{json.dumps(_context(prompt))}\n```"
    if beginning.startswith("You are a product search query generator"):
        return json.dumps(_need(prompt.rpartition("product_information:")[2]))
    return f"checklist: {json.dumps(_checklist(prompt), indent=1)}"


def _all(pattern: re.Pattern[str], text: str) -> list[str]:
    return [first or second for first, second in pattern.findall(text)]


def _context(prompt: str) -> Json:
    kinds = _KIND.findall(prompt)
    said = {name: f"Of {name}: {kinds[-1] if kinds else 'many things'}." for name in DIMENSIONS}
    said["brand_preferences"] = f"Bought from {', '.join(dict.fromkeys(_all(_STORE, prompt)))}."
    if "domain-agnostic" in prompt:  # Two dimensions have other names in open exploration.
        said["performance_standards"] = said.pop("functional_requirements")
        said["design_sensibility"] = said.pop("aesthetic_preferences")
    return said


def _need(product: str) -> Json:
    (title,), stores, kinds = _all(_TITLE, product)[:1], _all(_STORE, product), _KIND.findall(product)
    brand, kind = (stores or ["any"])[0], (kinds or ["things"])[-1]
    queries = {
        "explicit_title": f"looking for {title[:80]}",
        "attribute_specific": f"want {brand} {kind} of the usual sort",
        "brand_categorical": f"searching for {brand} {kind}",
        "categorical": f"need {kind}",
    }
    return {"situation": f"Has run out of {kind}.", "budget_range": "under $20", "query": queries}


def _checklist(prompt: str) -> Json:
    context = re.search(r"Bought from ([^.]{1,400})", prompt)
    brand = context[1].split(", ")[0] if context else "any"
    return {
        "brand_preferences": [f"The brand is {brand}."],
        "price_sensitivity": ["The price is at most $20.00."],
        "review_sensitivity": ["The average customer rating is at least 4.0 stars."],
        "functional_requirements": ["The page lists ingredients."],
        "aesthetic_preferences": ["The page shows a picture of the product."],
        "purchase_preferences": [BAD_ITEM],
    }
