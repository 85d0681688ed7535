"""Replies of a model to contexts, needs and checklists, or why there is none: ``unparsed``, never a guess. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from grounding.records import Failure
from grounding.webagents.agenticshop.construction.records import Checklist, Need
from grounding.webagents.agenticshop.records import DIMENSIONS, ChecklistItem, UserContext
from grounding.webagents.jsontext import json_values

MAX_PARAGRAPH_CHARS = 8_000
MAX_LINE_CHARS = 600
MAX_ITEMS = 12
"""In one dimension; 1 to 5 are asked for, and released checklists have up to 6."""

OTHER_NAMES = {"performance_standards": "functional_requirements", "design_sensibility": "aesthetic_preferences"}
"""What the prompt of open exploration calls two of the dimensions."""

QUERIES = ("explicit_title", "attribute_specific", "brand_categorical", "categorical")


def read_context(text: str) -> UserContext | Failure:
    """The six paragraphs of a reply; each has to be there."""
    found = _object_with(text, set(DIMENSIONS))
    if found is None:
        return _unparsed("the reply holds no JSON object with the six dimensions")
    paragraphs = {name: _text(found.get(name)) for name in DIMENSIONS}
    for name, said in paragraphs.items():
        if not said:
            return _unparsed(f"the context says nothing of {name}")
        if len(said) > MAX_PARAGRAPH_CHARS:
            return _unparsed(f"{name} has {len(said):,} characters; at most {MAX_PARAGRAPH_CHARS:,} are kept")
    return UserContext(**paragraphs)


def read_need(text: str) -> Need | Failure:
    """Situation, budget and the four queries of a reply; each has to be there."""
    found = _object_with(text, {"situation", "query"})
    if found is None:
        return _unparsed("the reply holds no JSON object with situation and query")
    queries = found.get("query")
    if not isinstance(queries, dict):
        return _unparsed("query is no object with the four queries")
    said = {"situation": _text(found.get("situation")), "budget": _text(found.get("budget_range"))}
    said |= {name: _text(queries.get(name)) for name in QUERIES}
    for name, value in said.items():
        if not value:
            return _unparsed(f"the reply has no {name}")
        if len(value) > MAX_LINE_CHARS:
            return _unparsed(f"{name} has {len(value)} characters where a line was asked for")
    return Need(**said)


def read_checklist(text: str) -> Checklist | Failure:
    """The items of a reply; every dimension has to have one."""
    found = _object_with(text, set(DIMENSIONS))
    if found is None:
        return _unparsed("the reply holds no JSON object with the six dimensions")
    items: list[ChecklistItem] = []
    for dimension in DIMENSIONS:
        texts = found.get(dimension)
        if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
            return _unparsed(f"{dimension} is no list of texts")
        said = [_text(one) for one in texts if _text(one)]
        if not 1 <= len(said) <= MAX_ITEMS:
            return _unparsed(f"{dimension} has {len(said)} items; expected 1 to {MAX_ITEMS}")
        long = next((one for one in said if len(one) > MAX_LINE_CHARS), None)
        if long is not None:
            return _unparsed(f"{dimension} has an item of {len(long)} characters")
        items += [ChecklistItem(dimension=dimension, number=number, text=one) for number, one in enumerate(said)]
    return tuple(items)


def _object_with(text: str, names: set[str]) -> dict[str, Any] | None:
    """The last JSON object of a reply, or of an object in it, that has most of the names."""
    best: dict[str, Any] | None = None
    for value in json_values(text):
        for found in _objects(value):
            if len(names & found.keys()) >= max(1, len(names) - 1):
                best = found
    return best


def _objects(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    if not isinstance(value, dict) or depth > 2:
        return
    yield {OTHER_NAMES.get(str(name), str(name)): said for name, said in value.items()}
    for said in value.values():
        yield from _objects(said, depth + 1)


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _unparsed(why: str) -> Failure:
    return Failure(kind="unparsed", message=why)
