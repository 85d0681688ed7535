"""The web functions as a model is told of them: one JSON schema each, for the request, for validation and for people.

Names, descriptions and parameters are the release's own, word for word where they are known (the ``__info__`` of
PersonalWAB/envs/pwab/functions/*.py in HongruCai/PersonalWAB): they are part of what is asked. Those of
``add_product_review``, ``stop`` and ``get_product_details_by_asin`` are not in the public copy that was read; they are
ours. ``respond`` is no tool of the release: a plain message is one. Its schema serves agents that write calls as text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from grounding.errors import UserError
from grounding.records import Record
from grounding.webagents.personalwab.records import FunctionName

MAX_ARGUMENTS_CHARS = 100_000
"""Longer arguments are refused unread: what a model writes is bounded."""


class FunctionSchema(Record, frozen=True, kw_only=True):
    """A function as it is offered. ``parameters`` is the JSON schema of its arguments, as JSON text."""

    name: FunctionName
    description: str
    parameters: msgspec.Raw

    def tool(self) -> dict[str, Any]:
        """The function as an entry of ``tools`` in a chat completion."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        }


class Arguments(Record, frozen=True, kw_only=True):
    """The arguments of one call as they were understood, or why they weren't.

    ``valid`` says whether they fit the schema to the letter. ``values`` are there whenever the text was a JSON object.
    """

    values: dict[str, Any] = msgspec.field(default_factory=dict)
    problem: str = ""
    is_json: bool = True

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong with them."""
        return not self.problem


def _schema(name: FunctionName, description: str, properties: dict[str, Any]) -> FunctionSchema:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return FunctionSchema(name=name, description=description, parameters=msgspec.Raw(msgspec.json.encode(parameters)))


_ALL: dict[str, FunctionSchema] = {
    schema.name: schema
    for schema in (
        _schema(
            "search_product_by_query",
            "Search for products by a query string. The information of the top 10 products will be returned.",
            {
                "query": {
                    "type": "string",
                    "description": "The query string to search for products, such as 'laptop' or 'phone'.",
                }
            },
        ),
        _schema(
            "get_recommendations_by_history",
            "Get recommended products based on an input sequence of product asins. Maximum length of the input "
            "sequence is 30. Input sequence should follow the time order, with the most recent product asin at the "
            "end.",
            {
                "product_sequence": {
                    "type": "array",
                    "items": {"type": "string", "description": "A product asin from the input sequence."},
                    "description": "A list of product asins based on which recommendations are to be made. Should "
                    "follow the time order.",
                }
            },
        ),
        _schema(
            "add_product_review",
            "Post a review of the product that the user wants to review.",
            {"review": {"type": "string", "description": "The text of the review, as the user would write it."}},
        ),
        _schema(
            "respond",
            "Say something to the user, such as a question, and wait for the answer.",
            {"content": {"type": "string", "description": "What is said to the user."}},
        ),
        _schema("stop", "End the task when nothing more is to be done for the user.", {}),
        _schema(
            "get_product_details_by_asin",
            "Get all information about one product, such as one of the user's history.",
            {"asin": {"type": "string", "description": "The asin of the product."}},
        ),
    )
}


def schemas(names: Sequence[str]) -> tuple[FunctionSchema, ...]:
    """The schemas of these functions, in this order.

    Raises:
        UserError: there is no function of such a name.
    """
    unknown = [name for name in names if name not in _ALL]
    if unknown:
        raise UserError(f"no web function is called {unknown[0]}: there are {', '.join(_ALL)}")
    return tuple(_ALL[name] for name in names)


def find_schema(name: str) -> FunctionSchema | None:
    """The schema of a function that a model named; None where there is no such function."""
    return _ALL.get(name)


@cache
def named_arguments(name: str) -> tuple[str, ...]:
    """The names of a function's arguments."""
    return tuple(json.loads(bytes(_ALL[name].parameters))["properties"])


def read_arguments(name: str, text: str) -> Arguments:
    """Understand what a model wrote as the arguments of a function, and hold them against its schema.

    A text that is empty stands for no arguments.
    """
    if len(text) > MAX_ARGUMENTS_CHARS:
        return Arguments(problem=f"the arguments are longer than {MAX_ARGUMENTS_CHARS:,} characters", is_json=False)
    try:
        values = msgspec.json.decode(text.strip() or "{}")
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        return Arguments(problem=f"the arguments are not JSON: {error}", is_json=False)
    if not isinstance(values, dict):
        return Arguments(problem=f"the arguments are {_kind(values)}, expected a JSON object", is_json=False)
    problem = next(iter(_problems(name, values)), "")
    return Arguments(values=values, problem=problem)


def _problems(name: str, values: dict[str, Any]) -> list[str]:
    named = named_arguments(name)
    unknown = [f"there is no argument {key[:100]!r}" for key in values if key not in named]
    return unknown + [
        f"{'.'.join(str(part) for part in error.absolute_path) or 'the arguments'}: {error.message[:300]}"
        for error in _validator(name).iter_errors(values)
    ]


@cache
def _validator(name: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(bytes(_ALL[name].parameters)))


def _kind(value: object) -> str:
    kinds = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def describe() -> str:
    """All functions as a Markdown table, for the documentation."""
    lines = ["| function | arguments | what it does |", "|---|---|---|"]
    for schema in _ALL.values():
        properties = json.loads(bytes(schema.parameters))["properties"]
        arguments = ", ".join(f"`{key}` ({value['type']})" for key, value in properties.items()) or "none"
        lines.append(f"| `{schema.name}` | {arguments} | {schema.description} |")
    return "\n".join(lines) + "\n"
