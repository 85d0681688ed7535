"""What a page's machine-readable data says of its one product, out of schema.org's and OpenGraph's words.

A page may carry data of several products: recommended ones, variants, a list. The main one is that which the page's own
address or title names; where that is not clear there is none, and the visible page decides alone.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urljoin, urlsplit

import msgspec

from grounding.records import Record
from grounding.webagents.agenticshop.extraction.price import currency_code, parse_money
from grounding.webagents.agenticshop.records import (
    Attribute,
    Availability,
    CustomerReview,
    Money,
    StructuredData,
    Variant,
)

Node = dict[str, Any]
MAX_NODES = 3_000
MAX_REVIEWS = 200
MAX_VARIANTS = 100
MAX_ATTRIBUTES = 100
_LISTS = frozenset(("ItemList", "SearchResultsPage", "CollectionPage", "OfferCatalog", "ProductCollection"))
_PRODUCTS = frozenset(
    ("Product", "ProductGroup", "ProductModel", "IndividualProduct", "SomeProducts", "Book", "Vehicle")
)
_IN_STOCK = frozenset(("instock", "instoreonly", "onlineonly", "limitedavailability"))
_SOLD_OUT = frozenset(("outofstock", "soldout", "discontinued"))


class StructuredProduct(Record, frozen=True, kw_only=True):
    """One product as data describes it. ``source`` is the kind of block; unknown is None or "".

    ``lowest_only`` marks a price that is the least of several. ``reviews_count`` and ``ratings_count`` are as given.
    """

    source: str
    title: str = ""
    url: str = ""
    brand: str = ""
    seller: str = ""
    category: str = ""
    description: str = ""
    price: Money | None = None
    lowest_only: bool = False
    shipping: Money | None = None
    shipping_quote: str = ""
    availability: Availability = "unknown"
    rating: float | None = None
    rating_quote: str = ""
    ratings_count: int | None = None
    reviews_count: int | None = None
    reviews: tuple[CustomerReview, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    variants: tuple[Variant, ...] = ()
    picture_count: int | None = None


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
        top = _decoded(block)
        for node, nested in _nodes(top):
            kinds = _kinds(node)
            if kinds & _PRODUCTS and not nested:
                products.append(_product(node, block.source, url))
            elif kinds & _LISTS:
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


# --- finding nodes ------------------------------------------------------------------------------------------------


def _decoded(block: StructuredData) -> Any:
    try:
        return msgspec.json.decode(block.json)
    except (msgspec.DecodeError, RecursionError):
        return None


def _nodes(top: Any) -> Iterator[tuple[Node, bool]]:
    """All typed objects of a block, and whether they are part of a product or of an entry of a list."""
    stack: list[tuple[Any, bool]] = [(top, False)]
    seen = 0
    while stack and seen < MAX_NODES:
        value, nested = stack.pop(0)
        seen += 1
        if isinstance(value, list):
            stack.extend((one, nested) for one in value)
        elif isinstance(value, dict):
            node = _flat(value)
            kinds = _kinds(node)
            if kinds:
                yield node, nested
            inside = nested or bool(kinds & (_PRODUCTS | _LISTS | {"ListItem", "Offer", "Review"}))
            stack.extend((one, inside) for one in node.values() if isinstance(one, dict | list))


def _flat(node: Node) -> Node:
    """A node of microdata, whose values lie in ``properties``, as one of JSON-LD."""
    properties = node.get("properties")
    if isinstance(properties, dict) and "type" in node:
        return {"@type": node["type"], **properties}
    return node


def _kinds(node: Node) -> frozenset[str]:
    said = node.get("@type", "")
    named = said if isinstance(said, list) else [said]
    return frozenset(re.split(r"[/#:]", one)[-1] for one in named if isinstance(one, str) and one)


def _main(products: Sequence[StructuredProduct], url: str, title: str) -> StructuredProduct | None:
    from rapidfuzz import fuzz

    if not products:
        return None
    here = urlsplit(url).path.rstrip("/")
    own = [one for one in products if one.url and urlsplit(one.url).path.rstrip("/") == here]
    shown = title.casefold()
    named = [one for one in products if shown and one.title and fuzz.token_set_ratio(one.title.casefold(), shown) >= 85]
    for found in ([one for one in own if one in named], named, own if not shown else []):
        if found:
            return max(found, key=lambda one: (one.price is not None, one.source == "json-ld"))
    return products[0] if len(products) == 1 and not shown else None


# --- one product --------------------------------------------------------------------------------------------------


def _product(node: Node, source: str, url: str) -> StructuredProduct:
    offers = _offers(node)
    price, lowest_only, chosen = _price(offers, url)
    rating, quote = _rating(_first(node.get("aggregateRating")))
    counts = _first(node.get("aggregateRating"))
    shipping, said = _shipping(chosen)
    images = node.get("image")
    address = _text(node.get("url") or node.get("@id"))
    return StructuredProduct(
        source=source,
        title=_text(node.get("name")),
        url=urljoin(url, address) if address and not address.startswith("#") else "",
        brand=_name(node.get("brand")) or _name(node.get("manufacturer")),
        seller=_name(chosen.get("seller")) or _name(chosen.get("offeredBy")),
        category="" if "://" in (category := _name(node.get("category"))) else category,
        description=_text(node.get("description"))[:5_000],
        price=price,
        lowest_only=lowest_only,
        shipping=shipping,
        shipping_quote=said,
        availability=_stock(offers, chosen),
        rating=rating,
        rating_quote=quote,
        ratings_count=_count(counts.get("ratingCount")),
        reviews_count=_count(counts.get("reviewCount")),
        reviews=_reviews(node.get("review") or node.get("reviews")),
        attributes=_attributes(node),
        variants=_variants(node, offers),
        picture_count=len(images) if isinstance(images, list) and images else 1 if images else None,
    )


def _offers(node: Node) -> list[Node]:
    """The offers of a product; those within an aggregate come after it."""
    found: list[Node] = []
    for one in _list(node.get("offers")):
        if isinstance(one, dict):
            found.append(_flat(one))
            found.extend(_flat(inner) for inner in _list(_flat(one).get("offers")) if isinstance(inner, dict))
    return found[:MAX_VARIANTS]


def _price(offers: Sequence[Node], url: str) -> tuple[Money | None, bool, Node]:
    """The price, whether it is the least of several, and the offer that it is from.

    The offer whose address is the page's own is taken; else the first, if all cost the same.
    """
    priced = [(offer, _offer_price(offer)) for offer in offers]
    single = [(offer, price) for offer, price in priced if price is not None and "AggregateOffer" not in _kinds(offer)]
    query = urlsplit(url).query
    for offer, price in single:
        address = _text(offer.get("url"))
        if query and address and urlsplit(address).query == query:
            return price, False, offer
    if single:
        amounts = {price.amount for _, price in single}
        offer, price = min(single, key=lambda pair: pair[1].amount) if len(amounts) > 1 else single[0]
        return price, len(amounts) > 1, offer
    for offer in offers:
        low = _number_money(offer.get("lowPrice"), offer)
        if low is not None:
            high = _number_money(offer.get("highPrice"), offer)
            return low, high is None or high.amount != low.amount, offer
    return None, False, offers[0] if offers else {}


def _offer_price(offer: Node) -> Money | None:
    said = offer.get("price")
    if said not in (None, ""):
        return _number_money(said, offer)
    for one in _list(offer.get("priceSpecification")):
        if isinstance(one, dict):
            specified = _flat(one)
            if "ListPrice" in _text(specified.get("priceType")) or "Unit" in "".join(_kinds(specified)):
                continue
            return _number_money(specified.get("price"), {**offer, **specified})
    return None


def _number_money(value: Any, around: Node) -> Money | None:
    currency = currency_code(_text(around.get("priceCurrency") or around.get("currency")))
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return Money(amount=float(value), currency=currency) if _plausible(float(value)) else None
    said = _text(value)
    # Data has a point for decimals, whatever the page's language; else it is read as a page's text is.
    if re.fullmatch(r"\d{1,9}(?:\.\d{1,4})?", said):
        return Money(amount=float(said), currency=currency)
    found = parse_money(said, currency) if len(said) < 60 else None
    return Money(amount=found.amount, currency=found.currency or currency) if found else None


def _plausible(amount: float) -> bool:
    return math.isfinite(amount) and 0 <= amount <= 1e8


def _shipping(offer: Node) -> tuple[Money | None, str]:
    """The least cost of shipping that an offer states, and its words."""
    rates = []
    for one in _list(offer.get("shippingDetails")):
        if not isinstance(one, dict):
            continue
        rate = _first(_flat(one).get("shippingRate"))
        cost = _number_money(rate.get("value", rate.get("price")), {"priceCurrency": rate.get("currency", ""), **rate})
        if cost is not None:
            currency = cost.currency or currency_code(_text(offer.get("priceCurrency")))
            rates.append(Money(amount=cost.amount, currency=currency))
    if not rates:
        return None, ""
    least = min(rates, key=lambda one: one.amount)
    return least, f"shippingRate {least.amount:g} {least.currency}".strip()


def _stock(offers: Sequence[Node], chosen: Node) -> Availability:
    said = _stock_word(chosen)
    if said != "unknown":
        return said
    all_said = {_stock_word(offer) for offer in offers} - {"unknown"}
    return "in_stock" if "in_stock" in all_said else "sold_out" if all_said else "unknown"


def _stock_word(offer: Node) -> Availability:
    word = re.split(r"[/#:]", _text(offer.get("availability")))[-1].lower().replace("_", "").replace(" ", "")
    return "in_stock" if word in _IN_STOCK else "sold_out" if word in _SOLD_OUT else "unknown"


def _rating(node: Node) -> tuple[float | None, str]:
    value, best, worst = (_number(node.get(name)) for name in ("ratingValue", "bestRating", "worstRating"))
    if value is None:
        return None, ""
    quote = f"ratingValue {value:g}" + (f" of {best:g}" if best else "")
    return out_of_five(value, best or (5.0 if value <= 5 else 10.0 if value <= 10 else 100.0), worst or 0.0), quote


def out_of_five(value: float, best: float, worst: float = 0.0) -> float | None:
    """A rating on another scale as one out of five; None where it lies outside of its scale.

    The scale is taken to begin at zero, as "8.6 / 10" is meant, unless it begins below.
    """
    if not (math.isfinite(value) and math.isfinite(best)) or best <= 0 or value < 0 or value > best or worst < 0:
        return None
    return round(value * 5.0 / best, 2)


def _reviews(value: Any) -> tuple[CustomerReview, ...]:
    found = []
    for one in _list(value)[:MAX_REVIEWS]:
        if not isinstance(one, dict):
            continue
        node = _flat(one)
        text = _text(node.get("reviewBody") or node.get("description"))
        if text:
            rating, _ = _rating(_first(node.get("reviewRating")))
            found.append(CustomerReview(text=text[:5_000], title=_text(node.get("name"))[:300], rating=rating))
    return tuple(found)


def _attributes(node: Node) -> tuple[Attribute, ...]:
    found = [
        Attribute(name=_text(_flat(one).get("name"))[:120], value=_name(_flat(one).get("value"))[:500])
        for one in _list(node.get("additionalProperty"))[:MAX_ATTRIBUTES]
        if isinstance(one, dict)
    ]
    for name in ("color", "material", "size", "model", "sku", "gtin13", "pattern", "weight"):
        value = _name(node.get(name))
        if value:
            found.append(Attribute(name=name, value=value[:500]))
    return tuple(one for one in found if one.name and one.value)


def _variants(node: Node, offers: Sequence[Node]) -> tuple[Variant, ...]:
    found = []
    for one in _list(node.get("hasVariant"))[:MAX_VARIANTS]:
        if isinstance(one, dict):
            inner = _flat(one)
            own = _offers(inner)
            price, _, chosen = _price(own, "")
            form = " ".join(filter(None, (_name(inner.get(name)) for name in ("size", "color", "material", "pattern"))))
            name = form or _text(inner.get("name"))
            if name:
                found.append(Variant(name=name[:200], price=price, availability=_stock(own, chosen)))
    if found:
        return tuple(found)
    named = [offer for offer in offers if "AggregateOffer" not in _kinds(offer) and _text(offer.get("name"))]
    if len(named) < 2:
        return ()
    return tuple(
        Variant(name=_text(one.get("name"))[:200], price=_offer_price(one), availability=_stock_word(one))
        for one in named
    )


# --- OpenGraph and crumbs -----------------------------------------------------------------------------------------


def _opengraph(blocks: Sequence[StructuredData]) -> dict[str, str]:
    found: dict[str, str] = {}
    for block in blocks:
        pairs = _decoded(block) if block.source == "opengraph" else None
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
        price=_number_money(amount, {"priceCurrency": currency}) if amount else None,
        availability=_stock_word({"availability": graph.get("product:availability") or graph.get("og:availability")}),
    )


def _crumbs(node: Node) -> tuple[str, ...]:
    entries = []
    for place, one in enumerate(_list(node.get("itemListElement"))[:20]):
        if isinstance(one, dict):
            entry = _flat(one)
            name = _text(entry.get("name")) or _name(entry.get("item"))
            position = _number(entry.get("position"))
            if name:
                entries.append((position if position is not None else float(place), name[:120]))
    return tuple(name for _, name in sorted(entries, key=lambda entry: entry[0]))


# --- values -------------------------------------------------------------------------------------------------------


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _first(value: Any) -> Node:
    return next((_flat(one) for one in _list(value) if isinstance(one, dict)), {})


def _text(value: Any) -> str:
    match value:
        case str():
            return " ".join(html.unescape(re.sub(r"<[^<>]{1,200}>", " ", value)).split())
        case bool():
            return ""
        case int() | float():
            return f"{value:g}" if isinstance(value, float) else str(value)
        case list():
            return next((said for said in map(_text, value) if said), "")
        case dict():
            return _text(value.get("@value") or value.get("@id"))
    return ""


def _name(value: Any) -> str:
    one = value[0] if isinstance(value, list) and value else value
    if isinstance(one, dict):
        node = _flat(one)
        return _text(node.get("name") or node.get("value") or node.get("@value"))
    return _text(one)


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    said = _text(value).replace(",", ".")
    match = re.fullmatch(r"(-?\d{1,9}(?:\.\d{1,6})?)(?:\s?(?:/|out of|of)\s?\d+)?", said)
    return float(match[1]) if match else None


def _count(value: Any) -> int | None:
    if isinstance(value, str):
        digits = re.fullmatch(r"\d{1,3}(?:[,.\s]\d{3})+|\d{1,9}", value.strip())
        return int(re.sub(r"\D", "", digits[0])) if digits else None
    number = _number(value)
    return int(number) if number is not None and 0 <= number < 1e9 and number == int(number) else None
