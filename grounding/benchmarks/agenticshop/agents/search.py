"""Search-augmented models as agents: they search the web through their vendor's own tool and name three products.

The models are cards in ``models/search``. What they are told of a need has the order, the blanks, the quotes and the
omissions of the release (protocol D2); ``models/prompts/agenticshop`` holds the texts. The vendors' interfaces:

- ``openai``: the Responses API with ``web_search``. With a schema the text carries no citations; the sources of the
  searches are asked for with ``include``, as the release does.
- ``anthropic``: Messages with ``web_search``. A long turn can be paused (``pause_turn``): what was said so far is then
  sent back as it came, and the model goes on.
- ``gemini``: ``generateContent`` with ``google_search``. Its sources are addresses of a redirect of Google's.
- ``perplexity-agent``: like OpenAI's Responses, but for its schema and its bill.

What a vendor tells of its tool becomes steps: ``search: WORDS``, then ``sources`` with all pages that the reply names.
"""

import time
from collections.abc import Sequence
from functools import cache
from typing import Any
from urllib.parse import quote

import msgspec

from grounding.benchmarks.calls import Wording, fill, read_wording
from grounding.cards import Json, SearchCard, find_card
from grounding.cards.identity import card_identity
from grounding.cards.places import models_dir
from grounding.errors import Halted, UserError
from grounding.llm import CallFailed, ModelClient, Spent, resolve_endpoint
from grounding.llm.budget import Budget, together
from grounding.llm.chat import NO_PICTURES, ChatOptions, ChatRequest, NotSent, asked_as
from grounding.llm.http import beyond_window, where_to_look
from grounding.llm.tokens import request_tokens
from grounding.llm.vendors import conversation_wire
from grounding.llm.wire import Completion, MalformedReply, Message, TextPart
from grounding.planners.prompts import check_card
from grounding.records import Call, Failure, Record, Usage
from grounding.run.building import chat_options
from grounding.run.display import Progress

from ..records import DIMENSIONS, Curated, Curation, ShopperView, TraceStep
from .base import AsksFirst, CurationServices, agent, at, decoded, each, made, read_products, text

VERSION = 1
FLAG = "--base-url"
MOST_PAUSES = 4  # So often a paused model is sent on; then the answer is what came until there.
CUT_OFF = ("max_output_tokens", "max_tokens", "model_context_window_exceeded", "MAX_TOKENS")


