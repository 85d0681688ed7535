"""The sentences that pages say of delivery: the same for the pages and for the truth about them."""

from __future__ import annotations

from grounding.webagents.agenticshop.mall.designs import DESIGNS
from grounding.webagents.agenticshop.mall.records import Form, Goods, Shop


def shipping_text(shop: Shop, goods: Goods, form: Form) -> str:
    """What a page says that delivery of one costs, in the words of the shop's design."""
    cost = shop.shipping_of(goods, form)
    money = DESIGNS[shop.design].money
    free, priced = {
        "grocer": ("Free delivery", "Delivery {cost}"),
        "homeware": ("Shipping: free", "plus {cost} shipping"),
        "electronics": ("Standard delivery: FREE", "Standard delivery: {cost}"),
        "clothing": ("Shipping is on us", "Shipping {cost}"),
    }[shop.design]
    return priced.format(cost=money(cost)) if cost else free


def terms_text(shop: Shop) -> str:
    """The shop's rule for the cost of delivery."""
    money = DESIGNS[shop.design].money
    fee, bound = money(shop.shipping), money(shop.free_above)
    return {
        "grocer": f"Delivery costs {fee}. Orders of {bound} or more are delivered free.",
        "homeware": f"Shipping {fee}, free for orders from {bound}.",
        "electronics": f"{fee} standard delivery, free on orders from {bound}.",
        "clothing": f"Shipping {fee}; we pay it for orders from {bound}.",
    }[shop.design]


def delivery_text(shop: Shop, goods: Goods) -> str:
    """When a product arrives."""
    return goods.delivery or shop.delivery


def returns_text(shop: Shop, goods: Goods) -> str:
    """Whether and how long a product can be sent back."""
    return goods.returns or shop.returns


def stock_text(shop: Shop, sold_out: bool) -> str:
    """What a page says of whether a form can be had."""
    gone, there = {
        "grocer": ("Out of stock", "In stock"),
        "homeware": ("Currently sold out", "In stock"),
        "electronics": ("Sold out", "In stock, ready to ship"),
        "clothing": ("Sold out", "Available"),
    }[shop.design]
    return gone if sold_out else there
