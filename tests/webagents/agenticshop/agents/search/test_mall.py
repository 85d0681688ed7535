"""All users of the bundled mall put to each vendor's model, which really searches the mall's pages."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from fakes.mall_pages import mall_pages
from fakes.search_vendors import SearchVendors

from grounding.budget import Budget
from grounding.webagents.agenticshop.agents.base import curation_key
from grounding.webagents.agenticshop.agents.search import backing
from grounding.webagents.agenticshop.loader import load_curation
from grounding.webagents.agenticshop.mall import gold
from grounding.webagents.agenticshop.records import Curation, view_of
from webagents.agenticshop.agents.search.helpers import CARDS, opened

MALL = Path(__file__).parents[5] / "datasets" / "sample-mall"


@pytest.mark.parametrize("vendor", CARDS)
def test_twenty_users_get_real_pages_and_made_up_ones_are_told_apart(vendor: str) -> None:
    loaded = load_curation("sample-mall", None)
    views = [view_of(task, loaded.sites) for task in loaded.tasks]
    truth = gold(MALL)
    budget = Budget(None)
    with SearchVendors(mall_pages(MALL), invented=7) as vendors:
        agent = opened(vendors, vendor, budget=budget)

        async def run() -> list[Curation]:
            try:
                asked = (agent.curate(view, curation_key(agent.identity, view)) for view in views)
                return list(await asyncio.gather(*asked))
            finally:
                await agent.aclose()

        made = asyncio.run(run())
        assert budget.spent_usd == pytest.approx(vendors.bill_usd)
    assert [one.step_id for one in made] == [task.id for task in loaded.tasks]
    assert all(one.failure is None for one in made)
    products = [
        (product.url in truth, said) for one in made for product, said in zip(one.products, backing(one), strict=True)
    ]
    assert len(products) == 3 * len(views)
    invented = Counter(said for real, said in products if not real)
    real = Counter(said for real, said in products if real)
    assert invented.total() == len(products) // 7
    assert set(invented) <= {"site", "none"}
    assert set(real) <= ({"site"} if vendor == "gemini" else {"cited", "found"})
