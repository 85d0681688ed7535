"""The extractor without a model: rules over a kept document, the same on every machine.

Where data and page disagree about the price, the visible price after scripts is taken if it is clear: data is often
that of the form which is chosen first, and a page that changed its price shows it. "Clear" is: in the product's part
of the page, seen in the browser's text, enough speaking for it (see ``offer``), and no other amount as well placed.
Otherwise data is taken. Both stay in the sources. The same holds for shipping, stock and rating, which the page's own
words decide before its data.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grounding.errors import UserError
from grounding.records import Failure
from grounding.webagents.agenticshop.extraction import details, forms, terms
from grounding.webagents.agenticshop.extraction.base import Extracted
from grounding.webagents.agenticshop.extraction.classify import Classed, class_without_page, classify
from grounding.webagents.agenticshop.extraction.described import StructuredProduct
from grounding.webagents.agenticshop.extraction.dom import Document, parse, words_of
from grounding.webagents.agenticshop.extraction.offer import VisiblePrice, as_money, visible_price
from grounding.webagents.agenticshop.extraction.price import currency_code
from grounding.webagents.agenticshop.extraction.products import PageData, read_data
from grounding.webagents.agenticshop.extraction.ratings import page_rating
from grounding.webagents.agenticshop.extraction.regions import Regions, find_regions
from grounding.webagents.agenticshop.extraction.reviews import merged, read_reviews, review_elements
from grounding.webagents.agenticshop.extraction.shipping import decide
from grounding.webagents.agenticshop.extraction.structured import structured_data
from grounding.webagents.agenticshop.records import (
    Attribute,
    FactSource,
    Money,
    ProductFacts,
    RenderedPage,
    StructuredData,
)

if TYPE_CHECKING:
    from grounding.webagents.agenticshop.web.evidence import EvidenceFolder

VERSION = 2
"""Counts changes to any rule of this room that can change what is found."""

CURRENCY_OF_LANGUAGE = {
    "en-ca": "CAD",
    "fr-ca": "CAD",
    "en-au": "AUD",
    "en-nz": "NZD",
    "en-sg": "SGD",
    "en-hk": "HKD",
    "es-mx": "MXN",
    "zh": "CNY",
    "zh-cn": "CNY",
    "nb": "NOK",
    "no": "NOK",
    "nn": "NOK",
    "da": "DKK",
}
"""What a sign that several currencies share means in a page's language, where it names no currency."""


@dataclass(frozen=True, slots=True)
class PageReading:
    """A page and all that was found on the way to its facts."""

    document: Document
    regions: Regions
    data: PageData
    price: VisiblePrice
    classed: Classed


class StructuralExtractor:
    """Reads pages by rules alone."""

    name = "structural"
    max_concurrency = 2

    @property
    def identity(self) -> str:
        """Name and version of the rules."""
        return f"structural:{VERSION}"

    async def extract(self, page: RenderedPage, evidence: EvidenceFolder) -> Extracted:
        """Read one page, in a thread. Evidence that can't be read is a failure."""
        return await asyncio.to_thread(self._extract, page, evidence)

    def _extract(self, page: RenderedPage, evidence: EvidenceFolder) -> Extracted:
        from grounding.webagents.agenticshop.web.evidence import load_html

        try:
            html = load_html(page, evidence)
        except (UserError, OSError) as error:
            return Extracted(failure=Failure(kind="error", message=str(error)))
        return extract_page(page, html)

    async def check(self) -> None:
        """Nothing has to be there."""

    async def aclose(self) -> None:
        """Nothing is held."""


def extract_page(page: RenderedPage, html: str) -> Extracted:
    """The class and the facts of a page.

    Args:
        page: What the browser said of it.
        html: Its document after scripts.
    """
    reading = read_page(page, html)
    if isinstance(reading, Classed):
        return Extracted(page_class=reading.page_class, class_reason=reading.reason)
    classed = reading.classed
    facts = product_facts(reading) if classed.page_class == "product" else None
    return Extracted(page_class=classed.page_class, class_reason=classed.reason, facts=facts)


def read_page(page: RenderedPage, html: str) -> PageReading | Classed:
    """Everything about a page but its facts; its class alone where there is nothing to read."""
    early = class_without_page(page)
    if early is not None:
        return early
    document = parse(html, text=page.text, text_cut=page.text_cut)
    if document is None or not document.lines:
        return Classed(page_class="other", reason="the page has no text", sure=False)
    url = page.final_url or page.url
    blocks = page.data or structured_data(html, url)
    regions = find_regions(document, url, _names(blocks, url))
    title = words_of(regions.title) if regions.title is not None else ""
    data = read_data(blocks, url, title)
    known = data.main.price.amount if data.main is not None and data.main.price is not None else None
    price = visible_price(regions, known)
    return PageReading(
        document=document,
        regions=regions,
        data=data,
        price=price,
        classed=classify(page, document, regions, data, price),
    )


def _names(blocks: tuple[StructuredData, ...], url: str) -> tuple[str, ...]:
    first = read_data(blocks, url)
    return (first.main.title,) if first.main is not None and first.main.title else ()


class _Sources:
    """Gathers where each fact is from."""

    def __init__(self) -> None:
        self.found: list[FactSource] = []

    def add(self, field: str, source: str, quote: str) -> None:
        one = FactSource(field=field, source=source, quote=" ".join(quote.split())[:240])
        if quote and one not in self.found:
            self.found.append(one)

    def choose(self, field: str, page: str, data: StructuredProduct | None, from_data: str) -> str:
        """The page's word if it has one, else the data's; both are noted."""
        self.add(field, "page", page)
        if data is not None:
            self.add(field, data.source, from_data)
        return page or from_data


