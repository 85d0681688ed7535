"""A server that misbehaves in every way that providers do."""

from __future__ import annotations

import email.utils
import time
from typing import Any

import pytest
from fakes.chat_server import (
    Behaviour,
    ChatServer,
    after,
    cut,
    dropped,
    dropped_midway,
    error,
    no_choices,
    out_of_quota,
    rate_limited,
    raw,
    reply,
)
from fakes.make import client
from multidict import CIMultiDict

from grounding.llm.http import retry_after_s
from llm.helpers import failure, send

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


NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "0.5"}, 0.5),
        ({"Retry-After-Ms": "soon", "Retry-After": "20"}, 20.0),
        ({"Retry-After": email.utils.formatdate(NOW + 30, usegmt=True)}, 30.0),
        ({"Retry-After": email.utils.formatdate(NOW - 30, usegmt=True)}, 0.0),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "soon"}, None),
    ],
)
def test_every_form_in_which_providers_ask_for_a_pause_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(CIMultiDict(headers), NOW) == seconds
