"""What a shop answers to a request, and all shops of a mall on one port of loopback, told apart by the name in it.

An answer is a pure function of the shop's file, so that a page is the same at every visit.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from grounding.errors import UserError, install
from grounding.run.runner import terminated_like_interrupted

from ..loader import load_curation
from ..records import Site
from ..scores import words
from .shops import DESIGNS, DOMAIN, Goods, Shop, ShopPage, address, read_shops, shipping_text

try:
    import jinja2
except ImportError as problem:
    raise UserError(f"Serving a mall needs {problem.name}: {install('browser')}") from problem

if TYPE_CHECKING:
    from aiohttp import web

MAX_QUERY_WORDS = 40
REVIEWS_AT_ONCE = 3
_SMALL_WORDS = "a an and for from i in is it like looking me my need of on or searching some that the to want with"
_SMALL = frozenset(_SMALL_WORDS.split())
_HERE = Path(__file__).parent / "designs"
_SIGN = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="16" fill="#444"/>'
    '<text x="16" y="23" font-size="20" text-anchor="middle" fill="#fff">{}</text></svg>\n'
)
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_PLACES = {"hidden": "human.html", "missing": "missing.html", "listing": "bundle.html", "article": "message.html"}


def find(goods: Sequence[Goods], query: str) -> list[Goods]:
    """The products that have any word of the query, those first that have most of its words."""
    asked = list(dict.fromkeys(word for word in words(query) if word not in _SMALL))[:MAX_QUERY_WORDS]
    ranked = []
    for place, one in enumerate(goods):
        title, maker = set(words(one.title)), set(words(f"{one.brand} {one.category}"))
        facts = (f"{line.name} {line.value}" for line in one.attributes)
        rest = set(words(" ".join((one.description, *one.features, *facts))))
        score = [3 if word in title else 2 if word in maker else 1 if word in rest else 0 for word in asked]
        if any(score):
            ranked.append((-sum(map(bool, score)), -sum(score), place, one))
    return [one for *_, one in sorted(ranked, key=lambda entry: entry[:3])]


class PageReply(NamedTuple):
    """``location`` is where a redirect leads, "" without one."""

    status: int
    content_type: str
    body: bytes
    location: str = ""


class ShopPages:
    def __init__(self, shop: Shop, pictures: Mapping[str, bytes]) -> None:
        self.shop = shop
        design = self.design = DESIGNS[shop.design]
        self._goods = {goods.slug: goods for goods in shop.goods}
        self._products = {self.design.product_path(goods): goods for goods in shop.goods}
        self._categories = {self.design.category_path(name): name for name in shop.categories}
        self._places = {place.path: place for place in shop.places}
        folder = _HERE / shop.design
        self._files = {f"/img/{name}": content for name, content in pictures.items()}
        static = (_HERE / "common.js", folder / "style.css", folder / "shop.js")
        self._files |= {f"/static/{file.name}": file.read_bytes() for file in static}
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
            delivery_text=lambda goods: goods.delivery or shop.delivery,
            returns_text=lambda goods: goods.returns or shop.returns,
            stock_text=self._stock,
            terms=design.terms.format(fee=design.money(shop.shipping), bound=design.money(shop.free_above)),
            root=shop.home_url.rstrip("/"),
            address=lambda goods: address(shop, goods),
        )

    def reply(self, method: str, path: str, query: Mapping[str, str], form: Mapping[str, str]) -> PageReply:
        """What is answered to a GET or POST of a path; ``query`` and ``form`` hold the first value of each field."""
        design = self.design
        if path == design.search_path:
            asked = form if design.search_method == "post" else query
            if design.search_method != "post" or method == "POST":
                words = asked.get(design.search_parameter, "")
                return self._listing("Search", find(self.shop.goods, words), path, asked, words)
            return PageReply(302, "text/html", b"", "/")
        if method == "POST":
            return self._page(405, "message.html", title="That doesn't work", text=("This page takes no forms.",))
        if path in self._files:
            return PageReply(200, _TYPES[Path(path).suffix], self._files[path])
        if path == "/":
            return self._page(200, "home.html", front=[self._goods[slug] for slug in self.shop.front])
        if path in self._products:
            return self._product(self._products[path])
        if path in self._categories:
            name = self._categories[path]
            return self._listing(name, [one for one in self.shop.goods if one.category == name], path, query)
        if path in self._places:
            return self._place(self._places[path])
        goods = self._goods.get(path.removeprefix("/reviews/").removesuffix(".json"))
        if path.startswith("/reviews/") and path.endswith(".json"):
            return self._reviews(goods, _whole(query.get("from", "0"), 0))
        return self._page(self.design.missing_status, "missing.html")

    def _page(self, status: int, template: str, **values: Any) -> PageReply:
        return PageReply(status, "text/html", self._templates.get_template(template).render(**values).encode())

    def _stock(self, sold_out: bool) -> str:
        return self.design.gone if sold_out else self.design.there

    def _rating(self, rating: float | None) -> str:
        return "" if rating is None else self.design.rating(rating)

    def _product(self, goods: Goods) -> PageReply:
        """Its script knows for every form what is to be shown when it is chosen."""
        if goods.guarded:
            return self._page(403, "human.html")
        money, shop = self.design.money, self.shop
        forms = [
            {
                "name": form.name,
                "price": money(form.price),
                "was": "" if form.list_price is None else money(form.list_price),
                "shipping": shipping_text(shop, goods, form),
                "total": money(form.price + shop.shipping_of(goods, form)),
                "stock": self._stock(form.sold_out),
                "soldOut": form.sold_out,
            }
            for form in goods.forms
        ]
        script = {"forms": forms, "chosen": goods.chosen, "reviews": f"/reviews/{goods.slug}.json"}
        promoted = self._goods.get(goods.promotes)
        related = [one for one in shop.goods if one.category == goods.category and one is not goods][:3]
        return self._page(200, "product.html", goods=goods, promoted=promoted, related=related, script=script)

    def _reviews(self, goods: Goods | None, start: int) -> PageReply:
        if goods is None or goods.guarded:
            return PageReply(404, "application/json", b'{"error": "no such product"}\n')
        end = start + REVIEWS_AT_ONCE
        reviews = goods.reviews[start:end]
        shown = [{"title": one.title, "text": one.text, "rating": self._rating(one.rating)} for one in reviews]
        return _json({"reviews": shown, "next": end if end < len(goods.reviews) else None})

    def _listing(
        self, title: str, goods: Sequence[Goods], path: str, query: Mapping[str, str], searched: str | None = None
    ) -> PageReply:
        design, script = self.design, self.design.search_method == "script"
        if script and searched is not None:
            return self._cards(goods, None)
        # A form's results stand on one page: there is no address that could name its second.
        size = design.page_size if searched is None or design.search_method == "get" else max(1, len(goods))
        asked, pages = query.get(design.page_parameter, ""), max(1, -(-len(goods) // size))
        page = _whole(asked, 0) // size if design.page_counts_goods else _whole(asked, 1) - 1
        if not 0 <= page < pages:
            return self._page(design.missing_status, "missing.html")
        shown = goods[page * size : (page + 1) * size]
        if script and query.get("as") == "json":
            return self._cards(shown, page + 2 if page + 1 < pages else None)
        words = {} if searched is None else {design.search_parameter: searched}
        counts = [one * size if design.page_counts_goods else one + 1 for one in range(pages)]
        paths = [f"{path}?{urlencode({**words, design.page_parameter: count})}" for count in counts]
        if searched is None:
            paths[0] = path
        told: dict[str, Any] = {"title": title, "goods": shown, "count": len(goods), "searched": searched, "path": path}
        return self._page(200, "listing.html", page=page + 1, pages=list(enumerate(paths, 1)), **told)

    def _cards(self, goods: Sequence[Goods], following: int | None) -> PageReply:
        cards = [
            {
                "title": one.title,
                "brand": one.brand,
                "path": self.design.product_path(one),
                "price": self.design.money(one.form.price),
                "picture": f"/img/{one.pictures[0]}" if one.pictures else "",
                "rating": self._rating(one.rating),
                "soldOut": one.sold_out,
            }
            for one in goods
        ]
        return _json({"goods": cards, "next": following})

    def _place(self, place: ShopPage) -> PageReply:
        if place.kind == "redirect":
            return PageReply(302, "text/html", b"", place.to)
        goods = [self._goods[slug] for slug in place.goods]
        return self._page(200, _PLACES[place.kind], place=place, goods=goods, title=place.title, text=place.text)


def _whole(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else otherwise


def _json(value: dict[str, Any]) -> PageReply:
    return PageReply(200, "application/json", json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n")


LOOPBACK = "127.0.0.1"
MAX_FORM_BYTES = 16_000
MAX_PICTURE_BYTES = 1_000_000


class Mall(NamedTuple):
    """``hosts`` leads each shop's name to where it answers."""

    sites: tuple[Site, ...]
    port: int
    hosts: dict[str, tuple[str, int]]


