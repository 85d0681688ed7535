"""The shapes of the fake vendors in ``search_vendors``: what each takes and refuses, and how each answers and bills.

Fields and names are those of the vendors' own packages (openai 3.54.0, anthropic 2.12.0, google-genai 3.4.0,
perplexityai 0.46.1).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

Json = dict[str, Any]
KEY = "sk-right"
REDIRECT = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/"


@dataclass(frozen=True)
class Page:
    """A page of the web that the fakes know."""

    url: str
    title: str
    text: str


@dataclass(frozen=True)
class Model:
    """A model and its price."""

    name: str
    input_usd: float
    output_usd: float
    fee_usd: float


@dataclass(frozen=True)
class Asked:
    """What a request comes down to. ``resumed`` is how often the model was sent on before."""

    model: Model
    prompt: str
    schema: bool
    resumed: int = 0


@dataclass(frozen=True)
class Lookup:
    """One search."""

    query: str
    pages: tuple[Page, ...]


@dataclass(frozen=True)
class Answered:
    """What the model did and said."""

    lookups: tuple[Lookup, ...]
    text: str
    cited: tuple[Page, ...]


@dataclass(frozen=True)
class Billed:
    """What a reply is charged for."""

    input_tokens: int
    output_tokens: int
    fees: int


@dataclass(frozen=True)
class Shape:
    """One vendor. ``allowed`` are the fields that it takes; any other is refused."""

    vendor: str
    base_path: str
    models: tuple[Model, ...]
    allowed: frozenset[str]
    path: Callable[[Model], str]
    header: Callable[[Mapping[str, str]], str]
    understood: Callable[[Shape, Model, Json], Asked | web.Response]
    reply: Callable[[Asked, Answered, str], Json]
    billed: Callable[[Asked, Json], Billed]
    lists_models: bool = True

    def paths(self) -> dict[str, Model]:
        """The path of every model; they share one but for Google's."""
        return {self.base_path + self.path(model): model for model in self.models}

    def list_models(self) -> Json:
        """The list of models in the vendor's shape."""
        names = [model.name for model in self.models]
        if self.vendor == "gemini":
            return {"models": [{"name": f"models/{name}"} for name in names]}
        return {"object": "list", "data": [{"id": name, "type": "model"} for name in names]}

    def unwelcome(self, headers: Mapping[str, str]) -> web.Response | None:
        """The refusal of a request without the right key or header."""
        why = self.header(headers)
        return problem(self.vendor, 401, why) if why else None

    def understand(self, path: str, body: Json) -> Asked | web.Response:
        """What is asked, or why it is refused."""
        unknown = sorted(set(body) - self.allowed)
        if unknown:
            return problem(self.vendor, 400, _unknown(self.vendor, unknown[0]), code="unknown_parameter")
        model = self.paths()[path]
        if self.vendor != "gemini":
            named = {one.name: one for one in self.models}.get(body.get("model", ""))
            if named is None:
                said = f"The model `{body.get('model')}` does not exist or you do not have access to it."
                return problem(self.vendor, 404, said, code="model_not_found")
            model = named
        return self.understood(self, model, body)


def _unknown(vendor: str, field: str) -> str:
    return {
        "anthropic": f"{field}: Extra inputs are not permitted",
        "gemini": f'Invalid JSON payload received. Unknown name "{field}": Cannot find field.',
    }.get(vendor, f"Unknown parameter: '{field}'.")


def problem(vendor: str, status: int, message: str, *, code: str | None = None, wait: str = "") -> web.Response:
    """An error in the vendor's own shape."""
    headers = {"Retry-After": wait} if wait else {}
    if vendor == "gemini":
        if status == 401:
            details = [{"reason": "API_KEY_INVALID"}]
            message = "API key not valid. Please pass a valid API key."
            error: Json = {"code": 400, "message": message, "status": "INVALID_ARGUMENT", "details": details}
            return web.json_response({"error": error}, status=400)
        word = {429: "RESOURCE_EXHAUSTED", 400: "INVALID_ARGUMENT"}.get(status, "INTERNAL")
        return web.json_response({"error": {"code": status, "message": message, "status": word}}, status=status)
    if vendor == "anthropic":
        words = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}
        kind = words.get(status, "invalid_request_error" if status == 400 else "api_error")
        said: Json = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
        return web.json_response(said, status=status, headers=headers)
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return web.json_response({"error": error}, status=status, headers=headers)


