"""What a shop of a mall is: its terms, its goods and its other pages, as ``shops/SHOP.json`` holds them.

Amounts are in the shop's currency. Ratings are out of five, whatever the shop's pages show.
"""

from __future__ import annotations

from typing import Literal

from grounding.records import Record
from grounding.webagents.agenticshop.records import Attribute, CustomerReview, PageClass, ProductFacts

DesignName = Literal["grocer", "homeware", "electronics", "clothing"]

PlaceKind = Literal["hidden", "listing", "redirect", "article", "missing"]
"""``hidden``: behind a question whether we are human. ``missing``: answers 200 and says that there is nothing."""


class Form(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A form in which a product is sold, such as a size or a pack; ``list_price`` is struck out beside the price."""

    name: str
    price: float
    list_price: float | None = None
    sold_out: bool = False


class Goods(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A product. ``chosen`` is the form that its page shows first.

    ``shipping`` is its own cost where the shop's terms don't hold (0.0: always free). ``guarded``: its page asks
    whether we are human and shows nothing else. ``rating`` None: nobody has rated it yet. ``promotes`` is the product
    that its page advertises.
    """

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
        """The form that the page shows first."""
        return self.forms[self.chosen]

    @property
    def sold_out(self) -> bool:
        """Whether no form of it can be had."""
        return all(form.sold_out for form in self.forms)


class Place(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A page that is no product's, at ``path``. ``to`` is where a redirect leads; ``goods`` are slugs."""

    path: str
    kind: PlaceKind
    title: str = ""
    text: tuple[str, ...] = ()
    goods: tuple[str, ...] = ()
    to: str = ""
    picture: str = ""


class Shop(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A shop. ``shipping`` is what delivery costs for goods under ``free_above``, which ship free at that price."""

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
    places: tuple[Place, ...] = ()

    @property
    def home_url(self) -> str:
        """The address of its first page."""
        return f"http://{self.name}.{DOMAIN}/"

    def shipping_of(self, goods: Goods, form: Form) -> float:
        """What delivery of one costs; 0.0 where it is free."""
        if goods.shipping is not None:
            return goods.shipping
        return 0.0 if form.price >= self.free_above else self.shipping


DOMAIN = "mall.test"
"""Names under ``.test`` exist nowhere (RFC 6761), so nothing on the web can be meant by one."""


class GoldProduct(Record, frozen=True, kw_only=True):
    """The truth about one address of a mall: what kind of page it is, and the facts where it is a product's."""

    url: str
    shop: str
    page_class: PageClass
    facts: ProductFacts | None = None
    slug: str = ""
