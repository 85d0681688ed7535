"""What a page's machine-readable data says of its one product, out of schema.org's and OpenGraph's words.

A page may carry data of several products: recommended ones, variants, a list. The main one is that which the page's own
address or title names; where that is not clear there is none, and the visible page decides alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urljoin, urlsplit

from grounding.records import Record
from grounding.webagents.agenticshop.extraction.described import StructuredProduct, described, stated_money, stock_word
from grounding.webagents.agenticshop.extraction.nodes import (
    LISTS,
    PRODUCTS,
    Node,
    as_list,
    as_name,
    as_number,
    as_text,
    decoded,
    flat,
    nodes,
    types_of,
)
from grounding.webagents.agenticshop.records import (
    StructuredData,
)


class PageData(Record, frozen=True, kw_only=True):
    """All that a page's data says: its main product, how many products, whether it calls itself a list, its path."""

    main: StructuredProduct | None = None
    others: tuple[StructuredProduct, ...] = ()
    products: int = 0
    is_list: bool = False
    crumbs: tuple[str, ...] = ()
    currency: str = ""
    og_type: str = ""


def read_data(blocks: Sequence[StructuredData], url: str, title: str = "") -> PageData:
    """Read the blocks of a page.

    Args:
        blocks: As ``structured_data`` gives them.
        url: The page's address.
        title: Its title as shown, to tell its own product from others.
    """
    products: list[StructuredProduct] = []
    crumbs: tuple[str, ...] = ()
    is_list = False
    for block in blocks:
        if block.source == "opengraph":
            continue
        top = decoded(block)
        for node, nested in nodes(top):
            kinds = types_of(node)
            if kinds & PRODUCTS and not nested:
                products.append(described(node, block.source, url))
            elif kinds & LISTS:
                is_list = True
            elif "BreadcrumbList" in kinds and not crumbs:
                crumbs = _crumbs(node)
    graph = _opengraph(blocks)
    main = _main(products, url, title)
    shown = _from_opengraph(graph, url)
    if main is None and not products and shown is not None:
        main = shown
    hint = next(
        (one.price.currency for one in (main, *products, shown) if one and one.price and one.price.currency), ""
    )
    return PageData(
        main=main,
        others=(*(one for one in products if one is not main), *((shown,) if shown and shown is not main else ())),
        products=len(products),
        is_list=is_list,
        crumbs=crumbs,
        currency=hint,
        og_type=graph.get("og:type", ""),
    )


def _main(products: Sequence[StructuredProduct], url: str, title: str) -> StructuredProduct | None:
    if not products:
        return None
    here = urlsplit(url).path.rstrip("/")
    own = [one for one in products if one.url and urlsplit(one.url).path.rstrip("/") == here]
    named = [one for one in products if title and one.title and likeness(one.title, title) >= SAME_NAME]
    for found in ([one for one in own if one in named], named, own if not title else []):
        if found:
            return max(
                found, key=lambda one: (likeness(one.title, title), one.price is not None, one.source == "json-ld")
            )
    return products[0] if len(products) == 1 and not title else None


SAME_NAME = 80.0
"""From this likeness on two names are of one product."""


def likeness(name: str, title: str) -> float:
    """How alike two names are, 0 to 100; one that holds most of the other, or three words of it, is alike."""
    from rapidfuzz import fuzz

    one, other = sorted((" ".join(name.casefold().split()), " ".join(title.casefold().split())), key=len)
    alike = float(fuzz.token_sort_ratio(one, other))
    if one and one in other and (len(one) * 5 >= len(other) * 3 or len(one.split()) >= 3):
        return max(alike, 90.0)
    return alike


# --- OpenGraph and crumbs -----------------------------------------------------------------------------------------


def _opengraph(blocks: Sequence[StructuredData]) -> dict[str, str]:
    found: dict[str, str] = {}
    for block in blocks:
        pairs = decoded(block) if block.source == "opengraph" else None
        for pair in (pairs or {}).get("properties", []) if isinstance(pairs, dict) else []:
            if isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, str) for one in pair):
                found.setdefault(pair[0], pair[1])
    return found


def _from_opengraph(graph: dict[str, str], url: str) -> StructuredProduct | None:
    amount = graph.get("product:price:amount") or graph.get("og:price:amount") or ""
    currency = graph.get("product:price:currency") or graph.get("og:price:currency") or ""
    if not amount and "product" not in graph.get("og:type", ""):
        return None
    address = graph.get("og:url", "")
    return StructuredProduct(
        source="opengraph",
        title=graph.get("og:title", ""),
        url=urljoin(url, address) if address else "",
        brand=graph.get("product:brand") or graph.get("og:brand") or "",
        description=graph.get("og:description", "")[:5_000],
        price=stated_money(amount, {"priceCurrency": currency}) if amount else None,
        availability=stock_word({"availability": graph.get("product:availability") or graph.get("og:availability")}),
    )


def _crumbs(node: Node) -> tuple[str, ...]:
    entries = []
    for place, one in enumerate(as_list(node.get("itemListElement"))[:20]):
        if isinstance(one, dict):
            entry = flat(one)
            name = as_text(entry.get("name")) or as_name(entry.get("item"))
            position = as_number(entry.get("position"))
            if name:
                entries.append((position if position is not None else float(place), name[:120]))
    return tuple(name for _, name in sorted(entries, key=lambda entry: entry[0]))