def _bearer(headers: Mapping[str, str]) -> str:
    return "" if headers.get("Authorization") == f"Bearer {KEY}" else "Incorrect API key provided"


def _anthropic_headers(headers: Mapping[str, str]) -> str:
    if headers.get("x-api-key") != KEY:
        return "x-api-key header is required" if "x-api-key" not in headers else "invalid x-api-key"
    return "" if headers.get("anthropic-version") == "2023-06-01" else "anthropic-version: header is required"


def _google_header(headers: Mapping[str, str]) -> str:
    return "" if headers.get("x-goog-api-key") == KEY else "no key"


def tokens(*texts: str) -> int:
    """A count of tokens: four characters each."""
    return sum(len(text) for text in texts) // 4 + 1


def _read_tokens(answered: Answered) -> int:
    return tokens(*(page.text + page.title for lookup in answered.lookups for page in lookup.pages))


# --- OpenAI ---------------------------------------------------------------------------------------------------------


def _openai_asked(shape: Shape, model: Model, body: Json) -> Asked | web.Response:
    tools = body.get("tools", [])
    if [tool.get("type") for tool in tools] != ["web_search"]:
        return problem(shape.vendor, 400, f"Invalid value: tools {tools}", code="invalid_value")
    style = body.get("text", {}).get("format", {"type": "text"})
    if style["type"] == "json_schema" and not (style.get("name") and style["schema"].get("type") == "object"):
        return problem(shape.vendor, 400, "Missing required parameter: 'text.format.name'.", code="missing")
    return Asked(model=model, prompt=body["input"], schema=style["type"] == "json_schema")


def _openai_reply(asked: Asked, answered: Answered, fault: str) -> Json:
    if fault == "failed":
        error = {"code": "server_error", "message": "The server had an error processing your request."}
        return {**_openai_frame(asked, "failed"), "error": error, "output": [], "usage": None}
    output: list[Json] = [{"id": "rs_1", "type": "reasoning", "summary": []}]
    for number, lookup in enumerate(answered.lookups):
        sources = [{"type": "url", "url": page.url} for page in lookup.pages]
        action = {"type": "search", "query": lookup.query, "queries": [lookup.query], "sources": sources}
        output.append({"id": f"ws_{number}", "type": "web_search_call", "status": "completed", "action": action})
    if answered.cited:
        action = {"type": "open_page", "url": answered.cited[0].url}
        output.append({"id": "ws_open", "type": "web_search_call", "status": "completed", "action": action})
    part: Json = {"type": "output_text", "text": answered.text, "annotations": [], "logprobs": []}
    if not asked.schema:
        part["annotations"] = [_annotation(page) for page in answered.cited]
    if fault == "refusal":
        part = {"type": "refusal", "refusal": "I'm sorry, but I can't help with that."}
    if fault == "long":
        part["text"] = answered.text[:40]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    read, wrote = tokens(asked.prompt) + _read_tokens(answered), tokens(answered.text) + 64
    frame = _openai_frame(asked, "incomplete" if fault == "long" else "completed")
    if fault == "long":
        frame["incomplete_details"] = {"reason": "max_output_tokens"}
    return {
        **frame,
        "output": [*output, message],
        "usage": {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": wrote,
            "output_tokens_details": {"reasoning_tokens": 64},
            "total_tokens": read + wrote,
        },
        "tool_usage": {"image_gen": _NO_PICTURES, "web_search": {"num_requests": len(answered.lookups)}},
    }


