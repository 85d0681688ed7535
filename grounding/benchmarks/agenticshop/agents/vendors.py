"""The vendors' interfaces: a prompt to the bytes of a request, the bytes of a reply to a SearchAnswer.

- ``openai``: the Responses API with ``web_search``. With a schema the text carries no citations; the sources of the
  searches are asked for with ``include``, as the release does.
- ``anthropic``: Messages with ``web_search``. A long turn can be paused (``pause_turn``): what was said so far is then
  sent back as it came, and the model goes on.
- ``gemini``: ``generateContent`` with ``google_search``. The sources are addresses of a redirect of Google's, kept as
  they come.
- ``perplexity-agent``: like OpenAI's Responses, but for its schema and its bill.

What a vendor tells of its tool becomes steps: ``search: WORDS``, then ``sources`` with all pages that the reply names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from grounding.benchmarks.agenticshop.agents.base import at, decoded, each, text
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
    """The interface of a card's vendor with its settings, as a :class:`grounding.llm.wire.Wire`."""

    def __init__(self, card: SearchCard, parameters: dict[str, Json], schema_name: str, schema: dict[str, Any]) -> None:
        self.card, self.parameters, self.schema_name = card, parameters, schema_name
        self.schema = schema if card.reply == "schema" else None
        self._wire: Any = _GenerateContent()
        if card.interface != "gemini":
            spoken: Any = "messages" if card.interface == "anthropic" else "responses"
            endpoint = msgspec.structs.replace(card.endpoint, interface=spoken)
            self._wire = conversation_wire(msgspec.structs.replace(card, endpoint=endpoint))
        self.base_path, self.models_path = self._wire.base_path, self._wire.models_path
        self.headers, self.listed, self.path = self._wire.headers, self._wire.listed, self._wire.path

    def model(self, answer: SearchAnswer) -> str:
        return answer.completion.model

    def request(self, prompt: str, so_far: Sequence[msgspec.Raw] = ()) -> bytes:
        """The body of a request, with what was said before a pause."""
        card, tool, schema = self.card, dict(self.card.tool), self.schema
        named = {"name": self.schema_name}
        if card.interface == "gemini":
            generation: dict[str, Any] = dict(self.parameters)
            if schema:
                generation |= {"responseMimeType": "application/json", "responseJsonSchema": inlined(schema)}
            contents = [{"role": "user", "parts": [{"text": prompt}]}]
            body: dict[str, Any] = {"contents": contents, "tools": [{"google_search": tool}]}
            body |= {"generationConfig": generation} if generation else {}
        elif card.interface == "anthropic":
            messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
            messages += [{"role": "assistant", "content": content} for content in so_far]
            body = {"model": card.model, "messages": messages, "tools": [tool], **self.parameters}
            if schema:
                body["output_config"] = {"format": {"type": "json_schema", "schema": inlined(schema)}}
        else:
            tools = [{"type": "web_search", **tool}]
            body = {"model": card.model, "input": prompt, "tools": tools, **self.parameters}
            if card.interface == "openai":
                body["include"] = ["web_search_call.action.sources"]
                if schema:
                    body["text"] = {"format": {"type": "json_schema", **named, "strict": True, "schema": schema}}
            elif schema:
                form = {**named, "schema": inlined(schema)}
                body["response_format"] = {"type": "json_schema", "json_schema": form}
        return msgspec.json.encode(body)

    def read(self, body: bytes) -> SearchAnswer:
        """What the model says; a MalformedReply is raised of what is no such reply, or failed at the vendor's."""
        completion, wire = self._wire.read(body), decoded(body)
        told = [at(wire, name) for name in ("output", "content", "candidates")]
        steps = [TraceStep(action=f"search: {words}") for words in _found(told, ("query", "queries", _GOOGLES))]
        if urls := tuple(url for url in _found(told, ("url", "uri")) if url.startswith("http")):
            steps.append(TraceStep(action="sources", cited_urls=urls))
        paused = text(wire, "stop_reason") == "pause_turn"
        unfinished = msgspec.Raw(msgspec.json.encode(wire["content"])) if paused else None
        return SearchAnswer(completion=completion, steps=tuple(steps), unfinished=unfinished)

    def spent(self, body: bytes) -> Spent:
        """What a reply took, with the card's fee for its searches; nothing of what can't be read."""
        wire, fee = decoded(body), self.card.fee
        if not isinstance(wire, dict):
            return Spent()
        made = searches(self.card.interface, wire)
        return Spent(
            usage=self._wire.spent(body).usage,
            fee_usd=fee.usd * (made if fee.per == "search" else min(1, made)) if fee else 0.0,
            total_usd=at(wire, "usage", "cost", "total_cost") if self.card.interface == "perplexity-agent" else None,
        )


_GOOGLES = "webSearchQueries"


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


def inlined(schema: dict[str, Any]) -> Any:
    """The same schema with its definitions where they are used, for vendors that are not known to follow references."""
    definitions = schema.get("$defs", {})

    def put(part: Any) -> Any:
        if isinstance(part, dict):
            found = definitions.get(str(part.get("$ref", "")).removeprefix("#/$defs/"))
            return put(found) if found else {key: put(value) for key, value in part.items() if key != "$defs"}
        return [put(one) for one in part] if isinstance(part, list) else part

    return put(schema)


def searches(interface: str, wire: dict[str, Any]) -> int:
    """How many searches of a reply are paid for: those that the vendor counts, else those that it names."""
    match interface:
        case "anthropic":
            return _count(wire, "usage", "server_tool_use", "web_search_requests")
        case "gemini":
            return len(_found(at(wire, "candidates"), (_GOOGLES,)))
        case "perplexity-agent":
            return _count(wire, "usage", "tool_calls_details", "web_search", "invocation")
    counted = at(wire, "tool_usage", "web_search", "num_requests")
    made = sum(text(item, "action", "type") == "search" for item in each(wire, "output"))
    return counted if isinstance(counted, int) else made


def _count(value: Any, *names: str) -> int:
    found = at(value, *names)
    return int(found) if isinstance(found, int | float) and not isinstance(found, bool) else 0


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
            input_tokens=_count(told, "promptTokenCount") + _count(told, "toolUsePromptTokenCount"),
            output_tokens=_count(told, "candidatesTokenCount") + _count(told, "thoughtsTokenCount"),
            cached_input_tokens=_count(told, "cachedContentTokenCount"),
            reasoning_tokens=_count(told, "thoughtsTokenCount"),
        )
        return Spent(usage=usage if _count(told, "promptTokenCount") else None)
