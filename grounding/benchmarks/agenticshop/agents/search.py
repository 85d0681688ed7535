"""Search-augmented models as agents: they search the web through their vendor's own tool and name three products.

The models are cards in ``models/search``. What they are told of a need has the order, the blanks, the quotes and the
omissions of the release (protocol D2); ``models/prompts/agenticshop`` holds the texts. What a vendor tells of its tool
becomes steps: ``search: WORDS``, then ``sources`` with all pages that the reply names.
"""

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from grounding.benchmarks.asking import FLAG
from grounding.benchmarks.calls import Wording, fill, read_wording
from grounding.cards import SearchCard, find_card
from grounding.cards.identity import card_identity
from grounding.cards.places import models_dir
from grounding.errors import UserError
from grounding.llm import CallFailed, ModelClient, Spent, resolve_endpoint
from grounding.llm.budget import together
from grounding.llm.chat import NO_PICTURES, ChatRequest, NotSent, asked_as, call_failure, request_parameters
from grounding.llm.tokens import request_tokens
from grounding.llm.vendors import GenerateContentWire, MessagesWire, ResponsesWire, VendorWire
from grounding.llm.wire import Completion, Message, TextPart
from grounding.planners.prompts import check_card
from grounding.records import Call, Failure
from grounding.run.building import chat_options

from ..records import DIMENSIONS, Curated, Curation, ShopperView, TraceStep
from .base import AsksFirst, CurationServices, agent, at, decoded, each, made, read_products, text

VERSION = 1
MOST_PAUSES = 4  # So often a paused model is sent on; then the answer is what came until there.
_GOOGLES = "webSearchQueries"
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
    inlined: dict[str, Any]


@cache
def curation_prompts() -> CurationPrompts:
    """The bundled file ``curation.yaml``."""
    return read_wording("agenticshop", "curation", CurationPrompts)


def curation_prompt(view: ShopperView) -> str:
    """The prompt of a need, as the release writes it into its inputs; what has no value is left out."""
    prompts = curation_prompts()
    kind = fill(prompts.product_type, product_type=view.product_type) if view.product_type else ""
    need = {"situation": view.situation.rstrip("."), "budget": view.budget, "query": view.query}
    about = " ".join(fill(getattr(prompts, name), **{name: said}) for name, said in need.items() if said)
    told = "".join(
        fill(prompts.dimension, dimension=name, text=known.replace('"', "'"))
        for name in DIMENSIONS
        if (known := getattr(view.context, name))
    )
    return f"{prompts.opening}{kind}{about and about + ' '}{told and prompts.context + told}{prompts.task}"


def request_text(view: ShopperView, *, in_words: bool) -> str:
    """All that a model is told: the release's system text and prompt, the data set's shops, the form of the reply.
    ``in_words``: the form has to be asked for, because no schema goes along.
    """
    prompts = curation_prompts()
    whole = prompts.system + curation_prompt(view)
    if view.sites:
        whole += fill(prompts.sites, sites=", ".join(f"{site.name} ({site.home_url})" for site in view.sites))
    return whole + prompts.in_words if in_words else whole


# --- the vendors' interfaces ------------------------------------------------------------------------------------------


def _openai(card: SearchCard, prompt: str, form: CurationPrompts | None) -> dict[str, Any]:
    asked: dict[str, Any] = {"model": card.model, "include": ["web_search_call.action.sources"], "input": prompt}
    if form:
        schema = {"type": "json_schema", "strict": True, "name": form.schema_name, "schema": form.schema}
        asked["text"] = {"format": schema}
    # In the order in which the release's program, by OpenAI's package, sends them.
    return asked | {"tools": [{"type": "web_search", **card.tool}], **card.parameters}


def _perplexity(card: SearchCard, prompt: str, form: CurationPrompts | None) -> dict[str, Any]:
    tools = [{"type": "web_search", **card.tool}]
    asked = {"model": card.model, "input": prompt, "tools": tools, **card.parameters}
    if form:
        named = {"name": form.schema_name, "schema": form.inlined}
        asked["response_format"] = {"type": "json_schema", "json_schema": named}
    return asked


def _anthropic(card: SearchCard, prompt: str, form: CurationPrompts | None) -> dict[str, Any]:
    said = [{"role": "user", "content": prompt}]
    asked = {"model": card.model, "messages": said, "tools": [card.tool], **card.parameters}
    if form:
        asked["output_config"] = {"format": {"type": "json_schema", "schema": form.inlined}}
    return asked


