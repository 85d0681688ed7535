"""How each design of a shop does things: its addresses, its way to search, its notation of prices and ratings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from grounding.webagents.agenticshop.mall.records import DesignName, Goods

_WORDS = ("No", "One", "Two", "Three", "Four", "Five")
STARS = 5


class Design(NamedTuple):
    """One design. Paths begin with a slash; ``page_size`` is how many products a page of a listing holds.

    ``page_parameter`` is that by which a listing's address names its page: a number that counts from 1, or, where
    ``page_counts_goods``, that of the first product. ``search_method`` ``script``: only a script's request, answered as
    JSON, brings results.
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


def slug_of(text: str) -> str:
    """A category as an address names it."""
    words = "".join(letter if letter.isalnum() else " " for letter in text.lower().replace("&", "and"))
    return "-".join(words.split())


def dollars(amount: float) -> str:
    """As in ``$1,299.00``."""
    return f"${amount:,.2f}"


def euros(amount: float) -> str:
    """As in ``1.299,00 €``."""
    return f"{amount:,.2f}".translate(str.maketrans(",.", ".,")) + " €"


def code_first(amount: float) -> str:
    """As in ``USD 12.5``: no cents where there are none, and no last zero."""
    return "USD " + f"{amount:,.2f}".rstrip("0").rstrip(".")


def of_five(rating: float) -> str:
    """As in ``4.6 out of 5``."""
    return f"{rating:.1f} out of 5"


def slash_five(rating: float) -> str:
    """As in ``4.6/5``."""
    return f"{rating:.1f}/5"


def of_ten(rating: float) -> str:
    """As in ``9.2 / 10``."""
    return f"{rating * 2:.1f} / 10"


def in_words(rating: float) -> str:
    """As in ``Four and a half stars out of five``; the shop rounds to halves."""
    halves = round(rating * 2)
    whole, half = divmod(halves, 2)
    if not whole:
        return "Half a star out of five" if half else "No stars out of five"
    return f"{_WORDS[whole]}{' and a half' if half else ''} star{'' if halves == 2 else 's'} out of five"


DESIGNS: dict[DesignName, Design] = {
    "grocer": Design(
        product_path=lambda goods: f"/product/{goods.slug}",
        category_path=lambda category: f"/aisle/{slug_of(category)}",
        search_path="/search",
        search_method="get",
        search_parameter="q",
        page_size=8,
        page_parameter="page",
        page_counts_goods=False,
        money=dollars,
        rating=of_five,
        missing_status=404,
    ),
    "homeware": Design(
        product_path=lambda goods: f"/{slug_of(goods.category)}/{goods.slug}.html",
        category_path=lambda category: f"/{slug_of(category)}/",
        search_path="/find",
        search_method="get",
        search_parameter="query",
        page_size=6,
        page_parameter="p",
        page_counts_goods=False,
        money=euros,
        rating=of_ten,
        missing_status=200,
    ),
    "electronics": Design(
        product_path=lambda goods: f"/p/{goods.slug}",
        category_path=lambda category: f"/c/{slug_of(category)}",
        search_path="/results",
        search_method="post",
        search_parameter="term",
        page_size=6,
        page_parameter="start",
        page_counts_goods=True,
        money=dollars,
        rating=slash_five,
        missing_status=404,
    ),
    "clothing": Design(
        product_path=lambda goods: f"/shop/{slug_of(goods.category)}/{goods.slug}",
        category_path=lambda category: f"/shop/{slug_of(category)}",
        search_path="/api/search",
        search_method="script",
        search_parameter="words",
        page_size=9,
        page_parameter="page",
        page_counts_goods=False,
        money=code_first,
        rating=in_words,
        missing_status=404,
    ),
}