_COUNTED = {"image_tokens": 0, "text_tokens": 0}
_NO_PICTURES = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0, "input_tokens_details": _COUNTED}


def _openai_frame(asked: Asked, status: str) -> Json:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": int(time.time()),
        "model": asked.model.name,
        "status": status,
        "error": None,
        "incomplete_details": None,
    }


def _annotation(page: Page) -> Json:
    return {"type": "url_citation", "url": page.url, "title": page.title, "start_index": 0, "end_index": 1}


def _openai_billed(_asked: Asked, reply: Json) -> Billed:
    usage = reply["usage"] or {"input_tokens": 0, "output_tokens": 0}
    searches = reply.get("tool_usage", {"web_search": {"num_requests": 0}})["web_search"]["num_requests"]
    return Billed(usage["input_tokens"], usage["output_tokens"], searches)


# --- Anthropic ------------------------------------------------------------------------------------------------------


def _anthropic_asked(shape: Shape, model: Model, body: Json) -> Asked | web.Response:
    if "max_tokens" not in body:
        return problem(shape.vendor, 400, "max_tokens: Field required")
    tools = body.get("tools", [])
    known = ("web_search_20250305", "web_search_20260209", "web_search_20260318")
    if [tool.get("name") for tool in tools] != ["web_search"] or tools[0]["type"] not in known:
        return problem(shape.vendor, 400, f"tools.0: Input tag {tools[:1]} does not match any of the expected tags")
    if body.get("output_config"):
        return problem(shape.vendor, 400, "output_config.format: citations can't be given with it")
    messages = body["messages"]
    roles = [message["role"] for message in messages]
    if roles[0] != "user" or set(roles[1:]) - {"assistant"}:
        return problem(shape.vendor, 400, "messages: unexpected role")
    return Asked(model=model, prompt=messages[0]["content"], schema=False, resumed=len(messages) - 1)


def _anthropic_reply(asked: Asked, answered: Answered, fault: str) -> Json:
    content: list[Json] = []
    if not asked.resumed:
        content.append({"type": "text", "text": "I'll look for that. ", "citations": None})
        for number, lookup in enumerate(answered.lookups):
            name, uses = f"srvtoolu_{number}", {"query": lookup.query}
            content.append({"type": "server_tool_use", "id": name, "name": "web_search", "input": uses})
            pages = [
                {"type": "web_search_result", "url": page.url, "title": page.title, "encrypted_content": "Eo8"}
                for page in lookup.pages
            ]
            content.append({"type": "web_search_tool_result", "tool_use_id": name, "content": pages})
        over = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
        uses = {"query": "one more"}
        content.append({"type": "server_tool_use", "id": "srvtoolu_x", "name": "web_search", "input": uses})
        content.append({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_x", "content": over})
    if fault != "pause":
        half = len(answered.text) // 2
        cites = [
            {
                "type": "web_search_result_location",
                "url": page.url,
                "title": page.title,
                "encrypted_index": "Eo8",
                "cited_text": page.text[:100],
            }
            for page in answered.cited
        ]
        content.append({"type": "text", "text": answered.text[:half], "citations": cites})
        content.append({"type": "text", "text": answered.text[half:]})
    reason = {"pause": "pause_turn", "refusal": "refusal", "long": "max_tokens"}.get(fault, "end_turn")
    searches = 0 if asked.resumed else len(answered.lookups)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked.model.name,
        "content": [] if fault == "refusal" else content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": tokens(asked.prompt) + _read_tokens(answered),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": tokens(answered.text),
            "server_tool_use": {"web_search_requests": searches, "web_fetch_requests": 0},
            "service_tier": "standard",
        },
    }


def _anthropic_billed(_asked: Asked, reply: Json) -> Billed:
    usage = reply["usage"]
    return Billed(usage["input_tokens"], usage["output_tokens"], usage["server_tool_use"]["web_search_requests"])


