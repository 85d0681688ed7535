"""Neither key nor picture is in any message."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import traceback

import pytest
from fakes.chat_server import ChatServer, echo, raw
from fakes.make import client

from grounding.errors import UserError
from grounding.llm import Endpoint
from llm.helpers import KEY, failure

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


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_nothing_follows_a_redirect_to_another_server(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    with ChatServer() as other:
        location = other.base_url.replace("//", "//me:hunter2@") + f"/chat/completions?key={KEY}"
        server.default = server.models = raw(b"", status=status, headers={"Location": location})
        failed = failure(server, key_variable="TEST_KEY")
        with pytest.raises(UserError, match="it leads to http://127") as told:
            asyncio.run(client(server.base_url, key_variable="TEST_KEY").check())
        assert other.requests == []
    assert str(failed) == f"HTTP {status}: it leads to {other.base_url}/chat/completions, which is not followed"
    assert (failed.attempts, KEY in str(failed), "hunter2" in str(failed)) == (1, False, False)
    assert (KEY in str(told.value), "hunter2" in str(told.value)) == (False, False)


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
