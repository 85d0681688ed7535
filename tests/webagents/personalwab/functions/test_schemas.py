from __future__ import annotations

import json

import pytest

pytest.importorskip("jsonschema")

from grounding.errors import UserError
from grounding.webagents.personalwab.functions.schemas import MAX_ARGUMENTS_CHARS, describe, read_arguments, schemas

SEARCH = "search_product_by_query"
RECOMMEND = "get_recommendations_by_history"


def test_a_tool_stands_as_a_chat_completion_wants_it() -> None:
    import msgspec

    (schema,) = schemas([SEARCH])
    tool = json.loads(msgspec.json.encode(schema.tool()))
    assert tool["type"] == "function"
    assert tool["function"]["name"] == SEARCH
    assert tool["function"]["parameters"]["required"] == ["query"]


def test_an_unknown_function_is_refused() -> None:
    with pytest.raises(UserError, match="no web function is called buy"):
        schemas(["buy"])


@pytest.mark.parametrize(
    ("name", "text", "valid", "is_json", "problem"),
    [
        (SEARCH, '{"query": "lamp"}', True, True, ""),
        (SEARCH, '{"query": 3}', False, True, "query: 3 is not of type 'string'"),
        (SEARCH, '{"query": "lamp", "price": 3}', False, True, "there is no argument 'price'"),
        (SEARCH, "{}", False, True, "'query' is a required property"),
        (SEARCH, "", False, True, "'query' is a required property"),
        (SEARCH, "[1]", False, False, "the arguments are a list, expected a JSON object"),
        (SEARCH, '"lamp"', False, False, "the arguments are a string, expected a JSON object"),
        (SEARCH, '{"query": "lamp"', False, False, "not JSON"),
        (SEARCH, "[" * 5000, False, False, "not JSON"),
        (SEARCH, '{"query": "' + "x" * MAX_ARGUMENTS_CHARS + '"}', False, False, "longer than 100,000 characters"),
        (RECOMMEND, '{"product_sequence": ["A", "B"]}', True, True, ""),
        (RECOMMEND, '{"product_sequence": ["A", 3]}', False, True, "product_sequence.1: 3 is not of type 'string'"),
        (RECOMMEND, '{"product_sequence": "A"}', False, True, "is not of type 'array'"),
        ("stop", "", True, True, ""),
        ("stop", "null", False, False, "the arguments are null, expected a JSON object"),
    ],
)
def test_arguments_are_held_against_the_schema(name: str, text: str, valid: bool, is_json: bool, problem: str) -> None:
    read = read_arguments(name, text)
    assert (read.valid, read.is_json) == (valid, is_json)
    assert problem in read.problem


def test_the_table_names_every_function() -> None:
    table = describe()
    assert table.count("\n| `") == 6
    assert "`product_sequence` (array)" in table
