"""The users: profiles in the release's layout, from ``people/KEY.yaml``, and the reference that a script chooses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from grounding.benchmarks.agenticshop.mall.shops import DESIGNS, Goods, Shop
from grounding.benchmarks.agenticshop.records import COUNTED_PRODUCTS
from tools.sample_mall.rules import decide
from tools.sample_mall.truth import facts_of

HERE = Path(__file__).parent
KEYS = (
    "grocery_explicit_title",
    "grocery_attribute_specific",
    "grocery_brand_categorical",
    "electronics",
    "home",
    "clothing",
    "open",
)


def read_people(key: str) -> list[dict[str, Any]]:
    """The users of one scenario as their source has them."""
    return list(yaml.safe_load((HERE / "people" / f"{key}.yaml").read_text()))


def profiles() -> dict[str, list[dict[str, Any]]]:
    """Every scenario's profiles, the rules behind the checklists left out."""
    found = {}
    for key in KEYS:
        found[key] = [
            {
                "user": one["user"],
                "seed_product_type": one.get("type"),
                "situation": one["situation"],
                "budget_range": one.get("budget"),
                "query_type": one["query_type"],
                "user_query": one["query"],
                "user_context": one["context"],
                "check_list": {name: [_words(item) for item in items] for name, items in one["checklist"].items()},
                **({"target": one["target"]} if "target" in one else {}),
            }
            for one in read_people(key)
        ]
    return found


def _words(item: str | list[str]) -> str:
    return item if isinstance(item, str) else item[0]


def rules_of(person: dict[str, Any]) -> list[str]:
    """The rules of a user's checklist, of those items that have one."""
    return [item[1] for items in person["checklist"].values() for item in items if not isinstance(item, str)]


def chosen(person: dict[str, Any], shops: Sequence[Shop]) -> list[tuple[int, Shop, Goods]]:
    """The three products that satisfy most of a user's rules, best first, with how many.

    What the user is looking for goes before everything else, by ``wanted``, a regular expression over titles. Ties stay
    in the order of the shops and their goods. A product that its page hides is none.
    """
    ranked = []
    everything = [(shop, goods) for shop in shops for goods in shop.goods]
    for place, (shop, goods) in enumerate(everything):
        if goods.guarded:
            continue
        facts = facts_of(shop, goods)
        points = sum(decide(rule, facts) for rule in rules_of(person))
        other = re.search(person["wanted"], goods.title, re.IGNORECASE) is None
        ranked.append((other, -points, place, shop, goods))
    best = sorted(ranked, key=lambda entry: entry[:3])[:COUNTED_PRODUCTS]
    return [(-minus, shop, goods) for _, minus, _, shop, goods in best]


def references(shops: Sequence[Shop]) -> dict[str, list[dict[str, Any]]]:
    """For every scenario the three best products of each user, as the release's outputs have them."""
    return {
        key: [
            {
                "user": one["user"],
                "search_results": [
                    {
                        "product_name": goods.title,
                        "product_url": shop.address(DESIGNS[shop.design].product_path(goods)),
                        "reasoning": f"Satisfies {points} of the {len(rules_of(one))} items that a rule decides.",
                    }
                    for points, shop, goods in chosen(one, shops)
                ],
            }
            for one in read_people(key)
        ]
        for key in KEYS
    }
