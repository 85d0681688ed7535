"""Reads the hand-written sources of the shops, ``goods/SHOP.yaml``, into what the package serves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from grounding.benchmarks.agenticshop.mall.shops import Form, Goods, Shop, ShopPage, slug_of
from grounding.benchmarks.agenticshop.records import Attribute, CustomerReview
from tools.sample_mall.voices import more_reviews

HERE = Path(__file__).parent
SHOPS = ("kettle", "loom", "pantry", "volt")
_FORM = re.compile(r"(?P<name>.*?)\s*(?P<price>\d+\.\d{1,2})(?: \((?P<was>\d+\.\d{1,2})\))?(?P<gone> -)?$")
_SAID = re.compile(r"(?P<stars>[1-5]) (?P<title>[^:]+): (?P<text>.+)$")


def read_source(name: str) -> dict[str, Any]:
    """The source of a shop as it stands."""
    return dict(yaml.safe_load((HERE / "goods" / f"{name}.yaml").read_text()))


def slug_of_goods(one: dict[str, Any]) -> str:
    """The name of a product in addresses: its own, or made of its title."""
    return str(one.get("slug") or slug_of(one["title"]))


def make_shop(name: str, source: dict[str, Any]) -> Shop:
    """A shop with all its goods; what a source leaves out stays at its default."""
    terms = dict(source["shop"])
    return Shop(
        name=name,
        goods=tuple(make_goods(one) for one in source["goods"]),
        places=tuple(_place(one) for one in source.get("places", ())),
        categories=tuple(terms.pop("categories")),
        front=tuple(terms.pop("front")),
        **terms,
    )


def make_goods(one: dict[str, Any]) -> Goods:
    """A product of a source: ``as`` holds its forms, ``*`` before the one shown first, ``-`` behind those sold out."""
    slug = slug_of_goods(one)
    option, forms, chosen = read_forms(str(one["as"]))
    rating, count = None, 0
    if "stars" in one:
        stars, times = str(one["stars"]).split(" x")
        rating, count = float(stars), int(times)
    said = tuple(_review(text) for text in one.get("said", ()))
    reviews = said + more_reviews(slug, one["in"], said, rating, count)
    return Goods(
        slug=slug,
        title=one["title"],
        brand=one["brand"],
        category=one["in"],
        description=one["text"],
        option=option,
        forms=forms,
        chosen=chosen,
        features=tuple(one.get("has", ())),
        attributes=tuple(Attribute(name=str(key), value=str(value)) for key, value in one["facts"].items()),
        rating=rating,
        rating_count=count,
        reviews=reviews,
        shipping=one.get("shipping"),
        delivery=one.get("delivery", ""),
        returns=one.get("returns", ""),
        warranty=one.get("warranty", ""),
        pictures=tuple(f"{slug}-{number}.svg" for number in range(1, one.get("pictures", 2) + 1)),
        promotes=one.get("promotes", ""),
        guarded=one.get("guarded", False),
    )


def read_forms(text: str) -> tuple[str, tuple[Form, ...], int]:
    """The forms of ``Pack: 100 g 7.50 | *250 g 15.80 (18.00) | 1 kg 49.00 -``: option, forms, which is chosen."""
    option, colon, rest = text.partition(": ")
    parts = (rest if colon else text).split(" | ")
    forms, chosen = [], 0
    for place, part in enumerate(parts):
        if part.startswith("*"):
            chosen, part = place, part[1:]
        found = _FORM.fullmatch(part.strip())
        if found is None:
            raise ValueError(f"not a form: {part!r} in {text!r}")
        was = found["was"]
        forms.append(
            Form(
                name=found["name"],
                price=float(found["price"]),
                list_price=float(was) if was else None,
                sold_out=bool(found["gone"]),
            )
        )
    return option if colon else "", tuple(forms), chosen


def _review(text: str) -> CustomerReview:
    found = _SAID.fullmatch(text)
    if found is None:
        raise ValueError(f"not a review: {text!r}")
    return CustomerReview(text=found["text"], title=found["title"], rating=float(found["stars"]))


def _place(one: dict[str, Any]) -> ShopPage:
    return ShopPage(**{key: tuple(value) if isinstance(value, list) else value for key, value in one.items()})
