"""Search-augmented models as agents: they search the web through their vendor's own tool and name three products.

One need, one answer, whatever its vendor needs requests for. The models are cards in ``models/search``. What they are
told of a need has the order, the blanks, the quotes and the omissions of the release (protocol D2);
``models/prompts/agenticshop`` holds the texts.

A request that cannot succeed for any need (a wrong key, an unknown model) ends the run with a UserError, as long as the
endpoint has answered none.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import msgspec

from grounding.benchmarks.agenticshop.agents.base import AsksFirst, CurationServices, agent, made, read_products
from grounding.benchmarks.agenticshop.agents.vendors import Interface, SearchAnswer
from grounding.benchmarks.agenticshop.records import DIMENSIONS, Curated, Curation, ShopperView
from grounding.benchmarks.calls import Wording, fill, read_wording
from grounding.cards import SearchCard, find_card
from grounding.cards.identity import card_identity
from grounding.cards.places import models_dir
from grounding.errors import Halted, UserError
from grounding.llm import CallFailed, ModelClient, resolve_endpoint
from grounding.llm.budget import Budget, together
from grounding.llm.chat import NO_PICTURES, ChatOptions, ChatRequest, NotSent, asked_as
from grounding.llm.http import beyond_window, where_to_look
from grounding.llm.tokens import request_tokens
from grounding.llm.wire import Message, TextPart
from grounding.planners.prompts import check_card
from grounding.records import Call, Failure
from grounding.run.building import chat_options
from grounding.run.display import Progress

VERSION = 1
FLAG = "--base-url"
MOST_PAUSES = 4
"""So often a paused model is sent on; then the answer is what came until there."""

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
        fill(prompts.dimension, dimension=name, text=text.replace('"', "'"))
        for name in DIMENSIONS
        if (text := getattr(view.context, name))
    )
    return f"{prompts.opening}{kind}{about and about + ' '}{told and prompts.context + told}{prompts.task}"


def request_text(prompts: CurationPrompts, view: ShopperView, *, in_words: bool) -> str:
    """All that a model is told: the release's system text and prompt, the data set's shops, the form of the reply.

    ``in_words``: the form has to be asked for, because no schema goes along.
    """
    text = prompts.system + curation_prompt(prompts, view)
    if view.sites:
        text += fill(prompts.sites, sites=", ".join(f"{site.name} ({site.home_url})" for site in view.sites))
    return text + prompts.in_words if in_words else text


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
        text = self._text(view)
        message = Message(role="user", parts=(TextPart(text=text),))
        tokens = request_tokens(self.card, (message,), NO_PICTURES, self.card.parameters)
        raise NotSent(ChatRequest(content=self._interface.request(text), tokens=tokens))

    async def curate(self, view: ShopperView, key: str) -> Curation:
        started, answers, calls = time.monotonic(), list[SearchAnswer](), list[Call]()
        failure = await self._ask(self._text(view), answers, calls)
        text = "".join(answer.completion.text for answer in answers)
        found = failure or _read(answers[-1], text)
        return made(
            view,
            key,
            products=() if isinstance(found, Failure) else found,
            trace=tuple(step for answer in answers for step in answer.steps),
            raw=text,
            ended=answers[-1].completion.finish_reason if answers else "",
            requests=len(calls),
            seconds=time.monotonic() - started,
            call=together(calls),
            failure=found if isinstance(found, Failure) else None,
        )

    async def _ask(self, text: str, answers: list[SearchAnswer], calls: list[Call]) -> Failure | None:
        """All requests about one need; what they brought goes into the lists."""
        so_far: list[msgspec.Raw] = []
        for _ in range(self.most_requests):
            try:
                reply = await self._client.complete(self._interface.request(text, so_far))
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


def _read(last: SearchAnswer, text: str) -> tuple[Curated, ...] | Failure:
    ended = last.completion.finish_reason
    if last.completion.refused or last.completion.filtered:
        return Failure(kind="unparsed", message=f"the model or its vendor declined ({ended})")
    found = read_products(text)
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
