"""What a shop answers to a request: a pure function of the shop's file, so that a page is the same at every visit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import jinja2

from grounding.webagents.agenticshop.mall.designs import DESIGNS
from grounding.webagents.agenticshop.mall.gold import address
from grounding.webagents.agenticshop.mall.records import Goods, Place, Shop
from grounding.webagents.agenticshop.mall.search import find
from grounding.webagents.agenticshop.mall.structured import json_ld, listing_json_ld
from grounding.webagents.agenticshop.mall.wording import (
    delivery_text,
    returns_text,
    shipping_text,
    stock_text,
    terms_text,
)

HERE = Path(__file__).parent / "designs"
REVIEWS_AT_ONCE = 3
_SIGN = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="16" fill="#444"/>'
    '<text x="16" y="23" font-size="20" text-anchor="middle" fill="#fff">{}</text></svg>\n'
)
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class Reply(NamedTuple):
    """An answer. ``location`` is where a redirect leads, "" without one."""

    status: int
    content_type: str
    body: bytes
    location: str = ""


class ShopPages:
    """All pages of one shop. ``pictures`` are the drawings by the name of their file."""

    def __init__(self, shop: Shop, pictures: Mapping[str, bytes]) -> None:
        self.shop = shop
        self.design = DESIGNS[shop.design]
        self._goods = {goods.slug: goods for goods in shop.goods}
        self._products = {self.design.product_path(goods): goods for goods in shop.goods}
        self._categories = {self.design.category_path(name): name for name in shop.categories}
        self._places = {place.path: place for place in shop.places}
        folder = HERE / shop.design
        self._files = {f"/img/{name}": content for name, content in pictures.items()}
        self._files |= {f"/static/{name}": (folder / name).read_bytes() for name in ("style.css", "shop.js")}
        self._files["/favicon.svg"] = _SIGN.format(escape(shop.title[0])).encode()
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(folder),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters.update(money=self.design.money, rating=self.design.rating)
        self._templates.globals.update(
            shop=shop,
            design=self.design,
            path_of=self.design.product_path,
            category_path=self.design.category_path,
            shipping_text=lambda goods: shipping_text(shop, goods, goods.form),
            delivery_text=lambda goods: delivery_text(shop, goods),
            returns_text=lambda goods: returns_text(shop, goods),
            stock_text=lambda sold_out: stock_text(shop, sold_out),
            terms=terms_text(shop),
            root=shop.home_url.rstrip("/"),
        )

    def reply(self, method: str, path: str, query: Mapping[str, str], form: Mapping[str, str]) -> Reply:
        """What is answered to a GET or POST of a path; ``query`` and ``form`` hold the first value of each field."""
        design = self.design
        if path == design.search_path:
            asked = form if design.search_method == "post" else query
            if design.search_method != "post" or method == "POST":
                return self._search(asked.get(design.search_parameter, ""), asked)
            return self._redirect("/")
        if method == "POST":
            return self._page(405, "message.html", title="That doesn't work", text=("This page takes no forms.",))
        if path in self._files:
            return Reply(200, _TYPES[Path(path).suffix], self._files[path])
        if path == "/":
            return self._page(200, "home.html", front=[self._goods[slug] for slug in self.shop.front])
        if path in self._products:
            return self._product(self._products[path])
        if path in self._categories:
            name = self._categories[path]
            goods = [one for one in self.shop.goods if one.category == name]
            return self._listing(name, goods, path, query)
        if path in self._places:
            return self._place(self._places[path])
        if path.startswith("/reviews/") and path.endswith(".json"):
            return self._reviews(path.removeprefix("/reviews/").removesuffix(".json"), query)
        return self._missing()

    def _product(self, goods: Goods) -> Reply:
        if goods.guarded:
            return self._page(403, "human.html")
        promoted = self._goods.get(goods.promotes)
        related = [one for one in self.shop.goods if one.category == goods.category and one is not goods][:3]
        return self._page(
            200, "product.html", goods=goods, promoted=promoted, related=related, url=address(self.shop, goods),
            json_ld=json_ld(self.shop, goods), script=self._script(goods),
        )  # fmt: skip

    def _script(self, goods: Goods) -> dict[str, Any]:
        """What the page's script knows: for every form what is to be shown when it is chosen."""
        money, forms = self.design.money, []
        for form in goods.forms:
            cost = self.shop.shipping_of(goods, form)
            forms.append(
                {
                    "name": form.name,
                    "price": money(form.price),
                    "was": "" if form.list_price is None else money(form.list_price),
                    "shipping": shipping_text(self.shop, goods, form),
                    "total": money(form.price + cost),
                    "stock": stock_text(self.shop, form.sold_out),
                    "soldOut": form.sold_out,
                }
            )
        return {"forms": forms, "chosen": goods.chosen, "reviews": f"/reviews/{goods.slug}.json"}

    def _reviews(self, slug: str, query: Mapping[str, str]) -> Reply:
        if slug not in self._goods or self._goods[slug].guarded:
            return Reply(404, "application/json", b'{"error": "no such product"}\n')
        reviews, start = self._goods[slug].reviews, _whole(query.get("from", "0"), 0)
        some = reviews[start : start + REVIEWS_AT_ONCE]
        shown = [
            {
                "title": one.title,
                "text": one.text,
                "rating": "" if one.rating is None else self.design.rating(one.rating),
                "stars": 0 if one.rating is None else round(one.rating),
            }
            for one in some
        ]
        following = start + len(some) if start + len(some) < len(reviews) else None
        return _json({"reviews": shown, "next": following})

    def _listing(self, title: str, goods: Sequence[Goods], path: str, query: Mapping[str, str]) -> Reply:
        design, size = self.design, self.design.page_size
        asked = query.get(design.page_parameter, "")
        page = _whole(asked, 0) // size if design.page_counts_goods else _whole(asked, 1) - 1
        pages = max(1, -(-len(goods) // size))
        if not 0 <= page < pages:
            return self._missing()
        if design.search_method == "script" and query.get("as") == "json":
            return _json(self._cards(goods[page * size : (page + 1) * size], page + 2 if page + 1 < pages else None))
        return self._page(
            200, "listing.html", title=title, goods=goods[page * size : (page + 1) * size], count=len(goods),
            page=page + 1, pages=[(number + 1, self._page_path(path, number)) for number in range(pages)],
            searched=None, path=path,
        )  # fmt: skip

    def _page_path(self, path: str, number: int) -> str:
        if not number:
            return path
        design = self.design
        value = number * design.page_size if design.page_counts_goods else number + 1
        return f"{path}?{urlencode({design.page_parameter: value})}"

    def _search(self, words: str, asked: Mapping[str, str]) -> Reply:
        design, found = self.design, find(self.shop.goods, words)
        if design.search_method == "script":
            return _json(self._cards(found, None))
        # A form's results stand on one page: there is no address that could name its second.
        size = design.page_size if design.search_method == "get" else max(1, len(found))
        pages = max(1, -(-len(found) // size))
        page = _whole(asked.get(design.page_parameter, ""), 1) - 1
        page = page if 0 <= page < pages else 0
        paths = [
            (
                one + 1,
                f"{design.search_path}?{urlencode({design.search_parameter: words, design.page_parameter: one + 1})}",
            )
            for one in range(pages)
        ]
        return self._page(
            200, "listing.html", title="Search", goods=found[page * size : (page + 1) * size], count=len(found),
            page=page + 1, pages=paths, searched=words, path=design.search_path,
        )  # fmt: skip

    def _cards(self, goods: Sequence[Goods], following: int | None) -> dict[str, Any]:
        cards = [
            {
                "title": one.title,
                "brand": one.brand,
                "path": self.design.product_path(one),
                "price": self.design.money(one.form.price),
                "picture": f"/img/{one.pictures[0]}" if one.pictures else "",
                "rating": "" if one.rating is None else self.design.rating(one.rating),
                "soldOut": one.sold_out,
            }
            for one in goods
        ]
        return {"goods": cards, "next": following}

    def _place(self, place: Place) -> Reply:
        if place.kind == "redirect":
            return self._redirect(place.to)
        if place.kind == "hidden":
            return self._page(200, "human.html")
        if place.kind == "missing":
            return self._missing(200)
        goods = [self._goods[slug] for slug in place.goods]
        if place.kind == "listing":
            return self._page(
                200, "bundle.html", place=place, goods=goods, data=listing_json_ld(self.shop, place, goods)
            )
        return self._page(200, "message.html", title=place.title, text=place.text)

    def _missing(self, status: int | None = None) -> Reply:
        return self._page(status or self.design.missing_status, "missing.html")

    def _redirect(self, to: str) -> Reply:
        return Reply(302, "text/html", b"", to)

    def _page(self, status: int, template: str, **values: Any) -> Reply:
        text = self._templates.get_template(template).render(**values)
        return Reply(status, "text/html", text.encode())


def _whole(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else otherwise


def _json(value: dict[str, Any]) -> Reply:
    return Reply(200, "application/json", json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n")
