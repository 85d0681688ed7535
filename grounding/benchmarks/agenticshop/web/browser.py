"""The door to the web: one browser behind the guard, for rendering pages and for agents that look around."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from grounding.benchmarks.agenticshop.records import RenderedPage
from grounding.benchmarks.agenticshop.web.chromium import start_chromium
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder
from grounding.benchmarks.agenticshop.web.guard import Guard, Resolve, ask_system
from grounding.benchmarks.agenticshop.web.policy import VIEWPORT, PageLost, PageTrouble, Trouble, WebPolicy, check_url
from grounding.benchmarks.agenticshop.web.render import RENDERING, render_page
from grounding.benchmarks.agenticshop.web.tab import BrowserTab, open_tab

if TYPE_CHECKING:
    from playwright.async_api import Browser

_TRIES = 2


class WebBrowser:
    """A browser that is started when it is needed, and once more when it has died. Made by ``open_browser``."""

    def __init__(self, policy: WebPolicy, resolve: Resolve, parallel: int, profile: Path | None = None) -> None:
        self.policy = policy
        self._guard = Guard(policy, resolve)
        # An agent that has a session may have a page rendered: they don't wait for each other.
        self._pages, self._sessions = asyncio.Semaphore(parallel), asyncio.Semaphore(parallel)
        self._starting = asyncio.Lock()
        self._running: Browser | None = None
        self._stack = AsyncExitStack()
        self._user_agent = ""
        self._profile = profile
        self._empty: list[tuple[str, BrowserTab, AsyncExitStack]] = []
        self._rendering: dict[str, asyncio.Lock] = {}

    @property
    def identity(self) -> str:
        """Which browser and which rules of rendering make the pages: pages of equal identity can be compared."""
        limits = msgspec.structs.asdict(self.policy) | {"hosts": {}}
        digest = hashlib.sha256(msgspec.json.encode(limits, order="deterministic")).hexdigest()[:12]
        version = self._running.version if self._running is not None else ""
        return f"Chromium/{version} {RENDERING} {VIEWPORT.width}x{VIEWPORT.height} limits-{digest}"

    async def render(self, url: str, evidence: EvidenceFolder, *, again: bool = False) -> RenderedPage:
        """The page at an address as the browser shows it, kept in the folder.

        A page that is there already, because an agent or another task had it rendered, is not loaded again, unless that
        is asked for with ``again``. Whatever keeps the page from being had is told by its ``failure``: of kind
        ``error`` where the machine or the browser is to blame, and asking again may help, else ``missing``.

        Raises:
            UserError: The browser died and does not start any more.
            OSError: The folder can't be written.
        """
        try:
            check_url(url, self.policy)
        except PageTrouble as trouble:
            return RenderedPage(url=url, failure=trouble.failure)
        key = hashlib.sha256(msgspec.json.encode((self.identity, url))).hexdigest()
        async with self._rendering.setdefault(key, asyncio.Lock()):
            kept = None if again else await asyncio.to_thread(evidence.find_page, key)
            if kept is not None:
                return kept
            async with self._pages:
                page = await self._tried(url, evidence)
            if page.failure is None:
                await asyncio.to_thread(evidence.keep_page, key, page)
            return page

    async def _tried(self, url: str, evidence: EvidenceFolder) -> RenderedPage:
        from playwright.async_api import Error

        for _ in range(_TRIES):
            browser = await self.start()
            try:
                async with self._page_tab(browser, urlsplit(url).netloc) as tab:
                    return await render_page(tab, url, self.policy, evidence)
            except (PageLost, Error) as error:
                trouble: Trouble = "page-crashed" if browser.is_connected() else "browser-crashed"
                last = PageTrouble(trouble, f"{str(error)[:200]}, {_TRIES} times")
        return RenderedPage(url=url, failure=last.failure)

    @asynccontextmanager
    async def _tab(self, browser: Browser, max_bytes: int) -> AsyncIterator[BrowserTab]:
        async with (
            self._guard.lane(max_bytes) as lane,
            open_tab(browser, lane, self._user_agent, self.policy, self._profile) as tab,
        ):
            yield tab

    @asynccontextmanager
    async def _page_tab(self, browser: Browser, host: str) -> AsyncIterator[BrowserTab]:
        """A tab that knows of no page before: a new one on the open web.

        For a data set's own shops one that was emptied is used again, for the same shop if there is one: a new tab
        takes twice the time of a page.
        """
        place = next((number for number, one in enumerate(self._empty) if one[0] == host), 0)
        stack = AsyncExitStack()
        if self._empty:
            _, tab, stack = self._empty.pop(place)
        else:
            tab = await stack.enter_async_context(self._tab(browser, self.policy.max_page_bytes))
            await tab.page.goto("about:blank")  # As in one that is used again: a page can see how many were before.
        async with stack:
            yield tab
            if not self.policy.open_web and self._profile is None and await tab.empty():
                self._empty.append((host, tab, stack.pop_all()))

    @asynccontextmanager
    async def session(self, *, pictures: bool = True) -> AsyncIterator[BrowserTab]:
        """A fresh tab for an agent to look around in: the same guard, and the same rules but those of one page.

        Its ``page`` is Playwright's own, for clicks and typing. Without ``pictures`` none is loaded: for an agent that
        only reads.

        Raises:
            UserError: The browser died and does not start any more.
            PageLost: The browser does not answer.
            playwright.async_api.Error: The browser died just now.
        """
        async with self._sessions, self._tab(await self.start(), self.policy.max_session_bytes) as tab:
            tab.bounded = False
            if not pictures:
                await tab.leave_out_pictures()
            yield tab

    async def start(self) -> Browser:
        """The running browser, started where it is not; one that has died is replaced.

        Raises:
            UserError: It does not start.
        """
        from grounding import __version__

        async with self._starting:
            if self._running is None or not self._running.is_connected():
                await self.aclose()
                # What belongs to no page goes nowhere.
                own = await self._stack.enter_async_context(Guard(WebPolicy(open_web=False)).lane(1))
                self._running = await self._stack.enter_async_context(start_chromium(own.proxy_url))
                session = await self._running.new_browser_cdp_session()
                name = (await session.send("Browser.getVersion"))["userAgent"]
                await session.detach()
                self._user_agent = f"{name} grounding/{__version__}"
            return self._running

    async def aclose(self) -> None:
        """End the browser."""
        while self._empty:
            await self._empty.pop()[2].aclose()
        await self._stack.aclose()


@asynccontextmanager
async def open_browser(
    policy: WebPolicy, *, parallel: int, resolve: Resolve = ask_system, profile: Path | None = None
) -> AsyncIterator[WebBrowser]:
    """A browser for the time of the block; its processes are gone after, however the block ends.

    Args:
        policy: What pages may reach and take.
        parallel: How many pages may be rendered at a time, and how many sessions may be open beside.
        resolve: Makes a host name into addresses; the machine's own resolver unless a test knows better.
        profile: A file of cookies and local storage that every page starts with, as Playwright saves it.

    Raises:
        UserError: playwright or a browser is missing or does not start.
    """
    browser = WebBrowser(policy, resolve, parallel, profile)
    try:
        await browser.start()
        yield browser
    finally:
        await browser.aclose()
