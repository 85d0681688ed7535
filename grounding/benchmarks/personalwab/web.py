"""The web that an agent acts on: calls of its functions in, observations out.

Names, descriptions, parameters (``models/prompts/personalwab/functions.json``) and what comes back are the release's
own, word for word (``envs/pwab/functions`` and ``envs/base.py`` of HongruCai/PersonalWAB): they are part of what is
asked. A call that can't be carried out is answered with what Python says of it, as there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from grounding.benchmarks.personalwab.prompts import product_text
from grounding.benchmarks.personalwab.recommend import Recommender
from grounding.benchmarks.personalwab.records import FunctionCall, Observation, Product
from grounding.benchmarks.personalwab.search import RESULTS, ProductSearch
from grounding.cards.places import models_dir

MAX_ARGUMENTS_CHARS = 100_000
"""Longer arguments are refused unread: what a model writes is bounded."""

MAX_NAME_CHARS = 300
NO_REVIEW = "No review provided."
TOOLS: dict[str, dict[str, Any]] = {
    tool["function"]["name"]: tool
    for tool in msgspec.json.decode((models_dir() / "prompts" / "personalwab" / "functions.json").read_bytes())
}
"""All functions as a chat completion offers them, in the release's order."""


class WebFunctions:
    """The functions of one shop. ``identity`` is canonical text of all that can change an observation.

    Safe for use by many episodes at once: nothing that an agent does changes the shop.
    """

    def __init__(self, products: Mapping[str, Product], search: ProductSearch, recommender: Recommender) -> None:
        self.products, self.search, self.recommender = products, search, recommender
        self.identity = f"2|{search.identity}|{recommender.identity}"

    def call(self, call: FunctionCall) -> Observation:
        """Carry out a call; ``stop`` changes nothing here. Never raises for what an agent wrote."""
        function = _CARRY_OUT.get(call.name)
        if function is None:
            return _refused(f"Unknown action {call.name[:MAX_NAME_CHARS]}", "unknown-function")
        arguments = read_arguments(call.arguments)
        if arguments is None:
            return _refused("Error: the arguments are no JSON object", "bad-arguments")
        try:
            seen: Observation = function(self, **arguments)
        except (TypeError, ValueError, AttributeError) as error:
            return _refused(f"Error: {error}", "bad-arguments")
        return msgspec.structs.replace(seen, schema_valid=_validator(call.name).is_valid(arguments))

    def listed(self, asins: Sequence[str], heading: str, end: str) -> Observation:
        """A list of products as the release's functions return it and as Python prints it to the agent."""
        there = tuple(asin for asin in asins if asin in self.products)
        texts = [f"{heading.format(place)}{product_text(self.products[asin])}{end}" for place, asin in enumerate(there)]
        return Observation(text=str(texts), asins=there)


# Python's message about wrong arguments, which the agent reads, names function and parameters: both are the release's.


def search_product_by_query(data: WebFunctions, query: str) -> Observation:
    """The best products for a query."""
    if not isinstance(query, str):
        raise TypeError("the query is no string")
    return data.listed(data.search.search(query, RESULTS), "Product {}: \n", "\n")


def get_recommendations_by_history(data: WebFunctions, product_sequence: Sequence[str]) -> Observation:
    """The products after a sequence; what is no known product is passed over."""
    known = [asin for asin in product_sequence if asin in data.recommender.numbers]
    return data.listed(data.recommender.recommend(known, RESULTS), "\nProduct {}:\n", "")


def add_product_review(_data: WebFunctions, review: str) -> Observation:
    """The review as it was written."""
    if not isinstance(review, str):
        raise TypeError("the review is no string")
    return Observation(text=str({"review": review or NO_REVIEW}))


def get_product_details_by_asin(data: WebFunctions, product_asin: str) -> Observation:
    """All that is known of a product."""
    product = data.products.get(product_asin)
    if product is None:
        return Observation(text="Product not found.")
    return Observation(text=f"\nProduct Details:\n{product_text(product)}", asins=(product.asin,))


def stop(_data: WebFunctions) -> Observation:
    """The end of the task."""
    return Observation(text="###STOP###")


_CARRY_OUT: dict[str, Any] = {name: globals()[name] for name in TOOLS}


def _refused(text: str, error: str) -> Observation:
    return Observation(text=text, error=error, schema_valid=False)


@cache
def _validator(name: str) -> Any:
    """Whether arguments fit a function's schema, without any parameter more."""
    from jsonschema import Draft202012Validator

    known = TOOLS[name]["function"]["parameters"]
    return Draft202012Validator({"properties": {}, **known, "additionalProperties": False})


def read_arguments(text: str) -> dict[str, Any] | None:
    """The arguments of a call that a model wrote; None where they are no JSON object. Nothing stands for none."""
    if len(text) > MAX_ARGUMENTS_CHARS:
        return None
    try:
        values = msgspec.json.decode(text.strip() or "{}")
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def review_of(call: FunctionCall) -> str | None:
    """The text of a review as it was posted; None where there is none."""
    written = (read_arguments(call.arguments) or {}).get("review")
    return (written or NO_REVIEW) if isinstance(written, str) else None
