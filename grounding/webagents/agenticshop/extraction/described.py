"""One product as a page's data describes it: schema.org's words to a typed record."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urljoin, urlsplit

from grounding.records import Record
from grounding.webagents.agenticshop.extraction.nodes import (
    Node,
    as_count,
    as_list,
    as_name,
    as_number,
    as_text,
    first_node,
    flat,
    types_of,
)
from grounding.webagents.agenticshop.extraction.price import currency_code, parse_money
from grounding.webagents.agenticshop.records import (
    Attribute,
    Availability,
    CustomerReview,
    Money,
    Variant,
)

MAX_REVIEWS = 200
MAX_VARIANTS = 100
MAX_ATTRIBUTES = 100
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


# --- one product --------------------------------------------------------------------------------------------------


def described(node: Node, source: str, url: str) -> StructuredProduct:
    """One product's object as a record."""
    offers = _offers(node)
    price, lowest_only, chosen = _price(offers, url)
    rating, quote = _rating(first_node(node.get("aggregateRating")))
    counts = first_node(node.get("aggregateRating"))
    shipping, said = _shipping(chosen)
    images = node.get("image")
    address = as_text(node.get("url") or node.get("@id"))
    return StructuredProduct(
        source=source,
        title=as_text(node.get("name")),
        url=urljoin(url, address) if address and not address.startswith("#") else "",
        brand=as_name(node.get("brand")) or as_name(node.get("manufacturer")),
        seller=as_name(chosen.get("seller")) or as_name(chosen.get("offeredBy")),
        category="" if "://" in (category := as_name(node.get("category"))) else category,
        description=as_text(node.get("description"))[:5_000],
        price=price,
        lowest_only=lowest_only,
        shipping=shipping,
        shipping_quote=said,
        availability=_stock(offers, chosen),
        rating=rating,
        rating_quote=quote,
        ratings_count=as_count(counts.get("ratingCount")),
        reviews_count=as_count(counts.get("reviewCount")),
        reviews=_reviews(node.get("review") or node.get("reviews")),
        attributes=_attributes(node),
        variants=_variants(node, offers),
        picture_count=len(images) if isinstance(images, list) and images else 1 if images else None,
    )


def _offers(node: Node) -> list[Node]:
    """The offers of a product; those within an aggregate come after it."""
    found: list[Node] = []
    for one in as_list(node.get("offers")):
        if isinstance(one, dict):
            found.append(flat(one))
            found.extend(flat(inner) for inner in as_list(flat(one).get("offers")) if isinstance(inner, dict))
    return found[:MAX_VARIANTS]


def _price(offers: Sequence[Node], url: str) -> tuple[Money | None, bool, Node]:
    """The price, whether it is the least of several, and the offer that it is from.

    The offer whose address is the page's own is taken; else the first, if all cost the same.
    """
    priced = [(offer, _offer_price(offer)) for offer in offers]
    single = [
        (offer, price) for offer, price in priced if price is not None and "AggregateOffer" not in types_of(offer)
    ]
    query = urlsplit(url).query
    for offer, price in single:
        address = as_text(offer.get("url"))
        if query and address and urlsplit(address).query == query:
            return price, False, offer
    if single:
        amounts = {price.amount for _, price in single}
        offer, price = min(single, key=lambda pair: pair[1].amount) if len(amounts) > 1 else single[0]
        return price, len(amounts) > 1, offer
    for offer in offers:
        low = stated_money(offer.get("lowPrice"), offer)
        if low is not None:
            high = stated_money(offer.get("highPrice"), offer)
            return low, high is None or high.amount != low.amount, offer
    return None, False, offers[0] if offers else {}


def _offer_price(offer: Node) -> Money | None:
    said = offer.get("price")
    if said not in (None, ""):
        return stated_money(said, offer)
    for one in as_list(offer.get("priceSpecification")):
        if isinstance(one, dict):
            specified = flat(one)
            if "ListPrice" in as_text(specified.get("priceType")) or "Unit" in "".join(types_of(specified)):
                continue
            return stated_money(specified.get("price"), {**offer, **specified})
    return None