def _gemini(card: SearchCard, prompt: str, form: CurationPrompts | None) -> dict[str, Any]:
    contents = [{"role": "user", "parts": [{"text": prompt}]}]
    settings: dict[str, Any] = dict(card.parameters)
    if form:
        settings |= {"responseMimeType": "application/json", "responseJsonSchema": form.inlined}
    asked = {"contents": contents, "tools": [{"google_search": card.tool}], "generationConfig": settings}
    return {name: value for name, value in asked.items() if value}


class Vendor(NamedTuple):
    """One vendor's interface. ``request`` makes what is asked of a card, a prompt and the texts with the schema of the
    reply, None where it is asked for in words; ``counted`` is where a reply counts its searches.
    """

    wire: type[VendorWire]
    request: Callable[[SearchCard, str, CurationPrompts | None], dict[str, Any]]
    counted: tuple[str, ...]


VENDORS = {
    "openai": Vendor(ResponsesWire, _openai, ("tool_usage", "web_search", "num_requests")),
    "anthropic": Vendor(MessagesWire, _anthropic, ("usage", "server_tool_use", "web_search_requests")),
    "gemini": Vendor(GenerateContentWire, _gemini, ()),  # Its sources are addresses of a redirect of Google's.
    "perplexity-agent": Vendor(ResponsesWire, _perplexity, ("usage", "tool_calls_details", "web_search", "invocation")),
}


def searches(vendor: str, reply: Any) -> int:
    """How many searches of a reply are paid for: those that the vendor counts, else those that it names."""
    counted = _amount(reply, *VENDORS[vendor].counted)
    if counted is not None:
        return int(counted)
    named = sum(text(item, "action", "type") == "search" for item in each(reply, "output"))
    return named + len(_found(at(reply, "candidates"), (_GOOGLES,)))


def _amount(reply: Any, *names: str) -> float | None:
    """The number there; None for anything else, or for one below zero."""
    found = at(reply, *names)
    return found if type(found) in (int, float) and found >= 0 else None


def _found(value: Any, names: tuple[str, ...]) -> dict[str, None]:
    """The texts under names, at whatever depth, each once."""
    found: dict[str, None] = {}
    left = [(value, False)]
    while left:
        inner, below = left.pop()
        if isinstance(inner, dict):
            left += [(one, name in names) for name, one in reversed(inner.items())]
        elif isinstance(inner, list):
            left += [(one, below) for one in reversed(inner)]
        elif isinstance(inner, str) and inner and below:
            found[inner] = None
    return found


class SearchAnswer(Completion, frozen=True, kw_only=True):
    """``unfinished`` is what has to be sent back for the model to go on, where its vendor paused it."""

    steps: tuple[TraceStep, ...] = ()
    unfinished: msgspec.Raw | None = None


class Interface:
    """The interface of a card's vendor with its settings, as a :class:`grounding.llm.wire.Wire`."""

    def __init__(self, card: SearchCard) -> None:
        self.card, self.form = card, curation_prompts() if card.reply == "schema" else None
        wire = self._wire = VENDORS[card.interface].wire(card.endpoint.headers)
        self.base_path, self.models_path, self.path = wire.base_path, wire.models_path, wire.path
        self.headers, self.listed, self.model = wire.headers, wire.listed, wire.model

    def request(self, prompt: str, so_far: Sequence[SearchAnswer] = ()) -> bytes:
        """The body of a request. A long turn can be paused: what was said so far is sent back as it came."""
        asked = VENDORS[self.card.interface].request(self.card, prompt, self.form)
        if so_far:
            asked["messages"] += [{"role": "assistant", "content": answer.unfinished} for answer in so_far]
        return msgspec.json.encode(asked)

    def read(self, body: bytes) -> SearchAnswer:
        """What the model says; a MalformedReply is raised of what is no such reply, or failed at the vendor's."""
        completion, reply = self._wire.read(body), decoded(body)
        told = [at(reply, name) for name in ("output", "content", "candidates")]
        steps = [TraceStep(action=f"search: {words}") for words in _found(told, ("query", "queries", _GOOGLES))]
        if urls := tuple(url for url in _found(told, ("url", "uri")) if url.startswith("http")):
            steps.append(TraceStep(action="sources", cited_urls=urls))
        paused = isinstance(self._wire, MessagesWire) and completion.finish_reason == "pause_turn"
        unfinished = msgspec.Raw(msgspec.json.encode(reply["content"])) if paused else None
        return SearchAnswer(**msgspec.structs.asdict(completion), steps=tuple(steps), unfinished=unfinished)

    def spent(self, body: bytes) -> Spent:
        """What a reply took, with the card's fee for its searches; nothing of what can't be read."""
        reply, fee = decoded(body), self.card.fee
        made = searches(self.card.interface, reply)
        return Spent(
            usage=self._wire.spent(body).usage,
            fee_usd=fee.usd * (made if fee.per == "search" else min(1, made)) if fee else 0.0,
            total_usd=_amount(reply, "usage", "cost", "total_cost"),
        )


