"""Refusals after which no other request of a run can fare better: told apart by what vendors say. Pure functions.

The words are those of OpenAI, Anthropic, Google, Perplexity and vLLM; each is held against the vendor's fake in the
tests.
"""

from __future__ import annotations

import re

from grounding.cards import ChatCard
from grounding.llm.failures import CallFailed

_KEY = re.compile(r"invalid_api_key|API_KEY_INVALID|API key not valid", re.IGNORECASE)
_MONEY = re.compile(
    r"insufficient_quota|credit balance is too low|billing_not_active|billing hard limit", re.IGNORECASE
)
_PARAMETER = re.compile(
    r"unsupported_parameter|unsupported_value|unknown_parameter|"
    r"Extra inputs are not permitted|Unknown name|unknown field",
    re.IGNORECASE,
)
_MODEL = re.compile(r"model_not_found|invalid_model", re.IGNORECASE)
_WINDOW = re.compile(
    r"context_length_exceeded|maximum context length|max(?:imum)?[_ ]model[_ ]len|prompt is too long", re.IGNORECASE
)


def where_to_look(error: CallFailed, card: ChatCard) -> str | None:
    """What a user has to put right before any request can succeed; None where the refusal is about this one alone."""
    said = str(error)
    variable = card.endpoint.key_variable
    if error.status in (401, 403) or (error.status == 400 and _KEY.search(said)):
        return f"the key in {variable}" if variable else "the key (the card names no variable for it)"
    if error.status == 402 or _MONEY.search(said):
        return "the account: it has no money left"
    if error.status in (404, 405):
        return "the model's name" if card.model in said else "the address: most end in /v1"
    if error.status == 400 and _MODEL.search(said):
        return "the model's name"
    if error.status == 400 and _PARAMETER.search(said):
        return "the card's parameters"
    return None


def beyond_window(error: CallFailed) -> bool:
    """Whether the request was longer than the model can take: another try is refused as well."""
    return error.status == 400 and _WINDOW.search(str(error)) is not None
