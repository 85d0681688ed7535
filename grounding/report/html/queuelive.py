"""The page over several runs, served to this machine alone; each run's own page is served below it."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from grounding.errors import UserError
from grounding.report.html.live import LOOPBACK, LivePage, application
from grounding.report.html.queuecontent import QueuePage
from grounding.report.html.queuegather import QueueWatch
from grounding.report.html.queuepage import render_queue

if TYPE_CHECKING:
    from aiohttp import web

READ_FOR_S = 0.7
"""How long one request may read answers; what is left is read by the next."""


class LiveQueue:
    """The runs of a folder as a page that follows them.

    Runs that come to the folder later are shown, too; their own pages are served from the next start on.
    """

    def __init__(self, folder: Path) -> None:
        self._watch = QueueWatch(folder)
        self._runs = tuple(LivePage([each]) for each in self._watch.folders())

    def page(self) -> QueuePage:
        """The page as things stand.

        Raises:
            UserError: the queue is damaged.
        """
        return self._watch.page(link=self._link, is_live=True, until=time.monotonic() + READ_FOR_S)

    def runs(self) -> tuple[LivePage, ...]:
        """The runs' own pages by their keys."""
        return self._runs

    def _link(self, key: int, folder: Path) -> str:  # noqa: ARG002
        return f"run/{key}/" if key < len(self._runs) else ""


def queue_application(live: LiveQueue, port: int) -> web.Application:
    """The server's paths. Every request must name this machine."""
    from aiohttp import web

    hosts = {f"{LOOPBACK}:{port}", f"localhost:{port}"}
    routes = web.RouteTableDef()

    @web.middleware
    async def only_here(request: web.Request, handler: web.Handler) -> web.StreamResponse:  # type: ignore[name-defined]
        # Another site's name that points here (DNS rebinding) is refused.
        if request.host not in hosts:
            raise web.HTTPForbidden(text="this page is served to its own machine only\n")
        try:
            response: web.StreamResponse = await handler(request)
        except UserError as error:
            raise web.HTTPConflict(text=f"{error}\n") from error
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers["X-Frame-Options"] = "DENY"
        return response

    @routes.get("/")
    async def whole(_: web.Request) -> web.Response:
        text = await asyncio.to_thread(lambda: render_queue(live.page()))
        return web.Response(text=text, content_type="text/html", headers={"Cache-Control": "no-store"})

    @routes.get("/queue.json")
    async def news(request: web.Request) -> web.Response:
        page = await asyncio.to_thread(live.page)
        if request.query.get("have") == page.version:
            return web.Response(status=204, headers={"Cache-Control": "no-store"})
        body = msgspec.json.encode(page)
        return web.Response(body=body, content_type="application/json", headers={"Cache-Control": "no-store"})

    app = web.Application(middlewares=[only_here])
    app.add_routes(routes)
    for key, run in enumerate(live.runs()):
        app.add_subapp(f"/run/{key}/", application(run, port))
    return app


async def serve_queue(live: LiveQueue, listening: socket.socket) -> None:
    """Serve the page until cancelled."""
    from aiohttp import web

    runner = web.AppRunner(queue_application(live, listening.getsockname()[1]), access_log=None)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
