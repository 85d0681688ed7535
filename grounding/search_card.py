"""What the card of a model that searches the web itself can say, as frozen typed records."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from grounding.card_schema import CardPart, ChatCard, Json
from grounding.records import Record

SearchInterface = Literal["openai", "anthropic", "gemini", "perplexity", "perplexity-agent"]
"""``openai``: Responses. ``anthropic``: Messages. ``gemini``: generateContent. ``perplexity``: its chat completions.
``perplexity-agent``: its Agent API, which took their place."""


class SearchFee(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars beside the tokens, for each search or for each request that searched; the day is the price's."""

    usd: Annotated[float, msgspec.Meta(ge=0)]
    per: Literal["search", "request"]


class SearchCard(ChatCard, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model that searches the web through its vendor's own tool, behind its vendor's own interface.

    ``tool`` holds the settings of that tool, in the vendor's words. ``reply``: the products come in the form that a
    ``schema`` in the request enforces, or as JSON that the prompt asks for in ``words``, where the vendor does not give
    both a schema and citations. ``fee`` is left out where the vendor's replies say what they cost.
    """

    interface: SearchInterface
    user: tuple[CardPart, ...] = ()
    tool: dict[str, Json] = msgspec.field(default_factory=dict)
    reply: Literal["schema", "words"] = "schema"
    fee: SearchFee | None = None
