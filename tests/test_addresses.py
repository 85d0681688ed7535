"""Several servers of one model: who gets the next request, who is given up, and what all of them share."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest
from fakes.chat_server import ChatServer, after, dropped, error, reply
from fakes.make import client, planner_card

from grounding.addresses import GONE_AFTER, Addresses
from grounding.errors import UserError
from grounding.llm import CallFailed, ChatClient, ChatReply, resolve_endpoint

BODY = b'{"messages": [{"role": "user", "content": "hi"}], "model": "m"}'


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


def closed_address() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def failures(results: list[ChatReply | CallFailed]) -> list[str]:
    return [str(result) for result in results if isinstance(result, CallFailed)]


def test_servers_share_the_work_and_the_limit_of_open_requests(pair: tuple[ChatServer, ChatServer]) -> None:
    first, second = pair
    assert not failures(send(client(f"{first.base_url} {second.base_url}", max_connections=4), 40))
    assert first.count + second.count == 40
    assert min(first.count, second.count) >= 15
    assert (first.most_open, second.most_open) == (2, 2)


def test_the_least_busy_server_gets_the_next_request(pair: tuple[ChatServer, ChatServer]) -> None:
    slow, quick = pair
    slow.default = after(1.0, reply("(1, 2)"))
    assert not failures(send(client(f"{slow.base_url} {quick.base_url}", max_connections=4), 40))
    assert quick.count > 5 * slow.count


def test_a_dead_server_is_given_up_with_one_warning_and_nothing_is_lost(
    pair: tuple[ChatServer, ChatServer], capsys: pytest.CaptureFixture[str]
) -> None:
    dead, living = pair
    dead.default = dropped()
    living.default = after(0.2, reply("(1, 2)"))
    ours = client(f"{dead.base_url} {living.base_url}", max_connections=4, max_retries=8, backoff_s=0.2)
    assert not failures(send(ours, 120))
    warned = f"nothing answers at {dead.base_url} any more; going on with the other server"
    assert capsys.readouterr().err.count(warned) == 1
    assert living.count == 120
    assert dead.count < 40


def test_all_dead_is_the_error_of_one_that_is_dead() -> None:
    results = send(client(f"{closed_address()} {closed_address()}", max_retries=2), 5)
    assert len(failures(results)) == 5
    assert all("connection failed" in said and "(after 3 tries)" in said for said in failures(results))


def test_what_a_server_says_never_counts_against_its_being_there(
    pair: tuple[ChatServer, ChatServer], capsys: pytest.CaptureFixture[str]
) -> None:
    refusing, other = pair
    refusing.default = error(500)
    send(client(f"{refusing.base_url} {other.base_url}", max_retries=6), 20)
    assert capsys.readouterr().err == ""
    assert refusing.count > GONE_AFTER


def test_requests_that_break_together_count_once() -> None:
    gone: list[str] = []
    addresses = Addresses(["http://a/v1", "http://b/v1"], lambda url, left: gone.append(f"{url} {left}"))
    address = addresses.all[0]
    for _ in range(3 * GONE_AFTER):
        addresses.failed(address, began=0.0)
    assert (address.failures, gone) == (1, [])


def test_failures_one_after_the_other_count_until_an_answer_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("grounding.addresses.time.monotonic", lambda: now[0])
    gone: list[str] = []
    addresses = Addresses(["http://a/v1", "http://b/v1"], lambda url, left: gone.append(f"{url} {left}"))
    first, second = addresses.all

    def fail(times: int) -> None:
        for _ in range(times):
            now[0] += 100.0
            addresses.failed(first, began=now[0])

    fail(GONE_AFTER - 1)
    addresses.answered(first)
    fail(GONE_AFTER - 1)
    assert gone == []
    fail(1)
    assert gone == ["http://a/v1 1"]
    assert [addresses.take() for _ in range(3)] == [second] * 3


def test_a_server_that_just_failed_rests_while_another_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("grounding.addresses.time.monotonic", lambda: now[0])
    addresses = Addresses(["http://a/v1", "http://b/v1"], lambda _url, _left: None)
    first, second = addresses.all
    addresses.failed(first, began=100.0)
    assert [addresses.take() for _ in range(3)] == [second] * 3
    now[0] += 1.0
    assert addresses.take() is first


def test_the_last_server_is_never_given_up() -> None:
    gone: list[str] = []
    addresses = Addresses(["http://a/v1"], lambda url, _left: gone.append(url))
    for _ in range(3 * GONE_AFTER):
        addresses.failed(addresses.all[0], began=float("inf"))
    assert gone == []
    assert addresses.take() is addresses.all[0]


def test_every_address_is_checked() -> None:
    async def check(base_url: str) -> None:
        ours = client(base_url)
        try:
            await ours.check()
        finally:
            await ours.aclose()

    absent = closed_address()
    with ChatServer(models=["m"]) as right, ChatServer(models=["other"]) as wrong:
        asyncio.run(check(right.base_url))
        with pytest.raises(UserError, match=f"{wrong.base_url} does not serve m"):
            asyncio.run(check(f"{right.base_url} {wrong.base_url}"))
        with pytest.raises(UserError, match=f"nothing answers at {absent}"):
            asyncio.run(check(f"{right.base_url} {absent}"))


def test_several_addresses_are_one_text_in_one_order_without_repeats() -> None:
    given = "http://b:2/v1/ http://a:1 http://b:2/v1"
    assert resolve_endpoint(planner_card(), given, flag="--base-url").base_url == "http://a:1/v1 http://b:2/v1"
    with pytest.raises(UserError, match="--base-url 'nonsense': expected an address"):
        resolve_endpoint(planner_card(), "http://a:1/v1 nonsense", flag="--base-url")
