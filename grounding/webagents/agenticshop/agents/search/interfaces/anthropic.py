"""Anthropic's Messages API with its tool ``web_search``.

The text comes in pieces, each with the pages that it cites. A long turn can be paused (``pause_turn``): what was said
so far is then sent back as it came, and the model goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from grounding.llm import Spent
from grounding.records import Usage
from grounding.webagents.agenticshop.agents.search.answers import Found, Lookup, SearchAnswer, once
from grounding.webagents.agenticshop.agents.search.interfaces.base import Interface, decoded, maybe

API_VERSION = "2023-06-01"
"""The version of the interface; the anthropic package sends it too."""


class _Citation(msgspec.Struct):
    type: str = ""
    url: str | None = None
    title: str | None = None


class _Page(msgspec.Struct):
    type: str = ""
    url: str = ""
    title: str | None = None


class _ToolError(msgspec.Struct):
    type: str = ""
    error_code: str = ""


class _Input(msgspec.Struct):
    query: str = ""


class _Block(msgspec.Struct):
    type: str = ""
    text: str = ""
    name: str = ""
    id: str = ""
    tool_use_id: str = ""
    citations: list[_Citation] | None = None
    input: msgspec.Raw = msgspec.Raw(b"{}")
    content: msgspec.Raw = msgspec.Raw(b"[]")


class _Message(msgspec.Struct):
    content: msgspec.Raw
    model: str | None = None
    stop_reason: str | None = None


class _ServerTools(msgspec.Struct):
    web_search_requests: int | None = None


class _OutputDetails(msgspec.Struct):
    thinking_tokens: int | None = None


class _Tokens(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    server_tool_use: _ServerTools | None = None
    output_tokens_details: _OutputDetails | None = None


class _Bill(msgspec.Struct):
    usage: _Tokens | None = None


class AnthropicMessages(Interface):
    """``POST /messages``."""

    models_path = "/models?limit=1000"

    def path(self, _model: str) -> str:
        """The same for every model."""
        return "/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        """The key in a header of its own, and the version of the interface."""
        return {"anthropic-version": API_VERSION, **({"x-api-key": key} if key else {})}

    def request(self, prompt: str, so_far: Sequence[msgspec.Raw] = ()) -> bytes:
        """One user message, and behind it what was said before a pause."""
        messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
        messages += [{"role": "assistant", "content": content} for content in so_far]
        body = {"model": self._card.model, "messages": messages, "tools": [dict(self._card.tool)], **self._parameters}
        if self._card.reply == "schema":
            body["output_config"] = {"format": {"type": "json_schema", "schema": self._schema}}
        return msgspec.json.encode(body)

    def read(self, body: bytes) -> SearchAnswer:
        """Searches, text and citations.

        Raises:
            MalformedReply: it is no message.
        """
        wire = decoded(body, _Message, "a message")
        blocks = decoded(bytes(wire.content), list[_Block], "a message")
        brought = {block.tool_use_id: block for block in blocks if block.type == "web_search_tool_result"}
        uses = [block for block in blocks if block.type == "server_tool_use" and block.name == "web_search"]
        texts = [block for block in blocks if block.type == "text"]
        cites = [one for block in texts for one in block.citations or () if one.type == "web_search_result_location"]
        return SearchAnswer(
            text="".join(block.text for block in texts),
            model=wire.model or "",
            finish=wire.stop_reason or "",
            refused=wire.stop_reason == "refusal",
            cut_off=wire.stop_reason in ("max_tokens", "model_context_window_exceeded"),
            lookups=tuple(_lookup(use, brought.get(use.id)) for use in uses),
            cited=once([Found(url=one.url or "", title=one.title or "") for one in cites]),
            unfinished=wire.content if wire.stop_reason == "pause_turn" else None,
        )

    def spent(self, body: bytes) -> Spent:
        """Tokens (what was read from the cache and written to it is part of the input) and searches."""
        wire = maybe(body, _Bill)
        if wire is None or wire.usage is None or wire.usage.input_tokens is None:
            return Spent()
        told = wire.usage
        cached, written = told.cache_read_input_tokens or 0, told.cache_creation_input_tokens or 0
        thought = told.output_tokens_details.thinking_tokens if told.output_tokens_details else None
        usage = Usage(
            input_tokens=(told.input_tokens or 0) + cached + written,
            output_tokens=told.output_tokens or 0,
            cached_input_tokens=cached,
            reasoning_tokens=thought or 0,
        )
        searches = told.server_tool_use.web_search_requests if told.server_tool_use else None
        return self._spent(usage, searches or 0)


def _lookup(use: _Block, brought: _Block | None) -> Lookup:
    query = maybe(bytes(use.input), _Input) or _Input()
    if brought is None:
        return Lookup(kind="search", words=query.query)
    pages = maybe(bytes(brought.content), list[_Page])
    if pages is None:
        error = maybe(bytes(brought.content), _ToolError) or _ToolError()
        return Lookup(kind="search", words=query.query, problem=error.error_code or "unknown")
    found = once([Found(url=page.url, title=page.title or "") for page in pages])
    return Lookup(kind="search", words=query.query, found=found)
