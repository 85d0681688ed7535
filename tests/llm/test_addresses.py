"""Several servers of one model: who gets the next request, who is given up, and what all of them share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from fakes.chat_server import ChatServer, after, reply
from fakes.make import client

from grounding.errors import UserError
from grounding.llm import CallFailed, ChatClient, ChatReply
from llm.helpers import BODY, free_port


@pytest.fixture
def pair() -> Iterator[tuple[ChatServer, ChatServer]]:
    with ChatServer(after(0.05, reply("(1, 2)"))) as first, ChatServer(after(0.05, reply("(1, 2)"))) as second:
        yield first, second


def send(ours: ChatClient, count: int) -> list[ChatReply | CallFailed]:
    async def one() -> ChatReply | CallFailed:
        try:
            return await ours.complete(BODY)
        except CallFailed as failed:
            return failed

    async def run() -> list[ChatReply | CallFailed]:
        try:
            return await asyncio.gather(*(one() for _ in range(count)))
        finally:
            await ours.aclose()

    return asyncio.run(run())


def failures(results: list[ChatReply | CallFailed]) -> list[str]:
    return [str(result) for result in results if isinstance(result, CallFailed)]


def test_servers_share_the_work_and_each_has_the_connections_that_are_allowed(
    pair: tuple[ChatServer, ChatServer],
) -> None:
    first, second = pair
    ours = client(f"{first.base_url} {second.base_url}", max_connections=2)
    assert ours.max_connections == 4
    assert not failures(send(ours, 40))
    assert first.count + second.count == 40
    assert min(first.count, second.count) >= 15
    assert (first.most_open, second.most_open) == (2, 2)


@pytest.mark.parametrize("max_retries", [0, 3])
def test_one_that_is_dead_costs_the_others_no_try(
    pair: tuple[ChatServer, ChatServer], capsys: pytest.CaptureFixture[str], max_retries: int
) -> None:
    living, _ = pair
    dead = f"http://127.0.0.1:{free_port()}/v1"
    results = send(client(f"{dead} {living.base_url}", max_connections=4, max_retries=max_retries), 20)
    assert not failures(results)
    assert {result.call.attempts for result in results if not isinstance(result, CallFailed)} == {1}
    assert capsys.readouterr().err.count(f"nothing answers at {dead} any more; going on with the other server") == 1


def test_every_address_is_checked() -> None:
    async def check(base_url: str) -> None:
        ours = client(base_url)
        try:
            await ours.check()
        finally:
            await ours.aclose()

    absent = f"http://127.0.0.1:{free_port()}/v1"
    with ChatServer(models=["m"]) as right, ChatServer(models=["other"]) as wrong:
        asyncio.run(check(right.base_url))
        with pytest.raises(UserError, match=f"{wrong.base_url} does not serve m"):
            asyncio.run(check(f"{right.base_url} {wrong.base_url}"))
        with pytest.raises(UserError, match=f"nothing answers at {absent}"):
            asyncio.run(check(f"{right.base_url} {absent}"))
