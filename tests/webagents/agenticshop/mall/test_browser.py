"""The mall in a real Chromium: after all scripts every product's page says what the truth says."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from grounding.webagents.agenticshop.mall import GoldProduct, gold, open_mall
from grounding.webagents.agenticshop.mall.designs import DESIGNS
from grounding.webagents.agenticshop.mall.folder import read_shops
from grounding.webagents.agenticshop.mall.records import Shop
from grounding.webagents.agenticshop.mall.wording import stock_text

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="needs the system's Chromium"),
]

CLOSING = {
    "kettle": "Reject all",
    "loom": "Continue without accepting",
    "pantry": "Only necessary",
    "volt": "No thanks",
}
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
def browser(folder: Path) -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api")
    with served(folder) as port, playwright.sync_playwright() as running:
        rules = f"--host-resolver-rules=MAP *.mall.test 127.0.0.1:{port}"
        # As root, as in containers, Chromium has no sandbox.
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", rules])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """A visitor whom no shop has seen before."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    yield Visit(page, said)
    context.close()


@pytest.fixture(scope="module")
def shops(folder: Path) -> dict[str, Shop]:
    return {shop.name: shop for shop in read_shops(folder)}


@pytest.fixture(scope="module")
def products(folder: Path) -> dict[str, list[GoldProduct]]:
    found: dict[str, list[GoldProduct]] = {shop.name: [] for shop in read_shops(folder)}
    for one in gold(folder).values():
        # Once for each product, not again for redirects to it.
        if one.facts is not None and one.slug in one.url:
            found[one.shop].append(one)
    return found


SHOWN = """() => {
    const text = (id) => document.getElementById(id)?.innerText.trim() ?? null;
    return {price: text("price"), was: text("was"), shipping: text("shipping"), rating: text("rating"),
            stock: text("stock"), seen: document.body.innerText, all: document.body.textContent};
}"""


@pytest.mark.parametrize("name", sorted(CLOSING))
def test_every_product_shows_what_the_truth_says(
    visit: Visit, products: dict[str, list[GoldProduct]], shops: dict[str, Shop], name: str
) -> None:
    shop = shops[name]
    design = DESIGNS[shop.design]
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
            "stock": stock_text(shop, facts.availability == "sold_out"),
        }, one.url
        assert facts.rating is None or str(facts.rating_count) in shown["seen"]
        # Compared as they stand in the document: a shop may show some in capitals.
        texts = [facts.title, facts.delivery_text, facts.returns_text, facts.warranty_text, facts.seller, facts.brand]
        texts += [facts.description, *facts.features]
        texts += [text for line in facts.attributes for text in (line.name, line.value)]
        assert [text for text in texts if text not in shown["all"]] == [], one.url
    assert visit.said == []


def links_of(page: Page) -> set[str]:
    return set(page.evaluate("[...document.links].map((link) => link.href)"))


@pytest.mark.parametrize("name", sorted(CLOSING))
def test_every_other_page_is_what_the_truth_says(visit: Visit, folder: Path, name: str) -> None:
    """The pages that the products' own test leaves out: shelves, redirects, and what is no product at all."""
    pages = gold(folder)
    others = [one for one in pages.values() if one.shop == name and not (one.facts is not None and one.slug in one.url)]
    assert {one.page_class for one in others} == {"product", "listing", "error", "blocked", "other"}
    for one in others:
        answered = visit.page.goto(one.url, wait_until="domcontentloaded")
        assert answered is not None
        price = visit.page.locator("#price").count()
        match one.page_class:
            case "product":
                # What leads there by a script or a refresh needs a moment.
                visit.page.wait_for_selector("#price")
                assert one.facts is not None
                assert one.facts.title in visit.page.inner_text("body"), one.url
            case "listing":
                visit.page.wait_for_function("document.links.length > 0")
                assert (price, len(links_of(visit.page) & set(pages)) > 1) == (0, True), one.url
            case "blocked":
                assert price == 0, one.url
                assert len(links_of(visit.page)) <= 1, one.url
            case _:
                assert (price, len(visit.page.inner_text("body")) > 100) == (0, True), one.url