def product_facts(reading: PageReading) -> ProductFacts:
    """All facts of a page that was read, with their sources."""
    regions, data, main = reading.regions, reading.data, reading.data.main
    sources = _Sources()
    hint = _currency(reading)
    title = words_of(regions.title)[:500] if regions.title is not None else (main.title if main else "")
    sources.add("title", "page" if regions.title is not None else main.source if main else "", title)
    pairs = _attributes(regions, main)
    price, list_price = _prices(reading, hint, sources)
    shipping, shipping_quote = _shipping(reading, pairs, price, hint, sources)
    stock = terms.stock(regions)
    availability = stock.availability
    sources.add("availability", "page", stock.quote)
    if main is not None and main.availability != "unknown":
        sources.add("availability", main.source, main.availability)
        availability = availability if availability != "unknown" else main.availability
    items = review_elements(regions)
    inside = frozenset(one for item in items for one in item.iter())
    rating = page_rating(regions, inside)
    sources.add("rating", "page", rating.quote)
    value, count = rating.value, rating.count
    if main is not None:
        sources.add("rating", main.source, main.rating_quote)
        counted = main.ratings_count if main.ratings_count is not None else main.reviews_count
        sources.add("rating_count", main.source, "" if counted is None else str(counted))
        value = value if value is not None or rating.none_yet else main.rating
        count = count if count is not None else counted
    sources.add("rating_count", "page", rating.quote if rating.count is not None else "")
    texts = {
        "delivery_text": terms.delivery(regions, pairs),
        "returns_text": terms.returns(regions, pairs),
        "warranty_text": terms.warranty(regions, pairs),
    }
    for field, text in texts.items():
        sources.add(field, "page", text)
    brand = _brand(regions, pairs, main, sources)
    choices = forms.variants(regions, hint) or (main.variants if main is not None else ())
    shown = details.description(regions)
    return ProductFacts(
        title=title,
        brand=brand,
        seller=sources.choose("seller", details.seller(regions, pairs), main, main.seller if main else ""),
        categories=details.categories(regions, data.crumbs, title) or _path(main),
        price=price,
        list_price=list_price,
        shipping=shipping,
        shipping_text=shipping_quote,
        availability=availability,
        rating=value,
        rating_count=count,
        reviews=merged(read_reviews(items), main.reviews if main is not None else ()),
        description=sources.choose("description", shown, main, main.description if main else ""),
        features=details.features(regions),
        attributes=pairs,
        variants=choices,
        picture_count=forms.picture_count(regions, title, main.picture_count if main is not None else None),
        sources=tuple(sources.found),
        **texts,
    )


def _path(main: StructuredProduct | None) -> tuple[str, ...]:
    said = main.category if main is not None else ""
    return tuple(piece.strip() for piece in said.replace("/", ">").split(">") if piece.strip())[:12]


def _attributes(regions: Regions, main: StructuredProduct | None) -> tuple[Attribute, ...]:
    shown = details.attributes(regions)
    names = {one.name.casefold() for one in shown}
    extra = main.attributes if main is not None else ()
    return (*shown, *(one for one in extra if one.name.casefold() not in names))


def _brand(regions: Regions, pairs: tuple[Attribute, ...], main: StructuredProduct | None, sources: _Sources) -> str:
    """Data before the page: it names the brand in a field of its own, where the page needs guessing."""
    shown = details.brand(regions, pairs)
    sources.add("brand", "page", shown)
    said = main.brand if main is not None else ""
    if main is not None:
        sources.add("brand", main.source, said)
    return said or shown


def _currency(reading: PageReading) -> str:
    """The currency that the page names: in its data, in its head, by its language; "" where none does."""
    document = reading.document
    return (
        reading.data.currency
        or currency_code(document.meta.get("product:price:currency", ""))
        or currency_code(document.meta.get("pricecurrency", ""))
        or CURRENCY_OF_LANGUAGE.get(document.language, "")
        or CURRENCY_OF_LANGUAGE.get(document.language.partition("-")[0], "")
    )


def _prices(reading: PageReading, hint: str, sources: _Sources) -> tuple[Money | None, Money | None]:
    visible, main = reading.price, reading.data.main
    known = main.price if main is not None else None
    shown = as_money(visible.current, hint) if visible.current is not None else None
    if visible.current is not None:
        sources.add("price", "page", visible.current.quote)
    if main is not None and known is not None:
        least = "at least " if main.lowest_only else ""
        sources.add("price", main.source, f"{least}{known.amount:g} {known.currency}".strip())
    for one in (*([main] if main is not None else []), *reading.data.others):
        if one.source == "opengraph" and one.price is not None:
            sources.add("price", "opengraph", f"{one.price.amount:g} {one.price.currency}".strip())
    price = shown if shown is not None and (visible.clear or known is None) else known
    listed = visible.list_price
    if listed is None or price is None or listed.price.amount <= price.amount:
        return price, None
    sources.add("list_price", "page", listed.quote)
    return price, as_money(listed, hint)


def _shipping(
    reading: PageReading, pairs: tuple[Attribute, ...], price: Money | None, hint: str, sources: _Sources
) -> tuple[Money | None, str]:
    main = reading.data.main
    words = terms.shipping_words(reading.regions, pairs, hint)
    found = decide(words, price)
    sources.add("shipping", "page", found.quote)
    if main is not None:
        sources.add("shipping", main.source, main.shipping_quote)
    if found.cost is not None:
        return found.cost, found.quote
    return (main.shipping if main is not None else None), found.quote
