"""What every agent gives back."""

from __future__ import annotations

import msgspec

from grounding.budget import BudgetReached
from grounding.records import Failure
from grounding.webagents.agenticshop.agents import base
from grounding.webagents.agenticshop.agents.base import BrokenOff, Browses, curation_key, made
from grounding.webagents.agenticshop.agents.site_search import open_site_search
from grounding.webagents.agenticshop.records import Curated, TraceStep
from webagents.agenticshop.agents.small_shop import VIEW


def test_the_key_hangs_on_agent_need_and_shops() -> None:
    other = msgspec.structs.replace(VIEW, budget="under $50")
    keys = [curation_key("a", VIEW), curation_key("b", VIEW), curation_key("a", other), curation_key("a", VIEW, "f")]
    assert len(set(keys)) == 4
    assert keys[0] == curation_key("a", VIEW)
    assert {len(key) for key in keys} == {32}


def test_texts_are_cut_off_and_a_failure_has_no_products() -> None:
    long = "x" * 50_000
    products = tuple(Curated(rank=rank, url=long, name=long, reasoning=long) for rank in range(30))
    step = TraceStep(action=long, url=long, thought=long, observation=long, cited_urls=(long,) * 100)
    curation = made(VIEW, "k", products=products, trace=(step,) * 1000, raw=long)
    assert len(curation.products) == base.MAX_PRODUCTS
    assert len(curation.trace) == base.MAX_TRACE_STEPS
    assert len(curation.raw) == base.MAX_RAW_CHARS
    assert len(curation.products[0].url) == base.MAX_URL_CHARS
    assert len(curation.trace[0].cited_urls) == base.MAX_CITED_URLS
    failed = made(VIEW, "k", products=products, failure=Failure(kind="unparsed", message="none"))
    assert (failed.products, failed.step_id, failed.key) == ((), VIEW.task_id, "k")


def test_a_task_that_the_limit_broke_off_says_what_it_cost() -> None:
    broken = BrokenOff(BudgetReached("the limit"), made(VIEW, "k"))
    assert isinstance(broken, BudgetReached)
    assert (str(broken), broken.curation.step_id) == ("the limit", VIEW.task_id)


def test_an_agent_that_opens_pages_says_so() -> None:
    agent = open_site_search(max_concurrency=3)
    assert isinstance(agent, Browses)
    assert (agent.name, agent.max_concurrency) == ("site-search", 3)
    assert agent.identity.startswith("site-search:")
