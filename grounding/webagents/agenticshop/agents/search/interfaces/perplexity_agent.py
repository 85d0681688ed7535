"""Perplexity's Agent API: like OpenAI's Responses, but for the items of its output, its schema and its bill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from grounding.llm import Spent
from grounding.records import Usage
from grounding.webagents.agenticshop.agents.search.answers import Found, Lookup, SearchAnswer, once
from grounding.webagents.agenticshop.agents.search.interfaces.base import Interface, decoded, maybe
from grounding.webagents.agenticshop.agents.search.interfaces.perplexity import Page, pages_of
from grounding.wire import MalformedReply


class _Annotation(msgspec.Struct):
    url: str | None = None
    title: str | None = None


class _Content(msgspec.Struct):
    type: str = ""
    text: str = ""
    annotations: list[_Annotation] | None = None


class _Item(msgspec.Struct):
    type: str = ""
    content: list[_Content] | None = None
    queries: list[str] | None = None
    results: list[Page] | None = None
    contents: list[Page] | None = None


class _Error(msgspec.Struct):
    message: str | None = None


class _Response(msgspec.Struct):
    output: list[_Item]
    status: str | None = None
    model: str | None = None
    error: _Error | None = None


class _Details(msgspec.Struct):
    cache_read_input_tokens: int | None = None


class _Calls(msgspec.Struct):
    invocation: int | None = None


class _Cost(msgspec.Struct):
    total_cost: float | None = None


class _Tokens(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Details | None = None
    tool_calls_details: dict[str, _Calls] | None = None
    cost: _Cost | None = None


class _Bill(msgspec.Struct):
    usage: _Tokens | None = None


class PerplexityAgent(Interface):
    """``POST /v1/responses``."""

    def path(self, _model: str) -> str:
        """The same for every model."""
        return "/responses"

    def request(self, prompt: str, _so_far: Sequence[msgspec.Raw] = ()) -> bytes:
        """The prompt as one text."""
        body: dict[str, Any] = {
            "model": self._card.model,
            "input": prompt,
            "tools": [{"type": "web_search", **self._card.tool}],
            **self._parameters,
        }
        if self._card.reply == "schema":
            named = {"name": self._prompts.schema_name, "schema": self._schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return msgspec.json.encode(body)

    def read(self, body: bytes) -> SearchAnswer:
        """Text, searches with what they brought, pages fetched, and citations.

        Raises:
            MalformedReply: it is no response, or one that failed at the vendor's.
        """
        wire = decoded(body, _Response, "a response")
        if wire.status in ("failed", "cancelled", "in_progress", "queued"):
            said = wire.error.message if wire.error else ""
            raise MalformedReply(f"the response has status {wire.status}: {said or ''}")
        parts = [part for item in wire.output if item.type == "message" for part in item.content or ()]
        notes = [note for part in parts for note in part.annotations or ()]
        return SearchAnswer(
            text="".join(part.text for part in parts if part.type == "output_text"),
            model=wire.model or "",
            finish=wire.status or "",
            lookups=tuple(lookup for item in wire.output for lookup in _lookups(item)),
            cited=once([Found(url=note.url or "", title=note.title or "") for note in notes]),
        )

    def spent(self, body: bytes) -> Spent:
        """Tokens, and the vendor's own sum."""
        wire = maybe(body, _Bill)
        if wire is None or wire.usage is None or wire.usage.input_tokens is None:
            return Spent()
        told = wire.usage
        usage = Usage(
            input_tokens=told.input_tokens or 0,
            output_tokens=told.output_tokens or 0,
            cached_input_tokens=(told.input_tokens_details or _Details()).cache_read_input_tokens or 0,
        )
        calls = (told.tool_calls_details or {}).get("web_search", _Calls())
        return self._spent(usage, calls.invocation or 0, told.cost.total_cost if told.cost else None)


def _lookups(item: _Item) -> tuple[Lookup, ...]:
    if item.type == "search_results":
        return (Lookup(kind="search", words="; ".join(item.queries or ()), found=pages_of(item.results)),)
    if item.type == "fetch_url_results":
        return tuple(Lookup(kind="open", words=page.url, url=page.url) for page in item.contents or ())
    return ()
