"""OpenAI's Responses API with its tool ``web_search``.

With a schema the text carries no citations; the sources of the searches are asked for with ``include``, as the release
does. A response that the vendor gave up comes with status 200 and ``status: failed``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from grounding.llm import Spent
from grounding.records import Usage
from grounding.webagents.agenticshop.agents.search.answers import Found, Lookup, SearchAnswer, once
from grounding.webagents.agenticshop.agents.search.interfaces.base import Interface, decoded, maybe
from grounding.wire import MalformedReply


class _Source(msgspec.Struct):
    url: str = ""


class _Action(msgspec.Struct):
    type: str = ""
    query: str | None = None
    queries: list[str] | None = None
    url: str | None = None
    pattern: str | None = None
    sources: list[_Source] | None = None


class _Annotation(msgspec.Struct):
    type: str = ""
    url: str | None = None
    title: str | None = None


class _Content(msgspec.Struct):
    type: str = ""
    text: str = ""
    refusal: str = ""
    annotations: list[_Annotation] | None = None


class _Item(msgspec.Struct):
    type: str = ""
    status: str | None = None
    action: _Action | None = None
    content: list[_Content] | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Tokens(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Details | None = None
    output_tokens_details: _Details | None = None


class _Searches(msgspec.Struct):
    num_requests: int = 0


class _ToolUsage(msgspec.Struct):
    web_search: _Searches | None = None


class _Reason(msgspec.Struct):
    reason: str | None = None


class _Error(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _Response(msgspec.Struct):
    output: list[_Item]
    status: str | None = None
    model: str | None = None
    error: _Error | None = None
    incomplete_details: _Reason | None = None


class _Bill(msgspec.Struct):
    usage: _Tokens | None = None
    tool_usage: _ToolUsage | None = None
    output: list[_Item] | None = None


class OpenAIResponses(Interface):
    """``POST /responses``."""

    def path(self, _model: str) -> str:
        """The same for every model."""
        return "/responses"

    def request(self, prompt: str, _so_far: Sequence[msgspec.Raw] = ()) -> bytes:
        """The prompt as one text, as the release sends it; nothing is ever paused here."""
        body: dict[str, Any] = {
            "model": self._card.model,
            "input": prompt,
            "tools": [{"type": "web_search", **self._card.tool}],
            "include": ["web_search_call.action.sources"],
            **self._parameters,
        }
        if self._card.reply == "schema":
            named = {"type": "json_schema", "name": self._prompts.schema_name, "strict": True}
            body["text"] = {"format": {**named, "schema": self._prompts.schema}}
        return msgspec.json.encode(body)

    def read(self, body: bytes) -> SearchAnswer:
        """Searches, text and citations.

        Raises:
            MalformedReply: it is no response, or one that failed at the vendor's.
        """
        wire = decoded(body, _Response, "a response")
        if wire.status in ("failed", "cancelled", "in_progress", "queued"):
            error = wire.error or _Error()
            raise MalformedReply(f"the response has status {wire.status}: {error.code or ''} {error.message or ''}")
        parts = [part for item in wire.output if item.type == "message" for part in item.content or ()]
        refusal = "".join(part.refusal for part in parts)
        text = "".join(part.text for part in parts if part.type == "output_text")
        notes = [note for part in parts for note in part.annotations or () if note.type == "url_citation"]
        reason = wire.incomplete_details.reason if wire.incomplete_details else None
        return SearchAnswer(
            text=text or refusal,
            model=wire.model or "",
            finish=reason or wire.status or "",
            refused=bool(refusal) and not text,
            cut_off=reason == "max_output_tokens",
            lookups=tuple(_lookup(item) for item in wire.output if item.type == "web_search_call"),
            cited=once([Found(url=note.url or "", title=note.title or "") for note in notes]),
        )

    def spent(self, body: bytes) -> Spent:
        """Tokens, and the searches that the vendor counts as billable; else those that are in the output."""
        wire = maybe(body, _Bill)
        if wire is None:
            return Spent()
        told = wire.tool_usage.web_search if wire.tool_usage else None
        searches = [item for item in wire.output or () if item.action is not None and item.action.type == "search"]
        return self._spent(_usage(wire.usage), len(searches) if told is None else told.num_requests)


def _lookup(item: _Item) -> Lookup:
    action = item.action or _Action(type="search")
    problem = item.status if item.status in ("failed", "incomplete") else ""
    if action.type == "open_page":
        return Lookup(kind="open", words=action.url or "", url=action.url or "", problem=problem)
    if action.type in ("find_in_page", "find"):
        return Lookup(kind="find", words=action.pattern or "", url=action.url or "", problem=problem)
    words = "; ".join(action.queries or ()) or action.query or ""
    pages = once([Found(url=source.url) for source in action.sources or ()])
    return Lookup(kind="search", words=words, found=pages, problem=problem)


def _usage(wire: _Tokens | None) -> Usage | None:
    if wire is None or wire.input_tokens is None:
        return None
    before, after = wire.input_tokens_details or _Details(), wire.output_tokens_details or _Details()
    return Usage(
        input_tokens=wire.input_tokens,
        output_tokens=wire.output_tokens or 0,
        cached_input_tokens=before.cached_tokens or 0,
        reasoning_tokens=after.reasoning_tokens or 0,
    )