def stated_money(value: Any, around: Node) -> Money | None:
    """A value as money in the currency that stands beside it; None where it is no price."""
    currency = currency_code(as_text(around.get("priceCurrency") or around.get("currency")))
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return Money(amount=float(value), currency=currency) if _plausible(float(value)) else None
    said = as_text(value)
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
    for one in as_list(offer.get("shippingDetails")):
        if not isinstance(one, dict):
            continue
        rate = first_node(flat(one).get("shippingRate"))
        cost = stated_money(rate.get("value", rate.get("price")), {"priceCurrency": rate.get("currency", ""), **rate})
        if cost is not None:
            currency = cost.currency or currency_code(as_text(offer.get("priceCurrency")))
            rates.append(Money(amount=cost.amount, currency=currency))
    if not rates:
        return None, ""
    least = min(rates, key=lambda one: one.amount)
    return least, f"shippingRate {least.amount:g} {least.currency}".strip()


def _stock(offers: Sequence[Node], chosen: Node) -> Availability:
    said = stock_word(chosen)
    if said != "unknown":
        return said
    all_said = {stock_word(offer) for offer in offers} - {"unknown"}
    return "in_stock" if "in_stock" in all_said else "sold_out" if all_said else "unknown"


def stock_word(offer: Node) -> Availability:
    """What an offer's word for its stock means."""
    word = re.split(r"[/#:]", as_text(offer.get("availability")))[-1].lower().replace("_", "").replace(" ", "")
    return "in_stock" if word in _IN_STOCK else "sold_out" if word in _SOLD_OUT else "unknown"


def _rating(node: Node) -> tuple[float | None, str]:
    value, best, worst = (as_number(node.get(name)) for name in ("ratingValue", "bestRating", "worstRating"))
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
    for one in as_list(value)[:MAX_REVIEWS]:
        if not isinstance(one, dict):
            continue
        node = flat(one)
        text = as_text(node.get("reviewBody") or node.get("description"))
        if text:
            rating, _ = _rating(first_node(node.get("reviewRating")))
            found.append(CustomerReview(text=text[:5_000], title=as_text(node.get("name"))[:300], rating=rating))
    return tuple(found)


def _attributes(node: Node) -> tuple[Attribute, ...]:
    found = [
        Attribute(name=as_text(flat(one).get("name"))[:120], value=as_name(flat(one).get("value"))[:500])
        for one in as_list(node.get("additionalProperty"))[:MAX_ATTRIBUTES]
        if isinstance(one, dict)
    ]
    for name in ("color", "material", "size", "model", "sku", "gtin13", "pattern", "weight"):
        value = as_name(node.get(name))
        if value:
            found.append(Attribute(name=name, value=value[:500]))
    return tuple(one for one in found if one.name and one.value)


def _variants(node: Node, offers: Sequence[Node]) -> tuple[Variant, ...]:
    found = []
    for one in as_list(node.get("hasVariant"))[:MAX_VARIANTS]:
        if isinstance(one, dict):
            inner = flat(one)
            own = _offers(inner)
            price, _, chosen = _price(own, "")
            form = " ".join(
                filter(None, (as_name(inner.get(name)) for name in ("size", "color", "material", "pattern")))
            )
            name = form or as_text(inner.get("name"))
            if name:
                found.append(Variant(name=name[:200], price=price, availability=_stock(own, chosen)))
    if found:
        return tuple(found)
    named = [offer for offer in offers if "AggregateOffer" not in types_of(offer) and as_text(offer.get("name"))]
    if len(named) < 2:
        return ()
    return tuple(
        Variant(name=as_text(one.get("name"))[:200], price=_offer_price(one), availability=stock_word(one))
        for one in named
    )
