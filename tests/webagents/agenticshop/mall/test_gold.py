"""The truth: complete, with shipping by the shop's rule, and the same product at different prices."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from grounding.webagents.agenticshop.mall import gold
from grounding.webagents.agenticshop.mall.folder import read_shops


def test_all_products_are_in_it(folder: Path) -> None:
    products = [one for one in gold(folder).values() if one.slug]
    assert {(one.shop, one.slug) for one in products} == {
        (shop.name, goods.slug) for shop in read_shops(folder) for goods in shop.goods
    }
    assert 100 <= len({(one.shop, one.slug) for one in products}) <= 160


def test_shipping_depends_on_the_price(folder: Path) -> None:
    terms = {shop.name: shop for shop in read_shops(folder)}
    free = priced = 0
    for one in gold(folder).values():
        if one.facts is None or one.facts.price is None or one.facts.shipping is None:
            continue
        shop = terms[one.shop]
        own = next(goods.shipping for goods in shop.goods if goods.slug == one.slug)
        expected = own if own is not None else (0.0 if one.facts.price.amount >= shop.free_above else shop.shipping)
        assert one.facts.shipping.amount == expected
        assert one.facts.price.currency == one.facts.shipping.currency == shop.currency
        free, priced = free + (expected == 0), priced + (expected > 0)
    assert min(free, priced) > 20


def test_some_products_are_sold_by_several_shops_at_different_prices(folder: Path) -> None:
    prices = defaultdict(set)
    for one in gold(folder).values():
        if one.facts is not None and one.facts.price is not None:
            prices[one.facts.title].add((one.shop, one.facts.price.amount, one.facts.price.currency))
    assert sum(len(found) > 1 for found in prices.values()) >= 5
