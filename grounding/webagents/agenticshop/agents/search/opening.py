"""From a card's name and a user's options to an agent that can be asked."""

from __future__ import annotations

import sys

import msgspec

from grounding.budget import Budget
from grounding.cards import Json, SearchCard, find_card
from grounding.chat import ChatOptions
from grounding.display import OutcomeProgress
from grounding.errors import UserError
from grounding.llm import ModelClient, resolve_endpoint
from grounding.places import models_dir
from grounding.planners.retirement import has_retired, today_utc, warning
from grounding.webagents.agenticshop.agents.search.agent import SearchAgent
from grounding.webagents.agenticshop.agents.search.interfaces import interface_of
from grounding.webagents.agenticshop.agents.search.prompt import curation_prompts

FLAG = "--base-url"


def find_search_card(name: str) -> SearchCard:
    """The card of this name, alias or path. Models have the names of their cards, as several cards share a model.

    Raises:
        UserError: there is none.
    """
    folder, listed_by = models_dir() / "search", "grounding list search"
    return find_card(name, folder, SearchCard, builtin=(), kind="search model", listed_by=listed_by)


def open_search_agent(
    name: str,
    chat: ChatOptions,
    *,
    budget: Budget,
    progress: OutcomeProgress | None = None,
    model: str | None = None,
    cost_limit: float | None = None,
    prompt: str = "curation",
) -> SearchAgent:
    """Put a card, a user's options and an endpoint together. Sends nothing yet.

    Args:
        name: The card's name or path.
        chat: What the user set. A seed is left out: no vendor's search takes one.
        budget: The money.
        progress: Told of tries.
        model: The model's name at its server, instead of the card's.
        cost_limit: The limit that has to be kept.
        prompt: The wording: a name, or the path of a file.

    Raises:
        UserError: there is no such card, it can't do what is asked, or its address or key is missing.
    """
    card = find_search_card(name)
    own_address = chat.base_url is not None
    if has_retired(card, today_utc()) and not own_address:
        instead = f"use {card.successor}, or " if card.successor else "use "
        raise UserError(
            f"{card.name} ({card.title}) retired on {card.retires}: {card.endpoint.base_url} no longer has "
            f"{card.model}; {instead}another endpoint that has it with {FLAG} URL"
        )
    told = warning(card, today_utc(), own_address=own_address)
    if told:
        print(f"grounding: {told}", file=sys.stderr, flush=True)
    if cost_limit is not None and card.price is None:
        raise UserError(f"--cost-limit: the card of {card.name} states no price (field price), so no limit can be kept")
    if model is not None:
        card = msgspec.structs.replace(card, model=model)
    parameters = _parameters(card, chat)
    prompts = curation_prompts(prompt)
    interface = interface_of(card, parameters, prompts)
    endpoint = resolve_endpoint(card, chat.base_url, flag=FLAG, dry=chat.dry, wire=interface)
    client = ModelClient(
        card,
        endpoint,
        interface,
        max_connections=chat.max_connections or card.max_connections,
        timeout_s=chat.timeout_s or card.timeout_s,
        max_retries=chat.max_retries,
        budget=budget,
        on_retry=progress.retried if progress is not None else None,
    )
    return SearchAgent(card, parameters, interface, client, prompts)


def _parameters(card: SearchCard, chat: ChatOptions) -> dict[str, Json]:
    """The card's parameters and a temperature; no vendor's search takes a seed."""
    parameters = dict(card.parameters)
    if chat.temperature is not None:
        if "temperature" not in card.takes:
            raise UserError(f"--temperature: {card.name} takes no temperature; leave it out")
        parameters["temperature"] = chat.temperature
    return parameters
