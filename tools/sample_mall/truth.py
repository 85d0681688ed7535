"""The truth about the pages of a mall, which nobody scored sees: what its own files say of every address."""

from __future__ import annotations

from pathlib import Path

import msgspec

from grounding.benchmarks.agenticshop.mall.shops import DESIGNS, Form, Goods, Shop, read_shops
from grounding.benchmarks.agenticshop.records import Availability, Money, PageClass, ProductFacts, Variant
from grounding.records import Record


class GoldProduct(Record, frozen=True, kw_only=True):
    """The truth about one address of a mall: what kind of page it is, and the facts where it is a product's."""

    url: str
    shop: str
    page_class: PageClass
    facts: ProductFacts | None = None
    slug: str = ""


_CLASSES: dict[str, PageClass] = {"hidden": "blocked", "listing": "listing", "article": "other", "missing": "error"}


def gold(folder: Path) -> dict[str, GoldProduct]:
    """What is behind each address of a data set's shops: products, listings, and all other pages that are linked.

    A redirect has the truth of the page that it leads to, under its own address.

    Raises:
        UserError: a shop's file can't be read or contradicts itself.
    """
    return {one.url: one for shop in read_shops(folder) for one in _of_shop(shop)}


def facts_of(shop: Shop, goods: Goods) -> ProductFacts:
    """All that the page of a product says, once it is shown whole and nobody has touched its choice of form."""
    form, shipping = goods.form, shop.shipping_of(goods, goods.form)
    return ProductFacts(
        title=goods.title,
        brand=goods.brand,
        seller=shop.title,
        categories=(goods.category,),
        price=_money(shop, form.price),
        list_price=None if form.list_price is None else _money(shop, form.list_price),
        shipping=_money(shop, shipping),
        shipping_text=DESIGNS[shop.design].shipping(shipping),
        delivery_text=goods.delivery or shop.delivery,
        returns_text=goods.returns or shop.returns,
        warranty_text=goods.warranty,
        availability=_stock(form),
        rating=goods.rating,
        rating_count=goods.rating_count if goods.rating is not None else 0,
        reviews=goods.reviews,
        description=goods.description,
        features=goods.features,
        attributes=goods.attributes,
        variants=tuple(
            Variant(name=one.name, price=_money(shop, one.price), availability=_stock(one))
            for one in (goods.forms if len(goods.forms) > 1 else ())
        ),
        picture_count=len(goods.pictures),
    )


def _of_shop(shop: Shop) -> list[GoldProduct]:
    design, address = DESIGNS[shop.design], shop.address
    classes: dict[str, PageClass] = {
        address(path): "listing" for path in ("/", *map(design.category_path, shop.categories))
    }
    classes |= {address(place.path): _CLASSES[place.kind] for place in shop.places if place.kind != "redirect"}
    known = {url: GoldProduct(url=url, shop=shop.name, page_class=of) for url, of in classes.items()}
    for goods in shop.goods:
        url, kept = address(design.product_path(goods)), None if goods.guarded else facts_of(shop, goods)
        of: PageClass = "blocked" if goods.guarded else "product"
        known[url] = GoldProduct(url=url, shop=shop.name, page_class=of, facts=kept, slug=goods.slug)
    for place in shop.places:
        if place.kind == "redirect":
            url = address(place.path)
            known[url] = msgspec.structs.replace(known[address(place.to)], url=url)
    return list(known.values())


def _money(shop: Shop, amount: float) -> Money:
    return Money(amount=amount, currency=shop.currency)


def _stock(form: Form) -> Availability:
    return "sold_out" if form.sold_out else "in_stock"
