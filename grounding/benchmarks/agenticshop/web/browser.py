"""The door to the web: one installed Chromium behind the guard, for rendering pages and for agents that look around."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec

from grounding.errors import UserError, install

from ..records import RenderedPage
from .evidence import EvidenceFolder
from .guard import Guard, PageLost, PageTrouble, Resolve, Trouble, WebPolicy, ask_system, check_url
from .render import RENDERING, BrowserTab, open_tab, render_page

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
        self._idle: list[tuple[BrowserTab, AsyncExitStack]] = []
        self._rendering: dict[str, asyncio.Lock] = {}

    async def render(self, url: str, evidence: EvidenceFolder, *, again: bool = False) -> RenderedPage:
        """The page at an address as the browser shows it, kept in the folder and loaded once, unless ``again``.

        Its ``failure`` says why there is none: ``error`` where the machine or the browser is to blame and asking again
        may help, else ``missing``. A UserError says that no browser starts.
        """
        try:
            check_url(url, self.policy)
        except PageTrouble as trouble:
            return RenderedPage(url=url, failure=trouble.failure)
        key = hashlib.sha256(msgspec.json.encode((RENDERING, url))).hexdigest()
        async with self._rendering.setdefault(key, asyncio.Lock()):
            kept = None if again else await asyncio.to_thread(evidence.pages.read, key, "pages", RenderedPage)
            if kept is not None:
                return kept
            async with self._pages:
                page = await self._tried(url, evidence)
            if page.failure is None:
                await asyncio.to_thread(evidence.pages.write, key, "pages", page)
            return page

    async def _tried(self, url: str, evidence: EvidenceFolder) -> RenderedPage:
        from playwright.async_api import Error

        for _ in range(_TRIES):
            browser, stack = await self.start(), AsyncExitStack()
            try:
                if self._idle:
                    tab, stack = self._idle.pop()
                    tab.proxy.renew()
                else:
                    tab = await stack.enter_async_context(self._tab(browser, self.policy.max_page_bytes))
                async with stack:
                    page = await render_page(tab, url, self.policy, evidence)
                    # The pages of a data set's own shops are ours and keep nothing; a new tab takes longer than a page.
                    if not self.policy.open_web and self._profile is None and page.failure is None:
                        self._idle.append((tab, stack.pop_all()))
                return page
            except (PageLost, Error) as error:
                trouble: Trouble = "page-crashed" if browser.is_connected() else "browser-crashed"
                last = PageTrouble(trouble, f"{str(error)[:200]}, {_TRIES} times")
        return RenderedPage(url=url, failure=last.failure)

    @asynccontextmanager
    async def _tab(self, browser: Browser, max_bytes: int) -> AsyncIterator[BrowserTab]:
        async with (
            self._guard.proxy(max_bytes) as proxy,
            open_tab(browser, proxy, self._user_agent, self.policy, self._profile) as tab,
        ):
            yield tab

    @asynccontextmanager
    async def session(self) -> AsyncIterator[BrowserTab]:
        """A fresh tab for an agent to look around in: the same guard, and the same rules but those of one page."""
        async with self._sessions, self._tab(await self.start(), self.policy.max_session_bytes) as tab:
            tab.bounded = False
            yield tab

    async def start(self) -> Browser:
        """The running browser, started where it is not; one that has died is replaced."""
        from grounding import __version__

        async with self._starting:
            if self._running is None or not self._running.is_connected():
                await self.aclose()
                # What belongs to no page goes nowhere.
                own = await self._stack.enter_async_context(Guard(WebPolicy(open_web=False)).proxy(1))
                self._running = await self._stack.enter_async_context(start_chromium(own.url))
                session = await self._running.new_browser_cdp_session()
                name = (await session.send("Browser.getVersion"))["userAgent"]
                await session.detach()
                self._user_agent = f"{name} grounding/{__version__}"
            return self._running

    async def aclose(self) -> None:
        while self._idle:
            await self._idle.pop()[1].aclose()
        await self._stack.aclose()


@asynccontextmanager
async def open_browser(
    policy: WebPolicy, *, parallel: int, resolve: Resolve = ask_system, profile: Path | None = None
) -> AsyncIterator[WebBrowser]:
    """A browser for the time of the block, or a UserError; its processes are gone after, however the block ends.

    ``parallel`` is how many pages may be rendered at a time, and how many sessions may be open beside. ``profile`` is a
    file of cookies and local storage that every page starts with, as Playwright saves it.
    """
    browser = WebBrowser(policy, resolve, parallel, profile)
    try:
        await browser.start()
        yield browser
    finally:
        await browser.aclose()


# --- the installed Chromium -------------------------------------------------------------------------------------------

CHROMIUM_VARIABLE, SANDBOX_VARIABLE = "GROUNDING_CHROMIUM", "GROUNDING_CHROMIUM_SANDBOX"
# The first two are made for work without a window, and take two thirds of the processor time.
_NAMES = (
    *("chromium-headless-shell", "chrome-headless-shell"),
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
)
# What a browser needs of the environment; keys of providers are not among it.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "FONTCONFIG_FILE", "FONTCONFIG_PATH", "LD_LIBRARY_PATH")
_START_S, _END_S = 60.0, 15.0
# The last list of features is the one that counts, so Playwright's own have to be named again.
_FEATURES_OFF = (
    "AimEnabled", "AutofillServerCommunication", "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades", "LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding",
    "PreconnectToSearch", "Prerender2", "Translate",
)  # fmt: skip
_SWITCHES = (
    # Nothing is looked up but by the guard, and nothing is sent past it: no UDP, so neither QUIC nor WebRTC.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--dns-prefetch-disable",
    "--disable-quic",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--no-pings",
    "--allow-browser-signin=false",
    f"--disable-features={','.join(_FEATURES_OFF)}",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    # The same pixels on every machine, as far as its fonts allow.
    "--disable-gpu",
    "--disable-lcd-text",
    "--font-render-hinting=none",
    "--disable-smooth-scrolling",
    "--mute-audio",
    # A page that fills the memory ends itself only.
    "--js-flags=--max-old-space-size=768",
)


def find_chromium() -> str:
    """The path of the browser, or a UserError where pages can't be rendered: playwright or a browser is not there."""
    if importlib.util.find_spec("playwright") is None:
        raise UserError(f"playwright is not installed: {install('browser')}")
    named = os.environ.get(CHROMIUM_VARIABLE, "")
    found = next(filter(None, map(shutil.which, [named] if named else _NAMES)), None)
    if found is None:
        why = f"{CHROMIUM_VARIABLE} is {named!r}" if named else f"no browser was found: looked for {', '.join(_NAMES)}"
        raise UserError(
            f"{why}. Install Chromium (on Debian: apt install chromium-headless-shell) or set {CHROMIUM_VARIABLE} to "
            "the path of a Chromium or Chrome program; none is ever downloaded"
        )
    return found


