"""Which models an address serves: asked before a run, so that a wrong address, key or name is known early."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp

from grounding.addresses import Address, Addresses
from grounding.cards import ChatCard
from grounding.errors import UserError
from grounding.llm.endpoint import Endpoint, resolve_endpoint
from grounding.llm.redaction import clean
from grounding.llm.wires import CHAT, Wire


async def check_address(
    session: aiohttp.ClientSession, address: Address, card: ChatCard, endpoint: Endpoint, wire: Wire[Any] = CHAT
) -> None:
    """Ask an address for its models, unless the card says that it can't be asked.

    Raises:
        UserError: nothing answers there, no API does, the key is refused, or the model is not served.
    """
    if not card.endpoint.lists_models:
        return
    listed = await _listed(session, address, card, endpoint, wire)
    if listed and not any(name == card.model or name.endswith(f"/{card.model}") for name in listed):
        raise UserError(
            f"{address.base_url} does not serve {card.model} (it serves {_shown(listed)}); serve it under that "
            "name (vLLM: --served-model-name), or write a card with another `model:`"
        )


def only_model(card: ChatCard, base_url: str | None, *, flag: str, name_flag: str) -> str:
    """The name of the one model that an endpoint serves, for a card that names none.

    Raises:
        UserError: nothing answers there, or it serves another number of models than one, or doesn't say.
    """
    endpoint = resolve_endpoint(card, base_url, flag=flag)
    listed = asyncio.run(_ask_first(card, endpoint))
    if len(listed) == 1:
        return listed[0]
    what = f"serves {_shown(listed)}" if listed else "does not say which models it serves"
    raise UserError(f"{endpoint.base_url} {what}: name the one to ask with {name_flag} NAME")


async def _ask_first(card: ChatCard, endpoint: Endpoint) -> list[str]:
    addresses = Addresses(endpoint.base_url.split(" "), lambda _url, _left: None)
    headers = {"Accept": "application/json"} | CHAT.headers(endpoint.key())
    async with aiohttp.ClientSession(headers=headers) as session:
        return await _listed(session, addresses.all[0], card, endpoint, CHAT)


async def _listed(
    session: aiohttp.ClientSession, address: Address, card: ChatCard, endpoint: Endpoint, wire: Wire[Any]
) -> list[str]:
    """The models that an address lists; none where it has no such list: then the first request will tell."""
    url, timeout = f"{address.base_url}{wire.models_path}", aiohttp.ClientTimeout(total=30)
    try:
        async with session.get(url, timeout=timeout, proxy=address.proxy) as response:
            status, kind, body = response.status, response.content_type, await response.read()
    except (aiohttp.ClientError, TimeoutError) as error:
        how = card.endpoint.how_to_serve
        raise UserError(
            f"nothing answers at {address.base_url} ({clean(str(error), endpoint.key()) or type(error).__name__}); "
            f"start the server of {card.name} there, or correct the address."
            + (f"\nTo serve it yourself: {how}" if how else "")
        ) from error
    if status in (401, 403):
        name = endpoint.key_variable
        what = f"check the key in {name}" if name else "the card names no key variable (endpoint.key_variable)"
        raise UserError(f"{address.base_url} refuses the key (HTTP {status}): {what}")
    if status == 200 and kind == "text/html":
        raise UserError(
            f"{address.base_url} answers with a web page and not as an API: correct the address (most end in /v1)"
        )
    return wire.listed(body) if status == 200 else []


def _shown(listed: list[str]) -> str:
    return ", ".join(listed[:5]) + (f" and {len(listed) - 5} more" if len(listed) > 5 else "")
