"""The shops of a data set's own, as ``shops/SHOP.json`` holds them, and how each design shows one.

Amounts are in the shop's currency. Ratings are out of five, whatever the shop's pages show.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from grounding.errors import UserError
from grounding.records import Record

from ..records import Attribute, CustomerReview

DesignName = Literal["grocer", "homeware", "electronics", "clothing"]

PlaceKind = Literal["hidden", "listing", "redirect", "article", "missing"]
"""``hidden``: behind a question whether we are human. ``missing``: answers 200 and says that there is nothing."""


class Form(Record, frozen=True, kw_only=True, omit_defaults=True):
    """``list_price`` is struck out beside the price."""

    name: str
    price: float
    list_price: float | None = None
    sold_out: bool = False


class Goods(Record, frozen=True, kw_only=True, omit_defaults=True):
    """``chosen`` is the form that its page shows first, ``guarded``: its page asks whether we are human."""

    slug: str
    title: str
    brand: str
    category: str
    description: str
    forms: tuple[Form, ...]
    chosen: int = 0
    option: str = ""
    features: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    rating: float | None = None
    rating_count: int = 0
    reviews: tuple[CustomerReview, ...] = ()
    shipping: float | None = None
    delivery: str = ""
    returns: str = ""
    warranty: str = ""
    pictures: tuple[str, ...] = ()
    promotes: str = ""
    guarded: bool = False

    @property
    def form(self) -> Form:
        return self.forms[self.chosen]

    @property
    def sold_out(self) -> bool:
        return all(form.sold_out for form in self.forms)


class ShopPage(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A page that is no product's. ``to`` is where a redirect leads; ``goods`` are slugs."""

    path: str
    kind: PlaceKind
    title: str = ""
    text: tuple[str, ...] = ()
    goods: tuple[str, ...] = ()
    to: str = ""
    picture: str = ""


class Shop(Record, frozen=True, kw_only=True, omit_defaults=True):
    """``shipping`` is what delivery costs for goods under ``free_above``, which ship free at that price."""

    name: str
    title: str
    tagline: str
    design: DesignName
    currency: str
    shipping: float
    free_above: float
    delivery: str
    returns: str
    contact: str
    categories: tuple[str, ...]
    goods: tuple[Goods, ...]
    front: tuple[str, ...] = ()
    places: tuple[ShopPage, ...] = ()

    @property
    def home_url(self) -> str:
        return f"http://{self.name}.{DOMAIN}/"

    def shipping_of(self, goods: Goods, form: Form) -> float:
        """What delivery of one costs; 0.0 where it is free."""
        if goods.shipping is not None:
            return goods.shipping
        return 0.0 if form.price >= self.free_above else self.shipping


DOMAIN = "mall.test"  # Names under `.test` exist nowhere (RFC 6761), so nothing on the web can be meant by one.
_WORDS = ("No", "One", "Two", "Three", "Four", "Five")


class Design(NamedTuple):
    """``page_parameter`` of a listing's address counts pages from 1, or goods where ``page_counts_goods``.
    ``search_method`` ``script``: only a script's request, answered as JSON, brings results.
    """

    product_path: Callable[[Goods], str]
    category_path: Callable[[str], str]
    search_path: str
    search_method: Literal["get", "post", "script"]
    search_parameter: str
    page_size: int
    page_parameter: str
    page_counts_goods: bool
    money: Callable[[float], str]
    rating: Callable[[float], str]
    missing_status: int
    free: str
    priced: str
    terms: str
    gone: str
    there: str


def slug_of(text: str) -> str:
    return "-".join(re.findall(r"[^\W_]+", text.lower().replace("&", "and")))


def dollars(amount: float) -> str:
    return f"${amount:,.2f}"


def euros(amount: float) -> str:
    return f"{amount:,.2f}".translate(str.maketrans(",.", ".,")) + " €"


def code_first(amount: float) -> str:
    return "USD " + f"{amount:,.2f}".rstrip("0").rstrip(".")


def in_words(rating: float) -> str:
    whole, half = divmod(round(rating * 2), 2)
    if not whole:
        return "Half a star out of five" if half else "No stars out of five"
    return f"{_WORDS[whole]}{' and a half' * half} star{'' if (whole, half) == (1, 0) else 's'} out of five"


DESIGNS: dict[DesignName, Design] = {
    "grocer": Design(
        lambda goods: f"/product/{goods.slug}", lambda category: f"/aisle/{slug_of(category)}",
        "/search", "get", "q", 8, "page", False, dollars, lambda rating: f"{rating:.1f} out of 5", 404,
        "Free delivery", "Delivery {cost}", "Delivery costs {fee}. Orders of {bound} or more are delivered free.",
        "Out of stock", "In stock",
    ),
    "homeware": Design(
        lambda goods: f"/{slug_of(goods.category)}/{goods.slug}.html", lambda category: f"/{slug_of(category)}/",
        "/find", "get", "query", 6, "p", False, euros, lambda rating: f"{rating * 2:.1f} / 10", 200,
        "Shipping: free", "plus {cost} shipping", "Shipping {fee}, free for orders from {bound}.",
        "Currently sold out", "In stock",
    ),
    "electronics": Design(
        lambda goods: f"/p/{goods.slug}", lambda category: f"/c/{slug_of(category)}",
        "/results", "post", "term", 6, "start", True, dollars, lambda rating: f"{rating:.1f}/5", 404,
        "Standard delivery: FREE", "Standard delivery: {cost}", "{fee} standard delivery, free on orders from {bound}.",
        "Sold out", "In stock, ready to ship",
    ),
    "clothing": Design(
        lambda goods: f"/shop/{slug_of(goods.category)}/{goods.slug}", lambda category: f"/shop/{slug_of(category)}",
        "/api/search", "script", "words", 9, "page", False, code_first, in_words, 404,
        "Shipping is on us", "Shipping {cost}", "Shipping {fee}; we pay it for orders from {bound}.",
        "Sold out", "Available",
    ),
}  # fmt: skip
"""In the order of the fields."""


def shipping_text(shop: Shop, goods: Goods, form: Form) -> str:
    cost, design = shop.shipping_of(goods, form), DESIGNS[shop.design]
    return design.priced.format(cost=design.money(cost)) if cost else design.free


def address(shop: Shop, goods: Goods) -> str:
    return shop.home_url.rstrip("/") + DESIGNS[shop.design].product_path(goods)


def read_shops(folder: Path) -> tuple[Shop, ...]:
    """All shops of a data set's folder, sorted by name; a UserError where one can't be read or is named otherwise."""
    shops = []
    for path in sorted((folder / "shops").glob("*.json")):
        try:
            shop = msgspec.json.decode(path.read_bytes(), type=Shop)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as problem:
            raise UserError(f"{path}: expected a shop as datasets/sample-mall/README.md tells: {problem}.") from problem
        if shop.name != path.stem:
            raise UserError(f"{path}: the shop is named {shop.name!r}. Expected the name of its file.")
        shops.append(shop)
    return tuple(shops)
