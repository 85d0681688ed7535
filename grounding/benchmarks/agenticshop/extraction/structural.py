"""The extractor without a model: data for machines (extruct) and the product's part of the page, by rules.

Shipping, stock and rating are taken from the page's own words before its data; what differs stays in the sources.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from grounding.benchmarks.agenticshop.extraction.base import Extracted
from grounding.benchmarks.agenticshop.extraction.dom import Page, read_document
from grounding.benchmarks.agenticshop.extraction.facts import STOCKED, Offer, product_facts, read_offer
from grounding.benchmarks.agenticshop.extraction.prices import SAID
from grounding.benchmarks.agenticshop.extraction.structured import PageData, read_data, structured_data
from grounding.benchmarks.agenticshop.records import RenderedPage
from grounding.errors import UserError
from grounding.records import Failure

if TYPE_CHECKING:
    from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder

VERSION = 4
"""Goes up in a release whose rules find other facts: part of the extractor's identity."""

SHORT_PAGE_CHARS = 3_000


class StructuralExtractor:
    """Reads pages by rules alone."""

    name = "structural"
    max_concurrency = 2
    identity = f"structural:{VERSION}"

    async def extract(self, page: RenderedPage, evidence: EvidenceFolder) -> Extracted:
        """Read one page, in a thread. Evidence that can't be read is a failure."""
        from grounding.benchmarks.agenticshop.web.evidence import load_html

        try:
            return await asyncio.to_thread(lambda: extract_page(page, load_html(page, evidence)))
        except (UserError, OSError) as error:
            return Extracted(failure=Failure(kind="error", message=str(error)))

    async def check(self) -> None:
        """Nothing has to be there."""

    async def aclose(self) -> None:
        """Nothing is held."""


def extract_page(page: RenderedPage, html: str) -> Extracted:
    """The class of a page, by its document after scripts and what the browser said, and of a product's its facts."""
    if page.failure is not None:
        return Extracted(page_class="error", class_reason=f"no page: {page.failure.message[:200]}")
    if page.status is None or page.status >= 400:
        said = "no answer came" if page.status is None else f"the site answered {page.status}"
        return Extracted(page_class="blocked" if page.status in _BLOCKED_STATUS else "error", class_reason=said)
    kind = page.content_type.partition(";")[0].strip().lower()
    if kind and kind not in ("text/html", "application/xhtml+xml"):
        return Extracted(page_class="other", class_reason=f"the answer is {kind}, not a page")
    url = page.final_url or page.url
    blocks = page.data or structured_data(html, url)
    name = read_data(blocks, url).facts.title
    document = read_document(html, url, seen="" if page.text_cut else page.text, name=name)
    if document is None or not (document.lines or document.framed):
        return Extracted(page_class="other", class_reason="the page has no text", sure=False)
    data = read_data(blocks, url, document.title)
    offer = read_offer(document, data)
    found = _classify(page, document, data, offer)
    if found.page_class != "product":
        return found
    return msgspec.structs.replace(found, facts=product_facts(document, data, offer))


def page_class_of(page: RenderedPage, html: str) -> Extracted:
    """The class of a page alone."""
    return msgspec.structs.replace(extract_page(page, html), facts=None)


_BLOCKED_STATUS = frozenset((401, 403, 407, 429, 451, 503))


def _classify(page: RenderedPage, document: Page, data: PageData, offer: Offer) -> Extracted:
    own = " ".join(line.text for line in document.lines)
    text = " ".join((own, *document.framed)).strip()
    price = offer.price if offer.score >= 3 else None
    sells, short = bool(offer.buttons), len(text) <= SHORT_PAGE_CHARS
    if short and not sells and price is None:
        said = SAID["blocked"].search(f"{document.document_title} {text}")
        said = said or (SAID["guards"].search(document.guards) if len(text) < 400 else None)
        if said is not None:
            return Extracted(page_class="blocked", class_reason=f"asks whether we are human: {said[0]!r}")
    missing = SAID["missing"].search(document.document_title) or SAID["missing"].search(document.title)
    if missing is None and not sells and short and not document.title:
        missing = SAID["missing"].search(text[:1_500])
    if missing is not None and not (price and sells):
        return Extracted(page_class="error", class_reason=f"says that there is no such page: {missing[0]!r}")
    tiles = len({urlsplit(one.url).path for one in document.tiles})
    listed = {
        "data that calls it a list": data.is_list,
        "an address of lists": SAID["search_path"].search(urlsplit(page.final_url or page.url).path),
        "words of a list of results": SAID["results"].search(own[:20_000]),
    }
    signs = [words for words, so in listed.items() if so]
    exact = offer.clear and price is not None and not price.open
    many = tiles >= 3 and not sells and not (exact and not signs)
    if many or (tiles >= 6 and len(signs) > 1 and not offer.clear):
        why = [f"{tiles} other products", *(["no way to buy one of its own"] if many else []), *signs]
        return Extracted(page_class="listing", class_reason=", ".join(why))
    stocked = next((line.text for line in document.lines if len(line.text) < 120 and STOCKED.search(line.text)), "")
    of_product = {
        f"a price of its own ({price.text if price else ''})": price,
        "a way to buy it": sells,
        "data of a product": data.source,
        f"words of stock ({stocked[:60]})": stocked and not sells,
    }
    told = [words for words, so in of_product.items() if so]
    if document.title and ((price and len(told) > 1) or (sells and data.source)):
        return Extracted(page_class="product", class_reason=f"one title with {', '.join(told)}")
    if told:
        reason = f"only {', '.join(told)}; that is too little for a product"
        return Extracted(page_class="other", class_reason=reason, sure=False)
    # What a page shows in pictures alone is not seen here.
    sure = len(page.text) >= 200 or not page.segments
    reason = "neither a price nor a way to buy nor a list of products"
    return Extracted(page_class="other", class_reason=reason, sure=sure)