class CurationPrompts(Wording, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All texts of one wording, and the schema of the reply."""

    system: str
    opening: str
    product_type: str
    situation: str
    budget: str
    query: str
    context: str
    dimension: str
    task: str
    sites: str
    in_words: str
    schema_name: str
    schema: dict[str, Any]


@cache
def curation_prompts() -> CurationPrompts:
    """The bundled file ``curation.yaml``."""
    return read_wording("agenticshop", "curation", CurationPrompts)


def curation_prompt(prompts: CurationPrompts, view: ShopperView) -> str:
    """The prompt of a need, as the release writes it into its inputs; what has no value is left out."""
    kind = fill(prompts.product_type, product_type=view.product_type) if view.product_type else ""
    need = {"situation": view.situation.rstrip("."), "budget": view.budget, "query": view.query}
    about = " ".join(fill(getattr(prompts, name), **{name: said}) for name, said in need.items() if said)
    told = "".join(
        fill(prompts.dimension, dimension=name, text=known.replace('"', "'"))
        for name in DIMENSIONS
        if (known := getattr(view.context, name))
    )
    return f"{prompts.opening}{kind}{about and about + ' '}{told and prompts.context + told}{prompts.task}"


def request_text(prompts: CurationPrompts, view: ShopperView, *, in_words: bool) -> str:
    """All that a model is told: the release's system text and prompt, the data set's shops, the form of the reply.
    ``in_words``: the form has to be asked for, because no schema goes along.
    """
    whole = prompts.system + curation_prompt(prompts, view)
    if view.sites:
        whole += fill(prompts.sites, sites=", ".join(f"{site.name} ({site.home_url})" for site in view.sites))
    return whole + prompts.in_words if in_words else whole


# --- the vendors' interfaces ------------------------------------------------------------------------------------------


class SearchAnswer(Record, frozen=True, kw_only=True):
    """A whole answer, with the steps behind it. ``unfinished`` is what has to be sent back for the model to go on,
    where the vendor paused it.
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


# --- the agent --------------------------------------------------------------------------------------------------------


class SearchAgent(AsksFirst):
    """Asks one model with a search tool for three products."""

    most_requests = 1 + MOST_PAUSES

    def __init__(self, interface: Interface, client: ModelClient[SearchAnswer], prompts: CurationPrompts) -> None:
        self.card, self.name = interface.card, interface.card.name
        self._interface, self._client, self._prompts = interface, client, prompts
        self._answered = False
        self.max_concurrency = client.max_connections
        asked = card_identity(interface.card, leave_out=("fee", "user", "name"), parameters=interface.parameters)
        self.identity = f"search:{VERSION}|{asked}|{prompts.label}"
        # Which models are served costs nothing to ask; a card can say that it can't be asked.
        self.check, self.aclose = client.check, client.aclose  # type: ignore[method-assign]

    def _text(self, view: ShopperView) -> str:
        return request_text(self._prompts, view, in_words=self._interface.schema is None)

    async def first(self, view: ShopperView) -> None:
        """Raise the request about a need; what the vendor's search adds to it is not in its tokens."""
        prompt = self._text(view)
        message = Message(role="user", parts=(TextPart(text=prompt),))
        tokens = request_tokens(self.card, (message,), NO_PICTURES, self.card.parameters)
        raise NotSent(ChatRequest(content=self._interface.request(prompt), tokens=tokens))

    async def curate(self, view: ShopperView, key: str) -> Curation:
        started, answers, calls = time.monotonic(), list[SearchAnswer](), list[Call]()
        failure = await self._ask(self._text(view), answers, calls)
        said = "".join(answer.completion.text for answer in answers)
        found = failure or _read(answers[-1], said)
        return made(
            view,
            key,
            products=() if isinstance(found, Failure) else found,
            trace=tuple(step for answer in answers for step in answer.steps),
            raw=said,
            ended=answers[-1].completion.finish_reason if answers else "",
            requests=len(calls),
            seconds=time.monotonic() - started,
            call=together(calls),
            failure=found if isinstance(found, Failure) else None,
        )

    async def _ask(self, prompt: str, answers: list[SearchAnswer], calls: list[Call]) -> Failure | None:
        so_far: list[msgspec.Raw] = []
        for _ in range(self.most_requests):
            try:
                reply = await self._client.complete(self._interface.request(prompt, so_far))
            except CallFailed as error:
                if not self._answered and (look := where_to_look(error, self.card)) is not None:
                    raise UserError(
                        f"{self.name}: the endpoint refuses every request for {self.card.model} ({error}); check {look}"
                    ) from error
                calls += [error.call] if error.call is not None else []
                return Failure(kind="unparsed" if beyond_window(error) else "error", message=str(error))
            except Halted as reached:
                if not calls:
                    raise
                # What was paid until here must not be forgotten: only a record keeps it.
                return Failure(kind="error", message=f"paused, and not sent on: {reached}")
            self._answered = True
            answers.append(reply.completion)
            calls.append(reply.call)
            if reply.completion.unfinished is None:
                return None
            so_far.append(reply.completion.unfinished)
        return None


def _read(last: SearchAnswer, said: str) -> tuple[Curated, ...] | Failure:
    ended = last.completion.finish_reason
    if last.completion.refused or last.completion.filtered:
        return Failure(kind="unparsed", message=f"the model or its vendor declined ({ended})")
    found = read_products(said)
    if isinstance(found, Failure) and (ended in CUT_OFF or last.unfinished is not None):
        why = "cut off at the limit of its length" if ended in CUT_OFF else f"paused {MOST_PAUSES + 1} times"
        return Failure(kind="unparsed", message=f"the reply was {why}; {found.message}")
    return found


@agent(
    "search",
    "a chat model that searches the web with its vendor's own tool (OpenAI, Anthropic, Gemini, Perplexity)",
    needs="model",
    listed="search",
)
def _search(given: CurationServices) -> SearchAgent:
    options = given.options
    chat = chat_options(options, " ".join(options.base_url))
    return open_search_agent(
        str(options.model), chat, cost_limit=options.cost_limit, budget=given.budget, progress=given.progress
    )


def open_search_agent(
    name: str,
    chat: ChatOptions,
    *,
    budget: Budget,
    progress: Progress | None = None,
    cost_limit: float | None = None,
) -> SearchAgent:
    """Put a card, by its name, alias or path, a user's options and an endpoint together. Sends nothing yet.

    A seed is left out: no vendor's search takes one. A UserError says that there is no such card, that it can't do what
    is asked, or that its address or key is missing.
    """
    folder, listed_by = models_dir() / "search", "grounding list search"
    card = find_card(name, folder, SearchCard, builtin=(), kind="search model", listed_by=listed_by)
    own_address = chat.base_url is not None
    check_card(card, own_address=own_address, option="--model", address_flag=FLAG, cost_limit=cost_limit)
    parameters = dict(card.parameters)
    if chat.temperature is not None:
        if "temperature" not in card.takes:
            raise UserError(f"--temperature: {card.name} takes no temperature; leave it out")
        parameters["temperature"] = chat.temperature
    prompts = curation_prompts()
    interface = Interface(card, parameters, prompts.schema_name, prompts.schema)
    endpoint = resolve_endpoint(card, chat.base_url, flag=FLAG, dry=chat.dry, wire=interface)
    on_retry = progress.retried if progress is not None else None
    client = ModelClient(card, endpoint, interface, **asked_as(card, chat), budget=budget, on_retry=on_retry)
    return SearchAgent(interface, client, prompts)
