"""The data that a page carries for machines (JSON-LD, microdata, OpenGraph), and the one product that it describes.

extruct brings all three into the form of JSON-LD. The main product is that which the page's title names;
where that is not clear there is none, and the visible page decides alone.
"""

from __future__ import annotations

import html as entities
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple
from urllib.parse import urljoin, urlsplit

import msgspec

from grounding.benchmarks.agenticshop.extraction.prices import currency_code, find_prices
from grounding.benchmarks.agenticshop.records import Attribute, Availability, Money, ProductFacts, StructuredData

MAX_HTML_CHARS = 8_000_000
MAX_BLOCKS = 60
MAX_BLOCK_CHARS = 200_000
MAX_TOTAL_CHARS = 1_000_000
MAX_MICRODATA_NODES = 3_000
"""Elements with ``itemprop``: a page with more is not read for microdata, whose cost grows with their nesting."""

MAX_DEPTH = 24
MAX_MANY = 100
SAME_NAME = 80.0

Node = dict[str, Any]


def structured_data(html: str, url: str) -> tuple[StructuredData, ...]:
    """The blocks of a document after its scripts: JSON-LD in its order, then microdata, then OpenGraph."""
    import extruct
    from extruct.jsonld import JsonLdExtractor

    document = parsed(html)
    if document is None:
        return ()
    found: dict[Literal["json-ld", "microdata", "opengraph"], list[Any]] = {"json-ld": []}
    for script in document.iter("script"):
        # The library asks for this very word, and a page may say it with a charset or in capitals.
        script.set("type", (script.get("type") or "").partition(";")[0].strip().lower())
        if len(script.text or "") <= MAX_TOTAL_CHARS:
            # One script at a time, so that a broken one takes no other with it.
            with suppress(ValueError, RecursionError):
                found["json-ld"] += JsonLdExtractor().extract_items(script)
    few = len(document.xpath(f"(//*[@itemprop])[position() <= {MAX_MICRODATA_NODES + 1}]")) <= MAX_MICRODATA_NODES
    for source in ("microdata", "opengraph") if few else ("opengraph",):
        with suppress(ValueError, RecursionError, AssertionError, AttributeError, KeyError):
            found |= extruct.extract(document, base_url=url, syntaxes=[source], uniform=True, errors="strict")
    blocks: list[StructuredData] = []
    left = MAX_TOTAL_CHARS
    for source, items in found.items():
        for item in items[:MAX_BLOCKS]:
            with suppress(RecursionError, UnicodeEncodeError):
                text = msgspec.json.encode(item).decode()
                if len(text) <= min(left, MAX_BLOCK_CHARS):
                    blocks.append(StructuredData(source=source, json=text))
                    left -= len(text)
    return tuple(blocks)


def parsed(html: str) -> Any:
    """A page as lxml's tree, nothing fetched or run; None where there is nothing to parse."""
    import lxml.etree
    import lxml.html

    if not html.strip():
        return None
    parser = lxml.html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=True)
    raw = html[:MAX_HTML_CHARS].replace("\0", "\ufffd").encode("utf-8", "replace")
    try:
        return lxml.html.document_fromstring(raw, parser=parser)
    except (lxml.etree.ParserError, ValueError):
        return None


def joined(url: str, address: str) -> tuple[str, str]:
    """An address on a page in full, and its path without a slash behind; both "" where it is none."""
    try:
        full = urljoin(url, address)
        return full, urlsplit(full).path.rstrip("/")
    except ValueError:
        return "", ""


_PRODUCTS = frozenset(("Product", "ProductGroup", "ProductModel", "IndividualProduct", "Book", "Vehicle", "product"))
_LISTS = frozenset(("ItemList", "SearchResultsPage", "CollectionPage", "OfferCatalog", "ProductCollection"))
_STOCK: dict[str, Availability] = {
    "instock": "in_stock", "instoreonly": "in_stock", "onlineonly": "in_stock", "limitedavailability": "in_stock",
    "outofstock": "sold_out", "soldout": "sold_out", "discontinued": "sold_out",
}  # fmt: skip


class PageData(NamedTuple):
    """What a page's data says; ``source`` is the kind of block that describes its main product, "" for none."""

    facts: ProductFacts
    source: str
    is_list: bool
    currency: str


def read_data(blocks: Sequence[StructuredData], url: str, title: str = "") -> PageData:
    from rapidfuzz import fuzz
    from rapidfuzz.utils import default_process

    found: list[tuple[float, ProductFacts, str]] = []
    is_list = False
    for block in blocks:
        with suppress(msgspec.DecodeError, RecursionError):
            for node in _objects(msgspec.json.decode(block.json)):
                is_list = is_list or bool(_kinds(node) & _LISTS)
                if _kinds(node) & _PRODUCTS:
                    facts = _facts(node, url)
                    like = fuzz.WRatio(facts.title, title, processor=default_process)
                    found.append((like, facts, block.source))
    own = [one for one in found if one[2] != "opengraph" and (one[0] >= SAME_NAME or not title)]
    own = found if len(found) == 1 and found[0][2] == "opengraph" else own
    _, facts, source = max(own, key=lambda one: (one[0], one[1].price is not None), default=(0, ProductFacts(), ""))
    currencies = (one.price.currency for one in (facts, *(each[1] for each in found)) if one.price)
    return PageData(facts, source, is_list, next(filter(None, currencies), ""))


