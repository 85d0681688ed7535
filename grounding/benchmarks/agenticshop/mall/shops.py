"""The shops of a data set's own, as ``shops/SHOP.json`` holds them, and how each design shows one.

Amounts are in the shop's currency. Ratings are out of five, whatever the shop's pages show.
"""

import re
from pathlib import Path
from typing import Literal, get_args

import msgspec

from grounding.errors import UserError
from grounding.records import Record

from ..records import Attribute, CustomerReview

DOMAIN = "mall.test"  # Names under `.test` exist nowhere (RFC 6761), so nothing on the web can be meant by one.
DESIGNS_FOLDER = Path(__file__).parent / "designs"
DesignName = Literal["grocer", "homeware", "electronics", "clothing"]


class Form(Record, frozen=True, kw_only=True):
    """``list_price`` is struck out beside the price."""

    name: str
    price: float
    list_price: float | None = None
    sold_out: bool = False


class Goods(Record, frozen=True, kw_only=True):
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

    def __post_init__(self) -> None:
        if not 0 <= self.chosen < len(self.forms):
            raise ValueError(f"form {self.chosen} of {self.slug!r} is chosen, of {len(self.forms)} from 0 on")

    @property
    def form(self) -> Form:
        return self.forms[self.chosen]

    @property
    def sold_out(self) -> bool:
        return all(form.sold_out for form in self.forms)


class ShopPage(Record, frozen=True, kw_only=True):
    """A page that is no product's. ``hidden``: behind a question whether we are human. ``missing``: answers 200 and
    says that there is nothing. ``to`` is where a redirect leads; ``goods`` are slugs.
    """

    path: str
    kind: Literal["hidden", "listing", "redirect", "article", "missing"]
    title: str = ""
    text: tuple[str, ...] = ()
    goods: tuple[str, ...] = ()
    to: str = ""
    picture: str = ""


class Shop(Record, frozen=True, kw_only=True):
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

    def __post_init__(self) -> None:
        named = {*self.front, *(one.promotes for one in self.goods)}.union(*(one.goods for one in self.places))
        if unknown := named - {"", *(one.slug for one in self.goods)}:
            raise ValueError(f"there are no goods {', '.join(sorted(unknown))}")

    def address(self, path: str) -> str:
        return f"http://{self.name}.{DOMAIN}{path}"

    def shipping_of(self, goods: Goods, form: Form) -> float:
        """What delivery of one costs; 0.0 where it is free."""
        if goods.shipping is not None:
            return goods.shipping
        return 0.0 if form.price >= self.free_above else self.shipping


def slug_of(text: str) -> str:
    return "-".join(re.findall(r"[^\W_]+", text.lower().replace("&", "and")))


class Design(Record, frozen=True, kw_only=True):
    """What ``design.yaml`` says beside a design's templates; the plurals and ``priced`` are patterns to fill.

    ``page_parameter`` of a listing's address counts pages from 1, or goods from 0 where ``page_counts_goods``.
    ``search_method`` ``script``: only a script's request, answered as JSON, brings results.
    """

    products: str
    categories: str
    search_path: str
    search_method: Literal["get", "post", "script"]
    search_parameter: str
    page_size: int
    page_parameter: str
    page_counts_goods: bool = False
    amounts: str
    ratings: str
    missing_status: int = 404
    free: str
    priced: str
    gone: str
    there: str

    def product_path(self, goods: Goods) -> str:
        return self.products.format(slug=goods.slug, category=slug_of(goods.category))

    def category_path(self, category: str) -> str:
        return self.categories.format(category=slug_of(category))

    def money(self, amount: float) -> str:
        exact = f"{amount:,.2f}"
        european = exact.translate(str.maketrans(",.", ".,"))
        return self.amounts.format(exact=exact, european=european, short=exact.rstrip("0").rstrip("."))

    def shipping(self, cost: float) -> str:
        return self.priced.format(cost=self.money(cost)) if cost else self.free

    def rating(self, rating: float | None) -> str:
        """A rating in the design's own words; "" without one."""
        if rating is None:
            return ""
        return self.ratings.format(of_five=rating, of_ten=rating * 2, stars=_STARS[min(round(rating * 2), 10)])


_STARS = (
    "No stars", "Half a star", "One star", "One and a half stars", "Two stars", "Two and a half stars", "Three stars",
    "Three and a half stars", "Four stars", "Four and a half stars", "Five stars",
)  # fmt: skip
DESIGNS: dict[DesignName, Design] = {
    name: msgspec.yaml.decode((DESIGNS_FOLDER / name / "design.yaml").read_bytes(), type=Design)
    for name in get_args(DesignName)
}


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
