"""The truth about every page of a mall, for tests and figures in the documentation: nobody scored sees it."""

from __future__ import annotations

from pathlib import Path

from grounding.webagents.agenticshop.mall.designs import DESIGNS
from grounding.webagents.agenticshop.mall.folder import read_shops
from grounding.webagents.agenticshop.mall.records import Form, GoldProduct, Goods, Place, Shop
from grounding.webagents.agenticshop.mall.wording import delivery_text, returns_text, shipping_text
from grounding.webagents.agenticshop.records import Availability, Money, PageClass, ProductFacts, Variant

_CLASSES: dict[str, PageClass] = {
    "hidden": "blocked",
    "listing": "listing",
    "article": "other",
    "missing": "error",
}


def gold(folder: Path) -> dict[str, GoldProduct]:
    """What is behind each address of a data set's shops: products, listings, and all other pages that are linked.

    A redirect has the truth of the page that it leads to, under its own address.

    Raises:
        UserError: a shop's file can't be read or contradicts itself.
    """
    return {one.url: one for shop in read_shops(folder) for one in _of_shop(shop)}


def address(shop: Shop, goods: Goods) -> str:
    """The address of a product's page."""
    return shop.home_url.rstrip("/") + DESIGNS[shop.design].product_path(goods)


def facts_of(shop: Shop, goods: Goods) -> ProductFacts:
    """All that the page of a product says, once it is shown whole and nobody has touched its choice of form."""
    form = goods.form
    return ProductFacts(
        title=goods.title,
        brand=goods.brand,
        seller=shop.title,
        categories=(goods.category,),
        price=_money(shop, form.price),
        list_price=None if form.list_price is None else _money(shop, form.list_price),
        shipping=_money(shop, shop.shipping_of(goods, form)),
        shipping_text=shipping_text(shop, goods, form),
        delivery_text=delivery_text(shop, goods),
        returns_text=returns_text(shop, goods),
        warranty_text=goods.warranty,
        availability=_availability(form),
        rating=goods.rating,
        rating_count=goods.rating_count if goods.rating is not None else 0,
        reviews=goods.reviews,
        description=goods.description,
        features=goods.features,
        attributes=goods.attributes,
        variants=tuple(
            Variant(name=one.name, price=_money(shop, one.price), availability=_availability(one))
            for one in (goods.forms if len(goods.forms) > 1 else ())
        ),
        picture_count=len(goods.pictures),
    )


def _of_shop(shop: Shop) -> list[GoldProduct]:
    design, root = DESIGNS[shop.design], shop.home_url.rstrip("/")
    found = [GoldProduct(url=shop.home_url, shop=shop.name, page_class="listing")]
    found += [
        GoldProduct(url=root + design.category_path(category), shop=shop.name, page_class="listing")
        for category in shop.categories
    ]
    for goods in shop.goods:
        kept = None if goods.guarded else facts_of(shop, goods)
        page_class: PageClass = "blocked" if goods.guarded else "product"
        url = address(shop, goods)
        found.append(GoldProduct(url=url, shop=shop.name, page_class=page_class, facts=kept, slug=goods.slug))
    known = {one.url: one for one in found}
    for place in sorted(shop.places, key=lambda place: place.kind == "redirect"):
        known[root + place.path] = _of_place(shop, place, known)
    return list(known.values())


def _of_place(shop: Shop, place: Place, known: dict[str, GoldProduct]) -> GoldProduct:
    url = shop.home_url.rstrip("/") + place.path
    if place.kind != "redirect":
        return GoldProduct(url=url, shop=shop.name, page_class=_CLASSES[place.kind])
    end = known[shop.home_url.rstrip("/") + place.to]
    return GoldProduct(url=url, shop=shop.name, page_class=end.page_class, facts=end.facts, slug=end.slug)


def _money(shop: Shop, amount: float) -> Money:
    return Money(amount=amount, currency=shop.currency)


def _availability(form: Form) -> Availability:
    return "sold_out" if form.sold_out else "in_stock"