def _facts(node: Node, url: str) -> ProductFacts:
    offers = [each for one in _dicts(node, "offers") for each in (one, *_dicts(one, "offers"))]
    if "product" in _kinds(node):
        tags = ("price:amount", "price:currency", "availability", "brand")
        price, currency, stock, brand = (node.get(f"product:{tag}") or node.get(f"og:{tag}") for tag in tags)
        offers = [{"price": price, "priceCurrency": currency, "availability": stock}]
        node = {"name": node.get("og:title"), "brand": brand, "description": node.get("og:description")}
    specified = [{**one, **each} for one in offers for each in _dicts(one, "priceSpecification")]
    stated = [(money, one) for one in (*offers, *specified) if (money := _stated(one)) is not None]
    # The price and its offer: that of the page's own address, or the least.
    query = urlsplit(url).query
    own = [pair for pair in stated if query and _text(pair[1].get("url")).partition("?")[2] == query]
    least = min(own or stated, key=lambda pair: pair[0].amount, default=(None, offers[0] if offers else {}))
    rating = next(iter(_dicts(node, "aggregateRating")), {})
    counted = _number(rating.get("ratingCount")) or _number(rating.get("reviewCount"))
    value, best = _number(rating.get("ratingValue")), _number(rating.get("bestRating"))
    category = _name(node, "category")
    details = [(_name(one, "name"), _name(one, "value")) for one in _dicts(node, "additionalProperty")]
    stocks = (re.split(r"[/#:]", _text(one.get("availability")))[-1] for one in (least[1], *offers))
    known = (_STOCK.get(re.sub(r"[_ ]", "", one.lower())) for one in stocks)
    return ProductFacts(
        title=_text(node.get("name")),
        brand=_name(node, "brand") or _name(node, "manufacturer"),
        seller=_name(least[1], "seller"),
        categories=() if "://" in category else tuple(filter(None, re.split(r"\s*[>/]\s*", category)))[:12],
        price=least[0],
        availability=next(filter(None, known), "unknown"),
        rating=None if value is None else out_of_five(value, best or (5.0 if value <= 5 else 10.0)),
        rating_count=None if counted is None else int(counted),
        description=_text(node.get("description"))[:5_000],
        attributes=tuple(Attribute(name=name[:120], value=value[:500]) for name, value in details if name and value),
    )


def _stated(offer: Node) -> Money | None:
    """The price of an offer; data has a point for decimals, else it is read as a text is."""
    currency, said = currency_code(_text(offer.get("priceCurrency"))), _text(offer.get("price", offer.get("lowPrice")))
    if re.fullmatch(r"\d{1,9}(?:\.\d{1,4})?", said):
        return Money(amount=float(said), currency=currency)
    prices = find_prices(said if currency_code(said[:1]) or not currency else f"{currency} {said}")
    return prices[0].money(currency) if len(prices) == 1 and len(said) < 60 else None


def out_of_five(value: float, best: float) -> float | None:
    """A rating on another scale, which begins at zero, as one out of five; None where it lies outside of its scale."""
    return round(value * 5.0 / best, 2) if best > 0 and 0 <= value <= best else None


def _objects(value: Any, depth: int = 0) -> Iterator[Node]:
    """All objects of a block that are no part of a product or of a list's entry."""
    if isinstance(value, dict):
        yield value
        value = [] if _kinds(value) & (_PRODUCTS | _LISTS) else list(value.values())
    if isinstance(value, list) and depth < MAX_DEPTH:
        for one in value[:MAX_MANY]:
            yield from _objects(one, depth + 1)


def _kinds(node: Node) -> frozenset[str]:
    return frozenset(re.split(r"[/#:]", one)[-1] for one in _list(node, "@type") if isinstance(one, str))


def _list(node: Node, name: str) -> list[Any]:
    value = node.get(name)
    return value[:MAX_MANY] if isinstance(value, list) else [value] if value else []


def _dicts(node: Node, name: str) -> list[Node]:
    return [one for one in _list(node, name) if isinstance(one, dict)]


def _text(value: Any, keys: Sequence[str] = ("@value", "@id")) -> str:
    """A value as a line of text, without tags and entities; of a list the first, of an object what a key names."""
    one = value[0] if isinstance(value, list) and value else value
    if isinstance(one, dict):
        return next((said for key in keys if (said := _text(one.get(key), keys))), "")
    said = str(one) if isinstance(one, str | int | float) and not isinstance(one, bool) else ""
    return " ".join(entities.unescape(re.sub(r"<[^<>]{1,200}>", " ", said)).split())


def _name(node: Node, name: str) -> str:
    return _text(node.get(name), ("name", "value", "@value"))


def _number(value: Any) -> float | None:
    """A value as a number, such as 4.4 of "4,4 / 5"; None where it is none. "1,284" counts."""
    match = re.match(r"\d{1,12}(?:[.,]\d{1,4})?", _text(value))
    if match is None:
        return None
    return float(match[0].replace(",", "" if re.fullmatch(r"\d+,\d{3}", match[0]) else "."))
