"""The mall on loopback: one port for all shops, told apart by the name in the request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grounding.benchmarks.agenticshop.loader import load_curation
from grounding.benchmarks.agenticshop.mall.shops import DOMAIN, Shop, read_shops
from grounding.benchmarks.agenticshop.records import Site
from grounding.errors import UserError, install
from grounding.run.runner import terminated_like_interrupted

if TYPE_CHECKING:
    from aiohttp import web

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

    try:
        from grounding.benchmarks.agenticshop.mall.pages import ShopPages
    except ImportError as problem:
        raise UserError(f"Serving a mall needs {problem.name}: {install('browser')}") from problem
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
