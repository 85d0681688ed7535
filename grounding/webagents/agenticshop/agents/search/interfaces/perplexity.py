"""Perplexity's chat completions, whose every reply is searched for.

Supported by Perplexity until 27 September 2026; gateways still speak them. Which searches were made is told only where
the reply lists its steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from grounding.llm import Spent
from grounding.records import Usage
from grounding.webagents.agenticshop.agents.search.answers import Found, Lookup, SearchAnswer, once
from grounding.webagents.agenticshop.agents.search.interfaces.base import Interface, decoded, maybe
from grounding.wire import MalformedReply


class Page(msgspec.Struct):
    """A result of a search, as both interfaces of this vendor have it."""

    url: str = ""
    title: str | None = None


class _Searched(msgspec.Struct):
    search_keywords: list[str] | None = None
    search_results: list[Page] | None = None


class _Step(msgspec.Struct):
    web_search: _Searched | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    reasoning_steps: list[_Step] | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Response(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    citations: list[str] | None = None
    search_results: list[Page] | None = None


class _Cost(msgspec.Struct):
    total_cost: float | None = None


class _Tokens(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: _Cost | None = None


class _Bill(msgspec.Struct):
    usage: _Tokens | None = None


class PerplexityChat(Interface):
    """``POST /chat/completions``, directly below the host."""

    base_path = ""

    def path(self, _model: str) -> str:
        """The same for every model."""
        return "/chat/completions"

    def request(self, prompt: str, _so_far: Sequence[msgspec.Raw] = ()) -> bytes:
        """One message of the user."""
        body: dict[str, Any] = {
            "model": self._card.model,
            "messages": [{"role": "user", "content": prompt}],
            **self._parameters,
        }
        if self._card.tool:
            body["web_search_options"] = dict(self._card.tool)
        if self._card.reply == "schema":
            body["response_format"] = {"type": "json_schema", "json_schema": {"schema": self._schema}}
        return msgspec.json.encode(body)

    def read(self, body: bytes) -> SearchAnswer:
        """Text, pages searched and pages cited.

        Raises:
            MalformedReply: it is no completion.
        """
        wire = decoded(body, _Response, "a completion")
        if not wire.choices:
            raise MalformedReply("the reply has no choices")
        first = wire.choices[0]
        steps = [step.web_search for step in first.message.reasoning_steps or () if step.web_search is not None]
        return SearchAnswer(
            text=first.message.content or "",
            model=wire.model or "",
            finish=first.finish_reason or "",
            cut_off=first.finish_reason == "length",
            lookups=tuple(
                Lookup(kind="search", words="; ".join(step.search_keywords or ()), found=pages_of(step.search_results))
                for step in steps
            ),
            sources=pages_of(wire.search_results),
            cited=once([Found(url=url) for url in wire.citations or ()]),
        )

    def spent(self, body: bytes) -> Spent:
        """Tokens, and the vendor's own sum."""
        wire = maybe(body, _Bill)
        if wire is None or wire.usage is None or wire.usage.prompt_tokens is None:
            return Spent()
        told = wire.usage
        usage = Usage(
            input_tokens=told.prompt_tokens or 0,
            output_tokens=(told.completion_tokens or 0) + (told.reasoning_tokens or 0),
            reasoning_tokens=told.reasoning_tokens or 0,
        )
        return self._spent(usage, 1, told.cost.total_cost if told.cost else None)


def pages_of(pages: Sequence[Page] | None) -> tuple[Found, ...]:
    """Results as pages found."""
    return once([Found(url=page.url, title=page.title or "") for page in pages or ()])
