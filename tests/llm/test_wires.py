"""Interfaces other than chat completions behind the same client: path, headers, reading, and what is charged."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from fakes.chat_server import ChatServer, error, raw
from fakes.make import planner_card

from grounding.llm import CallFailed, Endpoint, ModelClient, Reply, Spent, resolve_endpoint
from grounding.llm.budget import Budget
from grounding.llm.wire import MalformedReply
from grounding.records import Usage

PRICE = {"input_usd": 10.0, "output_usd": 100.0, "date": "2026-01-01"}


class Echo:
    """An interface of its own: the reply is ``{"said": …, "in": …, "fee": …, "total": …}``."""

    base_path = "/chat"
    models_path = "/names"

    def path(self, model: str) -> str:
        return f"/ask/{model}"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"x-key": key or "none", "x-version": "3"}

    def read(self, body: bytes) -> str:
        try:
            return str(msgspec.json.decode(body)["said"])
        except (msgspec.DecodeError, KeyError) as problem:
            raise MalformedReply(f"no reply of mine: {problem}") from problem

    def spent(self, body: bytes) -> Spent:
        try:
            found = msgspec.json.decode(body)
        except msgspec.DecodeError:
            return Spent()
        usage = Usage(input_tokens=found["in"], output_tokens=1) if "in" in found else None
        return Spent(usage=usage, fee_usd=found.get("fee", 0.0), total_usd=found.get("total"))

    def model(self, answer: str) -> str:
        return f"echo of {answer}"

    def listed(self, body: bytes) -> list[str]:
        return list(msgspec.json.decode(body))


class OwnServer(ChatServer):
    """Answers at the paths of that interface."""

    def _behaviour(self, request: Any) -> Any:
        if request.path.startswith("/chat/ask/"):
            return self._script.popleft() if self._script else self.default
        return raw(b'["m", "n"]') if request.path == "/chat/names" else error(404)


def asked(*replies: Any, budget: Budget | None = None, retries: int = 2) -> tuple[OwnServer, Reply[str] | CallFailed]:
    with OwnServer(raw(b'{"said": "yes", "in": 1000}')) as server:
        server.script(*replies)
        endpoint = Endpoint(base_url=f"http://127.0.0.1:{server.port}/chat", key_variable="TEST_KEY")
        client = ModelClient(
            planner_card(price=PRICE),
            endpoint,
            Echo(),
            max_connections=2,
            timeout_s=5,
            max_retries=retries,
            backoff_s=0.001,
            budget=budget,
        )

        async def run() -> Reply[str]:
            try:
                await client.check()
                return await client.complete(b"{}")
            finally:
                await client.aclose()

        try:
            return server, asyncio.run(run())
        except CallFailed as failed:
            return server, failed


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "k-123")


def test_path_headers_and_reading_are_the_wires() -> None:
    server, got = asked()
    assert isinstance(got, Reply)
    assert (got.completion, got.call.model) == ("yes", "echo of yes")
    sent = server.requests[-1]
    assert sent.path == "/chat/ask/m"
    assert (sent.headers["x-key"], sent.headers["x-version"]) == ("k-123", "3")
    assert "Authorization" not in sent.headers


@pytest.mark.parametrize(
    ("body", "cost_usd"),
    [
        (b'{"said": "yes", "in": 1000}', 0.0101),
        (b'{"said": "yes", "in": 1000, "fee": 0.02}', 0.0301),
        (b'{"said": "yes", "in": 1000, "fee": 0.02, "total": 0.5}', 0.5),
        (b'{"said": "yes", "total": 0.5}', 0.5),
        (b'{"said": "yes", "fee": 0.02}', None),
    ],
)
def test_fees_count_and_a_sum_that_the_vendor_tells_wins(body: bytes, cost_usd: float | None) -> None:
    budget = Budget(None)
    _, got = asked(raw(body), budget=budget)
    assert isinstance(got, Reply)
    assert got.call.cost_usd == (None if cost_usd is None else pytest.approx(cost_usd))
    assert budget.spent_usd == pytest.approx(cost_usd or 0.0)


def test_a_reply_of_another_shape_is_tried_again_and_then_fails_with_what_it_cost() -> None:
    _, got = asked(*[raw(b'{"in": 1000}')] * 3)
    assert isinstance(got, CallFailed)
    assert "no reply of mine" in str(got)
    assert got.call is not None
    assert got.call.cost_usd == pytest.approx(3 * 0.0101)


@pytest.mark.parametrize(
    ("given", "resolved"),
    [
        ("http://h:1", "http://h:1/chat"),
        ("http://h:1/", "http://h:1/chat"),
        ("http://h:1/v7", "http://h:1/v7"),
        ("http://h:1/v7/ask/m", "http://h:1/v7"),
    ],
)
def test_an_address_is_completed_by_the_wire(given: str, resolved: str) -> None:
    assert resolve_endpoint(planner_card(), given, flag="--base-url", wire=Echo()).base_url == resolved
