"""Typed objects of JSON-LD and microdata, and their values as text, numbers and lists."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from grounding.webagents.agenticshop.records import (
    StructuredData,
)

Node = dict[str, Any]
MAX_NODES = 3_000
LISTS = frozenset(("ItemList", "SearchResultsPage", "CollectionPage", "OfferCatalog", "ProductCollection"))
PRODUCTS = frozenset(
    ("Product", "ProductGroup", "ProductModel", "IndividualProduct", "SomeProducts", "Book", "Vehicle")
)


# --- finding nodes ------------------------------------------------------------------------------------------------


def decoded(block: StructuredData) -> Any:
    """The value of a block; None where its JSON can't be read."""
    try:
        return msgspec.json.decode(block.json)
    except (msgspec.DecodeError, RecursionError):
        return None


def nodes(top: Any) -> Iterator[tuple[Node, bool]]:
    """All typed objects of a block, and whether they are part of a product or of an entry of a list."""
    stack: list[tuple[Any, bool]] = [(top, False)]
    seen = 0
    while stack and seen < MAX_NODES:
        value, nested = stack.pop(0)
        seen += 1
        if isinstance(value, list):
            stack.extend((one, nested) for one in value)
        elif isinstance(value, dict):
            node = flat(value)
            kinds = types_of(node)
            if kinds:
                yield node, nested
            inside = nested or bool(kinds & (PRODUCTS | LISTS | {"ListItem", "Offer", "Review"}))
            stack.extend((one, inside) for one in node.values() if isinstance(one, dict | list))


def flat(node: Node) -> Node:
    """A node of microdata, whose values lie in ``properties``, as one of JSON-LD."""
    properties = node.get("properties")
    if isinstance(properties, dict) and "type" in node:
        return {"@type": node["type"], **properties}
    return node


def types_of(node: Node) -> frozenset[str]:
    """The types of an object, without the address of their vocabulary."""
    said = node.get("@type", "")
    named = said if isinstance(said, list) else [said]
    return frozenset(re.split(r"[/#:]", one)[-1] for one in named if isinstance(one, str) and one)


# --- values -------------------------------------------------------------------------------------------------------


def as_list(value: Any) -> list[Any]:
    """A value as a list: many, one or none."""
    return value if isinstance(value, list) else [] if value is None else [value]


def first_node(value: Any) -> Node:
    """The first object of a value, {} where there is none."""
    return next((flat(one) for one in as_list(value) if isinstance(one, dict)), {})


def as_text(value: Any) -> str:
    """A value as a line of text, without tags and entities; of a list the first that says anything."""
    match value:
        case str():
            return " ".join(html.unescape(re.sub(r"<[^<>]{1,200}>", " ", value)).split())
        case bool():
            return ""
        case int() | float():
            return f"{value:g}" if isinstance(value, float) else str(value)
        case list():
            return next((said for said in map(as_text, value) if said), "")
        case dict():
            return as_text(value.get("@value") or value.get("@id"))
    return ""


def as_name(value: Any) -> str:
    """What a value is called, which may be an object with a name."""
    one = value[0] if isinstance(value, list) and value else value
    if isinstance(one, dict):
        node = flat(one)
        return as_text(node.get("name") or node.get("value") or node.get("@value"))
    return as_text(one)


def as_number(value: Any) -> float | None:
    """A value as a number, None where it is none; such as 4.4 of "4,4 / 5"."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    said = as_text(value).replace(",", ".")
    match = re.fullmatch(r"(-?\d{1,9}(?:\.\d{1,6})?)(?:\s?(?:/|out of|of)\s?\d+)?", said)
    return float(match[1]) if match else None


def as_count(value: Any) -> int | None:
    """A value as a whole number of things, None where it is none."""
    if isinstance(value, str):
        digits = re.fullmatch(r"\d{1,3}(?:[,.\s]\d{3})+|\d{1,9}", value.strip())
        return int(re.sub(r"\D", "", digits[0])) if digits else None
    number = as_number(value)
    return int(number) if number is not None and 0 <= number < 1e9 and number == int(number) else None