@asynccontextmanager
async def start_chromium(proxy_url: str) -> AsyncIterator[Browser]:
    """A running browser without a window, whose home is thrown away; ``proxy_url`` is for what belongs to no page."""
    path = find_chromium()
    from playwright.async_api import Error, async_playwright

    # A browser can't shut its pages in where it runs as root, as in most containers.
    off = os.environ.get(SANDBOX_VARIABLE, "").lower() in ("off", "0", "false", "no")
    sandboxed = not off and getattr(os, "geteuid", lambda: 1)() != 0
    with TemporaryDirectory(prefix="grounding-chromium-", ignore_cleanup_errors=True) as home:
        environment: dict[str, str | float | bool] = {
            name: os.environ[name] for name in _ENVIRONMENT if name in os.environ
        }
        environment |= {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home, "TZ": "UTC"}
        async with async_playwright() as playwright:
            try:
                browser = await playwright.chromium.launch(
                    executable_path=path,
                    args=[*_SWITCHES],
                    ignore_default_args=["--disable-popup-blocking"],
                    chromium_sandbox=sandboxed,
                    env=environment,
                    downloads_path=home,
                    proxy={"server": proxy_url, "bypass": "<-loopback>"},
                    # Ctrl-C is for the program to see: it ends what it was at, and then the browser.
                    handle_sigint=False,
                    handle_sigterm=False,
                    handle_sighup=False,
                    timeout=_START_S * 1000,
                )
            except Error as error:
                raise UserError(
                    f"{path} did not start: {' '.join(str(error).split())[-600:]}. Start it by hand to see what is "
                    f"missing, or set {CHROMIUM_VARIABLE} to another. Where this machine doesn't let it shut its pages "
                    f"in, allow user namespaces, or set {SANDBOX_VARIABLE}=off if it holds nothing pages may not see"
                ) from None
            try:
                yield browser
            finally:
                # One that hangs is killed with what steers it.
                with suppress(Error, TimeoutError):
                    async with asyncio.timeout(_END_S):
                        await browser.close()
