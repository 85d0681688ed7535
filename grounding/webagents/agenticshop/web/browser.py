"""The door to the web: one browser behind the guard, for rendering pages and for agents that look around."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from grounding.webagents.agenticshop.records import RenderedPage
from grounding.webagents.agenticshop.web.addresses import read_url
from grounding.webagents.agenticshop.web.chromium import VIEWPORT, find_chromium, open_playwright, start_chromium
from grounding.webagents.agenticshop.web.evidence import EvidenceFolder
from grounding.webagents.agenticshop.web.guard import Guard
from grounding.webagents.agenticshop.web.policy import WebPolicy
from grounding.webagents.agenticshop.web.render import RENDERING, render_page
from grounding.webagents.agenticshop.web.resolving import Resolve, ask_system
from grounding.webagents.agenticshop.web.session import BrowsingSession
from grounding.webagents.agenticshop.web.tabs import open_tab
from grounding.webagents.agenticshop.web.troubles import PageTrouble, failure_of

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

_TRIES = 2
_OWN_LANE = WebPolicy(open_web=False)


class WebBrowser:
    """A browser that is started when it is needed, and once more when it has died. Made by ``open_browser``."""

    def __init__(self, playwright: Playwright, path: str, policy: WebPolicy, resolve: Resolve, parallel: int) -> None:
        self.policy = policy
        self._playwright = playwright
        self._path = path
        self._guard = Guard(policy, resolve)
        # An agent that has a session may have a page rendered: they don't wait for each other.
        self._pages = asyncio.Semaphore(parallel)
        self._sessions = asyncio.Semaphore(parallel)
        self._starting = asyncio.Lock()
        self._running: Browser | None = None
        self._stack = AsyncExitStack()
        self._version = ""
        self._user_agent = ""

    @property
    def identity(self) -> str:
        """Which browser and which rules of rendering make the pages: pages of equal identity can be compared."""
        limits = msgspec.structs.asdict(self.policy) | {"hosts": {}}
        digest = hashlib.sha256(msgspec.json.encode(limits, order="deterministic")).hexdigest()[:12]
        return f"Chromium/{self._version} {RENDERING} {VIEWPORT.width}x{VIEWPORT.height} limits-{digest}"

    async def render(self, url: str, evidence: EvidenceFolder) -> RenderedPage:
        """The page at an address as the browser shows it, kept in the folder.

        Whatever keeps the page from being had is told by its ``failure``: of kind ``error`` where the machine or the
        browser is to blame, and asking again may help, else ``missing`` (see ``troubles``).

        Raises:
            UserError: The browser died and does not start any more.
            OSError: The folder can't be written.
        """
        try:
            read_url(url, self.policy)
        except PageTrouble as trouble:
            return RenderedPage(url=url, failure=failure_of(trouble.trouble, trouble.message))
        async with self._pages:
            for _ in range(_TRIES):
                try:
                    return await self._render(url, evidence)
                except PageTrouble as trouble:
                    last = trouble
        return RenderedPage(url=url, failure=failure_of(last.trouble, f"{last.message}, {_TRIES} times"))

    async def _render(self, url: str, evidence: EvidenceFolder) -> RenderedPage:
        from playwright.async_api import Error

        browser = await self._browser()
        try:
            async with (
                self._guard.lane(self.policy.max_page_bytes) as lane,
                open_tab(browser, lane, self._user_agent, self.policy) as tab,
            ):
                return await render_page(tab, url, self.policy, evidence)
        except Error as error:
            words = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
            raise PageTrouble("page-crashed" if browser.is_connected() else "browser-crashed", words) from None

    @asynccontextmanager
    async def session(self) -> AsyncIterator[BrowsingSession]:
        """A fresh context for an agent to look around in: the same guard, and the same rules but those of one page.

        Raises:
            UserError: The browser died and does not start any more.
            PageTrouble: browser-crashed: the browser does not answer.
            playwright.async_api.Error: The browser died just now.
        """
        async with (
            self._sessions,
            self._guard.lane(self.policy.max_session_bytes) as lane,
            open_tab(await self._browser(), lane, self._user_agent, self.policy) as tab,
        ):
            yield BrowsingSession(tab, self.policy)

    async def _browser(self) -> Browser:
        """The running browser; one that has died is replaced."""
        async with self._starting:
            if self._running is None or not self._running.is_connected():
                await self._stack.aclose()
                self._stack = AsyncExitStack()
                own = await self._stack.enter_async_context(Guard(_OWN_LANE).lane(1))
                self._running = await self._stack.enter_async_context(
                    start_chromium(self._playwright, self._path, own.proxy_url)
                )
                self._version = self._running.version
                self._user_agent = await _user_agent(self._running)
            return self._running

    async def open(self) -> None:
        """Start the browser.

        Raises:
            UserError: It does not start.
        """
        await self._browser()

    async def aclose(self) -> None:
        """End the browser."""
        await self._stack.aclose()


async def _user_agent(browser: Browser) -> str:
    """The browser's own name for itself, and who steers it."""
    from grounding import __version__

    session = await browser.new_browser_cdp_session()
    version = await session.send("Browser.getVersion")
    await session.detach()
    return f"{version['userAgent']} grounding/{__version__}"


@asynccontextmanager
async def open_browser(policy: WebPolicy, *, parallel: int, resolve: Resolve = ask_system) -> AsyncIterator[WebBrowser]:
    """A browser for the time of the block; its processes are gone after, however the block ends.

    Args:
        policy: What pages may reach and take.
        parallel: How many pages may be rendered at a time, and how many sessions may be open beside.
        resolve: Makes a host name into addresses; the machine's own resolver unless a test knows better.

    Raises:
        UserError: playwright or a browser is missing or does not start; the policy is unsound.
    """
    path = find_chromium()
    async with open_playwright() as playwright:
        browser = WebBrowser(playwright, path, policy.checked(), resolve, parallel)
        try:
            await browser.open()
            yield browser
        finally:
            await browser.aclose()
