"""The vendors' interfaces as one table: a prompt to the bytes of a request, the bytes of a reply to a SearchAnswer.

- ``openai``: the Responses API with ``web_search``. With a schema the text carries no citations; the sources of the
  searches are asked for with ``include``, as the release does. One that the vendor gave up has ``status: failed``.
- ``anthropic``: Messages with ``web_search``. The text comes in pieces, each with the pages that it cites. A long turn
  can be paused (``pause_turn``): what was said so far is then sent back as it came, and the model goes on.
- ``gemini``: ``generateContent`` with ``google_search``. The sources are addresses of a redirect of Google's, kept as
  they come.
- ``perplexity-agent``: like OpenAI's Responses, but for its schema and its bill.

What a vendor tells of its tool becomes steps: ``search: WORDS``, then ``sources`` with all pages that the reply names.
What a step was for, nobody says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from grounding.benchmarks.agenticshop.agents.products import at, count, decoded, each, text
from grounding.benchmarks.agenticshop.records import TraceStep
from grounding.cards import Json, SearchCard
from grounding.llm import Spent
from grounding.llm.vendors import conversation_wire
from grounding.llm.wire import Completion, MalformedReply
from grounding.records import Record, Usage


class SearchAnswer(Record, frozen=True, kw_only=True):
    """A whole answer, with the steps behind it.

    ``unfinished`` is what has to be sent back for the model to go on, where the vendor paused it.
    """

    completion: Completion
    steps: tuple[TraceStep, ...] = ()
    unfinished: msgspec.Raw | None = None


class Interface:
    """The row of a card's vendor with its settings, as the client speaks to it."""

    def __init__(self, card: SearchCard, parameters: dict[str, Json], schema_name: str, schema: dict[str, Any]) -> None:
        self.card, self.parameters = card, parameters
        self.schema = schema if card.reply == "schema" else None
        self.schema_name = schema_name
        self._vendor = VENDORS[card.interface]
        self._wire: Any = _GenerateContent()
        if self._vendor.wire:
            known = msgspec.structs.replace(card.endpoint, interface=self._vendor.wire)
            self._wire = conversation_wire(msgspec.structs.replace(card, endpoint=known))
        self.base_path, self.models_path = self._wire.base_path, self._wire.models_path
        self.headers, self.listed, self.path = self._wire.headers, self._wire.listed, self._wire.path

    def model(self, answer: SearchAnswer) -> str:
        """As the answer says."""
        return answer.completion.model

    def request(self, prompt: str, so_far: Sequence[msgspec.Raw] = ()) -> bytes:
        """The body of a request."""
        return msgspec.json.encode(self._vendor.body(self, prompt, so_far))

    def read(self, body: bytes) -> SearchAnswer:
        """What the model says; a MalformedReply is raised of what is no such reply, or failed at the vendor's."""
        completion, wire = self._wire.read(body), decoded(body)
        paused = text(wire, "stop_reason") == "pause_turn"
        told = [at(wire, name) for name in ("output", "content", "candidates")]
        steps = [TraceStep(action=f"search: {words}") for words in _found(told, _QUERIES)]
        if urls := tuple(url for url in _found(told, _ADDRESSES) if url.startswith("http")):
            steps.append(TraceStep(action="sources", cited_urls=urls))
        return SearchAnswer(
            completion=completion,
            steps=tuple(steps),
            unfinished=msgspec.Raw(msgspec.json.encode(wire["content"])) if paused else None,
        )

    def spent(self, body: bytes) -> Spent:
        """What a reply took, with the card's fee for its searches; nothing of what can't be read."""
        wire, vendor, fee = decoded(body), self._vendor, self.card.fee
        if not isinstance(wire, dict):
            return Spent()
        searches = vendor.searches(wire)
        times = 0 if fee is None else searches if fee.per == "search" else min(1, searches)
        return Spent(
            usage=self._wire.spent(body).usage,
            fee_usd=times * fee.usd if fee else 0.0,
            total_usd=at(wire, *vendor.total) if vendor.total else None,
        )


_QUERIES, _ADDRESSES = ("query", "queries", "webSearchQueries"), ("url", "uri")


def _found(value: Any, names: tuple[str, ...], below: bool = False) -> dict[str, None]:
    """The texts under names, at whatever depth, each once."""
    found: dict[str, None] = {}
    if isinstance(value, str) and value and below:
        found[value] = None
    for name, inner in value.items() if isinstance(value, dict) else ():
        found |= _found(inner, names, name in names)
    for inner in value if isinstance(value, list) else ():
        found |= _found(inner, names, below)
    return found


# --- requests ---------------------------------------------------------------------------------------------------------


def inlined(schema: dict[str, Any]) -> Any:
    """The same schema with its definitions where they are used, for vendors that are not known to follow references."""
    definitions = schema.get("$defs", {})

    def put(part: Any) -> Any:
        if isinstance(part, dict):
            found = definitions.get(str(part.get("$ref", "")).removeprefix("#/$defs/"))
            return put(found) if found else {key: put(value) for key, value in part.items() if key != "$defs"}
        return [put(one) for one in part] if isinstance(part, list) else part

    return put(schema)