@asynccontextmanager
async def open_mall(folder: Path, port: int = 0) -> AsyncIterator[Mall]:
    """Serve the shops of a data set's folder on loopback until the block ends; port 0 takes any that is free.

    A shop answers under ``NAME.mall.test`` and, for people's browsers, ``NAME.localhost``, which is this machine's own
    (RFC 6761). Raises a UserError where there are no shops, jinja2 is missing, or the port is taken.
    """
    from aiohttp import web

    shops = read_shops(folder)
    if not shops:
        raise UserError(f"{folder}: expected a folder `shops` with a JSON file for each shop, and there is none.")
    pages = {shop.name: ShopPages(shop, read_pictures(folder, shop)) for shop in shops}

    async def answer(request: web.Request) -> web.Response:
        name, _, domain = request.host.partition(":")[0].lower().partition(".")
        if domain not in (DOMAIN, "localhost") or name not in pages:
            return web.Response(status=421, text="No shop has this name.\n")
        form: Mapping[str, str] = {}
        if request.method == "POST":
            posted = await request.post()
            form = {key: value for key in posted if isinstance(value := posted[key], str)}
        elif request.method not in ("GET", "HEAD"):
            return web.Response(status=405)
        query = {key: request.query[key] for key in request.query}
        reply = pages[name].reply(request.method, request.path, query, form)
        kind = f"{reply.content_type}; charset=utf-8"
        headers = {"Cache-Control": "no-store", "Content-Type": kind, "Server": "mall"}
        headers |= {"Location": reply.location} if reply.location else {}
        return web.Response(status=reply.status, body=reply.body, headers=headers)

    application = web.Application(client_max_size=MAX_FORM_BYTES)
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, LOOPBACK, port).start()
        except OSError as problem:
            raise UserError(f"Port {port} of {LOOPBACK} can't be opened: {problem.strerror}.") from problem
        at = int(runner.addresses[0][1])
        sites = tuple(Site(name=shop.name, home_url=shop.home_url) for shop in shops)
        yield Mall(sites, at, {f"{shop.name}.{DOMAIN}": (LOOPBACK, at) for shop in shops})
    finally:
        await runner.cleanup()