@pytest.mark.parametrize("name", sorted(CLOSING))
def test_reviews_appear_by_scrolling(visit: Visit, products: dict[str, list[GoldProduct]], name: str) -> None:
    one = max(products[name], key=lambda product: len(product.facts.reviews if product.facts else ()))
    assert one.facts is not None
    visit.page.goto(one.url)
    at_first = visit.page.locator(REVIEWS[name]).count()
    assert at_first == (len(one.facts.reviews) if name == "kettle" else 0)
    for _ in range(200):
        if visit.page.locator(REVIEWS[name]).count() == len(one.facts.reviews):
            break
        visit.page.mouse.wheel(0, 400)
        visit.page.wait_for_timeout(50)
    assert visit.page.locator(REVIEWS[name]).all_inner_texts() == [review.text for review in one.facts.reviews]


def test_another_form_has_another_price_and_another_shipping(visit: Visit) -> None:
    page = visit.page
    page.goto("http://pantry.mall.test/product/assam-gold-loose-leaf-black-tea")
    page.select_option("#form", label="1 kg")
    assert (page.inner_text("#price"), page.inner_text("#shipping")) == ("$49.00", "Free delivery")
    page.goto("http://kettle.mall.test/storage-and-living/oak-storage-jars-set-of-three.html")
    page.get_by_text("Reject all").click()
    page.get_by_label("1 l", exact=True).check()
    assert page.inner_text("#price") == "48,00 €"
    page.goto("http://volt.mall.test/p/pocketvault-portable-ssd")
    page.get_by_text("No thanks").click()
    page.get_by_role("button", name="2 TB").click()
    shown = page.inner_text("#price"), page.inner_text("#was"), page.inner_text("#shipping"), page.inner_text("#total")
    assert shown == ("$169.00", "$189.00", "Standard delivery: FREE", "$169.00")
    page.goto("http://loom.mall.test/shop/dresses/linen-midi-dress-alma")
    page.locator(".sizes").get_by_text("L", exact=True).click()
    assert (page.inner_text("#stock"), page.inner_text("#add")) == ("Sold out", "Not available")


@pytest.mark.parametrize("name", sorted(CLOSING))
def test_what_lies_over_the_page_can_be_closed(visit: Visit, name: str) -> None:
    page = visit.page
    page.goto(f"http://{name}.mall.test/")
    page.get_by_text(CLOSING[name], exact=True).click()
    for path in ("", "nowhere"):
        page.goto(f"http://{name}.mall.test/{path}")
        # Longer than the newsletter waits before it shows.
        page.wait_for_timeout(800)
        assert page.get_by_text(CLOSING[name], exact=True).count() == 0


@pytest.mark.parametrize(
    ("name", "box", "words", "first"),
    [
        ("kettle", "input[name=query]", "bath towel", "Linen bath towel set"),
        ("loom", "#seek", "merino crew neck", "Merino crew neck Osk"),
        ("pantry", "input[name=q]", "chamomile tea", "Chamomile & Lemon Balm herbal tea bags"),
        ("volt", "input[name=term]", "4k monitor usb-c", "ClearView 27 4K monitor"),
    ],
)
def test_the_search_box_leads_to_a_product(visit: Visit, name: str, box: str, words: str, first: str) -> None:
    page = visit.page
    page.goto(f"http://{name}.mall.test/")
    page.get_by_text(CLOSING[name], exact=True).click()
    page.fill(box, words)
    page.press(box, "Enter")
    link = page.locator(".card a, .tile, .box a.t, #results .look").first
    link.wait_for()
    assert first in link.inner_text()
    link.click()
    page.wait_for_selector("#price")
    assert first in page.inner_text("body")


def test_more_of_a_listing_is_loaded(visit: Visit) -> None:
    page = visit.page
    page.goto("http://loom.mall.test/shop/accessories")
    total = int(page.inner_text(".claim small"))
    if page.locator("#more").count():
        page.locator("#more").click()
        page.wait_for_function(f"document.querySelectorAll('#looks .look').length === {total}")
    assert page.locator("#looks .look").count() == total
