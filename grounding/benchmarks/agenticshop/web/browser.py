"""The door to the web: one installed Chromium behind the guard, for rendering pages and for agents that look around."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec

from grounding.errors import UserError, install

from ..records import RenderedPage
from .evidence import EvidenceFolder
from .guard import VIEWPORT, Guard, PageLost, PageTrouble, Resolve, Trouble, WebPolicy, ask_system, check_url
from .render import RENDERING, BrowserTab, render_page

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext

_TRIES = 2


class WebBrowser:
    """A browser that is started when it is needed, and once more when it has died.

    ``parallel`` is how many pages may be rendered at a time; who opens sessions bounds them. ``profile`` is a file of
    cookies and local storage that every page starts with, as Playwright saves it. ``shops`` is the folder of a data set
    with shops of its own: they are served beside the browser, which then reaches nothing else.
    """

    def __init__(
        self,
        policy: WebPolicy,
        *,
        parallel: int,
        resolve: Resolve = ask_system,
        profile: Path | None = None,
        shops: Path | None = None,
    ) -> None:
        self.policy = policy
        self._resolve, self._profile, self._shops = resolve, profile, shops
        self._pages = asyncio.Semaphore(parallel)
        self._starting = asyncio.Lock()
        self._running: Browser | None = None
        self._stack = AsyncExitStack()
        self._idle: list[tuple[BrowserTab, AsyncExitStack]] = []
        self._rendering: dict[str, asyncio.Lock] = {}

    async def render(self, url: str, evidence: EvidenceFolder, *, again: bool = False) -> RenderedPage:
        """The page at an address as the browser shows it, kept in the folder and loaded once, unless ``again``.

        Its ``failure`` says why there is none: ``error`` where the machine or the browser is to blame and asking again
        may help, else ``missing``. A UserError says that no browser starts.
        """
        await self.start()
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
            browser = await self.start()
            try:
                async with self.shared_tab() as tab:
                    page = await render_page(tab, url, evidence)
                    tab.reusable = page.failure is None
                return page
            except (PageLost, Error) as error:
                trouble: Trouble = "page-crashed" if browser.is_connected() else "browser-crashed"
                last = PageTrouble(trouble, f"{str(error)[:200]}, {_TRIES} times")
        return RenderedPage(url=url, failure=last.failure)

    @asynccontextmanager
    async def shared_tab(self, without: Sequence[str] = ()) -> AsyncIterator[BrowserTab]:
        """A tab for one page or shop, where nothing hangs on what it showed before. ``without``: patterns of addresses
        that it does not load. The pages of a data set's own shops are ours and keep nothing: their tabs are used again,
        while they are ``reusable``, since a new one takes longer than a page.
        """
        browser, stack = await self.start(), AsyncExitStack()
        if self._idle:
            tab, stack = self._idle.pop()
            tab.proxy.renew()
        else:
            tab = await stack.enter_async_context(self._tab(browser, self.policy.max_page_bytes))
        async with stack:
            await tab.session.send("Network.setBlockedURLs", {"urls": list(without)})
            tab.reusable = True
            yield tab
            if tab.reusable and not self.policy.open_web and self._profile is None:
                self._idle.append((tab, stack.pop_all()))

    @asynccontextmanager
    async def session(self) -> AsyncIterator[BrowserTab]:
        """A fresh tab for an agent to look around in: the same guard, and the same rules for each address it visits."""
        async with self._tab(await self.start(), self.policy.max_session_bytes) as tab:
            yield tab

    @asynccontextmanager
    async def _tab(self, browser: Browser, max_bytes: int) -> AsyncIterator[BrowserTab]:
        """A tab that is open within the block; all that it held is gone after."""
        async with AsyncExitStack() as stack:
            proxy = await stack.enter_async_context(self._guard.proxy(max_bytes))
            try:
                async with asyncio.timeout(_OPEN_S):
                    context = await browser.new_context(
                        proxy={"server": proxy.url, "bypass": "<-loopback>"},
                        user_agent=self._user_agent,
                        storage_state=self._profile,
                        **_CONTEXT,
                    )
                    stack.push_async_callback(_close, context)
                    page = await context.new_page()
                    session = await context.new_cdp_session(page)
                    await session.send("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0})
                    await session.send("Page.enable")
                    frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
            except TimeoutError:
                raise PageLost(f"the browser opened no page within {_OPEN_S:g} s") from None
            yield BrowserTab(page, session, frame, proxy, self.policy)

    async def start(self) -> Browser:
        """The running browser, started where it is not; one that has died is replaced."""
        from grounding import __version__

        async with self._starting:
            if self._running is None or not self._running.is_connected():
                await self.aclose()
                if self._shops is not None:
                    from ..mall.pages import open_mall

                    # A data set with shops of its own has nothing to look for elsewhere.
                    hosts = await self._stack.enter_async_context(open_mall(self._shops))
                    self.policy = WebPolicy(hosts=hosts, open_web=False)
                self._guard = Guard(self.policy, self._resolve)
                self._running = await start_chromium(self._stack)
                session = await self._running.new_browser_cdp_session()
                name = (await session.send("Browser.getVersion"))["userAgent"]
                await session.detach()
                self._user_agent = f"{name} grounding/{__version__}"
            return self._running

    async def aclose(self) -> None:
        while self._idle:
            await self._idle.pop()[1].aclose()
        await self._stack.aclose()


# --- the installed Chromium -------------------------------------------------------------------------------------------

CHROMIUM_VARIABLE, SANDBOX_VARIABLE = "GROUNDING_CHROMIUM", "GROUNDING_CHROMIUM_SANDBOX"
# The first two are made for work without a window, and take two thirds of the processor time.
_NAMES = (
    "chromium-headless-shell", "chrome-headless-shell",
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
)  # fmt: skip
# What a browser needs of the environment; keys of providers are not among it.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "FONTCONFIG_FILE", "FONTCONFIG_PATH", "LD_LIBRARY_PATH")
_START_S, _OPEN_S, _END_S = 60.0, 30.0, 15.0
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


# What every page finds: the same on every machine, nothing of this one, and nobody who could be asked for anything.
_CONTEXT: dict[str, Any] = {
    "viewport": {"width": VIEWPORT.width, "height": VIEWPORT.height}, "device_scale_factor": 1, "locale": "en-US",
    "timezone_id": "UTC", "reduced_motion": "reduce", "color_scheme": "light", "accept_downloads": False,
    "service_workers": "block", "permissions": [],
}  # fmt: skip


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


async def start_chromium(stack: AsyncExitStack) -> Browser:
    """A browser without a window, whose home is thrown away; it runs, or what is left of it, until the stack ends."""
    path = find_chromium()
    from playwright.async_api import Error, async_playwright

    # A browser can't shut its pages in where it runs as root, as in most containers.
    off = os.environ.get(SANDBOX_VARIABLE, "").lower() in ("off", "0", "false", "no")
    sandboxed = not off and getattr(os, "geteuid", lambda: 1)() != 0
    home = stack.enter_context(TemporaryDirectory(prefix="grounding-chromium-", ignore_cleanup_errors=True))
    environment: dict[str, Any] = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    environment |= {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home, "TZ": "UTC"}
    # What belongs to no page goes nowhere.
    nowhere = await stack.enter_async_context(Guard(WebPolicy(open_web=False)).proxy(1))
    playwright = await stack.enter_async_context(async_playwright())
    try:
        browser = await playwright.chromium.launch(
            executable_path=path,
            args=[*_SWITCHES],
            ignore_default_args=["--disable-popup-blocking"],
            chromium_sandbox=sandboxed,
            env=environment,
            downloads_path=home,
            proxy={"server": nowhere.url, "bypass": "<-loopback>"},
            # Ctrl-C is for the program to see: it ends what it was at, and then the browser.
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
            timeout=_START_S * 1000,
        )
    except Error as error:
        raise UserError(
            f"{path} did not start: {' '.join(str(error).split())[-600:]}. Start it by hand to see what is missing, or "
            f"set {CHROMIUM_VARIABLE} to another. Where this machine doesn't let it shut its pages in, allow user "
            f"namespaces, or set {SANDBOX_VARIABLE}=off if it holds nothing pages may not see"
        ) from None
    stack.push_async_callback(_close, browser)
    return browser


async def _close(one: Browser | BrowserContext) -> None:
    """Close it, unless it hangs: then it is killed with what steers it."""
    from playwright.async_api import Error

    with suppress(Error, TimeoutError):
        async with asyncio.timeout(_END_S):
            await one.close()
