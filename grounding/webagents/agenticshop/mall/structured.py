"""The data for machines that the grocer's pages carry, as schema.org has it; others have it in the markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grounding.webagents.agenticshop.mall.gold import address
from grounding.webagents.agenticshop.mall.records import Form, Goods, Place, Shop
from grounding.webagents.agenticshop.mall.wording import delivery_text


def json_ld(shop: Shop, goods: Goods) -> dict[str, Any]:
    """A product with an offer, or, where it comes in several forms, with the range of their prices."""
    offers = [_offer(shop, goods, form) for form in goods.forms]
    data: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "Product",
        "name": goods.title,
        "brand": {"@type": "Brand", "name": goods.brand},
        "category": goods.category,
        "description": goods.description,
        "image": [f"{shop.home_url}img/{name}" for name in goods.pictures],
        "url": address(shop, goods),
        "sku": goods.slug,
        "additionalProperty": [
            {"@type": "PropertyValue", "name": line.name, "value": line.value} for line in goods.attributes
        ],
    }
    if goods.rating is not None:
        data["aggregateRating"] = {
            "@type": "AggregateRating",
            "ratingValue": goods.rating,
            "bestRating": 5,
            "ratingCount": goods.rating_count,
        }
    if len(offers) == 1:
        data["offers"] = offers[0]
    else:
        prices = [form.price for form in goods.forms]
        data["offers"] = {
            "@type": "AggregateOffer",
            "lowPrice": min(prices),
            "highPrice": max(prices),
            "priceCurrency": shop.currency,
            "offerCount": len(offers),
            "offers": offers,
        }
    return data


def listing_json_ld(shop: Shop, place: Place, goods: Sequence[Goods]) -> dict[str, Any]:
    """A list of products under one name."""
    return {
        "@context": "https://schema.org",
        "@type": "ItemList",
        "name": place.title,
        "itemListElement": [
            {"@type": "ListItem", "position": number, "url": address(shop, one), "name": one.title}
            for number, one in enumerate(goods, 1)
        ],
    }


def _offer(shop: Shop, goods: Goods, form: Form) -> dict[str, Any]:
    return {
        "@type": "Offer",
        "name": form.name,
        "price": f"{form.price:.2f}",
        "priceCurrency": shop.currency,
        "availability": "https://schema.org/" + ("OutOfStock" if form.sold_out else "InStock"),
        "seller": {"@type": "Organization", "name": shop.title},
        "shippingDetails": {
            "@type": "OfferShippingDetails",
            "shippingRate": {
                "@type": "MonetaryAmount",
                "value": f"{shop.shipping_of(goods, form):.2f}",
                "currency": shop.currency,
            },
            "description": delivery_text(shop, goods),
        },
    }
