"""The check before a run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fakes.chat_server import ChatServer, error, raw
from fakes.make import client, planner_card

from grounding.errors import UserError
from llm.helpers import KEY, free_port


def check(base_url: str, **fields: Any) -> None:
    async def run() -> None:
        card = planner_card(model="org/model-7B", **fields)
        ours = client(base_url, card, key_variable=card.endpoint.key_variable)
        try:
            await ours.check()
        finally:
            await ours.aclose()

    asyncio.run(run())


@pytest.mark.parametrize(
    "models",
    [
        ["org/model-7B"],
        ["a", "b", "org/model-7B"],
        ["models/org/model-7B"],
        [],  # an endpoint that lists nothing
        None,  # one without such a page
        error(500),
        raw(b"<html>"),
        raw(b'{"data": [{"id": 5}]}'),
        raw(b'"\xff"'),
        raw(b"[" * 100_000),
    ],
    ids=lambda models: str(models) if not callable(models) else None,
)
def test_the_check_passes_where_the_model_is_served_or_nothing_is_known(models: Any) -> None:
    with ChatServer(models=models) as server:
        check(server.base_url)
        assert [received.path for received in server.requests] == ["/v1/models"]


@pytest.mark.parametrize(
    ("models", "listed"),
    [
        (["gpt-4o"], r"it serves gpt-4o\)"),
        (["org/model-72B", "model-7B"], r"it serves org/model-72B, model-7B\)"),
        (["other-org/model-7B"], "it serves other-org/model-7B"),
        (["xorg/model-7B"], "it serves xorg/model-7B"),  # the end of another name is not this one
        ([f"m{n}" for n in range(9)], "it serves m0, m1, m2, m3, m4 and 4 more"),
    ],
)
def test_a_model_that_is_not_served_is_named_with_those_that_are(models: list[str], listed: str) -> None:
    with ChatServer(models=models) as server, pytest.raises(UserError, match=f"does not serve org/model-7B.*{listed}"):
        check(server.base_url)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    with ChatServer(models=raw(f'{{"you_sent": "{KEY}"}}'.encode(), status=status)) as server:
        with pytest.raises(
            UserError, match=f"refuses the key \\(HTTP {status}\\): check the key in TEST_KEY"
        ) as caught:
            check(server.base_url, endpoint={"key_variable": "TEST_KEY"})
        assert KEY not in str(caught.value)
        with pytest.raises(UserError, match="the card names no key variable"):
            check(server.base_url)


def test_a_server_that_is_not_there_is_said_with_how_to_start_it() -> None:
    base_url = f"http://127.0.0.1:{free_port()}/v1"
    with pytest.raises(UserError, match=f"nothing answers at {base_url}(.|\n)*To serve it yourself: vllm serve x"):
        check(base_url, endpoint={"how_to_serve": "vllm serve x"})
