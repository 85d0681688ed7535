"""What a shop answers to a request, and all shops of a mall on one port of loopback, told apart by the name in it.

An answer follows from the shop's file alone, so that a page is the same at every visit.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from grounding.errors import UserError, install
from grounding.report.html.live import bound_socket
from grounding.run.runner import terminated_like_interrupted

from ..loader import load_curation
from ..scores import words
from .shops import DESIGNS, DESIGNS_FOLDER, DOMAIN, Goods, Shop, read_shops

try:
    import jinja2
except ImportError as problem:
    raise UserError(f"Serving a mall needs {problem.name}: {install('browser')}") from problem

MAX_FORM_BYTES = 16_000
MAX_PICTURE_BYTES = 1_000_000
REVIEWS_AT_ONCE = 3
_SMALL_WORDS = "a an and for from i in is it like looking me my need of on or searching some that the to want with"
_SMALL = frozenset(_SMALL_WORDS.split())
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_PLACES = {"hidden": "human.html", "missing": "missing.html", "listing": "bundle.html", "article": "message.html"}


def find(goods: Sequence[Goods], query: str) -> list[Goods]:
    """The products that have any word of the query, those first that have most of its words."""
    asked = list(dict.fromkeys(word for word in words(query) if word not in _SMALL))
    ranked = []
    for one in goods:
        title, maker = set(words(one.title)), set(words(f"{one.brand} {one.category}"))
        facts = (f"{line.name} {line.value}" for line in one.attributes)
        rest = set(words(" ".join((one.description, *one.features, *facts))))
        score = [3 if word in title else 2 if word in maker else 1 if word in rest else 0 for word in asked]
        if any(score):
            ranked.append((sum(map(bool, score)), sum(score), one))
    return [one for *_, one in sorted(ranked, key=lambda entry: entry[:2], reverse=True)]


class ShopPages:
    """The pages of one shop; a UserError where a picture that it names, in ``pictures/SHOP``, is no SVG file."""

    def __init__(self, shop: Shop, folder: Path) -> None:
        design = self.design = DESIGNS[shop.design]
        self.shop = shop
        self._goods = {goods.slug: goods for goods in shop.goods}
        self._products = {design.product_path(goods): goods for goods in shop.goods}
        self._categories = {design.category_path(name): name for name in shop.categories}
        self._places = {place.path: place for place in shop.places}
        looks = DESIGNS_FOLDER / shop.design
        static = (DESIGNS_FOLDER / "common.js", looks / "style.css", looks / "shop.js")
        self._files = {f"/static/{file.name}": file.read_bytes() for file in static}
        sign = (DESIGNS_FOLDER / "favicon.svg").read_text(encoding="utf-8")
        self._files["/favicon.svg"] = sign.format(escape(shop.title[:1])).encode()
        pictures = [name for one in shop.goods for name in one.pictures]
        pictures += [place.picture for place in shop.places if place.picture]
        self._files |= {f"/img/{name}": _read_picture(folder / "pictures" / shop.name, name) for name in pictures}
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(looks),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters.update(money=design.money, rating=design.rating)
        self._templates.globals.update(shop=shop, path_of=design.product_path, category_path=design.category_path)

    def reply(self, method: str, path: str, query: Mapping[str, str], form: Mapping[str, str]) -> web.Response:
        """What is answered to a GET, HEAD or POST of a path."""
        design, shop = self.design, self.shop
        if path == design.search_path:
            if design.search_method == "post" and method != "POST":
                return _answer(302, Location="/")
            asked = form if design.search_method == "post" else query
            text = asked.get(design.search_parameter, "")
            found = find(shop.goods, text)
            if design.search_method == "script":
                return self._cards(found, None)
            return self._listing("Search", found, path, asked, text)
        if method == "POST":
            return self._page(405, "message.html", title="That doesn't work", text=("This page takes no forms.",))
        if path in self._files:
            return _answer(200, self._files[path], _TYPES[Path(path).suffix])
        if path == "/":
            return self._page(200, "home.html", front=[self._goods[slug] for slug in shop.front])
        if goods := self._products.get(path):
            return self._product(goods)
        if category := self._categories.get(path):
            return self._listing(category, [one for one in shop.goods if one.category == category], path, query)
        if place := self._places.get(path):
            if place.kind == "redirect":
                return _answer(302, Location=place.to)
            named = [self._goods[slug] for slug in place.goods]
            return self._page(200, _PLACES[place.kind], place=place, goods=named, title=place.title, text=place.text)
        if path.startswith("/reviews/") and path.endswith(".json"):
            goods = self._goods.get(path.removeprefix("/reviews/").removesuffix(".json"))
            return self._reviews(goods, _whole(query.get("from", ""), 0))
        return self._page(design.missing_status, "missing.html")

    def _page(self, status: int, template: str, **values: Any) -> web.Response:
        return _answer(status, self._templates.get_template(template).render(**values).encode())

    def _product(self, goods: Goods) -> web.Response:
        """Its script knows for every form what is to be shown when it is chosen."""
        if goods.guarded:
            return self._page(403, "human.html")
        design, shop = self.design, self.shop
        forms = [
            {
                "name": form.name,
                "price": design.money(form.price),
                "was": "" if form.list_price is None else design.money(form.list_price),
                "shipping": design.shipping(shop.shipping_of(goods, form)),
                "total": design.money(form.price + shop.shipping_of(goods, form)),
                "stock": design.gone if form.sold_out else design.there,
                "soldOut": form.sold_out,
            }
            for form in goods.forms
        ]
        script = {"forms": forms, "chosen": goods.chosen, "reviews": f"/reviews/{goods.slug}.json"}
        related = [one for one in shop.goods if one.category == goods.category and one is not goods][:3]
        told = {"goods": goods, "shown": forms[goods.chosen], "script": script, "related": related}
        return self._page(200, "product.html", promoted=self._goods.get(goods.promotes), **told)

    def _reviews(self, goods: Goods | None, start: int) -> web.Response:
        if goods is None or goods.guarded:
            return _answer(404, b'{"error": "no such product"}\n', "application/json")
        end = start + REVIEWS_AT_ONCE
        reviews = goods.reviews[start:end]
        shown = [{"title": one.title, "text": one.text, "rating": self.design.rating(one.rating)} for one in reviews]
        return _json({"reviews": shown, "next": end if end < len(goods.reviews) else None})

    def _listing(
        self, title: str, goods: Sequence[Goods], path: str, query: Mapping[str, str], searched: str | None = None
    ) -> web.Response:
        design = self.design
        # A form's results stand on one page: there is no address that could name its second.
        size = design.page_size if searched is None or design.search_method == "get" else len(goods) or 1
        first, step = (0, size) if design.page_counts_goods else (1, 1)
        pages = -(-len(goods) // size) or 1
        page = (_whole(query.get(design.page_parameter, ""), first) - first) // step
        if not 0 <= page < pages:
            return self._page(design.missing_status, "missing.html")
        shown = goods[page * size : (page + 1) * size]
        if design.search_method == "script" and query.get("as") == "json":
            return self._cards(shown, page + 2 if page + 1 < pages else None)
        kept = {} if searched is None else {design.search_parameter: searched}
        paths = [f"{path}?{urlencode({**kept, design.page_parameter: first + step * one})}" for one in range(pages)]
        if searched is None:
            paths[0] = path
        told: dict[str, Any] = {"title": title, "goods": shown, "count": len(goods), "searched": searched, "path": path}
        return self._page(200, "listing.html", page=page + 1, pages=list(enumerate(paths, 1)), **told)

    def _cards(self, goods: Sequence[Goods], following: int | None) -> web.Response:
        cards = [
            {
                "title": one.title,
                "brand": one.brand,
                "path": self.design.product_path(one),
                "price": self.design.money(one.form.price),
                "picture": f"/img/{one.pictures[0]}" if one.pictures else "",
                "rating": self.design.rating(one.rating),
                "soldOut": one.sold_out,
            }
            for one in goods
        ]
        return _json({"goods": cards, "next": following})


def _whole(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else otherwise


def _json(value: dict[str, Any]) -> web.Response:
    return _answer(200, json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n", "application/json")


def _answer(status: int, body: bytes = b"", content_type: str = "text/html", **headers: str) -> web.Response:
    headers |= {"Cache-Control": "no-store", "Server": "mall"}
    return web.Response(status=status, body=body, content_type=content_type, charset="utf-8", headers=headers)


def _read_picture(folder: Path, name: str) -> bytes:
    path = folder / name
    inside = Path(name).name == name and path.suffix == ".svg"
    if not inside or not path.is_file() or path.stat().st_size > MAX_PICTURE_BYTES:
        raise UserError(f"{path}: expected an SVG file of at most {MAX_PICTURE_BYTES:,} bytes in that folder.")
    return path.read_bytes()


@asynccontextmanager
async def open_mall(folder: Path, port: int = 0) -> AsyncIterator[dict[str, tuple[str, int]]]:
    """Serve the shops of a data set's folder on loopback until the block ends; port 0 takes any that is free.

    Brings where each name, ``SHOP.mall.test``, answers; for people's browsers it is ``SHOP.localhost``, too, which is
    this machine's own (RFC 6761). Raises a UserError where there are no shops, one can't be read, or the port is taken.
    """
    pages = {shop.name: ShopPages(shop, folder) for shop in read_shops(folder)}
    if not pages:
        raise UserError(f"{folder} has no shops of its own. Name a data set with a folder `shops`, as sample-mall is.")
    listening = bound_socket(port)

    async def answer(request: web.Request) -> web.Response:
        name, _, domain = request.host.partition(":")[0].lower().partition(".")
        if domain not in (DOMAIN, "localhost") or name not in pages:
            return web.Response(status=421, text="No shop has this name.\n")
        posted = await request.post()
        form = {key: value for key in posted if isinstance(value := posted[key], str)}
        return pages[name].reply(request.method, request.path, request.query, form)

    application = web.Application(client_max_size=MAX_FORM_BYTES)
    application.add_routes([web.get("/{path:.*}", answer), web.post("/{path:.*}", answer)])
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        yield {f"{name}.{DOMAIN}": listening.getsockname() for name in pages}
    finally:
        await runner.cleanup()


def serve_dataset(dataset: str, data_dir: Path | None, port: int) -> None:
    """Serve the shops of a data set until Ctrl-C; raises a UserError where it can't."""
    folder = Path(load_curation(dataset, data_dir).folder)

    async def serve() -> None:
        async with open_mall(folder, port) as hosts:
            for host, (_, at) in hosts.items():
                name = host.removesuffix(f".{DOMAIN}")
                print(f"{name}: http://{name}.localhost:{at}/", flush=True)
            await asyncio.Event().wait()

    # Ctrl-C is how this ends.
    with suppress(KeyboardInterrupt), terminated_like_interrupted():
        asyncio.run(serve())
