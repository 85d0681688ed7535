"""One request and many, against a real server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fakes.chat_server import ChatServer, after, reply
from fakes.make import client, planner_card

from llm.helpers import BODY, KEY, free_port, send


def test_a_reply_and_what_it_took(server: ChatServer) -> None:
    server.default = after(0.05, reply("(3, 4)", usage={"prompt_tokens": 1000, "completion_tokens": 10}, model="m-1"))
    card = planner_card(price={"input_usd": 2, "output_usd": 8, "date": "x"})
    got = send(lambda: client(server.base_url, card))
    assert got.completion.text == "(3, 4)"
    assert got.call.attempts == 1
    assert 0.05 <= got.call.seconds < 5
    assert got.call.usage is not None
    assert got.call.usage.input_tokens == 1000
    assert got.call.cost_usd == pytest.approx(0.00208)
    assert got.call.model == "m-1"


@pytest.mark.parametrize("entry", ["machine 127.0.0.1", "default"])
def test_a_netrc_file_does_not_get_in_the_way_of_the_key(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, entry: str
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text(f"{entry} login me password hunter2\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("TEST_KEY", KEY)
    send(lambda: client(server.base_url, key_variable="TEST_KEY"))
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"


def test_the_proxy_of_the_environment_is_used(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.base_url.removesuffix("/v1"))
    assert send(lambda: client("http://model.invalid/v1")).completion.text == "(1, 2)"
    assert server.requests[0].headers["Host"] == "model.invalid"


def test_no_proxy_keeps_an_address_from_the_proxy(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("no_proxy", "localhost,127.0.0.1")
    assert send(lambda: client(server.base_url)).completion.text == "(1, 2)"


def test_a_cancelled_request_frees_its_place(server: ChatServer) -> None:
    server.script(after(5, reply("late")))

    async def run() -> str:
        ours = client(server.base_url, max_connections=1)
        first = asyncio.create_task(ours.complete(BODY))
        while not server.count:
            await asyncio.sleep(0.005)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        text = (await ours.complete(BODY)).completion.text
        await ours.aclose()
        return text

    assert asyncio.run(run()) == "(1, 2)"
