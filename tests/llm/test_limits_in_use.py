"""The client under a provider's limits and under a cost limit, against real servers."""

from __future__ import annotations

import asyncio
import json
import random
import time
from typing import Any

import pytest
from aiohttp import web
from fakes.chat_server import ChatServer, completion, cut, dropped, error, no_choices, rate_limited, raw
from fakes.make import client, planner_card

from grounding.llm import CallFailed
from grounding.llm.budget import Budget, BudgetReached
from grounding.llm.ratelimits import RateLimiter
from grounding.llm.tokens import RequestTokens
from llm.helpers import BODY, send

PRICE = {"input_usd": 2.0, "output_usd": 8.0, "date": "2026-11-21"}
CARD = planner_card(price=PRICE)
TOKENS = RequestTokens(text=400, images=600, output=50, input_most=1200, output_most=1000)
MOST_USD = (1200 * 2 + 1000 * 8) / 1e6  # $0.0104


def many(server: ChatServer, count: int, **options: Any) -> list[object]:
    async def run() -> list[object]:
        ours = client(server.base_url, CARD, **options)
        try:
            return await asyncio.gather(*(ours.complete(BODY, TOKENS) for _ in range(count)), return_exceptions=True)
        finally:
            await ours.aclose()

    return asyncio.run(run())


# --- the provider's limits ------------------------------------------------------------------------------------------


def test_a_refusal_with_a_wait_pauses_all_requests(server: ChatServer) -> None:
    times: list[float] = []

    async def behave(_request: web.Request, _content: bytes) -> web.StreamResponse:
        times.append(time.monotonic())
        if len(times) == 1:
            headers = {"Retry-After": "1"}
            return web.json_response({"error": {"message": "slow down"}}, status=429, headers=headers)
        return web.json_response(completion("x"))

    server.default = behave
    replies = many(server, 6, max_connections=1)
    assert len(times) == 7
    assert min(times[1:]) - times[0] >= 0.95
    assert max(times[1:]) - min(times[1:]) < 0.9  # none of the others waits on its own
    assert not [each for each in replies if isinstance(each, BaseException)]


def test_a_long_pause_is_told(server: ChatServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.script(rate_limited(seconds=30))

    async def sleep(seconds: float) -> None:
        clock[0] += seconds

    clock = [0.0]
    ours = RateLimiter(clock=lambda: clock[0], sleep=sleep)
    assert send(lambda: client(server.base_url, limiter=ours)).completion.text == "(1, 2)"
    assert capsys.readouterr().err == "grounding: p: the provider asks for a pause of 30 s; all requests wait\n"
    assert clock[0] == 30


# --- the cost limit -------------------------------------------------------------------------------------------------


class Billing:
    """A provider that charges as it likes, within what the request allows; also for replies that never arrive."""

    def __init__(self, seed: int) -> None:
        self.usd = 0.0
        self._draw = random.Random(seed)

    async def __call__(self, request: web.Request, _content: bytes) -> web.StreamResponse:
        usage = {
            "prompt_tokens": self._draw.choice([900, 1000, 1200]),
            "completion_tokens": self._draw.choice([1, 5, 20, 400, 1000]),
        }
        kind = self._draw.choices(["reply", "cut", "drop", "none", "500", "no choices"], [14, 1, 1, 1, 1, 1])[0]
        await asyncio.sleep(self._draw.uniform(0.002, 0.01))
        if kind == "500":
            return web.json_response({"error": {"message": "down"}}, status=500)
        self.usd += (usage["prompt_tokens"] * 2 + usage["completion_tokens"] * 8) / 1e6
        whole = completion("x", usage=None if kind == "none" else usage)
        if kind == "drop":
            assert request.transport is not None
            request.transport.abort()
        if kind == "no choices":
            whole = {**whole, "choices": []}
        content = json.dumps(whole).encode()
        return web.Response(
            body=content[: len(content) // 2] if kind == "cut" else content, content_type="application/json"
        )


@pytest.mark.parametrize("seed", range(2))
def test_however_unevenly_it_is_billed_the_limit_holds_and_is_used(seed: int) -> None:
    billing, limit = Billing(seed), 0.15
    with ChatServer(billing) as server:
        budget = Budget(limit)
        results = many(server, 400, budget=budget, max_connections=16, max_retries=2)
        open_at_once = server.most_open
    assert billing.usd <= limit + 1e-9
    assert budget.spent_usd <= billing.usd + 1e-9
    assert budget.spent_usd + budget.unreported_usd >= billing.usd - 1e-9  # nothing that was billed is unknown
    assert budget.spent_usd + budget.unreported_usd > limit - MOST_USD - 1e-9
    assert any(isinstance(each, BudgetReached) for each in results)
    assert open_at_once >= 4  # not one at a time


def test_the_cost_of_failed_tries_is_part_of_the_calls(server: ChatServer) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 500, "completion_tokens_details": {"reasoning_tokens": 500}}
    said = {**completion("x", usage=usage), "choices": []}
    server.script(raw(json.dumps(said).encode()), error(500))
    budget = Budget(1.0)
    got = send(lambda: client(server.base_url, CARD, budget=budget))
    assert got.call.attempts == 3
    assert got.call.usage is not None
    assert (got.call.usage.input_tokens, got.call.usage.output_tokens) == (1000, 10)
    assert got.call.failed_usage is not None
    assert (got.call.failed_usage.output_tokens, got.call.failed_usage.reasoning_tokens) == (500, 500)
    assert got.call.cost_usd == pytest.approx(0.006 + 0.00208)
    assert got.call.unreported_usd == 0.0
    assert budget.spent_usd == pytest.approx(got.call.cost_usd)


@pytest.mark.parametrize(
    ("trouble", "unreported"), [(dropped(), True), (cut(), True), (error(500), False), (error(400), False)]
)
def test_what_may_have_been_charged_is_recorded(server: ChatServer, trouble: Any, unreported: bool) -> None:
    server.default = trouble
    budget = Budget(1.0)

    async def run() -> CallFailed:
        ours = client(server.base_url, CARD, budget=budget, max_retries=1)
        with pytest.raises(CallFailed) as caught:
            await ours.complete(BODY, TOKENS)
        await ours.aclose()
        return caught.value

    failed = asyncio.run(run())
    if unreported:
        assert failed.call is not None
        assert failed.call.unreported_usd == budget.unreported_usd == pytest.approx(2 * MOST_USD)
        assert failed.call.cost_usd is None
    else:
        assert failed.call is None
        assert budget.unreported_usd == 0.0


def test_a_try_that_was_paid_is_recorded_when_the_limit_forbids_another(server: ChatServer) -> None:
    server.default = no_choices()  # with a usage of 1000 and 10
    budget = Budget(0.012)

    async def run() -> CallFailed:
        ours = client(server.base_url, CARD, budget=budget, max_retries=5)
        with pytest.raises(CallFailed, match=r"no other try: the cost limit of \$0\.012 is reached") as caught:
            await ours.complete(BODY, TOKENS)
        await ours.aclose()
        return caught.value

    call = asyncio.run(run()).call
    assert call is not None
    assert (call.attempts, call.cost_usd) == (1, pytest.approx(0.00208))
