"""OpenAI's Responses and Anthropic's Messages, asked by the bundled cards for clicks with the vendors' own tools."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from fakes.chat_server import ChatServer, claude_message, clicking, error, raw, response
from fakes.make import MODELS, picture_file, query
from PIL import Image

from grounding.cards import GrounderCard, find_card
from grounding.grounders.chat import ChatGrounder
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions, open_chat
from grounding.llm.vendors import GenerateContentWire
from grounding.llm.wire import MalformedReply, UnreadableReply
from grounding.records import Prediction

OPENAI, CLAUDE, OLDER = "openai-computer", "claude-computer", "claude-opus-computer"
WORDS = "Click on this element of the screenshot, once, and do nothing else: the OK button"
SIZES = {OPENAI: (5120, 1900), CLAUDE: (2576, 955), OLDER: (2576, 955)}  # Of a picture of 5120 x 1900, as it is sent.


def ask(name: str, server: ChatServer, path: Path, size: tuple[int, int] = (5120, 1900)) -> Prediction:
    card = find_card(name, MODELS / "grounders", GrounderCard, builtin=(), kind="grounder")

    async def run() -> Prediction:
        options = ChatOptions(base_url=server.base_url, max_retries=0)
        model = open_chat(card, options, flag="--base-url", budget=Budget(None), on_retry=lambda: None).model
        try:
            return await ChatGrounder(card, model).ground(query(picture_file(path, *size), "the OK button"))
        finally:
            await model.aclose()

    return asyncio.run(run())


def answered(name: str, content: dict[str, Any], path: Path) -> Prediction:
    with ChatServer(raw(json.dumps(content).encode())) as server:
        return ask(name, server, path)


@pytest.mark.parametrize("name", SIZES)
def test_a_click_comes_back_in_pixels_of_the_screenshot(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = find_card(name, MODELS / "grounders", GrounderCard, builtin=(), kind="grounder")
    monkeypatch.setenv(card.endpoint.key_variable or "", "sk-right")
    width, height = SIZES[name]
    with ChatServer(clicking(card, width // 2, height // 2)) as server:
        found = ask(name, server, tmp_path / "1.png")
        (asked,) = server.asked
    assert found.point is not None
    assert (found.point.x_px, found.point.y_px) == pytest.approx((2560, 950), abs=3)
    assert found.call is not None
    assert found.call.usage is not None
    assert (found.call.usage.input_tokens, found.call.usage.output_tokens) == (1000, 10)

    body = asked.body
    if name == OPENAI:
        assert asked.path == "/v1/responses"
        assert asked.headers["Authorization"] == "Bearer sk-right"
        ((words, picture),) = (message["content"] for message in body["input"])
        assert words == {"type": "input_text", "text": WORDS}
        assert (picture["type"], picture["detail"]) == ("input_image", "original")
        content = picture["image_url"].removeprefix("data:image/png;base64,")
        assert body["tools"] == [{"type": "computer"}]
    else:
        assert asked.path == "/v1/messages"
        assert (asked.headers["x-api-key"], asked.headers["anthropic-version"]) == ("sk-right", "2023-06-01")
        assert "Authorization" not in asked.headers
        ((picture, words),) = (message["content"] for message in body["messages"])
        assert words == {"type": "text", "text": WORDS}
        assert (picture["source"]["type"], picture["source"]["media_type"]) == ("base64", "image/png")
        content = picture["source"]["data"]
        (tool,) = body["tools"]
        if name == CLAUDE:
            assert tool["type"] == "computer_toolset_20260801"
            assert {each["enabled"] for each in tool["configs"].values()} == {False}
            assert "left_click" not in tool["configs"]
        else:
            assert asked.headers["anthropic-beta"] == "computer-use-2025-11-24"
            display = {"display_width_px": width, "display_height_px": height}
            assert tool == {"type": "computer_20251124", "name": "computer", **display}
    with Image.open(io.BytesIO(base64.b64decode(content, validate=True))) as opened:
        assert opened.size == (width, height)


TEXT = {"type": "message", "content": [{"type": "output_text", "text": "I can't see it."}]}
REFUSAL = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
FIRST_LOOK = {"type": "computer_call", "actions": [{"type": "screenshot"}]}


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        (OPENAI, response(TEXT), "unparsed"),
        (OPENAI, response(REFUSAL), "unparsed"),
        (OPENAI, response(FIRST_LOOK), "unparsed"),
        (OPENAI, response({"type": "message", "content": "in no list"}), "unparsed"),
        (OPENAI, response({"type": "message", "content": ["no part", None]}), "unparsed"),
        (OPENAI, response({"type": "computer_call", "actions": 1}), "unparsed"),
        (OPENAI, {**response(TEXT), "usage": {"input_tokens": 1, "output_tokens_details": {"x": 1}}}, "unparsed"),
        (
            OPENAI,
            {**response(), "usage": {"input_tokens": 1, "output_tokens_details": {"reasoning_tokens": "x"}}},
            "error",
        ),
        (OPENAI, response(status="incomplete"), "unparsed"),
        (OPENAI, response(status="failed"), "error"),
        (OPENAI, {"object": "list", "data": []}, "error"),
        (CLAUDE, claude_message({"type": "text", "text": "Where?"}, stop_reason="end_turn"), "unparsed"),
        (CLAUDE, claude_message(stop_reason="refusal"), "unparsed"),
        (CLAUDE, claude_message({"type": "tool_use", "name": "left_click", "input": {}}), "unparsed"),
        (CLAUDE, claude_message({"type": "tool_use", "name": "left_click", "input": None}), "unparsed"),
        (CLAUDE, {"type": "error", "error": {"type": "overloaded_error"}}, "error"),
    ],
)
def test_what_is_no_click_has_no_point(name: str, content: dict[str, Any], kind: str, tmp_path: Path) -> None:
    found = answered(name, content, tmp_path / "1.png")
    assert found.point is None
    assert found.failure is not None
    assert found.failure.kind == kind


def test_the_first_place_of_several_actions_counts_and_all_are_kept(tmp_path: Path) -> None:
    move = {"type": "move", "x": 512, "y": 200}
    call = {"type": "computer_call", "actions": [{"type": "wait"}, move, {"type": "click", "x": 1, "y": 1}]}
    found = answered(OPENAI, response(TEXT, call), tmp_path / "1.png")
    assert found.point is not None
    assert (found.point.x_px, found.point.y_px) == (512, 200)
    assert found.raw is not None
    assert found.raw.splitlines()[1:] == [
        '{"name": "wait", "arguments": {}}',
        '{"name": "move", "arguments": {"x":512,"y":200}}',
        '{"name": "click", "arguments": {"x":1,"y":1}}',
    ]


def test_an_overloaded_vendor_is_an_error(tmp_path: Path) -> None:
    with ChatServer(error(529, "overloaded")) as server:
        found = ask(CLAUDE, server, tmp_path / "1.png")
    assert found.failure is not None
    assert found.failure.kind == "error"


GENERATED = {
    "candidates": [
        {"content": {"parts": [{"text": "a"}, {"text": "hm", "thought": True}, {"text": "b"}]}, "finishReason": "STOP"}
    ],
    "usageMetadata": {
        **{"promptTokenCount": 5, "toolUsePromptTokenCount": 7, "candidatesTokenCount": 3, "thoughtsTokenCount": 2},
        **{"cachedContentTokenCount": 1, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 5}]},
    },
    "modelVersion": "gemini-x",
}


def test_what_google_generates_is_read_and_counted() -> None:
    wire = GenerateContentWire({"x-more": "1"})
    assert wire.headers("sk-right") == {"x-goog-api-key": "sk-right", "x-more": "1"}
    body = json.dumps(GENERATED).encode()
    said = wire.read(body)
    assert (said.text, said.finish_reason, said.refused, wire.model(said)) == ("ab", "STOP", False, "gemini-x")
    assert said.usage == wire.spent(body).usage
    assert said.usage is not None
    assert (said.usage.input_tokens, said.usage.output_tokens) == (12, 5)
    assert (said.usage.cached_input_tokens, said.usage.reasoning_tokens) == (1, 2)
    blocked = wire.read(b'{"promptFeedback": {"blockReason": "SAFETY"}}')
    assert (blocked.refused, blocked.filtered, blocked.text) == (True, True, "")


@pytest.mark.parametrize(
    "body",
    [b"{}", b"[]", b"no", b'{"candidates": []}', b'{"candidates": [{"content": "hello"}]}', b'{"candidates": 1}'],
)
def test_what_google_did_not_generate_is_no_reply(body: bytes) -> None:
    with pytest.raises(MalformedReply) as caught:
        GenerateContentWire({}).read(body)
    assert not isinstance(caught.value, UnreadableReply)
    assert GenerateContentWire({}).spent(body).usage is None
