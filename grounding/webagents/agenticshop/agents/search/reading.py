"""The products in a reply: JSON in the release's form, alone, in a fence, or behind other words. Pure functions.

What the model wrote as an address is kept as it stands, right or wrong.
"""

from __future__ import annotations

import re
from typing import Any

from grounding.records import Failure
from grounding.webagents.agenticshop.agents.base import MAX_PRODUCTS
from grounding.webagents.agenticshop.records import Curated
from grounding.webagents.jsontext import json_values

MARKER = re.compile("\ue200[^\ue201]{0,200}\ue201")
"""A citation that OpenAI leaves in the text of a reply with a schema, between characters of private use."""

_NAMES = ("search_results", "products", "results")


def read_products(text: str) -> tuple[Curated, ...] | Failure:
    """The products of the last JSON in a reply that names any, in its order; else why there are none."""
    found: tuple[Curated, ...] = ()
    seen = False
    for value in json_values(text):
        seen = True
        products = _products(value)
        if products:
            found = products
    if found:
        return found
    why = "the JSON of the reply names no product" if seen else "the reply holds no JSON"
    return Failure(kind="unparsed", message=f"{why}: {text.strip()[:120]!r}")


def _products(value: Any) -> tuple[Curated, ...]:
    if isinstance(value, dict):
        value = next((value[name] for name in _NAMES if isinstance(value.get(name), list)), [value])
    if not isinstance(value, list):
        return ()
    named = [one for one in value if isinstance(one, dict) and isinstance(one.get("product_url"), str)]
    return tuple(
        Curated(
            rank=rank,
            url=one["product_url"].strip(),
            name=_words(one.get("product_name")),
            reasoning=_words(one.get("reasoning")),
        )
        for rank, one in enumerate(one for one in named if one["product_url"].strip())
    )[:MAX_PRODUCTS]


def _words(value: Any) -> str:
    return " ".join(MARKER.sub("", value).split()) if isinstance(value, str) else ""
