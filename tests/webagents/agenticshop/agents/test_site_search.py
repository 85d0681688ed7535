"""The offline agent in a real browser, in shops of many makes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from grounding.errors import UserError
from grounding.places import datasets_dir
from grounding.webagents.agenticshop.agents.site_search import open_site_search
from grounding.webagents.agenticshop.loader import load_curation
from grounding.webagents.agenticshop.mall import gold, open_mall
from grounding.webagents.agenticshop.records import Curation, Site, view_of
from grounding.webagents.agenticshop.web.browser import open_browser
from grounding.webagents.agenticshop.web.evidence import EvidenceFolder
from grounding.webagents.agenticshop.web.policy import WebPolicy
from webagents.agenticshop.agents.small_shop import SITES, VIEW
from webagents.agenticshop.agents.staged import Stage, staged


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with staged() as stage:
        yield stage


def test_without_shops_it_says_where_to_find_some() -> None:
    agent = open_site_search()
    with pytest.raises(UserError, match="sample-mall"):
        asyncio.run(agent.curate(msgspec.structs.replace(VIEW, sites=()), "k"))


@pytest.mark.slow
def test_every_kind_of_box_is_found_and_the_best_products_chosen(stage: Stage, tmp_path: Path) -> None:
    closed = Site(name="gone", home_url="http://gone.shop.test/")
    view = msgspec.structs.replace(VIEW, sites=(*SITES, closed))
    agent = open_site_search()
    agent.use(stage.web, EvidenceFolder(tmp_path / "evidence"))

    async def twice() -> tuple[Curation, Curation]:
        one, other = await asyncio.gather(agent.curate(view, "k"), agent.curate(view, "k"))
        return one, other

    curation, again = stage.run(twice())
    assert curation.failure is None
    chosen = [one.url for one in curation.products]
    # Two that are in stock, by the maker that is liked and within the budget; then the other within the budget.
    assert sorted(chosen[:2]) == ["http://oak.shop.test/p/lamp-1", "http://pine.shop.test/p/lamp-5"]
    assert chosen[2] == "http://pine.shop.test/p/lamp-4"
    assert [one.url for one in again.products] == chosen
    searches = {step.url: step for step in curation.trace if step.action == 'search "desk lamp"'}
    assert "http://oak.shop.test/search?q=desk+lamp" in searches
    assert len(searches["http://pine.shop.test/"].cited_urls) == 2
    assert searches["http://fir.shop.test/search?keyword=desk+lamp"].observation == "nothing was found"
    assert any(
        (step.url == closed.home_url and "no-such-host" in step.observation) or "refused" in step.observation
        for step in curation.trace
    )
    looked_at = {step.url for step in curation.trace if step.action == "look at product"}
    assert not any("promo" in url for url in looked_at)
    assert [step.kind for step in curation.trace][-3:] == ["purchase_decision"] * 3


@pytest.mark.slow
def test_where_nothing_is_found_there_is_no_product(stage: Stage, tmp_path: Path) -> None:
    agent = open_site_search()
    agent.use(stage.web, EvidenceFolder(tmp_path / "evidence"))
    view = msgspec.structs.replace(VIEW, query="a submarine", product_type="Submarines", sites=SITES[:1])
    curation = stage.run(agent.curate(view, "k"))
    assert curation.products == ()
    assert curation.failure is not None
    assert curation.failure.kind == "unparsed"


@pytest.mark.slow
def test_it_finds_what_users_of_the_mall_look_for_in_all_four_shops(tmp_path: Path) -> None:
    """One user for each shop; all twenty are what a run over the data set is for."""
    folder = datasets_dir() / "sample-mall"
    dataset, truth = load_curation("sample-mall", None), gold(folder)
    tasks = [task for task in dataset.tasks if task.user in ("mall-07", "mall-10", "mall-13", "mall-16")]

    async def run() -> list[Curation]:
        async with (
            open_mall(folder) as mall,
            open_browser(WebPolicy(hosts=mall.hosts, open_web=False), parallel=2) as web,
        ):
            agent = open_site_search(max_concurrency=2)
            agent.use(web, EvidenceFolder(tmp_path / "evidence"))
            return await asyncio.gather(*[agent.curate(view_of(task, dataset.sites), "k") for task in tasks])

    products = [one for curation in asyncio.run(run()) for one in curation.products]
    assert len(products) == 3 * len(tasks)
    assert {truth[one.url].page_class for one in products} == {"product"}
    assert {truth[one.url].shop for one in products} == {site.name for site in dataset.sites}
    found = {facts.title for one in products if (facts := truth[one.url].facts) is not None}
    assert found >= {task.target.title for task in tasks if task.target is not None}
