"""The rules against the truth about the bundled mall, each page shown by a real Chromium."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import aclosing
from pathlib import Path

import pytest

from grounding.benchmarks.agenticshop.extraction.structural import StructuralExtractor
from grounding.benchmarks.agenticshop.mall.pages import open_mall
from grounding.benchmarks.agenticshop.records import ProductFacts
from grounding.benchmarks.agenticshop.web.browser import WebBrowser, find_chromium
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder
from grounding.benchmarks.agenticshop.web.guard import WebPolicy
from grounding.cards.places import datasets_dir
from grounding.errors import UserError
from tools.sample_mall.truth import GoldProduct, gold

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]

PRODUCTS_OF_A_SHOP = 4
FIELDS = ("title", "price", "list_price", "shipping", "rating", "brand", "availability", "rating_count")


def chosen(pages: dict[str, GoldProduct]) -> list[str]:
    """Some products of each shop, spread over its shelves, and some pages of every other class."""
    some: list[str] = []
    for shop in sorted({one.shop for one in pages.values()}):
        products = [url for url, one in pages.items() if one.shop == shop and one.page_class == "product"]
        some += products[:: max(1, len(products) // PRODUCTS_OF_A_SHOP)][:PRODUCTS_OF_A_SHOP]
        for page_class in ("listing", "error", "blocked", "other"):
            some += [url for url, one in pages.items() if one.shop == shop and one.page_class == page_class][-1:]
    return some


def told(facts: ProductFacts | None, field: str) -> object:
    """A fact as it is compared: no ratings are the same as none counted, and a brand is one in any case."""
    value = getattr(facts, field, None)
    if field == "rating_count":
        return value or None
    return value.casefold() if isinstance(value, str) else value


def test_the_rules_find_the_truth_about_the_mall(tmp_path: Path) -> None:
    pytest.importorskip("playwright.async_api", reason="needs playwright")
    try:
        find_chromium()
    except UserError:
        pytest.skip("needs an installed Chromium")
    folder = datasets_dir() / "sample-mall"
    pages = gold(folder)
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    wrong: list[str] = []

    async def look() -> None:
        evidence, extractor = EvidenceFolder(tmp_path), StructuralExtractor()
        async with open_mall(folder) as hosts, aclosing(WebBrowser(WebPolicy(hosts=hosts), parallel=2)) as browser:
            places = asyncio.Semaphore(2)

            async def one(url: str) -> None:
                async with places:
                    page = await browser.render(url, evidence)
                    found = await extractor.extract(page, evidence)
                compare("page_class", url, found.page_class, pages[url].page_class)
                if pages[url].page_class == "product":
                    for field in FIELDS:
                        compare(field, url, told(found.facts, field), told(pages[url].facts, field))

            await asyncio.gather(*(one(url) for url in chosen(pages)))

    def compare(field: str, url: str, found: object, truth: object) -> None:
        asked[field] += 1
        right[field] += found == truth
        if found != truth:
            wrong.append(f"{url} {field}: {found!r}, and it is {truth!r}")

    asyncio.run(look())
    print({field: f"{right[field]}/{asked[field]}" for field in asked})
    assert asked["price"] >= 4 * PRODUCTS_OF_A_SHOP
    assert not wrong, "\n".join(wrong)