def _responses(asked: Interface, prompt: str) -> dict[str, Any]:
    """The prompt as one text, as the release sends it; nothing is ever paused here."""
    tools = [{"type": "web_search", **asked.card.tool}]
    return {"model": asked.card.model, "input": prompt, "tools": tools, **asked.parameters}


def _openai(asked: Interface, prompt: str, _so_far: Sequence[msgspec.Raw]) -> dict[str, Any]:
    body = {"include": ["web_search_call.action.sources"]} | _responses(asked, prompt)
    if asked.schema:
        named = {"type": "json_schema", "name": asked.schema_name, "strict": True, "schema": asked.schema}
        body["text"] = {"format": named}
    return body


def _perplexity(asked: Interface, prompt: str, _so_far: Sequence[msgspec.Raw]) -> dict[str, Any]:
    body = _responses(asked, prompt)
    if asked.schema:
        named = {"name": asked.schema_name, "schema": inlined(asked.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    return body


def _anthropic(asked: Interface, prompt: str, so_far: Sequence[msgspec.Raw]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    messages += [{"role": "assistant", "content": content} for content in so_far]
    body = {"model": asked.card.model, "messages": messages, "tools": [dict(asked.card.tool)], **asked.parameters}
    if asked.schema:
        body["output_config"] = {"format": {"type": "json_schema", "schema": inlined(asked.schema)}}
    return body


def _gemini(asked: Interface, prompt: str, _so_far: Sequence[msgspec.Raw]) -> dict[str, Any]:
    """One turn of the user; the card's parameters are those of the generation."""
    generation: dict[str, Any] = dict(asked.parameters)
    if asked.schema:
        generation |= {"responseMimeType": "application/json", "responseJsonSchema": inlined(asked.schema)}
    contents = [{"role": "user", "parts": [{"text": prompt}]}]
    body: dict[str, Any] = {"contents": contents, "tools": [{"google_search": dict(asked.card.tool)}]}
    return body | ({"generationConfig": generation} if generation else {})


# --- what is counted in replies ---------------------------------------------------------------------------------------


def _openai_searches(wire: dict[str, Any]) -> int:
    """Those that the vendor counts as billable; else those that are in the output."""
    counted = at(wire, "tool_usage", "web_search", "num_requests")
    made = sum(text(item, "action", "type") == "search" for item in each(wire, "output"))
    return counted if isinstance(counted, int) else made


class _GenerateContent:
    """Google's own interface, as a :class:`grounding.llm.wire.Wire`."""

    base_path, models_path = "/v1beta", "/models?pageSize=1000"

    def path(self, model: str) -> str:
        return f"/models/{quote(model, safe='')}:generateContent"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"x-goog-api-key": key} if key else {}

    def listed(self, body: bytes) -> list[str]:
        return [name for one in each(decoded(body), "models") if (name := text(one, "name"))]

    def read(self, body: bytes) -> Completion:
        """Text without thoughts; a prompt that was blocked has no candidates. Raises a MalformedReply."""
        wire = decoded(body)
        first, blocked = next(iter(each(wire, "candidates")), None), text(wire, "promptFeedback", "blockReason")
        if first is None and not blocked:
            raise MalformedReply("the response has no candidates")
        parts = [part for part in each(first, "content", "parts") if not part.get("thought")]
        return Completion(
            text="".join(text(part, "text") for part in parts),
            finish_reason=text(first, "finishReason") or blocked,
            refused=first is None,
            model=text(wire, "modelVersion"),
            usage=self.spent(body).usage,
        )

    def spent(self, body: bytes) -> Spent:
        """Tokens of search results are part of the input, thoughts of the output."""
        told = at(decoded(body), "usageMetadata")
        usage = Usage(
            input_tokens=count(told, "promptTokenCount") + count(told, "toolUsePromptTokenCount"),
            output_tokens=count(told, "candidatesTokenCount") + count(told, "thoughtsTokenCount"),
            cached_input_tokens=count(told, "cachedContentTokenCount"),
            reasoning_tokens=count(told, "thoughtsTokenCount"),
        )
        return Spent(usage=usage if count(told, "promptTokenCount") else None)


class Vendor(NamedTuple):
    """One row: what it writes in which of the known interfaces ("": Google's own), and where its bill is.

    ``body`` makes a request of the interface, the prompt and what was said before a pause. ``searches`` counts those
    that are paid for; ``total`` is where the vendor's own sum stands.
    """

    wire: str
    body: Callable[[Interface, str, Sequence[msgspec.Raw]], dict[str, Any]]
    searches: Callable[[dict[str, Any]], int]
    total: tuple[str, ...] = ()


VENDORS: dict[str, Vendor] = {
    "openai": Vendor("responses", _openai, _openai_searches),
    "anthropic": Vendor(
        "messages", _anthropic, lambda wire: count(wire, "usage", "server_tool_use", "web_search_requests")
    ),
    "gemini": Vendor("", _gemini, lambda wire: len(_found(at(wire, "candidates"), ("webSearchQueries",)))),
    "perplexity-agent": Vendor(
        "responses",
        _perplexity,
        lambda wire: count(wire, "usage", "tool_calls_details", "web_search", "invocation"),
        total=("usage", "cost", "total_cost"),
    ),
}
