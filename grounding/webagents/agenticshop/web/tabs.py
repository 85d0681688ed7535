"""One fresh browser context with one page: no memory of others, no rights, and nothing but its lane to the web."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from grounding.webagents.agenticshop.web.chromium import VIEWPORT
from grounding.webagents.agenticshop.web.guard import Lane
from grounding.webagents.agenticshop.web.heads import leads_off_the_web
from grounding.webagents.agenticshop.web.isolated import run_script
from grounding.webagents.agenticshop.web.policy import WebPolicy
from grounding.webagents.agenticshop.web.quiet import Traffic
from grounding.webagents.agenticshop.web.troubles import PageTrouble

if TYPE_CHECKING:
    from playwright.async_api import (
        Browser,
        BrowserContext,
        CDPSession,
        Dialog,
        Download,
        Frame,
        Page,
        Request,
        Response,
    )

ResultT = TypeVar("ResultT")
_MOST_POPUPS = 50
_OPEN_S = 30.0
_CLOSE_S = 5.0
_READABLE = frozenset({"", "text/html", "application/xhtml+xml", "text/plain"})


class Tab:
    """A page and what became of its main document. ``trouble`` is set as soon as it is clear that there is none.

    ``hops`` are the addresses that the main frame asked for, in order; ``response`` is the last answer for it.
    ``dialogs``, ``popups`` and ``downloads`` are what the page wanted and did not get.
    """

    def __init__(self, page: Page, session: CDPSession, lane: Lane, policy: WebPolicy) -> None:
        self.page = page
        self.lane = lane
        self.traffic = Traffic(page.context)
        self.hops: list[str] = []
        self.response: Response | None = None
        self.documents = 0
        self.dialogs = 0
        self.popups: list[str] = []
        self.downloads = 0
        self.trouble: asyncio.Future[PageTrouble] = asyncio.get_running_loop().create_future()
        self.bounded = True
        self._session = session
        self._policy = policy
        self._loaded_bytes = 0
        self._closing: set[asyncio.Task[None]] = set()
        session.on("Network.dataReceived", self._loads)
        page.on("dialog", self._dismiss)
        page.on("download", self._download)
        page.on("crash", lambda _: self.fails(PageTrouble("page-crashed", "the page ended its own process")))
        page.on("framenavigated", self._navigated)
        page.context.on("request", self._asked)
        page.context.on("response", self._answered)
        page.context.on("page", self._popup)

    async def run(self, name: str, argument: object = None) -> Any:
        """Call one of our scripts in the page, in a world of its own.

        Raises:
            ScriptError: It did not end well.
            PageTrouble: too-slow: the page does not answer.
        """
        return await run_script(self._session, name, argument, self._policy.script_s)

    async def picture(self, top_px: int, height_px: int) -> bytes:
        """A PNG of the page's full width from a height on, whatever part of it is in view.

        Raises:
            PageTrouble: too-slow: the page is not painted.
        """
        clip = {"x": 0, "y": top_px, "width": VIEWPORT.width, "height": height_px, "scale": 1}
        options = {"format": "png", "clip": clip, "captureBeyondViewport": True}
        try:
            async with asyncio.timeout(self._policy.script_s):
                answer = await self._session.send("Page.captureScreenshot", options)
        except TimeoutError:
            raise PageTrouble("too-slow", f"the page was not painted within {self._policy.script_s:g} s") from None
        return base64.b64decode(answer["data"])

    async def unless_trouble(self, work: Awaitable[ResultT]) -> ResultT:
        """The result of some work, which is broken off as soon as it is clear that there will be no page.

        Raises:
            PageTrouble: There will be none.
        """
        task = asyncio.ensure_future(work)
        waiting: list[asyncio.Future[Any]] = [task, self.trouble]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if self.trouble.done():
                raise self.trouble.result()
            return task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def begin(self) -> None:
        """Forget the last document: another is about to be asked for."""
        self.hops = []
        self.response = None
        self._loaded_bytes = 0
        if self.trouble.done():
            self.trouble = asyncio.get_running_loop().create_future()

    def fails(self, trouble: PageTrouble) -> None:
        """There will be no page. The first reason stays."""
        if not self.trouble.done():
            self.trouble.set_result(trouble)

    def _of_the_main_document(self, request: Request) -> bool:
        from playwright.async_api import Error

        try:
            return request.is_navigation_request() and request.frame == self.page.main_frame
        except Error:  # It says so of requests whose frame is not there yet, or no more.
            return False

    def _asked(self, request: Request) -> None:
        if not self._of_the_main_document(request):
            return
        self.hops.append(request.url)
        if self.bounded and len(self.hops) > self._policy.max_redirects + 1:
            self.fails(PageTrouble("too-many-redirects", f"the page went on {len(self.hops) - 1} times"))

    def _answered(self, response: Response) -> None:
        if not self._of_the_main_document(response.request):
            return
        self.response = response
        location = response.headers.get("location", "")
        if 300 <= response.status < 400 and leads_off_the_web(location):
            self.fails(PageTrouble("refused", f"the page leads to {location[:200]!r}, which is not of the web"))
        if 300 <= response.status < 400 or self.lane.refusal_of(response.url) is not None:
            return
        kind = content_type(response)
        length = response.headers.get("content-length", "")
        if "attachment" in response.headers.get("content-disposition", "").lower():
            self.fails(PageTrouble("not-a-page", f"a file to be downloaded ({kind or 'of no kind'})"))
        elif kind not in _READABLE:
            self.fails(PageTrouble("not-a-page", f"a document of the kind {kind[:100]}"))
        elif length.isdigit() and int(length) > (most := self._policy.max_document_bytes):
            self.fails(PageTrouble("too-large", f"a document of {length} bytes, where {most} are allowed"))

    def _navigated(self, frame: Frame) -> None:
        if frame == self.page.main_frame:
            self.documents += 1
            self.traffic.forget()

    def _loads(self, event: dict[str, Any]) -> None:
        self._loaded_bytes += int(event["dataLength"])
        if self.bounded and self._loaded_bytes > (most := self._policy.max_loaded_bytes):
            self.fails(PageTrouble("too-large", f"the page unpacks to more than {most} bytes"))

    def _dismiss(self, dialog: Dialog) -> None:
        self.dialogs += 1
        # "Leave this page?" is answered with yes, all else with no.
        self._in_background(dialog.accept() if dialog.type == "beforeunload" else dialog.dismiss())

    def _download(self, download: Download) -> None:
        self.downloads += 1
        self._in_background(download.cancel())

    def _popup(self, page: Page) -> None:
        if page != self.page:
            self._in_background(self._close_popup(page))

    async def _close_popup(self, page: Page) -> None:
        if len(self.popups) < _MOST_POPUPS and page.url.startswith(("http://", "https://")):
            self.popups.append(page.url)
        await page.close()

    def _in_background(self, work: Any) -> None:
        async def quietly() -> None:
            from playwright.async_api import Error

            with suppress(Error):  # It may have gone by itself.
                await work

        task = asyncio.create_task(quietly())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def end(self) -> None:
        """Wait for what is still being dismissed."""
        tasks = tuple(self._closing)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def content_type(response: Response) -> str:
    """The kind of a document as its server names it, without parameters."""
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


@asynccontextmanager
async def open_tab(browser: Browser, lane: Lane, user_agent: str, policy: WebPolicy) -> AsyncIterator[Tab]:
    """A tab that is open within the block; all that it held is gone after.

    Raises:
        PageTrouble: browser-crashed: the browser does not answer.
        playwright.async_api.Error: The browser is gone.
    """
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(_OPEN_S):
            context = await _new_context(browser, lane, user_agent)
    except TimeoutError:
        raise PageTrouble("browser-crashed", f"the browser opened no page within {_OPEN_S:g} s") from None
    try:
        try:
            async with asyncio.timeout(_OPEN_S):
                page = await context.new_page()
                session = await context.new_cdp_session(page)
                tab = Tab(page, session, lane, policy)
                await session.send("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0})
        except TimeoutError:
            raise PageTrouble("browser-crashed", f"the browser opened no page within {_OPEN_S:g} s") from None
        try:
            yield tab
        finally:
            await tab.end()
    finally:
        with suppress(Error, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await context.close()


async def _new_context(browser: Browser, lane: Lane, user_agent: str) -> BrowserContext:
    return await browser.new_context(
        proxy={
            "server": lane.proxy_url,
            "bypass": "<-loopback>",
            "username": lane.USER,
            "password": lane.secret,
        },
        viewport={"width": VIEWPORT.width, "height": VIEWPORT.height},
        device_scale_factor=1,
        locale="en-US",
        timezone_id="UTC",
        reduced_motion="reduce",
        color_scheme="light",
        user_agent=user_agent,
        accept_downloads=False,
        service_workers="block",
        permissions=[],
    )
