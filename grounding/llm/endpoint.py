"""Where a model is reached, and with which key."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

from grounding.cards import ChatCard
from grounding.errors import UserError
from grounding.llm.wires import CHAT, Wire
from grounding.records import Record


class Endpoint(Record, frozen=True, kw_only=True):
    """An address and, apart from it, the key: the key is read when a request is sent and shown by nothing.

    ``base_url`` may be several addresses, separated by blanks, where servers of the same model share the work.
    """

    base_url: str
    key_variable: str | None = None

    def key(self) -> str | None:
        """The key from the environment, or None."""
        return os.environ.get(self.key_variable) if self.key_variable else None


def resolve_endpoint(
    card: ChatCard, base_url: str | None, *, flag: str, dry: bool = False, wire: Wire[Any] = CHAT
) -> Endpoint:
    """The endpoint a card is to be reached at; ``base_url`` is the user's and wins over the card's.

    Several addresses are separated by blanks. ``dry`` is for looking at requests that nobody will send: the address
    may then be missing ("") and so may the key. An address may end in the path of the wire's requests, as people copy
    it; it is left out.

    Raises:
        UserError: no address, an address that is none, or no key where the card's own endpoint wants one.
    """
    chosen = base_url or card.endpoint.base_url
    if not chosen and dry:
        return Endpoint(base_url="", key_variable=card.endpoint.key_variable)
    if not chosen:
        serve = f"\nTo serve it yourself: {card.endpoint.how_to_serve}" if card.endpoint.how_to_serve else ""
        raise UserError(
            f"{card.name} ({card.title}) needs a server: give its address with {flag} "
            f"http://HOST:PORT{wire.base_path}.{serve}"
        )
    addresses = dict.fromkeys(_address(each, flag, wire, card.model) for each in chosen.split(" "))
    endpoint = Endpoint(
        base_url=" ".join(sorted(addresses)),
        key_variable=card.endpoint.key_variable,
    )
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
    if not _is_address(chosen):
        raise UserError(f"{flag} {chosen!r}: expected an address such as http://127.0.0.1:8000{wire.base_path}")
    parts = urlsplit(chosen)
    path = parts.path.rstrip("/").removesuffix(wire.path(model)) or wire.base_path
    return f"{parts.scheme}://{parts.netloc}{path}"


def _is_address(text: str) -> bool:
    """Whether a request could be sent there at all."""
    try:
        parts = urlsplit(text)
        _ = parts.port  # Raises for a port that is none.
        host = (parts.hostname or "").encode("idna")  # Raises for two dots in a row and names that are too long.
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(host) and not any(character.isspace() for character in text)