# --- the agent --------------------------------------------------------------------------------------------------------


class SearchAgent(AsksFirst):
    """Asks one model with a search tool for three products."""

    most_requests = 1 + MOST_PAUSES

    def __init__(self, interface: Interface, client: ModelClient[SearchAnswer]) -> None:
        self.card, self.name = interface.card, interface.card.name
        self._interface, self._client, self._answered = interface, client, False
        self.max_concurrency = client.max_connections
        asked = card_identity(self.card, leave_out=("fee", "user", "name"), parameters=self.card.parameters)
        self.identity = f"search:{VERSION}|{asked}|{curation_prompts().label}"
        # Which models are served costs nothing to ask; a card can say that it can't be asked.
        self.check, self.aclose = client.check, client.aclose  # type: ignore[method-assign]

    async def first(self, view: ShopperView) -> None:
        """Raise the request about a need; what the vendor's search adds to it is not in its tokens."""
        prompt = request_text(view, in_words=self._interface.form is None)
        message = Message(role="user", parts=(TextPart(text=prompt),))
        tokens = request_tokens(self.card, (message,), NO_PICTURES, self.card.parameters)
        raise NotSent(ChatRequest(content=self._interface.request(prompt), tokens=tokens))

    async def curate(self, view: ShopperView, key: str) -> Curation:
        started, answers, calls = time.monotonic(), list[SearchAnswer](), list[Call]()
        failure = await self._ask(request_text(view, in_words=self._interface.form is None), answers, calls)
        said = "".join(answer.text for answer in answers)
        found = failure or _read(answers[-1], said)
        return made(
            view,
            key,
            products=() if isinstance(found, Failure) else found,
            trace=tuple(step for answer in answers for step in answer.steps),
            raw=said,
            ended=answers[-1].finish_reason if answers else "",
            requests=len(calls),
            seconds=time.monotonic() - started,
            call=together(calls),
            failure=found if isinstance(found, Failure) else None,
        )

    async def _ask(self, prompt: str, answers: list[SearchAnswer], calls: list[Call]) -> Failure | None:
        """Ask until the model is through, or was paused too often; why that could not be done."""
        while not answers or (answers[-1].unfinished is not None and len(answers) < self.most_requests):
            try:
                reply = await self._client.complete(self._interface.request(prompt, answers))
            except CallFailed as error:
                calls += [error.call] if error.call is not None else []
                return call_failure(error, self.card, answered=self._answered)
            self._answered = True
            answers.append(reply.completion)
            calls.append(reply.call)
        return None


def _read(last: SearchAnswer, said: str) -> tuple[Curated, ...] | Failure:
    ended = last.finish_reason
    if last.refused or last.filtered:
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
def open_search_agent(given: CurationServices) -> SearchAgent:
    """Put the card that ``--model`` names, a user's options and an endpoint together. Sends nothing yet.

    A UserError says that there is no such card, that it can't do what is asked, or that its address or key is missing.
    """
    options = given.options
    chat = chat_options(options, " ".join(options.base_url))
    folder, listed_by, own = models_dir() / "search", "grounding list search", chat.base_url is not None
    card = find_card(str(options.model), folder, SearchCard, builtin=(), kind="search model", listed_by=listed_by)
    check_card(card, own_address=own, option="--model", address_flag=FLAG, cost_limit=options.cost_limit)
    if chat.temperature is not None and "temperature" not in card.takes:
        raise UserError(f"--temperature: {card.name} takes no temperature; leave it out")
    interface = Interface(msgspec.structs.replace(card, parameters=request_parameters(card, chat)))
    endpoint = resolve_endpoint(card, chat.base_url, flag=FLAG, dry=chat.dry, wire=interface)
    more = asked_as(card, chat) | {"budget": given.budget, "on_retry": given.progress.retried}
    return SearchAgent(interface, ModelClient(card, endpoint, interface, **more))
