"""Functions that a model may call: what goes out is what the ``openai`` package sends, what comes back is read."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import openai
import pytest
from fakes.chat_server import ChatServer
from fakes.make import client

from grounding.llm.wire import Message, TextPart, ToolCall, decode_reply, encode_request

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Look something up.",
        "parameters": {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]},
    },
}
CALLED = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": '{"what": "a"}'}}
THEIRS: list[dict[str, Any]] = [
    {"role": "system", "content": "Help."},
    {"role": "user", "content": "Find a."},
    {"role": "assistant", "content": None, "tool_calls": [CALLED]},
    {"role": "tool", "content": "found", "tool_call_id": "call_1", "name": "look_up"},
    {"role": "assistant", "content": "Let me think.", "tool_calls": [{**CALLED, "id": "call_2"}]},
    {"role": "tool", "content": "again", "tool_call_id": "call_2"},
]
CALL = ToolCall(id="call_1", name="look_up", arguments='{"what": "a"}')
OURS = [
    Message(role="system", parts=(TextPart(text="Help."),)),
    Message(role="user", parts=(TextPart(text="Find a."),)),
    Message(role="assistant", parts=(), tool_calls=(CALL,)),
    Message(role="tool", parts=(TextPart(text="found"),), answers="call_1", name="look_up"),
    Message(
        role="assistant",
        parts=(TextPart(text="Let me think."),),
        tool_calls=(ToolCall(id="call_2", name="look_up", arguments='{"what": "a"}'),),
    ),
    Message(role="tool", parts=(TextPart(text="again"),), answers="call_2"),
]


def test_a_conversation_with_calls_is_what_the_openai_package_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "sk-test")
    with ChatServer() as server:
        theirs = openai.OpenAI(base_url=server.base_url, api_key="sk-test", max_retries=0)
        messages: Any = THEIRS
        tools: Any = [TOOL]
        theirs.chat.completions.create(model="m", messages=messages, tools=tools, tool_choice="auto", temperature=0)
        theirs.close()

        async def send() -> None:
            ours = client(server.base_url, key_variable="TEST_KEY")
            await ours.complete(encode_request("m", OURS, {"temperature": 0}, tools=[TOOL]))
            await ours.aclose()

        asyncio.run(send())
        from_them, from_us = server.asked
        assert from_us.body == from_them.body


def reply(message: dict[str, Any]) -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode()


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([CALLED], (CALL,)),
        ([CALLED, {**CALLED, "id": "b"}], (CALL, ToolCall(id="b", name="look_up", arguments='{"what": "a"}'))),
        ([{"function": {"name": "stop"}}], (ToolCall(id="call_0", name="stop", arguments="{}"),)),
        (
            [{"id": "x", "function": {"name": "f", "arguments": {"a": 1}}}],
            (ToolCall(id="x", name="f", arguments='{"a":1}'),),
        ),
        (
            [{"id": "x", "function": {"name": "f", "arguments": "{oops"}}],
            (ToolCall(id="x", name="f", arguments="{oops"),),
        ),
        ([], ()),
        (None, ()),
    ],
)
def test_calls_are_read_as_the_model_wrote_them(calls: Any, expected: tuple[ToolCall, ...]) -> None:
    read = decode_reply(reply({"content": None, "tool_calls": calls}))
    assert read.tool_calls == expected
    assert read.text == ""
