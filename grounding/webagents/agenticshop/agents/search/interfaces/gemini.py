"""Google's ``generateContent`` with its tool ``google_search``.

The sources are addresses of a redirect of Google's, kept as they come; only the name of the site stands beside them.
Which search brought which source is not told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from grounding.llm import Spent
from grounding.records import Usage
from grounding.webagents.agenticshop.agents.search.answers import Found, Lookup, SearchAnswer, once
from grounding.webagents.agenticshop.agents.search.interfaces.base import Interface, decoded, maybe
from grounding.wire import MalformedReply


class _Camel(msgspec.Struct, rename="camel"):
    pass


class _Web(_Camel):
    uri: str | None = None
    title: str | None = None


class _Chunk(_Camel):
    web: _Web | None = None


class _Support(_Camel):
    grounding_chunk_indices: list[int] | None = None


class _Grounding(_Camel):
    web_search_queries: list[str] | None = None
    grounding_chunks: list[_Chunk] | None = None
    grounding_supports: list[_Support] | None = None


class _Part(_Camel):
    text: str = ""
    thought: bool = False


class _Content(_Camel):
    parts: list[_Part] | None = None


class _Candidate(_Camel):
    content: _Content | None = None
    finish_reason: str | None = None
    grounding_metadata: _Grounding | None = None


class _Feedback(_Camel):
    block_reason: str | None = None


class _Response(_Camel):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    model_version: str | None = None


class _Tokens(_Camel):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    cached_content_token_count: int | None = None


class _Bill(_Camel):
    usage_metadata: _Tokens | None = None
    candidates: list[_Candidate] | None = None


class _Listed(_Camel):
    name: str = ""


class _Models(_Camel):
    models: list[_Listed] | None = None


class GeminiContent(Interface):
    """``POST /models/MODEL:generateContent``."""

    base_path = "/v1beta"
    models_path = "/models?pageSize=1000"

    def path(self, model: str) -> str:
        """The model is part of the path."""
        return f"/models/{quote(model, safe='')}:generateContent"

    def headers(self, key: str | None) -> dict[str, str]:
        """The key in a header of its own."""
        return {"x-goog-api-key": key} if key else {}

    def request(self, prompt: str, _so_far: Sequence[msgspec.Raw] = ()) -> bytes:
        """One turn of the user; the card's parameters are those of the generation."""
        generation: dict[str, Any] = dict(self._parameters)
        if self._card.reply == "schema":
            generation |= {"responseMimeType": "application/json", "responseJsonSchema": self._schema}
        body: dict[str, Any] = {
            "contents": [{"role": "user", "parts": [{"text": prompt}]}],
            "tools": [{"google_search": dict(self._card.tool)}],
        }
        return msgspec.json.encode({**body, "generationConfig": generation} if generation else body)

    def read(self, body: bytes) -> SearchAnswer:
        """Text without thoughts, queries and sources.

        Raises:
            MalformedReply: it is no such response.
        """
        wire = decoded(body, _Response, "a response of generateContent")
        blocked = wire.prompt_feedback.block_reason if wire.prompt_feedback else None
        if not wire.candidates:
            if blocked is None:
                raise MalformedReply("the response has no candidates")
            return SearchAnswer(text="", model=wire.model_version or "", finish=blocked, refused=True)
        first = wire.candidates[0]
        parts = (first.content.parts if first.content else None) or ()
        about = first.grounding_metadata or _Grounding()
        chunks = [chunk.web or _Web() for chunk in about.grounding_chunks or ()]
        pages = [Found(url=web.uri or "", title=web.title or "") for web in chunks]
        named = [place for support in about.grounding_supports or () for place in support.grounding_chunk_indices or ()]
        return SearchAnswer(
            text="".join(part.text for part in parts if not part.thought),
            model=wire.model_version or "",
            finish=first.finish_reason or "",
            cut_off=first.finish_reason == "MAX_TOKENS",
            lookups=tuple(Lookup(kind="search", words=query) for query in about.web_search_queries or ()),
            sources=once(pages),
            cited=once([pages[place] for place in named if 0 <= place < len(pages)]),
        )

    def spent(self, body: bytes) -> Spent:
        """Tokens (those of search results are part of the input, thoughts of the output) and searches."""
        wire = maybe(body, _Bill)
        if wire is None:
            return Spent()
        grounded = [one.grounding_metadata for one in wire.candidates or () if one.grounding_metadata is not None]
        searches = sum(len([query for query in one.web_search_queries or () if query]) for one in grounded)
        told = wire.usage_metadata
        if told is None or told.prompt_token_count is None:
            return self._spent(None, searches)
        usage = Usage(
            input_tokens=told.prompt_token_count + (told.tool_use_prompt_token_count or 0),
            output_tokens=(told.candidates_token_count or 0) + (told.thoughts_token_count or 0),
            cached_input_tokens=told.cached_content_token_count or 0,
            reasoning_tokens=told.thoughts_token_count or 0,
        )
        return self._spent(usage, searches)

    def listed(self, body: bytes) -> list[str]:
        """The names of Google's own list, such as ``models/gemini-2.5-flash``."""
        wire = maybe(body, _Models)
        return [one.name for one in (wire.models if wire else None) or () if one.name]
