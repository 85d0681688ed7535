"""What all interfaces share: how they are put together, and how the JSON of a reply is decoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from grounding.cards import Json, SearchCard
from grounding.llm import Spent, Wire
from grounding.llm.wires import bearer, listed_ids
from grounding.records import Usage
from grounding.webagents.agenticshop.agents.search.answers import SearchAnswer
from grounding.webagents.agenticshop.agents.search.prompt import CurationPrompts, inlined
from grounding.wire import MalformedReply

WireT = TypeVar("WireT")


class SearchInterface(Wire[SearchAnswer], Protocol):
    """A wire that also writes the request."""

    def request(self, prompt: str, so_far: Sequence[msgspec.Raw] = ()) -> bytes:
        """The body of a request.

        Args:
            prompt: What the model is told.
            so_far: What it said before it was paused, as ``SearchAnswer.unfinished`` has it.
        """
        ...


class Interface:
    """What is the same for most: the key as a bearer, a list of models with ids."""

    base_path = "/v1"
    models_path = "/models"

    def __init__(self, card: SearchCard, parameters: dict[str, Json], prompts: CurationPrompts) -> None:
        self._card = card
        self._parameters = parameters
        self._prompts = prompts

    @property
    def _schema(self) -> dict[str, Any]:
        return inlined(self._prompts.schema)

    def headers(self, key: str | None) -> dict[str, str]:
        """A bearer."""
        return bearer(key)

    def model(self, answer: SearchAnswer) -> str:
        """As the answer says."""
        return answer.model

    def listed(self, body: bytes) -> list[str]:
        """The ids of a list."""
        return listed_ids(body)

    def _spent(self, usage: Usage | None, searches: int, total_usd: float | None = None) -> Spent:
        """What a reply took, with the card's fee for its searches."""
        fee = self._card.fee
        times = 0 if fee is None else searches if fee.per == "search" else min(1, searches)
        return Spent(usage=usage, fee_usd=times * fee.usd if fee else 0.0, total_usd=total_usd)


def decoded(body: bytes, shape: type[WireT], what: str) -> WireT:
    """The JSON of a successful response.

    Raises:
        MalformedReply: it is cut off, or has another shape.
    """
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedReply(f"the reply is not {what}: {error}") from error


def maybe(body: bytes, shape: type[WireT]) -> WireT | None:
    """The same of any response; None where it has another shape."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
