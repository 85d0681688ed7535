"""Models with a vendor's own search: one need after the other put to the fake vendors, over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.chat_server import ChatServer, raw
from fakes.search_vendor_shapes import KEY, Page
from fakes.search_vendors import SearchVendors

from benchmarks.agenticshop.runs import write_run
from grounding.benchmarks.agenticshop.agents.base import CurationServices, read_products
from grounding.benchmarks.agenticshop.agents.search import (
    SearchAgent,
    curation_prompt,
    curation_prompts,
    open_search_agent,
    request_text,
)
from grounding.benchmarks.agenticshop.loader import load_curation
from grounding.benchmarks.agenticshop.preparation import CurationOptions
from grounding.benchmarks.agenticshop.records import Curation, ShopperView, Site, UserContext
from grounding.benchmarks.asking import new_progress
from grounding.cli import app
from grounding.errors import UserError
from grounding.llm.budget import Budget, BudgetReached
from grounding.records import Call

CARDS = {
    "openai": "gpt-4o-search",
    "anthropic": "claude-sonnet-5.5-search",
    "gemini": "gemini-3.8-flash-search",
    "perplexity-agent": "perplexity-sonar",
}
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "PERPLEXITY_API_KEY")
PAGES = [
    Page(f"http://{shop}.mall.test/p/{kind.replace(' ', '-')}", f"{colour} {kind}", f"A {kind} in {colour}, of steel.")
    for shop in ("hearth", "brook")
    for colour, kind in (("copper", "kettle"), ("blue", "tea pot"), ("green", "desk lamp"), ("red", "wool scarf"))
]
REAL = {page.url for page in PAGES}
SITES = tuple(Site(name=name, home_url=f"http://{name}.mall.test/") for name in ("hearth", "brook"))
VIEW = ShopperView(
    task_id="explicit_title/U1", user="U1", scenario="explicit_title", situation="The old kettle leaks.",
    query="a copper kettle", product_type="kettle", budget="under $40",
    context=UserContext(brand_preferences='Likes "Hearth".', price_sensitivity="Looks at prices."),
)  # fmt: skip
PROMPTS = curation_prompts()
every_vendor = pytest.mark.parametrize("vendor", CARDS)


def view(**fields: Any) -> ShopperView:
    return msgspec.structs.replace(VIEW, **fields)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, KEY)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def vendors() -> Iterator[SearchVendors]:
    with SearchVendors(PAGES) as running:
        yield running


def opened(
    vendors: SearchVendors, vendor: str, card: str = "", *, budget: Budget | None = None, **options: Any
) -> SearchAgent:
    """The agent of a vendor's card behind the fake."""
    name, urls, options = card or CARDS[vendor], (vendors.base_url(vendor),), {"max_retries": 2, **options}
    given: dict[str, Any] = {"budget": budget or Budget(None), "progress": new_progress(None, "tasks"), "pages": 1}
    asked = CurationOptions(model=name, base_url=urls, **options)
    agent = open_search_agent(CurationServices(options=asked, **given))
    agent._client._backoff_s = 0.001  # type: ignore[attr-defined]
    return agent


def ask(agent: SearchAgent, *views: ShopperView) -> list[Any]:
    """What the agent makes of needs, all at once."""

    async def run() -> list[Any]:
        try:
            asked = map(agent.curate, views, map(str, range(len(views))))
            return await asyncio.gather(*asked, return_exceptions=len(views) > 1)
        finally:
            await agent.aclose()

    return asyncio.run(run())


def curated(agent: SearchAgent, one: ShopperView = VIEW) -> Curation:
    return ask(agent, one)[0]  # type: ignore[no-any-return]


@every_vendor
def test_three_products_what_they_cost_and_what_was_told(vendors: SearchVendors, vendor: str) -> None:
    budget = Budget(None)
    got = curated(opened(vendors, vendor, budget=budget), view(query="a copper kettle and a tea pot", sites=SITES))
    assert got.failure is None
    assert [product.rank for product in got.products] == [0, 1, 2]
    assert {product.url for product in got.products} <= REAL
    assert all(product.name and product.reasoning for product in got.products)
    assert (got.step_id, bool(got.raw)) == ("explicit_title/U1", True)
    assert got.call is not None
    charge = vendors.charges[0]
    assert got.call.cost_usd == budget.spent_usd == pytest.approx(vendors.bill_usd)
    assert charge.searches > 0
    assert got.call.usage is not None
    assert (got.call.usage.input_tokens, got.call.usage.output_tokens) == (charge.input_tokens, charge.output_tokens)
    sent = vendors.asked[0].content.decode()
    assert "http://hearth.mall.test/" in sent
    assert "check" not in sent.lower().replace("checklist/", "")
    searches = [step.action for step in got.trace if step.action.startswith("search: ")]
    assert searches[0] == "search: a copper kettle and a tea pot"
    assert len(searches) == len(set(searches)) > 1
    assert {step.kind for step in got.trace} == {""}
    cited = set(got.trace[-1].cited_urls)
    if vendor == "gemini":  # Google names redirects of its own.
        assert all("grounding-api-redirect" in url for url in cited)
    else:
        assert cited >= {"http://hearth.mall.test/p/kettle", "http://brook.mall.test/p/kettle"}


