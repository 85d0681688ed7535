"""Servers that go away while requests are under way, and come back, or don't."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest
from fakes.chat_server import Behaviour, ChatServer, after, dropped, error, raw, reply
from fakes.make import client
from fakes.slow_server import SlowServer, slow_server

from grounding.llm import CallFailed, ChatClient, ChatReply, Reply
from grounding.llm.client import MOST_LOST, ServerGone
from grounding.llm.http import AWAITED

BODIES = [b'{"messages": [{"role": "user", "content": "%d"}], "model": "m"}' % number for number in range(30)]
Outcome = ChatReply | CallFailed | ServerGone


def ask(
    ours: ChatClient, meanwhile: Callable[[], Awaitable[None]] | None = None, bodies: list[bytes] = BODIES
) -> list[Outcome]:
    async def one(body: bytes) -> Outcome:
        try:
            return await ours.complete(body)
        except (CallFailed, ServerGone) as ended:
            return ended

    async def run() -> list[Outcome]:
        other = asyncio.create_task(meanwhile()) if meanwhile else None
        try:
            return await asyncio.gather(*(one(body) for body in bodies))
        finally:
            if other is not None:
                await other
            await ours.aclose()

    return asyncio.run(run())


@pytest.fixture
def slow() -> Iterator[SlowServer]:
    with slow_server(latency_s=0.01) as running:
        running.let_go(10)
        yield running


async def restart(server: SlowServer, away_s: float) -> None:
    while server.answered < 10 or server.requests < 14:
        await asyncio.sleep(0.01)
    await asyncio.to_thread(server.stop)
    await asyncio.sleep(away_s)
    server.let_go(None)
    server.start()


def test_a_restart_costs_no_request_and_no_try(slow: SlowServer, capsys: pytest.CaptureFixture[str]) -> None:
    retries: list[int] = []
    ours = client(
        slow.url, max_connections=4, max_retries=0, server_wait_s=30, on_retry=lambda: retries.append(1), timeout_s=60
    )
    results = ask(ours, lambda: restart(slow, 1.0))
    assert all(isinstance(result, Reply) for result in results)
    assert retries == []
    assert slow.requests == len(BODIES) + 4, "asked twice are those that were in flight"
    assert max(slow.asked.values()) == 2
    said = capsys.readouterr().err
    assert said.count(f"nothing answers at {slow.url}") == 1
    assert said.count(f"{slow.url} answers again after") == 1
    assert AWAITED == {}


def test_one_that_does_not_come_back_ends_the_run(slow: SlowServer) -> None:
    async def stop() -> None:
        while slow.answered < 10:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(slow.stop)

    started = time.monotonic()
    results = ask(client(slow.url, max_connections=4, server_wait_s=0.7), stop)
    assert sum(isinstance(result, Reply) for result in results) == 10
    gone = [result for result in results if not isinstance(result, Reply)]
    assert {type(result) for result in gone} == {ServerGone}
    assert "no server of p answer" in str(gone[0])
    assert time.monotonic() - started < 10
    assert AWAITED == {}


def trouble_for(server: ChatServer, trouble: Behaviour, seconds: float) -> Callable[[], Awaitable[None]]:
    async def go() -> None:
        while server.count < 5:
            await asyncio.sleep(0.005)
        server.default, server.models, models = trouble, error(503, "loading"), server.models
        await asyncio.sleep(seconds)
        server.default, server.models = reply("(1, 2)"), models

    return go


@pytest.mark.parametrize(
    ("trouble", "timeout_s"),
    [(error(500), 60), (error(503, retry_after="0.05"), 60), (dropped(), 60), (after(60, reply("late")), 1)],
)
def test_trouble_on_all_connections_at_once_costs_no_request(trouble: Behaviour, timeout_s: float) -> None:
    with ChatServer(after(0.02, reply("(1, 2)"))) as server:
        ours = client(server.base_url, max_connections=4, max_retries=2, timeout_s=timeout_s, server_wait_s=60)
        results = ask(ours, trouble_for(server, trouble, 1.5))
    assert all(isinstance(result, Reply) for result in results)


def test_one_request_that_always_fails_is_a_failure_and_ends_nothing() -> None:
    async def behave(request: object, content: bytes) -> object:
        return await (error(500) if b'"7"' in content else reply("(1, 2)"))(request, content)  # type: ignore[arg-type]

    with ChatServer(behave) as server:  # type: ignore[arg-type]
        results = ask(client(server.base_url, max_connections=4, max_retries=2, server_wait_s=20))
    assert [number for number, result in enumerate(results) if not isinstance(result, Reply)] == [7]
    assert isinstance(results[7], CallFailed)


def test_a_request_that_kills_its_server_again_and_again_counts_as_the_reason() -> None:
    deadly = 0

    async def behave(request: object, content: bytes) -> object:
        nonlocal deadly
        if b'"7"' not in content:
            return await reply("(1, 2)")(request, content)  # type: ignore[arg-type]
        deadly += 1
        server.models = error(503)
        asyncio.get_running_loop().call_later(0.4, setattr, server, "models", ())
        return await dropped()(request, content)  # type: ignore[arg-type]

    with ChatServer(behave) as server:  # type: ignore[arg-type]
        results = ask(client(server.base_url, max_connections=2, max_retries=1, server_wait_s=20))
    assert isinstance(results[7], CallFailed)
    assert sum(isinstance(result, Reply) for result in results) == len(BODIES) - 1
    assert deadly == MOST_LOST + 2


def test_one_of_two_comes_back(slow: SlowServer, capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(after(0.1, reply("(1, 2)"))) as other:
        ours = client(f"{slow.url} {other.base_url}", max_connections=4, max_retries=0, server_wait_s=30, timeout_s=60)
        slow.let_go(2)

        async def bounce() -> None:
            while slow.answered < 2:
                await asyncio.sleep(0.01)
            await asyncio.to_thread(slow.stop)
            slow.let_go(None)
            await asyncio.sleep(0.3)
            slow.start()

        results = ask(ours, bounce, BODIES * 3)
    assert all(isinstance(result, Reply) for result in results)
    said = capsys.readouterr().err
    assert f"nothing answers at {slow.url} any more; going on with the other server" in said
    assert f"{slow.url} answers again" in said
    assert slow.answered > 10


def test_a_reply_that_cannot_be_held_is_unparsed_and_asked_once() -> None:
    half = raw(b'{"choices": [{"message": {"content": "(1, 2) \\ud800"}}], "usage": {"prompt_tokens": 5}}')
    with ChatServer(half) as server:
        (result,) = ask(client(server.base_url), bodies=BODIES[:1])
        assert isinstance(result, CallFailed)
        assert (result.unparsed, server.count) == (True, 1)
        assert result.call is not None
        assert "(1, 2)" in str(result)
