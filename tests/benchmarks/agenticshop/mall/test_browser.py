"""The mall in a real Chromium: after all scripts every product's page says what the truth says."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from grounding.benchmarks.agenticshop.mall import open_mall
from grounding.benchmarks.agenticshop.mall.shops import DESIGNS, read_shops
from tools.sample_mall.truth import GoldProduct, gold

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

REVIEWS = {"kettle": "blockquote p", "loom": ".word p", "pantry": ".said p:last-child", "volt": ".rv p"}


class Visit(NamedTuple):
    """A page of a browser that sees the mall under its own names, and what was said on its console."""

    page: Page
    said: list[str]


@contextmanager
def served(folder: Path) -> Iterator[int]:
    """The mall from a thread of its own, by its port."""
    ready: list[int] = []
    up, loop, over = threading.Event(), asyncio.new_event_loop(), asyncio.Event()

    async def serve() -> None:
        async with open_mall(folder) as mall:
            ready.append(mall.port)
            up.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert up.wait(30)
    yield ready[0]
    loop.call_soon_threadsafe(over.set)
    thread.join(20)
    loop.close()


@pytest.fixture(scope="module")
def browser(folder: Path, chromium: str) -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with served(folder) as port, sync_playwright() as running:
        rules = f"--host-resolver-rules=MAP *.mall.test 127.0.0.1:{port}"
        # As root, as in containers, Chromium has no sandbox.
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox", rules])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """A visitor whom no shop has seen before."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        yield Visit(page, said)


@pytest.fixture(scope="module")
def products(folder: Path) -> dict[str, list[GoldProduct]]:
    # Once for each product, not again for redirects to it.
    pages = [one for one in gold(folder).values() if one.facts is not None and one.slug in one.url]
    return {name: [one for one in pages if one.shop == name] for name in REVIEWS}


SHOWN = """() => {
    const text = (id) => document.getElementById(id)?.innerText.trim() ?? null;
    return {price: text("price"), was: text("was"), shipping: text("shipping"), rating: text("rating"),
            stock: text("stock"), seen: document.body.innerText, all: document.body.textContent};
}"""


@pytest.mark.parametrize("name", sorted(REVIEWS))
def test_every_product_shows_what_the_truth_says(
    visit: Visit, products: dict[str, list[GoldProduct]], folder: Path, name: str
) -> None:
    design = next(DESIGNS[shop.design] for shop in read_shops(folder) if shop.name == name)
    assert len(products[name]) > 25
    for one in products[name]:
        facts = one.facts
        assert facts is not None
        assert facts.price is not None
        # Scripts that are deferred have run by then; pictures needn't have come.
        visit.page.goto(one.url, wait_until="domcontentloaded")
        shown = visit.page.evaluate(SHOWN)
        assert {key: shown[key] for key in ("price", "shipping", "was", "rating", "stock")} == {
            "price": design.money(facts.price.amount),
            "shipping": facts.shipping_text,
            "was": "" if facts.list_price is None else design.money(facts.list_price.amount),
            "rating": None if facts.rating is None else design.rating(facts.rating),
            "stock": design.gone if facts.availability == "sold_out" else design.there,
        }, one.url
        assert facts.rating is None or str(facts.rating_count) in shown["seen"]
        # Compared as they stand in the document: a shop may show some in capitals.
        texts = [facts.title, facts.delivery_text, facts.returns_text, facts.warranty_text, facts.seller, facts.brand]
        texts += [facts.description, *facts.features]
        texts += [text for line in facts.attributes for text in (line.name, line.value)]
        assert [text for text in texts if text not in shown["all"]] == [], one.url
    assert visit.said == []
