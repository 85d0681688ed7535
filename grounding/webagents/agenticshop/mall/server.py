"""The mall on loopback: one port for all shops, told apart by the name in the request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from grounding.errors import UserError
from grounding.webagents.agenticshop.mall.folder import read_shops
from grounding.webagents.agenticshop.mall.records import DOMAIN, Shop
from grounding.webagents.agenticshop.records import Site

if TYPE_CHECKING:
    from aiohttp import web

    from grounding.webagents.agenticshop.mall.pages import Reply, ShopPages

LOOPBACK = "127.0.0.1"
MAX_FORM_BYTES = 16_000
MAX_PICTURE_BYTES = 1_000_000


class Mall:
    """A mall that is served. ``hosts`` leads each shop's name to where it answers."""

    def __init__(self, sites: tuple[Site, ...], port: int) -> None:
        self.sites = sites
        self.port = port
        self.hosts: dict[str, tuple[str, int]] = {f"{site.name}.{DOMAIN}": (LOOPBACK, port) for site in sites}


@asynccontextmanager
async def open_mall(folder: Path, port: int = 0) -> AsyncIterator[Mall]:
    """Serve the shops of a data set's folder on loopback until the block ends; port 0 takes any that is free.

    A shop answers under ``NAME.mall.test`` and, for people's browsers, ``NAME.localhost``. Nothing is kept between
    requests: the same address brings the same bytes.

    Raises:
        UserError: the folder has no shops, one can't be read, jinja2 is missing, or the port is taken.
    """
    from aiohttp import web

    shops = read_shops(folder)
    if not shops:
        raise UserError(f"{folder}: expected a folder `shops` with a JSON file for each shop, and there is none.")
    application = web.Application(client_max_size=MAX_FORM_BYTES)
    application.router.add_route("*", "/{path:.*}", _Answering(shops, folder).answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, LOOPBACK, port).start()
        except OSError as problem:
            raise UserError(
                f"Port {port} of {LOOPBACK} can't be opened: {problem.strerror}. Name another."
            ) from problem
        sites = tuple(Site(name=shop.name, home_url=shop.home_url) for shop in shops)
        yield Mall(sites, runner.addresses[0][1])
    finally:
        await runner.cleanup()


def serve_until_stopped(folder: Path, port: int, said: Callable[[str], None]) -> None:
    """Serve a mall for people to walk through, until somebody ends the program.

    ``said`` is told each address. A browser reaches a shop as ``http://NAME.localhost:PORT/``: names under
    ``localhost`` are this machine's own (RFC 6761), and the shops' links hold no name, so all of them work there.

    Raises:
        UserError: as ``open_mall``.
    """
    asyncio.run(_serve(folder, port, said))


async def _serve(folder: Path, port: int, said: Callable[[str], None]) -> None:
    async with open_mall(folder, port) as mall:
        said(f"all shops: http://{LOOPBACK}:{mall.port}/")
        for site in mall.sites:
            said(f"{site.name}: http://{site.name}.localhost:{mall.port}/")
        await asyncio.Event().wait()


def read_pictures(folder: Path, shop: Shop) -> dict[str, bytes]:
    """The drawings of a shop's products and pages by the name of their file, from ``pictures/SHOP``.

    Raises:
        UserError: one that the shop names is not there, too large, or not a name of an SVG file in that folder.
    """
    names = {name for goods in shop.goods for name in goods.pictures}
    names |= {place.picture for place in shop.places if place.picture}
    found = {}
    for name in sorted(names):
        path = folder / "pictures" / shop.name / name
        if Path(name).name != name or path.suffix != ".svg":
            raise UserError(f"{shop.name}: the picture {name!r} is not the name of an SVG file.")
        if not path.is_file() or path.stat().st_size > MAX_PICTURE_BYTES:
            raise UserError(f"{path}: expected a picture of at most {MAX_PICTURE_BYTES:,} bytes there.")
        found[name] = path.read_bytes()
    return found


class _Answering:
    def __init__(self, shops: tuple[Shop, ...], folder: Path) -> None:
        self._shops = shops
        self._pages: dict[str, ShopPages] = _pages(shops, folder)

    async def answer(self, request: web.Request) -> web.Response:
        from aiohttp import web

        name, _, domain = request.host.partition(":")[0].lower().partition(".")
        if domain in (DOMAIN, "localhost") and name in self._pages:
            form: Mapping[str, str] = {}
            if request.method == "POST":
                posted = await request.post()
                form = {key: value for key in posted if isinstance(value := posted[key], str)}
            elif request.method not in ("GET", "HEAD"):
                return web.Response(status=405)
            query = {key: request.query[key] for key in request.query}
            return _response(self._pages[name].reply(request.method, request.path, query, form))
        if request.host.partition(":")[0].lower() in (LOOPBACK, "localhost"):
            port = request.url.port
            return web.Response(text=_directory(self._shops, port), content_type="text/html", charset="utf-8")
        return web.Response(status=421, text="No shop has this name.\n")


def _pages(shops: tuple[Shop, ...], folder: Path) -> dict[str, ShopPages]:
    try:
        from grounding.webagents.agenticshop.mall.pages import ShopPages
    except ImportError as problem:
        raise UserError(
            f"Serving a mall needs {problem.name}, which is not installed: pip install 'grounding[browser]'."
        ) from problem
    return {shop.name: ShopPages(shop, read_pictures(folder, shop)) for shop in shops}


def _response(reply: Reply) -> web.Response:
    from aiohttp import web

    headers = {"Cache-Control": "no-store", "Content-Type": f"{reply.content_type}; charset=utf-8", "Server": "mall"}
    if reply.location:
        headers["Location"] = reply.location
    return web.Response(status=reply.status, body=reply.body, headers=headers)


def _directory(shops: tuple[Shop, ...], port: int | None) -> str:
    """For a person who opens the port itself: the way into each shop."""
    rows = "".join(
        f'<li><a href="http://{shop.name}.localhost:{port}/">{escape(shop.title)}</a>: {escape(shop.tagline)}</li>'
        for shop in shops
    )
    style = "body{font:18px/1.6 system-ui,sans-serif;max-width:40em;margin:4em auto;padding:0 1em}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>The mall</title><style>{style}</style>'
        f"<h1>The mall</h1><ul>{rows}</ul></html>\n"
    )
