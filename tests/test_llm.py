"""The client against a real server that misbehaves in every way that providers do, and what users get wrong."""

from __future__ import annotations

import asyncio
import base64
import email.utils
import json
import os
import socket
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.chat_server import (
    Behaviour,
    ChatServer,
    after,
    answering,
    cut,
    dropped,
    dropped_midway,
    echo,
    error,
    no_choices,
    out_of_quota,
    rate_limited,
    raw,
    reply,
)
from fakes.make import client, planner_card

from grounding.errors import UserError
from grounding.llm import CallFailed, ChatClient, ChatReply, Endpoint, resolve_endpoint

KEY = "sk-proj-0123456789abcdef/+ghijkl"
BODY = b'{"messages": [{"role": "user", "content": "hi"}], "model": "m"}'


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def send(ours: Callable[[], ChatClient], body: bytes = BODY) -> ChatReply:
    async def run() -> ChatReply:
        opened = ours()
        try:
            return await opened.complete(body)
        finally:
            await opened.aclose()

    return asyncio.run(run())


def failure(server: ChatServer, body: bytes = BODY, **options: Any) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        send(lambda: client(server.base_url, **options), body)
    return caught.value


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


# --- one request ----------------------------------------------------------------------------------------------------


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


def test_the_body_goes_out_byte_for_byte(server: ChatServer) -> None:
    body = b'{ "odd":   "spacing \\u00e9", "n": 1.50 }'
    send(lambda: client(server.base_url), body)
    assert server.requests[0].content == body


def test_a_large_body_arrives(server: ChatServer) -> None:
    body = b'{"url": "' + b"A" * 20_000_000 + b'"}'
    send(lambda: client(server.base_url), body)
    assert len(server.requests[0].content) == len(body)


def test_without_a_key_no_authorization_is_sent(server: ChatServer) -> None:
    send(lambda: client(server.base_url))
    assert "Authorization" not in server.requests[0].headers