def test_the_request_is_the_releases(vendors: SearchVendors) -> None:
    curated(opened(vendors, "openai"))
    body = vendors.asked[0].body
    form = body.pop("text")["format"]
    assert (form["name"], form["strict"], form["schema"]) == ("SearchResultsPayload", True, PROMPTS.schema)
    assert body == {
        "model": "gpt-4o",
        "tools": [{"type": "web_search"}],
        "include": ["web_search_call.action.sources"],
        "input": request_text(VIEW, in_words=False),
    }


@every_vendor
def test_what_holds_for_every_need_ends_the_run(
    vendors: SearchVendors, vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = opened(vendors, vendor)
    agent.card.parameters["frobnicate"] = 1
    with pytest.raises(UserError, match="check the card's parameters"):
        curated(agent)
    for name in KEYS:
        monkeypatch.setenv(name, "sk-wrong-0123456789")
    with pytest.raises(UserError, match="check the key in") as caught:
        curated(opened(vendors, vendor))
    assert "sk-wrong" not in str(caught.value)
    assert len(vendors.asked) == 2


@pytest.mark.parametrize(
    ("vendor", "fault"),
    [
        *(("anthropic", fault) for fault in ("429:0", "529", "cut", "drop")),
        ("gemini", "500"), ("openai", "failed"), ("perplexity-agent", "failed"),
    ],
)  # fmt: skip
def test_what_another_try_can_mend_is_tried_again(vendors: SearchVendors, vendor: str, fault: str) -> None:
    vendors.faults.append(fault)
    got = curated(opened(vendors, vendor))
    assert got.failure is None
    assert got.call is not None
    assert got.call.attempts == len(vendors.asked) == 2
    if fault != "failed":
        # A reply that was cut off was billed as well, and nobody here was told how much.
        assert len(vendors.charges) == (2 if fault == "cut" else 1)
        assert got.call.cost_usd == pytest.approx(vendors.charges[-1].usd)


@pytest.mark.parametrize(
    ("vendor", "faults", "kind", "said"),
    [
        ("openai", ["500"] * 3, "error", "500"),
        *((vendor, ["words"], "unparsed", "no JSON") for vendor in CARDS),
        ("perplexity-agent", ["none"], "unparsed", "names no product"),
        *((vendor, ["refusal"], "unparsed", "declined") for vendor in ("openai", "anthropic", "gemini")),
        ("openai", ["long"], "unparsed", "cut off"),
        ("anthropic", ["pause"] * 9, "unparsed", "paused 5 times"),
    ],
)
def test_an_answer_without_products_says_why(
    vendors: SearchVendors, vendor: str, faults: list[str], kind: str, said: str
) -> None:
    vendors.faults.extend(faults)
    got = curated(opened(vendors, vendor))
    assert got.products == ()
    assert got.failure is not None
    assert (got.failure.kind, said in got.failure.message) == (kind, True), got.failure
    assert len(vendors.asked) == {"500": 3, "pause": 5}.get(faults[0], 1)


def test_a_paused_turn_is_sent_on_with_what_was_said(vendors: SearchVendors) -> None:
    vendors.faults.extend(["pause", "pause"])
    got = curated(opened(vendors, "anthropic"))
    assert (got.failure, got.requests) == (None, 3)
    assert [len(received.body["messages"]) for received in vendors.asked] == [1, 2, 3]
    said = vendors.asked[1].body["messages"][1]
    assert (said["role"], said["content"][1]["type"]) == ("assistant", "server_tool_use")
    assert got.call is not None
    assert got.call.cost_usd == pytest.approx(vendors.bill_usd)
    assert sum(step.action == "search: kettle" for step in got.trace) == 1


def test_the_cost_limit_holds_and_what_a_pause_cost_is_not_forgotten(vendors: SearchVendors) -> None:
    agent = opened(vendors, "openai", budget=Budget(0.03), max_connections=4)
    made = ask(agent, *(view(task_id=f"explicit_title/U{number}") for number in range(6)))
    assert any(isinstance(one, BudgetReached) for one in made)
    assert 0 < vendors.bill_usd <= 0.03
    vendors.charges.clear()
    vendors.faults.append("pause")
    budget, paid = Budget(0.03), list[Call]()
    budget.on_paid = lambda _role, call: paid.append(call)
    with pytest.raises(BudgetReached):
        curated(opened(vendors, "anthropic", budget=budget))
    assert [call.cost_usd for call in paid] == [pytest.approx(vendors.bill_usd)]


@pytest.mark.parametrize("told", ["much", [], -3, True, None, 0.25])
def test_a_cost_that_is_none_is_not_added_up(told: Any) -> None:
    said = {"type": "output_text", "text": json.dumps({"product_url": "http://hearth.mall.test/p/kettle"})}
    usage = {"input_tokens": 10, "output_tokens": 5, "cost": {"total_cost": told}}
    reply = {"status": "completed", "output": [{"type": "message", "content": [said]}], "usage": usage}
    with ChatServer(raw(json.dumps(reply).encode())) as server:
        asked = CurationOptions(model="perplexity-sonar", base_url=(server.base_url,))
        services = CurationServices(asked, budget := Budget(None), new_progress(None, "tasks"), 1)
        got = curated(open_search_agent(services))
    assert (got.failure, len(got.products)) == (None, 1)
    assert got.call is not None
    assert budget.spent_usd == got.call.cost_usd
    assert (got.call.cost_usd == 0.25) is (told == 0.25)


def test_the_cost_limit_holds_over_starts_of_a_run_that_breaks_off_in_a_pause(
    vendors: SearchVendors, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = write_run(tmp_path / "seen", (task := load_curation("sample-mall", None).tasks[:1]), {task[0].id: ()}).path
    command = ["eval", "--dataset", "sample-mall", "--limit", "1", "--log-dir", str(tmp_path / "runs"), "--json"]
    command += ["--agent", "search", "--model", CARDS["anthropic"], "--base-url", vendors.base_url("anthropic")]
    command += ["--extractions", str(seen), "--cost-limit", "0.03"]
    vendors.faults.append("pause")
    for _ in range(2):
        assert app(command) != 0
        found = json.loads(capsys.readouterr().out)
        assert (found["status"], found["costs"]["agent"]["usd"]) == ("partial", pytest.approx(vendors.bill_usd))
    assert len(vendors.asked) == 1


# --- words ------------------------------------------------------------------------------------------------------------


def test_a_need_is_worded_as_in_the_release() -> None:
    said = (
        "You are a shopping assistant helping a user find products that fit their context and needs. "
        "The user is looking for kettle. "
        "The user's situation is: The old kettle leaks. They are thinking a budget under $40. "
        'The user says: "a <BUDGET> {query} kettle". '
        "The user's shopping preferences and context are as follows: "
        'brand_preferences: "Likes \'Hearth\'.". price_sensitivity: "Looks at prices.". '
        "Task: search online and recommend the top 3 products among your search results. "
        "For each pick, briefly explain why it fits this user, referencing their budget, needs, and preferences. "
        "The URL should be a direct link to the product selling page."
    )
    asked = view(query="a <BUDGET> {query} kettle")
    assert curation_prompt(asked) == said
    assert request_text(asked, in_words=False) == PROMPTS.system + said
    text = request_text(view(sites=SITES), in_words=True)
    assert "hearth (http://hearth.mall.test/), brook (http://brook.mall.test/)" in text
    assert text.endswith('"reasoning": "..."}]}')
    bare = view(product_type=None, budget=None, query="", situation="", context=UserContext())
    assert curation_prompt(bare) == PROMPTS.opening + PROMPTS.task


ONE = {
    "product_name": "Kettle",
    "product_url": "http://a.test/k",
    "reasoning": "cheap \ue200cite\ue202t0\ue201 and good",
}
OTHER = {**ONE, "product_url": "http://a.test/other"}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"search_results": [ONE]}),
        f"Sure!\n```json\n{json.dumps({'search_results': [ONE]}, indent=2)}\n```\nEnjoy.",
        json.dumps([{"product_name": "x"}, {**ONE, "product_url": " "}, ONE, 3]),
        json.dumps({"products": [ONE]}),
        json.dumps(ONE),
        "I thought of [1] and {a kettle}: " + json.dumps({"search_results": [ONE]}),
        json.dumps({"note": "none yet"}) + json.dumps({"search_results": [ONE]}),
        f"{json.dumps([OTHER])} No, better: {json.dumps([ONE])}",
    ],
)
def test_every_usual_form_is_read(text: str) -> None:
    found = read_products(text)
    assert isinstance(found, tuple)
    assert [(one.url, one.reasoning) for one in found] == [("http://a.test/k", "cheap and good")]
