"""Where a model is reached, and with which key."""

import asyncio
import os
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from grounding.cards import ChatCard
from grounding.errors import UserError, printable
from grounding.llm.http import Addresses, BodyTooLong, ServerAddress, clean, led_on, read_body
from grounding.llm.wire import CHAT, Wire
from grounding.records import Record


class Endpoint(Record, frozen=True, kw_only=True):
    """An address and, apart from it, the key: the key is read when a request is sent and shown by nothing. ``base_url``
    may be several addresses, separated by blanks, where servers of the same model share the work.
    """

    base_url: str
    key_variable: str | None = None

    def key(self) -> str | None:
        return os.environ.get(self.key_variable) if self.key_variable else None


def resolve_endpoint(
    card: ChatCard, base_url: str | None, *, flag: str, dry: bool = False, wire: Wire[Any] = CHAT
) -> Endpoint:
    """The endpoint a card is to be reached at; ``base_url`` is the user's and wins over the card's. Several addresses
    are separated by blanks. ``dry`` is for looking at requests that nobody will send: the address may then be missing
    ("") and so may the key. An address may end in the path of the wire's requests, as people copy it; it is left out.
    """
    chosen = base_url or card.endpoint.base_url
    if not chosen and dry:
        return Endpoint(base_url="", key_variable=card.endpoint.key_variable)
    if not chosen:
        serve = f"\nTo serve it yourself: {card.how_to_serve}" if card.how_to_serve else ""
        raise UserError(
            f"{card.name} ({card.title}) needs a server: give its address with {flag} "
            f"http://HOST:PORT{wire.base_path}.{serve}"
        )
    addresses = dict.fromkeys(_address(each, flag, wire, card.model) for each in chosen.split(" "))
    endpoint = Endpoint(base_url=" ".join(sorted(addresses)), key_variable=card.endpoint.key_variable)
    key = endpoint.key()
    if key is not None and any(character.isspace() or not character.isprintable() for character in key):
        raise UserError(f"the key in {endpoint.key_variable} has a blank or a line end in it: set it without")
    if not key and endpoint.key_variable and base_url is None and not dry:
        raise UserError(
            f"{card.name} ({card.title}) at {endpoint.base_url} needs a key: set {endpoint.key_variable}, "
            f"or use a server of your own with {flag} http://HOST:PORT{wire.base_path}"
        )
    return endpoint


def _address(chosen: str, flag: str, wire: Wire[Any], model: str) -> str:
    if any(mark in chosen for mark in "@?#"):  # Asked first: nothing of such an address may be shown.
        raise UserError(
            f"{flag}: the address has a user, a password or a query in it (@, ? or #); give the plain address, and the "
            "key in the environment variable that the card names (endpoint.key_variable)"
        )
    try:
        parts = urlsplit(chosen)
        _ = parts.port  # Raises for a port that is none.
        host = (parts.hostname or "").encode("idna")  # Raises for two dots in a row and names that are too long.
    except ValueError:
        host = b""
    if not host or parts.scheme not in ("http", "https") or any(character.isspace() for character in chosen):
        raise UserError(f"{flag} {chosen!r}: expected an address such as http://127.0.0.1:8000{wire.base_path}")
    path = parts.path.rstrip("/").removesuffix(wire.path(model)) or wire.base_path
    return f"{parts.scheme}://{parts.netloc}{path}"


LOOK_S = 30.0  # A busy server may answer late: its front end makes pictures ready beside everything else.


async def check_address(
    session: aiohttp.ClientSession, address: ServerAddress, card: ChatCard, endpoint: Endpoint, wire: Wire[Any] = CHAT
) -> None:
    """Ask an address for its models, unless the card says that it can't be asked."""
    if not card.endpoint.lists_models:
        return
    listed = await _listed(session, address, card, endpoint, wire)
    if listed and not any(name == card.model or name.endswith(f"/{card.model}") for name in listed):
        raise UserError(
            f"{address.base_url} does not serve {card.model} (it serves {_shown(listed)}); serve it under that "
            "name (vLLM: --served-model-name), or write a card with another `model:`"
        )


def only_model(card: ChatCard, base_url: str | None, *, flag: str, name_flag: str) -> str:
    """The name of the one model that an endpoint serves, for a card that names none."""
    endpoint = resolve_endpoint(card, base_url, flag=flag)

    async def ask() -> list[str]:
        headers = {"Accept": "application/json"} | CHAT.headers(endpoint.key())
        async with aiohttp.ClientSession(headers=headers) as session:
            return await _listed(session, Addresses(endpoint.base_url.split(" ")).all[0], card, endpoint, CHAT)

    listed = asyncio.run(ask())
    if len(listed) == 1:
        return listed[0]
    what = f"serves {_shown(listed)}" if listed else "does not say which models it serves"
    raise UserError(f"{endpoint.base_url} {what}: name the one to ask with {name_flag} NAME")


async def _listed(
    session: aiohttp.ClientSession, address: ServerAddress, card: ChatCard, endpoint: Endpoint, wire: Wire[Any]
) -> list[str]:
    url, timeout = f"{address.base_url}{wire.models_path}", aiohttp.ClientTimeout(total=30)
    try:
        async with session.get(url, timeout=timeout, proxy=address.proxy, allow_redirects=False) as response:
            status, kind, leads = response.status, response.content_type, led_on(response)
            body = await read_body(response)
    except BodyTooLong as error:
        raise UserError(f"{address.base_url}: the list of its models is no list: {error}") from error
    except (aiohttp.ClientError, TimeoutError) as error:
        how = card.how_to_serve
        raise UserError(
            f"nothing answers at {address.base_url} ({clean(str(error), endpoint.key()) or type(error).__name__}); "
            f"start the server of {card.name} there, or correct the address."
            + (f"\nTo serve it yourself: {how}" if how else "")
        ) from error
    if leads:
        raise UserError(
            f"{address.base_url} answers with HTTP {status}: {clean(leads, endpoint.key())}, as the key and the "
            "pictures are for this address alone; give the address that the model really has"
        )
    if status in (401, 403):
        name = endpoint.key_variable
        what = f"check the key in {name}" if name else "the card names no key variable (endpoint.key_variable)"
        raise UserError(f"{address.base_url} refuses the key (HTTP {status}): {what}")
    if status == 200 and kind == "text/html":
        raise UserError(
            f"{address.base_url} answers with a web page and not as an API: correct the address (most end in /v1)"
        )
    return wire.listed(body) if status == 200 else []


async def sign_of_life(
    session: aiohttp.ClientSession, address: ServerAddress, endpoint: Endpoint, wire: Wire[Any], *, within_s: float
) -> str:
    """Ask an address whether it is there, once; what was wrong in words, empty where it answers with any refusal."""
    url, timeout = f"{address.base_url}{wire.models_path}", aiohttp.ClientTimeout(total=within_s)
    try:
        async with session.get(url, timeout=timeout, proxy=address.proxy, allow_redirects=False) as response:
            return f"HTTP {response.status}" if response.status >= 500 else ""
    except TimeoutError:
        return f"no answer within {within_s:g} s"
    except (aiohttp.ClientError, OSError) as error:
        return clean(str(error), endpoint.key()) or type(error).__name__


def _shown(listed: list[str]) -> str:
    return printable(", ".join(name[:100] for name in listed[:5])) + (
        f" and {len(listed) - 5} more" if len(listed) > 5 else ""
    )
