"""Small pages of shops for tests, and the shortest way from HTML to facts."""

from __future__ import annotations

from typing import Any

from grounding.benchmarks.agenticshop.extraction.structural import Extracted, extract_page
from grounding.benchmarks.agenticshop.records import ProductFacts, RenderedPage

URL = "https://shop.test/p/copper-kettle"


def made_page(**more: Any) -> RenderedPage:
    fields: dict[str, Any] = {"url": URL, "final_url": URL, "status": 200, "content_type": "text/html"}
    return RenderedPage(**{**fields, **more})


def html_of(body: str, *, head: str = "", title: str = "Copper Kettle 1.7 L | Harbour Goods", lang: str = "en") -> str:
    return f'<!doctype html><html lang="{lang}"><head><title>{title}</title>{head}</head><body>{body}</body></html>'


def product(
    offer: str = '<div class="price">$59.00</div>',
    *,
    after: str = "",
    buy: str = "<button>Add to cart</button>",
    **more: str,
) -> str:
    """A plain product page: title, offer, a way to buy, and what else is asked for."""
    return html_of(
        '<header><a href="/">Harbour Goods</a><nav><a href="/c/kettles">Kettles</a></nav></header>'
        f'<main><h1>Copper Kettle 1.7 L</h1><div class="info">{offer}{buy}</div>{after}</main>'
        "<footer>Harbour Goods, Quay 1</footer>",
        **more,
    )


def json_ld(**more: str) -> str:
    """A script of JSON-LD; the keywords are fields of the product as JSON text."""
    named = {"name": '"Copper Kettle 1.7 L"'} | {name.strip("_"): value for name, value in more.items()}
    fields = "".join(f', "{name}": {value}' for name, value in named.items())
    return (
        f'<script type="application/ld+json">{{"@context": "https://schema.org", "@type": "Product"{fields}}}</script>'
    )


def offer_json(price: str, currency: str = "USD", **more: str) -> str:
    fields = "".join(f', "{name}": {value}' for name, value in more.items())
    return f'{{"@type": "Offer", "price": "{price}", "priceCurrency": "{currency}"{fields}}}'


def extracted(html: str, **more: Any) -> Extracted:
    return extract_page(made_page(**more), html)


def facts(html: str, **more: Any) -> ProductFacts:
    found = extracted(html, **more)
    assert found.page_class == "product", (found.page_class, found.class_reason)
    assert found.facts is not None
    return found.facts


def quotes(of: ProductFacts, field: str) -> dict[str, str]:
    """The words behind a fact by where they are from."""
    return {one.source: one.quote for one in of.sources if one.field == field}
