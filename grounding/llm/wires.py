"""What differs between interfaces: where a request goes, how the key is shown, and what a reply says.

Everything else (connections, tries, limits, money) is the client's and the same for all of them.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec

from grounding.records import Record, Usage
from grounding.wire import Completion, decode_reply, reported_usage


class Spent(Record, frozen=True, kw_only=True):
    """What a response says that it took.

    ``fee_usd`` is charged beside the tokens, such as for searches. ``total_usd`` is the vendor's own sum, tokens and
    fees together; where it is there, it is what counts.
    """

    usage: Usage | None = None
    fee_usd: float = 0.0
    total_usd: float | None = None


AnswerT = TypeVar("AnswerT")


class Wire(Protocol[AnswerT]):
    """One interface. ``base_path`` is that of an address which has none of its own."""

    @property
    def base_path(self) -> str:
        """Such as ``/v1``."""
        ...

    def path(self, model: str) -> str:
        """Where a request goes, below the address."""
        ...

    def headers(self, key: str | None) -> dict[str, str]:
        """What every request carries beside its type, the key among it."""
        ...

    def read(self, body: bytes) -> AnswerT:
        """The answer in a successful response.

        Raises:
            MalformedReply: it is cut off or something else.
        """
        ...

    def spent(self, body: bytes) -> Spent:
        """What any response, also a broken one, says of its cost; nothing where it says nothing."""
        ...

    def model(self, answer: AnswerT) -> str:
        """The model that answered, in the server's words."""
        ...

    @property
    def models_path(self) -> str:
        """Where the models are listed, below the address."""
        ...

    def listed(self, body: bytes) -> list[str]:
        """The names in such a list; none where it can't be read."""
        ...


class ChatWire:
    """Chat completions as the ``openai`` package speaks them."""

    base_path = "/v1"
    models_path = "/models"

    def path(self, _model: str) -> str:
        """The same for every model."""
        return "/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        """A bearer."""
        return bearer(key)

    def read(self, body: bytes) -> Completion:
        """A completion."""
        return decode_reply(body)

    def spent(self, body: bytes) -> Spent:
        """The tokens."""
        return Spent(usage=reported_usage(body))

    def model(self, answer: Completion) -> str:
        """As the completion says."""
        return answer.model

    def listed(self, body: bytes) -> list[str]:
        """The ids of a list."""
        return listed_ids(body)


CHAT = ChatWire()


def bearer(key: str | None) -> dict[str, str]:
    """The header of most vendors; nothing without a key."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def listed_ids(body: bytes) -> list[str]:
    """The ids of a list of models in OpenAI's or Anthropic's shape; none where it is neither."""
    try:
        return [item["id"] for item in msgspec.json.decode(body)["data"] if isinstance(item["id"], str)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
        return []
