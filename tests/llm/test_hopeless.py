"""Which refusals end a run at once, and what a user is told to look at: in the words of each vendor."""

from __future__ import annotations

import pytest
from fakes.make import planner_card

from grounding.llm import CallFailed
from grounding.llm.http import beyond_window, where_to_look

CARD = planner_card(model="o3", endpoint={"key_variable": "THE_KEY"})


def failed(status: int | None, said: str = "") -> CallFailed:
    return CallFailed(f"HTTP {status}: {said}", status=status, attempts=1)


@pytest.mark.parametrize(
    ("status", "said", "look"),
    [
        (401, "Incorrect API key provided", "the key in THE_KEY"),
        (403, "forbidden", "the key in THE_KEY"),
        (400, '{"reason": "API_KEY_INVALID"}', "the key in THE_KEY"),
        (402, "", "the account: it has no money left"),
        (429, '{"code": "insufficient_quota"}', "the account: it has no money left"),
        (400, "Your credit balance is too low to access the Anthropic API.", "the account: it has no money left"),
        (404, "The model `o3` does not exist", "the model's name"),
        (404, "<html>Not Found</html>", "the address: most end in /v1"),
        (405, "Method Not Allowed", "the address: most end in /v1"),
        (400, '{"code": "model_not_found"}', "the model's name"),
        (400, '{"param": "temperature", "code": "unsupported_value"}', "the card's parameters"),
        (400, '{"param": "max_tokens", "code": "unsupported_parameter"}', "the card's parameters"),
    ],
)
def test_what_holds_for_every_request_is_told_with_where_to_look(status: int, said: str, look: str) -> None:
    assert where_to_look(failed(status, said), CARD) == look


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (None, "connection refused"),
        (400, "the picture can't be read"),
        (400, "maximum context length is 32768 tokens"),
        (413, "too large"),
        (422, "unprocessable"),
        (429, "slow down"),
        (500, "invalid_api_key"),
    ],
)
def test_what_may_be_about_one_request_is_not(status: int | None, said: str) -> None:
    assert where_to_look(failed(status, said), CARD) is None


def test_a_card_without_a_key_variable_says_so() -> None:
    assert where_to_look(failed(401), planner_card()) == "the key (the card names no variable for it)"


@pytest.mark.parametrize(
    ("status", "said", "beyond"),
    [
        (400, '{"code": "context_length_exceeded"}', True),
        (400, "This model's maximum context length is 32768 tokens.", True),
        (400, "The decoder prompt (length 9) is longer than the max_model_len of 8", True),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", True),
        (400, "something else", False),
        (500, "maximum context length", False),
    ],
)
def test_a_request_that_is_longer_than_the_window(status: int, said: str, beyond: bool) -> None:
    assert beyond_window(failed(status, said)) is beyond
