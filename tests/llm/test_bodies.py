"""Whatever a server sends, a client holds no more of it than fits."""

from __future__ import annotations

import asyncio
import resource
import time

import pytest
from fakes.endless_server import Stream, bomb, endless, endless_headers, endless_server
from fakes.make import client, grounder, grounder_card, picture_file, query

from grounding.errors import UserError
from grounding.llm import CallFailed
from llm.helpers import send


def most_held_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


STREAMS: dict[str, tuple[Stream, bool, str]] = {
    "a reply": (endless(), True, "the reply is longer than 16 MB"),
    "a packed reply": (bomb(), True, "the reply is longer than 16 MB"),
    "a refusal": (endless(400, b'{"error": "no'), False, "HTTP 400: "),
    "a packed refusal": (bomb(404), False, "HTTP 404: "),
    "trouble": (endless(429), False, "HTTP 429: "),
    "headers": (endless_headers(), False, "connection failed"),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_response_without_end_is_bounded(name: str) -> None:
    stream, unparsed, words = STREAMS[name]
    before, started = most_held_mib(), time.monotonic()
    with endless_server(stream) as base_url, pytest.raises(CallFailed) as caught:
        send(lambda: client(base_url, max_retries=1, timeout_s=20))
    assert caught.value.unparsed == unparsed
    assert str(caught.value).startswith(words)
    assert len(str(caught.value)) < 600
    assert most_held_mib() - before < 100
    assert time.monotonic() - started < 15


@pytest.mark.parametrize("stream", [endless(), bomb(), endless(500)])
def test_so_is_a_list_of_models(stream: Stream) -> None:
    before = most_held_mib()

    async def check(base_url: str) -> None:
        ours = client(base_url)
        try:
            await ours.check()
        finally:
            await ours.aclose()

    with endless_server(stream) as base_url:
        try:
            asyncio.run(check(base_url))
        except UserError as error:
            assert "longer than 16 MB" in str(error)  # noqa: PT017
    assert most_held_mib() - before < 100


def test_a_model_that_never_ends_is_unparsed_for_a_run(tmp_path: object) -> None:
    from pathlib import Path

    shot = picture_file(Path(str(tmp_path)) / "1.png")
    with endless_server(endless()) as base_url:
        ours = grounder(grounder_card(), base_url)

        async def ask() -> str:
            try:
                found = await ours.ground(query(shot))
            finally:
                await ours.aclose()
            assert found.failure is not None
            return found.failure.kind

        assert asyncio.run(ask()) == "unparsed"