def read_pictures(folder: Path, shop: Shop) -> dict[str, bytes]:
    """The drawings that a shop names, from ``pictures/SHOP``; a UserError where one is not there or no SVG file."""
    names = {name for goods in shop.goods for name in goods.pictures}
    names |= {place.picture for place in shop.places if place.picture}
    found = {}
    for name in sorted(names):
        path = folder / "pictures" / shop.name / name
        inside = Path(name).name == name and path.suffix == ".svg"
        if not inside or not path.is_file() or path.stat().st_size > MAX_PICTURE_BYTES:
            raise UserError(f"{path}: expected an SVG file of at most {MAX_PICTURE_BYTES:,} bytes in that folder.")
        found[name] = path.read_bytes()
    return found


def serve_dataset(dataset: str, data_dir: Path | None, port: int) -> None:
    """Serve the shops of a data set until Ctrl-C; raises a UserError where it can't."""
    loaded = load_curation(dataset, data_dir)
    if not loaded.sites:
        raise UserError(
            f"{dataset} has no shops of its own. Name a data set with a folder `shops`, such as sample-mall."
        )

    async def serve() -> None:
        async with open_mall(Path(loaded.folder), port) as mall:
            for site in mall.sites:
                print(f"{site.name}: http://{site.name}.localhost:{mall.port}/", flush=True)
            await asyncio.Event().wait()

    # Ctrl-C is how this ends.
    with suppress(KeyboardInterrupt), terminated_like_interrupted():
        asyncio.run(serve())
