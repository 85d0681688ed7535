"""The pages of a mall as a search engine knows them: for the fake vendors in ``search_vendors``."""

from __future__ import annotations

from pathlib import Path

from fakes.search_vendor_shapes import Page
from tools.sample_mall.truth import gold


def mall_pages(folder: Path) -> list[Page]:
    """Every page of a data set's shops that a search could bring: products and listings, missing pages left out."""
    pages = []
    for url, truth in gold(folder).items():
        if truth.page_class not in ("product", "listing"):
            continue
        facts = truth.facts
        if facts is None:
            pages.append(Page(url, f"{truth.shop} {url.rsplit('/', 2)[-2]}", "All products of this kind."))
            continue
        said = [facts.brand, *facts.categories, facts.description, *facts.features]
        said += [f"{one.name} {one.value}" for one in facts.attributes]
        pages.append(Page(url, facts.title, " ".join(said)))
    return pages