# --- Google ---------------------------------------------------------------------------------------------------------


def _gemini_asked(shape: Shape, model: Model, body: Json) -> Asked | web.Response:
    tools = body.get("tools", [])
    if [list(tool) for tool in tools] not in ([["google_search"]], [["googleSearch"]]):
        return problem(shape.vendor, 400, f"tools: {tools}")
    generation = body.get("generationConfig", {})
    known = {"maxOutputTokens", "temperature", "topP", "topK", "responseMimeType", "responseJsonSchema", "seed"}
    for field in sorted(set(generation) - known):
        return problem(shape.vendor, 400, _unknown("gemini", field))
    schema = generation.get("responseMimeType") == "application/json"
    if schema and model.name.startswith("gemini-2"):
        said = "Tool use with a response mime type: 'application/json' is unsupported"
        return problem(shape.vendor, 400, said)
    return Asked(model=model, prompt=body["contents"][0]["parts"][0]["text"], schema=schema)


def _gemini_reply(asked: Asked, answered: Answered, fault: str) -> Json:
    pages = list(dict.fromkeys(page for lookup in answered.lookups for page in lookup.pages))
    chunks = [
        {"web": {"uri": f"{REDIRECT}{number:04}", "title": urlsplit(page.url).hostname}}
        for number, page in enumerate(pages)
    ]
    supports = [
        {"segment": {"startIndex": 0, "endIndex": 9, "text": "Here is"}, "groundingChunkIndices": [pages.index(page)]}
        for page in answered.cited
    ]
    candidate: Json = {
        "index": 0,
        "content": {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": answered.text}]},
        "finishReason": "MAX_TOKENS" if fault == "long" else "STOP",
        "groundingMetadata": {
            "webSearchQueries": [lookup.query for lookup in answered.lookups],
            "searchEntryPoint": {"renderedContent": "<div></div>"},
            "groundingChunks": chunks,
            "groundingSupports": supports,
        },
    }
    read, seen, wrote = tokens(asked.prompt), _read_tokens(answered), tokens(answered.text)
    usage = {
        "promptTokenCount": read,
        "toolUsePromptTokenCount": seen,
        "candidatesTokenCount": wrote,
        "thoughtsTokenCount": 50,
        "totalTokenCount": read + seen + wrote + 50,
    }
    reply: Json = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": asked.model.name}
    if fault == "refusal":
        del reply["candidates"]
        reply["promptFeedback"] = {"blockReason": "PROHIBITED_CONTENT"}
    return reply


def _gemini_billed(asked: Asked, reply: Json) -> Billed:
    usage = reply["usageMetadata"]
    found = [one["groundingMetadata"]["webSearchQueries"] for one in reply.get("candidates", [])]
    searches = sum(len(one) for one in found)
    fees = min(1, searches) if asked.model.name.startswith("gemini-2") else searches
    read = usage["promptTokenCount"] + usage["toolUsePromptTokenCount"]
    return Billed(read, usage["candidatesTokenCount"] + usage["thoughtsTokenCount"], fees)


# --- Perplexity -----------------------------------------------------------------------------------------------------


def _perplexity_asked(shape: Shape, model: Model, body: Json) -> Asked | web.Response:
    style = body.get("response_format", {"type": "text"})
    if style["type"] == "json_schema" and "schema" not in style.get("json_schema", {}):
        return problem(shape.vendor, 400, "response_format.json_schema: schema is required")
    return Asked(model=model, prompt=body["input"], schema=style["type"] == "json_schema")


def _results(pages: Sequence[Page]) -> list[Json]:
    return [
        {"id": number, "title": page.title, "url": page.url, "snippet": page.text[:80], "source": "web"}
        for number, page in enumerate(pages, start=1)
    ]


def _agent_reply(asked: Asked, answered: Answered, fault: str) -> Json:
    if fault == "failed":
        error = {"message": "upstream failed", "code": "server_error"}
        frame = {"id": "resp_1", "object": "response", "created_at": 1, "model": asked.model.name}
        return {**frame, "status": "failed", "error": error, "output": []}
    output: list[Json] = [
        {"type": "search_results", "queries": [lookup.query], "results": _results(lookup.pages)}
        for lookup in answered.lookups
    ]
    fetched = [{"url": page.url, "title": page.title, "snippet": page.text[:80]} for page in answered.cited[:1]]
    output.append({"type": "fetch_url_results", "contents": fetched})
    part = {"type": "output_text", "text": answered.text, "annotations": [_annotation(page) for page in answered.cited]}
    output.append({"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [part]})
    read, wrote = tokens(asked.prompt) + _read_tokens(answered), tokens(answered.text)
    tools_usd = len(answered.lookups) * asked.model.fee_usd
    usd = (read * asked.model.input_usd + wrote * asked.model.output_usd) / 1e6 + tools_usd
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": asked.model.name,
        "status": "completed",
        "output": output,
        "usage": {
            "input_tokens": read,
            "output_tokens": wrote,
            "total_tokens": read + wrote,
            "tool_calls_details": {"web_search": {"invocation": len(answered.lookups)}},
            "cost": {"currency": "USD", "input_cost": 0.0, "output_cost": 0.0, "total_cost": usd},
        },
    }


def _agent_billed(_asked: Asked, reply: Json) -> Billed:
    usage = reply.get("usage", {"input_tokens": 0, "output_tokens": 0})
    calls = usage.get("tool_calls_details", {"web_search": {"invocation": 0}})["web_search"]["invocation"]
    return Billed(usage["input_tokens"], usage["output_tokens"], calls)


SHAPES: dict[str, Shape] = {
    "openai": Shape(
        vendor="openai",
        base_path="/openai/v1",
        models=(Model("gpt-4o", 2.5, 10.0, 0.01), Model("gpt-6.1-sol", 2.0, 10.0, 0.01)),
        allowed=frozenset(
            ("model", "input", "tools", "include", "text", "max_output_tokens", "temperature", "top_p", "reasoning")
        )
        | {"instructions", "metadata", "store", "tool_choice", "max_tool_calls"},
        path=lambda _model: "/responses",
        header=_bearer,
        understood=_openai_asked,
        reply=_openai_reply,
        billed=_openai_billed,
    ),
    "anthropic": Shape(
        vendor="anthropic",
        base_path="/anthropic/v1",
        models=(Model("claude-sonnet-5-5", 2.0, 10.0, 0.01),),
        allowed=frozenset(("model", "max_tokens", "messages", "tools", "system", "tool_choice", "thinking", "metadata"))
        | {"output_config", "stop_sequences"},
        path=lambda _model: "/messages",
        header=_anthropic_headers,
        understood=_anthropic_asked,
        reply=_anthropic_reply,
        billed=_anthropic_billed,
    ),
    "gemini": Shape(
        vendor="gemini",
        base_path="/gemini/v1beta",
        models=(Model("gemini-2.5-flash", 0.3, 2.5, 0.035), Model("gemini-3.8-flash", 0.75, 3.75, 0.014)),
        allowed=frozenset(("contents", "tools", "generationConfig", "systemInstruction", "safetySettings")),
        path=lambda model: f"/models/{model.name}:generateContent",
        header=_google_header,
        understood=_gemini_asked,
        reply=_gemini_reply,
        billed=_gemini_billed,
    ),
    "perplexity-agent": Shape(
        vendor="perplexity-agent",
        base_path="/perplexity-agent/v1",
        models=(Model("perplexity/sonar", 0.25, 2.5, 0.005),),
        allowed=frozenset(
            ("model", "input", "tools", "response_format", "max_output_tokens", "instructions", "preset")
        ),
        path=lambda _model: "/responses",
        header=_bearer,
        understood=_perplexity_asked,
        reply=_agent_reply,
        billed=_agent_billed,
        lists_models=False,
    ),
}
