"""The page over several runs, served to this machine alone; each run's own page is served below it."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from grounding.records import Screenshot
from grounding.report.html.content import Page
from grounding.report.html.live import LivePage, application
from grounding.report.html.livelarge import LargeLivePage
from grounding.report.html.loopback import only_this_machine
from grounding.report.html.queuecontent import QueuePage
from grounding.report.html.queuegather import QueueWatch
from grounding.report.html.queuepage import render_queue
from grounding.report.html.size import lie_beside

if TYPE_CHECKING:
    from aiohttp import web

READ_FOR_S = 0.7
"""How long one request may read answers; what is left is read by the next."""


class RunOnDemand(LivePage):
    """One run's own page, of the kind that its size asks for once somebody opens it; nothing is read before.

    Args:
        folder: The run's folder, which may not be there yet.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__([folder])
        self._chosen: LivePage | None = None
        self._choosing = threading.Lock()

    def page(self) -> Page:
        """The page as things stand. A run that has grown too large since is shown as a large one from now on.

        Raises:
            UserError: a run's file is damaged.
            OSError: there is no room for the steps of a large run.
        """
        with self._choosing:
            if not isinstance(self._chosen, LargeLivePage):
                if lie_beside(self.folders):
                    self._chosen = LargeLivePage(self.folders)
                else:
                    self._chosen = self._chosen or LivePage(self.folders)
                self._chosen.token = self.token
            chosen = self._chosen
        return chosen.page()

    def news(self) -> Page:
        """The page for who has an earlier one open."""
        return self.page() if self._chosen is None else self._chosen.news()

    def shot(self, number: int, name: str) -> Screenshot | None:
        """A screenshot of one of the run's steps; None for every other name."""
        return None if self._chosen is None else self._chosen.shot(number, name)

    def step_file(self, name: str) -> Path | None:
        """A file with steps that the page loads; None for every other name."""
        return None if self._chosen is None else self._chosen.step_file(name)

    def may_label(self, number: int, step_id: str) -> bool:
        """Whether that is a scored step of this run."""
        return self._chosen is not None and self._chosen.may_label(number, step_id)

    def close(self) -> None:
        """Take away what was made of a large run."""
        if isinstance(self._chosen, LargeLivePage):
            self._chosen.close()


class LiveQueue:
    """The runs of a folder as a page that follows them.

    Runs that come to the folder later are shown, too; their own pages are served from the next start on.
    """

    def __init__(self, folder: Path) -> None:
        self._watch = QueueWatch(folder)
        self._runs = tuple(map(RunOnDemand, self._watch.folders()))

    def close(self) -> None:
        """Take away what was made of large runs."""
        for run in self._runs:
            run.close()

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

    routes = web.RouteTableDef()

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

    app = web.Application(middlewares=[only_this_machine(port)])
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
