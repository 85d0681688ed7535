"""What the tests of search-augmented models share: a small web, a need, and an agent behind the fake vendors."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from fakes.search_vendor_shapes import Page
from fakes.search_vendors import SearchVendors

from grounding.budget import Budget
from grounding.chat import ChatOptions
from grounding.llm import ModelClient
from grounding.webagents.agenticshop.agents.search import SearchAgent, open_search_agent
from grounding.webagents.agenticshop.records import Curation, ShopperView, Site, UserContext

CARDS = {
    "openai": "gpt-4o-search",
    "anthropic": "claude-sonnet-5.5-search",
    "gemini": "gemini-3.8-flash-search",
    "perplexity": "sonar-pro",
    "perplexity-agent": "perplexity-sonar",
}
KEY_VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "PERPLEXITY_API_KEY")

PAGES = [
    Page(f"http://{shop}.mall.test/p/{kind.replace(' ', '-')}", f"{colour} {kind}", f"A {kind} in {colour}, of steel.")
    for shop in ("hearth", "brook")
    for colour, kind in (("copper", "kettle"), ("blue", "tea pot"), ("green", "desk lamp"), ("red", "wool scarf"))
]


def view(**fields: Any) -> ShopperView:
    """A need for a kettle."""
    usual = {
        "task_id": "explicit_title/U1",
        "user": "U1",
        "scenario": "explicit_title",
        "situation": "The old kettle leaks.",
        "query": "a copper kettle",
        "context": UserContext(brand_preferences='Likes "Hearth".', price_sensitivity="Looks at prices."),
        "product_type": "kettle",
        "budget": "under $40",
    }
    return msgspec.convert({**usual, **fields}, ShopperView)


SITES = (
    Site(name="hearth", home_url="http://hearth.mall.test/"),
    Site(name="brook", home_url="http://brook.mall.test/"),
)


def opened(vendors: SearchVendors, vendor: str, *, budget: Budget | None = None, **chat: Any) -> SearchAgent:
    """The agent of a vendor's card behind the fake."""
    options = ChatOptions(base_url=vendors.base_url(vendor), **{"max_retries": 2, **chat})
    agent = open_search_agent(CARDS[vendor], options, budget=budget or Budget(None))
    client: ModelClient[Any] = agent._client
    client._backoff_s = 0.001
    return agent


def curated(agent: SearchAgent, one: ShopperView | None = None) -> Curation:
    """What the agent makes of one need."""

    async def run() -> Curation:
        try:
            return await agent.curate(one or view(), "key")
        finally:
            await agent.aclose()

    return asyncio.run(run())