def test_the_key_is_read_when_it_is_needed(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def ours() -> ChatClient:
        made = client(server.base_url, key_variable="TEST_KEY")
        monkeypatch.setenv("TEST_KEY", KEY)
        return made

    send(ours)
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"


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


# --- retries --------------------------------------------------------------------------------------------------------

RETRIED: dict[str, Behaviour] = {
    "408": error(408),
    "409": error(409),
    "425": error(425),
    "429": error(429),
    "429 with a wait of 0 s": rate_limited(seconds=0),
    "500": error(500),
    "502 with a page": raw(b"<html>Bad gateway</html>", status=502),
    "503": error(503),
    "529": error(529),
    "dropped": dropped(),
    "dropped midway": dropped_midway(),
    "no reply in time": after(30, reply("late")),
    "cut JSON": cut(),
    "no choices": no_choices(),
    "an error under 200": raw(b'{"error": {"message": "overloaded", "code": 502}}'),
    "not UTF-8": raw(b'{"choices": [{"message": {"content": "\xff\xfe"}}]}'),
    "empty body": raw(b""),
}


@pytest.mark.parametrize("trouble", RETRIED)
def test_passing_trouble_is_tried_again(server: ChatServer, trouble: str) -> None:
    retries: list[int] = []
    server.script(RETRIED[trouble], RETRIED[trouble])
    timeout_s = 1.0 if trouble == "no reply in time" else 10.0
    got = send(lambda: client(server.base_url, timeout_s=timeout_s, on_retry=lambda: retries.append(1)))
    assert got.completion.text == "(1, 2)"
    assert got.call.attempts == server.count == 3
    assert len(retries) == 2


@pytest.mark.parametrize("trouble", RETRIED)
@pytest.mark.parametrize("max_retries", [0, 2])
def test_lasting_trouble_ends_in_a_failure(server: ChatServer, trouble: str, max_retries: int) -> None:
    server.default = RETRIED[trouble]
    failed = failure(server, timeout_s=0.4 if trouble == "no reply in time" else 10.0, max_retries=max_retries)
    assert failed.attempts == max_retries + 1
    assert server.count == failed.attempts or trouble == "no reply in time"
    tries = f"(after {max_retries + 1} tries)"
    assert str(failed).endswith(tries) == (max_retries > 0)
    assert len(str(failed)) > len(tries) + 5


FINAL: dict[str, Behaviour] = {
    "400": error(400),
    "401": error(401),
    "402": error(402),
    "403": error(403),
    "404": error(404),
    "405": error(405),
    "413": error(413),
    "422": error(422),
    "429 out of quota": out_of_quota(),
    "400 with Retry-After": error(400, retry_after="0"),
    "204": raw(b"", status=204),
    "304": raw(b"", status=304),
}


@pytest.mark.parametrize("trouble", FINAL)
def test_what_waiting_does_not_mend_is_final_at_once(server: ChatServer, trouble: str) -> None:
    retries: list[int] = []
    server.default = FINAL[trouble]
    failed = failure(server, max_retries=5, on_retry=lambda: retries.append(1))
    assert server.count == failed.attempts == 1
    assert retries == []
    assert failed.status == int(trouble[:3])
    assert str(failed).startswith(f"HTTP {trouble[:3]}")


@pytest.mark.parametrize(
    ("trouble", "status", "words"),
    [
        (error(400, "max_tokens is too large"), 400, "max_tokens is too large"),
        (error(500, "cuda\n out   of memory"), 500, "cuda\\n out of memory"),
        (out_of_quota(), 429, "You exceeded your current quota"),
        (dropped(), None, "connection failed"),
        (dropped_midway(), None, "connection failed"),
        (after(30, reply("late")), None, "no reply within 0.5 s"),
        (cut(), None, "not a chat completion"),
        (no_choices(), None, "no choices"),
        (raw(b"", status=503), 503, "HTTP 503"),
        (raw(b"\xff\xfe\x00", status=500), 500, "HTTP 500"),
    ],
)
def test_a_failure_says_what_happened(server: ChatServer, trouble: Behaviour, status: int | None, words: str) -> None:
    server.default = trouble
    failed = failure(server, max_retries=1, timeout_s=0.5 if "no reply" in words else 10.0)
    assert failed.status == status
    assert words in str(failed)
    assert "\n" not in str(failed)


def test_a_page_of_error_is_shortened(server: ChatServer) -> None:
    server.default = error(400, "wordy " * 1000)
    message = str(failure(server))
    assert len(message) < 600
    assert message.endswith("…")


def test_nothing_listening_is_tried_again_and_said() -> None:
    port = free_port()
    with pytest.raises(CallFailed, match=f"connection failed: .*{port}.*after 3 tries"):
        send(lambda: client(f"http://127.0.0.1:{port}/v1", max_retries=2))


def seconds_with(server: ChatServer, trouble: Behaviour, **options: Any) -> float:
    server.script(trouble)
    started = time.monotonic()
    got = send(lambda: client(server.base_url, **options))
    assert got.call.attempts == 2
    return time.monotonic() - started


@pytest.mark.parametrize(
    "trouble",
    [
        rate_limited(seconds=0.4),
        rate_limited(milliseconds=400),
        rate_limited(milliseconds=400, seconds=30),  # the finer one counts
        error(429, retry_after_ms="soon", retry_after="0.4"),
        error(503, retry_after="0.4"),
    ],
)
def test_the_servers_wait_is_kept(server: ChatServer, trouble: Behaviour) -> None:
    assert 0.4 <= seconds_with(server, trouble) < 5


def test_a_wait_until_a_date_is_kept(server: ChatServer) -> None:
    date = email.utils.formatdate(time.time() + 2, usegmt=True)  # whole seconds: between 1 and 2 from now
    assert 0.9 <= seconds_with(server, rate_limited(date=date)) < 6


@pytest.mark.parametrize(
    "wait", ["-5", "nan", "soon", "", "Fri, 31 Feb 2026 10:00:00 GMT", "Wed, 21 Oct 2015 07:28:00 GMT", "٣٣ days"]
)
def test_a_wait_that_is_none_does_no_harm(server: ChatServer, wait: str) -> None:
    assert seconds_with(server, error(429, retry_after=wait)) < 5


def test_without_a_wait_from_the_server_the_pauses_are_those_of_the_client(server: ChatServer) -> None:
    server.default = error(500)
    started = time.monotonic()
    failure(server, max_retries=4, backoff_s=0.02)
    assert time.monotonic() - started < 0.02 * (1 + 2 + 4 + 8) + 5


def test_the_seconds_of_a_call_are_those_of_its_last_try(server: ChatServer) -> None:
    server.script(after(1.0, error(500)))
    assert send(lambda: client(server.base_url)).call.seconds < 0.9


# --- many requests --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_connections", [1, 5])
def test_no_more_requests_are_open_than_allowed(server: ChatServer, max_connections: int) -> None:
    server.default = after(0.02, reply("x"))

    async def run() -> None:
        ours = client(server.base_url, max_connections=max_connections)
        await asyncio.gather(*(ours.complete(BODY) for _ in range(20)))
        await ours.aclose()

    asyncio.run(run())
    assert server.count == 20
    assert server.most_open == max_connections


def test_a_thousand_requests_get_their_own_answers(server: ChatServer) -> None:
    server.default = answering(lambda body: f"reply to {body['n']}")

    async def run() -> list[str]:
        ours = client(server.base_url, max_connections=128, timeout_s=60)
        replies = await asyncio.gather(*(ours.complete(json.dumps({"n": n}).encode()) for n in range(1000)))
        await ours.aclose()
        return [got.completion.text for got in replies]

    assert asyncio.run(run()) == [f"reply to {n}" for n in range(1000)]


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


# --- secrets --------------------------------------------------------------------------------------------------------

PICTURE = base64.b64encode(os.urandom(3000)).decode()
WITH_PICTURE = json.dumps(
    {"messages": [{"role": "user", "content": [{"image_url": {"url": f"data:image/png;base64,{PICTURE}"}}]}]}
).encode()


def longest_shared(text: str, secret: str) -> int:
    """How many characters in a row of the secret are in the text."""
    longest = 0
    for start in range(len(secret)):
        while secret[start : start + longest + 1] in text and start + longest < len(secret):
            longest += 1
    return longest


@pytest.mark.parametrize("status", [400, 401, 500])
@pytest.mark.parametrize("escape_slashes", [False, True])
def test_neither_key_nor_picture_is_in_any_message(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, status: int, escape_slashes: bool
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    server.default = echo(status, escape_slashes=escape_slashes)
    failed = failure(server, WITH_PICTURE, key_variable="TEST_KEY", max_retries=1)
    assert KEY in server.requests[0].headers["Authorization"]  # it was sent, so it could have been echoed
    shown = "".join(traceback.format_exception(failed)) + repr(failed) + repr(vars(failed))
    assert longest_shared(shown, KEY) < 8
    assert longest_shared(shown, PICTURE) < 16
    assert "[key]" in shown


def test_the_key_does_not_follow_a_redirect_to_another_server(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    with ChatServer() as other:
        server.default = raw(b"", status=307, headers={"Location": f"{other.base_url}/chat/completions"})
        assert send(lambda: client(server.base_url, key_variable="TEST_KEY")).completion.text == "(1, 2)"
        (received,) = other.asked
    assert received.content == BODY
    assert not [value for value in received.headers.values() if KEY in value]
    assert KEY in server.requests[0].headers["Authorization"]


@pytest.mark.parametrize(
    "echoed",
    [
        PICTURE,
        f"data:image/png;base64,{PICTURE}",
        f"invalid url: data:image/jpeg;base64,{PICTURE[:120]}... (truncated)",
        "\n".join(PICTURE[i : i + 76] for i in range(0, 3040, 76)),
        "\\n".join(PICTURE[i : i + 76] for i in range(0, 3040, 76)),
        PICTURE.replace("/", "\\/"),
        f"data:image\\/png;base64,{PICTURE}".replace("/", "\\/"),
    ],
    ids=["bare", "url", "cut url", "lines", "escaped lines", "escaped slashes", "url with escaped slashes"],
)
def test_pictures_are_taken_out_in_whatever_form_they_come_back(server: ChatServer, echoed: str) -> None:
    server.default = raw(f"bad request: {echoed} is no picture".encode(), status=400)
    message = str(failure(server))
    assert longest_shared(message, PICTURE) < 16
    assert message.startswith("HTTP 400: ")
    assert "[base64]" in message


def test_words_and_hashes_stay_in_messages(server: ChatServer) -> None:
    said = (
        "request 3b2f4f6a9c1d4e5f8a7b6c5d4e3f2a1b3b2f4f6a9c1d4e5f8a7b6c5d4e3f2a1b: model /srv/models/a-b_c/d not found"
    )
    server.default = raw(said.encode(), status=404)
    assert str(failure(server)) == f"HTTP 404: {said}"


def test_an_endpoint_shows_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    endpoint = Endpoint(base_url="http://x/v1", key_variable="TEST_KEY")
    assert endpoint.key() == KEY
    assert KEY not in repr(endpoint) + str(endpoint)


# --- addresses and keys ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "resolved"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/chat/completions", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/chat/completions/", "http://127.0.0.1:8000/v1"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
        ("https://host.example/v1beta/openai/", "https://host.example/v1beta/openai"),
        ("https://host.example/openai/v1", "https://host.example/openai/v1"),
    ],
)
def test_addresses(given: str, resolved: str) -> None:
    assert resolve_endpoint(planner_card(), given, flag="--base-url").base_url == resolved


@pytest.mark.parametrize(
    "given",
    [
        "127.0.0.1:8000/v1",
        "localhost",
        "ftp://host/v1",
        "http://",
        "http:///v1",
        "file:///v1",
        "http://host:port/v1",
        "http://host:99999/v1",
        "http://[::1",
        "http://a..b/v1",
        f"http://{'a' * 70}/v1",
        "http://my host/v1",
        "http://host/v1\n",
        " ",
    ],
)
def test_what_is_no_address_is_refused_with_an_example(given: str) -> None:
    with pytest.raises(
        UserError, match=r"--planner-base-url .*expected an address such as http://127\.0\.0\.1:8000/v1"
    ):
        resolve_endpoint(planner_card(), given, flag="--planner-base-url")


@pytest.mark.parametrize(
    "given",
    [
        "http://me:hunter2@host/v1",
        "http://hunter2@host/v1",
        "http://host/v1?key=hunter2",
        "http://host/#hunter2",
        "me:hunter2@host:port",
    ],
)
def test_an_address_with_a_secret_in_it_is_refused_without_showing_it(given: str) -> None:
    with pytest.raises(UserError, match="--base-url: the address has a user, a password or a query") as caught:
        resolve_endpoint(planner_card(), given, flag="--base-url")
    assert "hunter2" not in str(caught.value)


def test_a_card_without_an_address_says_how_to_serve_it() -> None:
    card = planner_card(endpoint={"how_to_serve": "vllm serve org/m"})
    with pytest.raises(UserError, match=r"--base-url http://HOST:PORT/v1(.|\n)*vllm serve org/m"):
        resolve_endpoint(card, None, flag="--base-url")
    with pytest.raises(UserError, match="needs a server"):
        resolve_endpoint(planner_card(), None, flag="--base-url")


def hosted() -> Any:
    return planner_card(endpoint={"base_url": "https://api.example/v1", "key_variable": "TEST_KEY"})


@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    if value is None:
        monkeypatch.delenv("TEST_KEY", raising=False)
    else:
        monkeypatch.setenv("TEST_KEY", value)
    with pytest.raises(UserError, match=r"https://api\.example/v1 needs a key: set TEST_KEY"):
        resolve_endpoint(hosted(), None, flag="--base-url")
    # A server of one's own may need none.
    assert resolve_endpoint(hosted(), "http://127.0.0.1:8000", flag="--base-url").key() in (None, "")


@pytest.mark.parametrize(
    "value", [f"{KEY}\n", f" {KEY}", f"{KEY}\r\n", f"{KEY[:5]}\n{KEY[5:]}", f"{KEY}\t", " ", f"{KEY}\x01"]
)
def test_a_key_with_blanks_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TEST_KEY", value)
    with pytest.raises(UserError, match="the key in TEST_KEY has a blank or a line end") as caught:
        resolve_endpoint(hosted(), None, flag="--base-url")
    assert KEY[:5] not in str(caught.value)


def test_a_key_that_is_right_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    endpoint = resolve_endpoint(hosted(), None, flag="--base-url")
    assert (endpoint.base_url, endpoint.key()) == ("https://api.example/v1", KEY)


# --- the check before a run -----------------------------------------------------------------------------------------


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
        error(405),
        raw(b"<html>"),
        raw(b'{"data": null}'),
        raw(b'{"data": [{"name": "x"}]}'),
        raw(b'{"data": [{"id": 5}]}'),
        raw(b'{"data": [5]}'),
        raw(b"[]"),
        raw(b'"\xff"'),
        raw(b"[" * 100_000),
    ],
    ids=str,
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


def test_a_server_that_hangs_up_is_said() -> None:
    with ChatServer(models=dropped()) as server, pytest.raises(UserError, match="nothing answers at"):
        check(server.base_url)
