"""Requests are what the ``openai`` package sends, replies are read whatever odd thing a server makes of them."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import openai
import pytest
from fakes.chat_server import ChatServer, completion
from fakes.make import client, picture_file
from hypothesis import given
from hypothesis import strategies as st

from grounding.cards import ImageRule
from grounding.data.images import prepare_picture
from grounding.llm.wire import (
    Completion,
    ImagePart,
    MalformedReply,
    Message,
    TextPart,
    UnreadableReply,
    decode_reply,
    encode_request,
    reported_usage,
)
from grounding.records import Usage


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("TEST_KEY", "sk-test")
    with ChatServer() as running:
        yield running


ODD_WORDS = 'say "{history}" \\ {instruction}\n\ttab, \u2028, ünïcödé 🖱️ 点击, </s>, \x7f'

CONVERSATIONS: dict[str, Any] = {
    "system, image, text": [
        {"role": "system", "content": "You see {width} x {height}.\n"},
        {"role": "user", "content": ["IMAGE", {"type": "text", "text": "click"}]},
    ],
    "text only": [{"role": "user", "content": "hello"}],
    "text, image, text": [
        {"role": "user", "content": [{"type": "text", "text": "a"}, "IMAGE", {"type": "text", "text": ODD_WORDS}]}
    ],
    "odd words": [{"role": "system", "content": ODD_WORDS}, {"role": "user", "content": ODD_WORDS}],
    "image only": [{"role": "user", "content": ["IMAGE"]}],
    "three turns": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": ["IMAGE"]},
    ],
}
PARAMETERS: dict[str, dict[str, Any]] = {
    "none": {},
    "sampling": {"temperature": 0, "max_tokens": 32, "seed": 7, "top_p": 0.1, "stop": ["\n", "x"]},
    "reasoning": {"max_completion_tokens": 16384, "reasoning_effort": "high"},
    "vllm": {"skip_special_tokens": False, "mm_processor_kwargs": {"min_pixels": 3136, "max_pixels": 8847360}},
    "float": {"temperature": 0.7, "presence_penalty": -1.5},
}
OWN_TO_VLLM = {"skip_special_tokens", "mm_processor_kwargs"}


def as_ours(conversation: list[dict[str, Any]], image: ImagePart) -> list[Message]:
    messages = []
    for said in conversation:
        content = said["content"] if isinstance(said["content"], list) else [{"text": said["content"]}]
        parts = tuple(image if part == "IMAGE" else TextPart(text=part["text"]) for part in content)
        messages.append(Message(role=said["role"], parts=parts))
    return messages


def as_theirs(conversation: list[dict[str, Any]], url: str) -> Any:
    image = {"type": "image_url", "image_url": {"url": url}}
    return [
        {
            **said,
            "content": said["content"]
            if isinstance(said["content"], str)
            else [image if part == "IMAGE" else part for part in said["content"]],
        }
        for said in conversation
    ]


@pytest.mark.parametrize("conversation", CONVERSATIONS)
@pytest.mark.parametrize("parameters", PARAMETERS)
def test_the_request_is_what_the_openai_package_sends(
    server: ChatServer, tmp_path: Path, conversation: str, parameters: str
) -> None:
    shot = picture_file(tmp_path / "1.png")
    picture = prepare_picture(shot, ImageRule())
    url = "data:image/png;base64," + base64.b64encode(Path(shot.path).read_bytes()).decode()
    chosen = PARAMETERS[parameters]

    theirs = openai.OpenAI(base_url=server.base_url, api_key="sk-test", max_retries=0)
    theirs.chat.completions.create(
        model="org/model-7B",
        messages=as_theirs(CONVERSATIONS[conversation], url),
        **{name: value for name, value in chosen.items() if name not in OWN_TO_VLLM},
        extra_body={name: value for name, value in chosen.items() if name in OWN_TO_VLLM},
    )
    theirs.close()

    messages = as_ours(CONVERSATIONS[conversation], ImagePart(url_json=picture.url_json))

    async def send() -> None:
        ours = client(server.base_url, key_variable="TEST_KEY")
        await ours.complete(encode_request("org/model-7B", messages, chosen))
        await ours.aclose()

    asyncio.run(send())
    from_them, from_us = server.asked
    assert from_us.body == from_them.body
    assert (from_us.method, from_us.path) == (from_them.method, from_them.path)
    for header in ("Authorization", "Content-Type", "Accept"):
        assert from_us.headers[header] == from_them.headers[header]


def test_a_picture_is_put_into_the_request_as_it_is() -> None:
    url = b'"data:image/png;base64,' + b"A+/=" * 500_000 + b'"'
    message = Message(role="user", parts=(ImagePart(url_json=msgspec.Raw(url)), TextPart(text="a/b+c")))
    body = encode_request("m", [message], {})
    assert body.count(url) == 1
    assert len(body) < len(url) + 200
    assert json.loads(body)["messages"][0]["content"][0]["image_url"]["url"] == url[1:-1].decode()


def reply_bytes(text: str | None, **more: Any) -> bytes:
    return json.dumps(completion(text, **more)).encode()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (reply_bytes("(1, 2)"), {"text": "(1, 2)", "finish_reason": "stop", "refused": False}),
        (reply_bytes("", finish_reason="length"), {"text": "", "finish_reason": "length", "refused": False}),
        (reply_bytes(None, finish_reason="length"), {"text": "", "finish_reason": "length", "refused": False}),
        (reply_bytes(None, refusal="I can't."), {"text": "I can't.", "refused": True}),
        (reply_bytes(None, refusal=""), {"text": "", "refused": False}),
        (reply_bytes("yes", refusal="no"), {"text": "yes", "refused": False}),
        (reply_bytes("x", usage=None), {"text": "x", "usage": None}),
        (reply_bytes("点击 🖱️"), {"text": "点击 🖱️"}),
        (b'{"choices": [{"message": {"content": "bare"}}]}', {"text": "bare", "finish_reason": "", "model": ""}),
        (b'{"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}}]}', {"text": "a"}),
        (b'{"choices": [{"message": {"content": "a", "reasoning_content": "b"}}], "new": {"x": [1]}}', {"text": "a"}),
    ],
)
def test_replies(body: bytes, expected: dict[str, object]) -> None:
    read = decode_reply(body)
    assert {name: getattr(read, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 2}, Usage(input_tokens=5, output_tokens=2)),
        ({"prompt_tokens": 5, "completion_tokens": None}, Usage(input_tokens=5, output_tokens=0)),
        ({"prompt_tokens": None, "completion_tokens": None}, Usage(input_tokens=0, output_tokens=0)),
        ({"prompt_tokens": 5, "total_tokens": 5, "cost": 0.1}, Usage(input_tokens=5, output_tokens=0)),
        # Google counts its thinking in the total alone.
        (
            {"prompt_tokens": 20, "completion_tokens": 151, "total_tokens": 553},
            Usage(input_tokens=20, output_tokens=533, reasoning_tokens=382),
        ),
        (
            {"prompt_tokens": 20, "completion_tokens": 151, "total_tokens": 171},
            Usage(input_tokens=20, output_tokens=151),
        ),
        ({"prompt_tokens": 20, "completion_tokens": 151, "total_tokens": 9}, Usage(input_tokens=20, output_tokens=151)),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 8,
                "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
            Usage(input_tokens=9, output_tokens=8, cached_input_tokens=4, reasoning_tokens=7),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 8,
                "prompt_tokens_details": {"cached_tokens": None},
                "completion_tokens_details": None,
            },
            Usage(input_tokens=9, output_tokens=8),
        ),
    ],
)
def test_usage(usage: dict[str, Any], expected: Usage) -> None:
    assert decode_reply(reply_bytes("x", usage=usage)).usage == expected


@pytest.mark.parametrize(
    ("reason", "filtered"),
    [
        ("content_filter", True),
        ("content_filter: RECITATION", True),
        ("refusal", True),
        ("SAFETY", True),
        ("PROHIBITED_CONTENT", True),
        ("stop", False),
        ("length", False),
        ("STOP", False),
        (None, False),
    ],
)
def test_a_reply_that_was_stopped_on_purpose(reason: str | None, filtered: bool) -> None:
    assert decode_reply(reply_bytes("Click the", finish_reason=reason)).filtered is filtered


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"<html>502</html>",
        b'"text"',
        b"data: {}\n\n",
        reply_bytes("(1, 2)")[:40],
        reply_bytes("(1, 2)")[:-1],
        b'{"error": {"message": "overloaded"}}',
        b'{"choices": []}',
        b'{"choices": null}',
        b'{"choices": [{"text": "old completions"}]}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": 5}}]}',
        b'{"choices": [{"message": {"content": "\xff"}}]}',  # not UTF-8
        b"\xff\xfe",
        b'{"choices": [{"message": {"content": "x"}}], "a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a": ' + b'{"a":' * 100_000,
    ],
    ids=lambda body: repr(body[:30]),
)
def test_what_is_no_reply_is_said_to_be_none(body: bytes) -> None:
    with pytest.raises(MalformedReply, match="the reply") as caught:
        decode_reply(body)
    assert len(str(caught.value)) < 300


@given(st.binary() | st.text().map(str.encode) | st.integers(0, 400).map(lambda n: reply_bytes("(1, 2)")[:n]))
def test_no_bytes_can_do_more_than_be_malformed(body: bytes) -> None:
    with contextlib.suppress(MalformedReply):
        assert isinstance(decode_reply(body), Completion)


@pytest.mark.parametrize(
    "message",
    [
        '{"content": "(1, 2) \\ud800"}',
        '{"content": "\\udfff (1, 2)"}',
        '{"content": "x", "reasoning": "\\ud83d"}',
        '{"content": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"content": "x", "logprobs": ' + '{"a":' * 100_000 + "1" + "}" * 100_001,
        '{"tool_calls": [{"function": {"name": "f", "arguments": {"a": "\\ud800"}}}]}',
    ],
)
def test_a_reply_that_cannot_be_held_is_told_from_one_that_is_broken(message: str) -> None:
    whole = f'{{"choices": [{{"message": {message}}}], "usage": {{"prompt_tokens": 5, "completion_tokens": 2}}}}'
    with pytest.raises(UnreadableReply):
        decode_reply(whole.encode())
    if len(whole) < 1000:
        usage = reported_usage(whole.encode())
        assert usage is not None
        assert (usage.input_tokens, usage.output_tokens) == (5, 2)
        with pytest.raises(MalformedReply) as cut:
            decode_reply(whole.encode()[:-1])
        assert not isinstance(cut.value, UnreadableReply)
