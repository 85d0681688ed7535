"""One fresh browser context with one page, which has nothing but its proxy to the web; and pages rendered and kept."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from ..records import RenderedPage, Segment
from .evidence import EvidenceFolder, put_html
from .guard import VIEWPORT, PageLost, PageProxy, PageTrouble, Trouble, WebPolicy, check_url

if TYPE_CHECKING:
    from playwright.async_api import Browser, CDPSession, Page, Request, Response

ResultT = TypeVar("ResultT")
_SCRIPT = Path(__file__).with_name("page.js")
_ENDLESS = frozenset({"WebSocket", "EventSource", "Media", "Ping", "Manifest"})
_READABLE = frozenset({"", "text/html", "application/xhtml+xml", "text/plain"})
_OFF_THE_WEB = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_MOST_POPUPS = 50
_FRAME_S, _OPEN_S, _CLOSE_S, _TOLD_LATER_S = 0.03, 30.0, 15.0, 0.4


class ScriptError(Exception):
    """A script of ours did not end well: the page is like no other, or went away meanwhile."""


class Traffic:
    """The requests of a page that are under way; ``documents`` are how many bytes each document unpacked to.

    They are told in one order with the answers to our scripts: when a script that waited for two frames has answered,
    every request that the page made by then is known.
    """

    def __init__(self, session: CDPSession) -> None:
        self.begun = 0
        self.documents: dict[str, int] = {}
        self.idle = asyncio.Event()
        self.idle.set()
        self._open: dict[str, str] = {}
        self._going: set[str] = set()
        for name in ("requestWillBeSent", "loadingFinished", "loadingFailed"):
            session.on(f"Network.{name}", partial(self._told, name))
        for name in ("frameRequestedNavigation", "frameNavigated", "frameStoppedLoading", "frameDetached"):
            session.on(f"Page.{name}", partial(self._told, name))

    def _told(self, name: str, event: dict[str, Any]) -> None:
        match name:
            case "requestWillBeSent":
                if event.get("type") == "Document":
                    self.documents[event["requestId"]] = 0
                if event.get("type") not in _ENDLESS:
                    self.begun += 1
                    self._open[event["requestId"]] = event["loaderId"]
            case "loadingFinished" | "loadingFailed":
                self._open.pop(event["requestId"], None)
            case "frameRequestedNavigation":
                # A click or a script wants another document; the request for it is told later.
                self._going |= {event["frameId"]} if event["disposition"] == "currentTab" else set()
            case "frameNavigated":
                # Another document is here: what the last one was waiting for is of no interest.
                frame = event["frame"]
                if "parentId" not in frame:
                    self._open = {one: loader for one, loader in self._open.items() if loader == frame["loaderId"]}
                self._going.discard(frame["id"])
            case "frameStoppedLoading" | "frameDetached":
                self._going.discard(event["frameId"])
        if self._open or self._going:
            self.idle.clear()
        else:
            self.idle.set()


class BrowserTab:
    """A page and what became of its main document. ``trouble`` is set as soon as it is clear that there is none.

    ``hops`` are the addresses that the main frame asked for, ``popups`` windows that it wanted and did not get. Only
    where it is ``bounded`` do the limits of a single page hold.
    """

    def __init__(self, page: Page, session: CDPSession, proxy: PageProxy, policy: WebPolicy) -> None:
        self.page, self.proxy = page, proxy
        self.traffic = Traffic(session)
        self.bounded = True
        self.popups: list[str] = []
        self.session, self._policy = session, policy
        self._closing: list[asyncio.Future[Any]] = []
        self._begin()
        session.on("Network.dataReceived", self._loads)
        page.on("crash", lambda _: self._fails(PageLost("the page ended its own process")))
        page.context.on("request", self._asked)
        page.context.on("response", self._answered)
        page.context.on("page", self._popup)

    def _begin(self) -> None:
        self.hops: list[str] = []
        self.response: Response | None = None
        self.trouble: asyncio.Future[PageTrouble | PageLost] = asyncio.get_running_loop().create_future()
        self.traffic.documents.clear()

    # --- going to a page ----------------------------------------------------------------------------------------------

    async def go(self, url: str) -> int | None:
        """Wait until the document of an address begins; its status, None where it was within the page already there. A
        PageTrouble or PageLost says why there is none.
        """
        from playwright.async_api import Error, TimeoutError

        check_url(url, self._policy)
        self._begin()
        limit_s = self._policy.navigation_s
        try:
            response = await self.unless_trouble(self.page.goto(url, wait_until="commit", timeout=limit_s * 1000))
        except TimeoutError:
            raise PageTrouble("too-slow", f"no document within {limit_s:g} s") from None
        except Error as error:
            if "ERR_ABORTED" in str(error):
                # So end a page without content, a download and a process that dies, of which the last is told later.
                await asyncio.wait([self.trouble], timeout=_TOLD_LATER_S)
            self.hops = self.hops or [url]
            # The reason is the guard's, if it had one, else the browser's own word.
            self.raise_trouble()
            raise _why_not(str(error)) from None
        self.raise_trouble(self.page.url)
        return None if response is None else response.status

    async def visit(self, url: str) -> int | None:
        """As :meth:`go` within the limits of a page, and wait until nothing is loading any more."""
        self.bounded = True
        try:
            status = await self.go(url)
        finally:
            self.bounded = False
        await self.still(self._policy.quiet_s)
        return status

    async def unless_trouble(self, work: Awaitable[ResultT]) -> ResultT:
        """The result of some work, broken off with a PageTrouble as soon as it is clear that there will be no page."""
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

    def raise_trouble(self, shown: str = "") -> None:
        """Raise why there is no page, as far as the guard or we know; ``shown`` is the address that is shown."""
        if self.trouble.done():
            raise self.trouble.result()
        if shown and not shown.startswith("chrome-error:"):
            return
        if (refusal := next(filter(None, map(self.proxy.refusal_of, reversed(self.hops))), None)) is not None:
            raise refusal
        if shown:
            raise PageTrouble("no-answer", "nothing came from where the page went to")

    def _fails(self, trouble: PageTrouble | PageLost) -> None:
        if not self.trouble.done():
            self.trouble.set_result(trouble)

    def _of_the_main_document(self, request: Request) -> bool:
        from playwright.async_api import Error

        try:
            return request.is_navigation_request() and request.frame == self.page.main_frame
        except Error:  # It says so of requests whose frame is not there yet, or no more.
            return False

    def _asked(self, request: Request) -> None:
        if self._of_the_main_document(request):
            self.hops.append(request.url)
            if self.bounded and len(self.hops) > self._policy.max_redirects + 1:
                self._fails(PageTrouble("too-many-redirects", f"the page went on {len(self.hops) - 1} times"))

    def _answered(self, response: Response) -> None:
        if not self._of_the_main_document(response.request):
            return
        self.response = response
        location, kind = response.headers.get("location", ""), content_type(response)
        if 300 <= response.status < 400:
            if _OFF_THE_WEB.match(location):
                self._fails(PageTrouble("refused", f"the page leads to {location[:200]!r}, which is not of the web"))
        elif "attachment" in response.headers.get("content-disposition", "").lower() or kind not in _READABLE:
            self._fails(PageTrouble("not-a-page", f"a file to be downloaded, or a document of the kind {kind[:100]!r}"))

    def _loads(self, event: dict[str, Any]) -> None:
        documents, most = self.traffic.documents, self._policy.max_document_bytes
        if self.bounded and event["requestId"] in documents:
            documents[event["requestId"]] += int(event["dataLength"])
            if documents[event["requestId"]] > most:
                self._fails(PageTrouble("too-large", f"a document of more than {most} bytes"))

    def _popup(self, page: Page) -> None:
        if page != self.page:
            if len(self.popups) < _MOST_POPUPS and page.url.startswith(("http://", "https://")):
                self.popups.append(page.url)
            self._closing.append(asyncio.gather(page.close(), return_exceptions=True))

    async def end(self) -> None:
        for one in self._closing:
            one.cancel()
        await asyncio.gather(*self._closing, return_exceptions=True)

    # --- what is there ------------------------------------------------------------------------------------------------

    async def run(self, name: str, argument: object = None) -> Any:
        """Call a function of our scripts in the main frame, in a world of its own; what it returns. Raises a
        ScriptError where it threw or the document was replaced, and a PageTrouble where the page is too slow.
        """
        script, most_ms = _SCRIPT.read_text(encoding="utf-8"), self._policy.script_s * 1000
        call = f"grounding.{name}({json.dumps(argument)})"
        text = f"(() => {{ if (!globalThis.grounding) {{\n{script}\n}} return {call}; }})()"
        async with self._patience("did not answer"):
            # Our own world of the document is made, and given our script, where there is none yet.
            tree = await self.session.send("Page.getFrameTree")
            frame = {"frameId": tree["frameTree"]["frame"]["id"], "worldName": "grounding"}
            world = (await self.session.send("Page.createIsolatedWorld", frame))["executionContextId"]
            asked = {"expression": text, "contextId": world, "returnByValue": True, "awaitPromise": True}
            answer = await self.session.send("Runtime.evaluate", asked | {"timeout": most_ms})
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            said = details.get("exception", {}).get("description") or details.get("text", "")
            raise ScriptError(f"{name}: {str(said)[:300]}")
        return answer["result"].get("value")

    async def still(self, at_most_s: float) -> bool:
        """Wait until the page has loaded and asks for nothing more; False where that took longer than the limit.

        There is no fixed pause: what was asked for is waited for, then two frames, in which a page may ask for more.
        Raises a PageTrouble where the page does not answer.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(at_most_s):
                while True:
                    await self.traffic.idle.wait()
                    begun, loaded = self.traffic.begun, False
                    with suppress(ScriptError):  # The document was just replaced.
                        loaded = await self.run("frames")
                    if begun == self.traffic.begun:
                        if loaded:
                            return True
                        await asyncio.sleep(_FRAME_S)
        return False

    async def picture(self, top_px: int) -> bytes:
        """A PNG of one viewport from a height of the page on, whatever part of it is in view."""
        clip = {"x": 0, "y": top_px, "width": VIEWPORT.width, "height": VIEWPORT.height, "scale": 1}
        # Less packing, the same pixels: it takes a third of the time.
        options = {"format": "png", "clip": clip, "captureBeyondViewport": True, "optimizeForSpeed": True}
        async with self._patience("was not painted"):
            answer = await self.session.send("Page.captureScreenshot", options)
        return base64.b64decode(answer["data"])

    @asynccontextmanager
    async def _patience(self, why: str) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._policy.script_s):
                yield
        except TimeoutError:
            raise PageTrouble("too-slow", f"the page {why} within {self._policy.script_s:g} s") from None


def content_type(response: Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


@asynccontextmanager
async def open_tab(
    browser: Browser, proxy: PageProxy, user_agent: str, policy: WebPolicy, profile: Path | None = None
) -> AsyncIterator[BrowserTab]:
    """A tab that is open within the block; all that it held is gone after."""
    from playwright.async_api import Error

    context = tab = None
    try:
        try:
            async with asyncio.timeout(_OPEN_S):
                context = await browser.new_context(
                    proxy={"server": proxy.url, "bypass": "<-loopback>"},
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
                    storage_state=profile,
                )
                page = await context.new_page()
                session = await context.new_cdp_session(page)
                tab = BrowserTab(page, session, proxy, policy)
                await session.send("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0})
                await session.send("Page.enable")
        except TimeoutError:
            raise PageLost(f"the browser opened no page within {_OPEN_S:g} s") from None
        yield tab
    finally:
        if tab is not None:
            await tab.end()
        if context is not None:
            with suppress(Error, TimeoutError):
                async with asyncio.timeout(_CLOSE_S):
                    await context.close()


def _why_not(text: str) -> PageTrouble | PageLost:
    first, known = text.splitlines()[0][:300], re.search(r"net::(ERR_[A-Z0-9_]+)", text)
    if "Download is starting" in text:
        return PageTrouble("not-a-page", "a file to be downloaded")
    if "crashed" in text or "closed" in text:
        return PageLost(first)
    name = known[1] if known else first
    return PageTrouble(_TROUBLE_OF.get(name, "no-answer"), name)


_TROUBLE_OF: dict[str, Trouble] = {
    **dict.fromkeys(("ERR_UNSAFE_PORT", "ERR_UNSAFE_REDIRECT", "ERR_UNKNOWN_URL_SCHEME"), "refused"),
    **dict.fromkeys(("ERR_DISALLOWED_URL_SCHEME", "ERR_INVALID_URL"), "refused"),
    "ERR_TOO_MANY_REDIRECTS": "too-many-redirects",
    "ERR_TIMED_OUT": "too-slow",
}


# --- a page rendered in full and kept -------------------------------------------------------------------------------

RENDERING = "rendering-4"  # Changes whenever the same page would be kept differently.
_MOST_BANNERS = 8
_RESTLESS_S, _LINGER_S = 1.5, 0.8
"""How long a page that never rests is waited for at each height, and a newsletter's window that comes after it."""


async def render_page(tab: BrowserTab, url: str, policy: WebPolicy, evidence: EvidenceFolder) -> RenderedPage:
    """Go to an address, wait, clear the view, scroll all of it into view, and keep what is there.

    The text is what can be read with the eyes, open shadow trees included; the document is the page as it was after
    scripts, scrolling and the dismissal of banners. Whatever is wrong with the page is told by ``failure``. A PageLost
    or an Error of playwright: it is gone, and another try may help.
    """
    began = time.monotonic()
    page = RenderedPage(url=url, fetched_at=datetime.now(UTC).isoformat(timespec="seconds"))
    trouble: PageTrouble | None = None
    try:
        async with asyncio.timeout(policy.max_total_s):
            await tab.go(url)
            page = await tab.unless_trouble(_keep(tab, page, policy, evidence, began))
    except TimeoutError:
        trouble = PageTrouble("too-slow", f"the page was not done within {policy.max_total_s:g} s")
    except ScriptError as error:
        trouble = PageTrouble("no-answer", f"the page could not be read: {error}")
    except PageTrouble as told:
        trouble = told
    response = tab.response
    return msgspec.structs.replace(
        page,
        failure=None if trouble is None else trouble.failure,
        final_url=page.final_url or (tab.hops[-1] if tab.hops else ""),
        redirects=tuple(tab.hops[1:-1]),
        status=response.status if response is not None else None,
        content_type=content_type(response) if response is not None else "",
        blocked_requests=tab.proxy.refused,
        seconds=round(time.monotonic() - began, 3),
    )


async def _keep(
    tab: BrowserTab, page: RenderedPage, policy: WebPolicy, evidence: EvidenceFolder, began: float
) -> RenderedPage:
    from playwright.async_api import TimeoutError as Late

    from ..extraction.document import structured_data

    left_s = max(policy.navigation_s - (time.monotonic() - began), 1.0)
    try:
        await tab.page.wait_for_load_state("domcontentloaded", timeout=left_s * 1000)
    except Late:
        raise PageTrouble("too-slow", f"the document was not complete within {policy.navigation_s:g} s") from None
    rests = await tab.still(policy.quiet_s)
    tab.raise_trouble(tab.page.url)
    since = time.monotonic()
    await tab.run("freeze")
    dismissed = await tab.run("banners")
    height = await _scroll_through(tab, policy, rests)
    await asyncio.sleep(max(0.0, since + _LINGER_S - time.monotonic()))
    dismissed += await tab.run("banners")
    kept = await tab.run("kept", {"text": policy.max_text_chars, "html": policy.max_html_bytes})
    url, text, html = str(kept["url"]), kept["text"], kept["html"]
    tab.raise_trouble(url)  # A page may have gone on after it was quiet.
    if html["length"] > policy.max_html_bytes:
        raise PageTrouble(
            "too-large", f"the rendered document has {html['length']} characters, more than {policy.max_html_bytes}"
        )
    tops = segment_tops(max(height, int(kept["height"])), policy.max_segments)
    pictures = [evidence.put(await tab.picture(top), ".png") for top in tops]
    name, digest = put_html(html["html"], evidence)
    return msgspec.structs.replace(
        page,
        final_url=url,
        html_file=name,
        html_sha256=digest,
        title=_clean(kept["title"]),
        text=_clean(text["text"]),
        text_cut=bool(text["cut"]),
        # In a thread: the guard of the other pages must not wait for a long document.
        data=tuple(await asyncio.to_thread(structured_data, html["html"], url)),
        segments=tuple(Segment(file=file, size=VIEWPORT, top_px=top) for file, top in zip(pictures, tops, strict=True)),
        dismissed=tuple(map(str, dismissed[:_MOST_BANNERS])),
    )


async def _scroll_through(tab: BrowserTab, policy: WebPolicy, rests: bool) -> int:
    """Bring all of the page into view once, so that what loads late loads; how tall it is in the end. A page that has
    come to rest is waited for at each height until it does so again; another not as long.
    """
    top, height = 0, 0
    for _ in range(policy.max_scrolls):
        begun = tab.traffic.begun
        at = await tab.run("scroll", top)
        if tab.traffic.begun != begun:
            rests = await tab.still(policy.quiet_s if rests else _RESTLESS_S) and rests
            at = await tab.run("scroll", top)
        height = int(at["height"])
        if at["top"] + VIEWPORT.height >= height:
            break
        top = int(at["top"] + VIEWPORT.height * 0.9)
    return height


def segment_tops(height_px: int, most: int) -> tuple[int, ...]:
    """Where the pictures of a page begin, in its pixels: one viewport each; the last ends where the page does."""
    last = max(height_px - VIEWPORT.height, 0)
    tops = [min(top, last) for top in range(0, height_px, VIEWPORT.height)] or [0]
    return tuple(dict.fromkeys(tops))[:most]


def _clean(text: Any) -> str:
    """Text without halves of characters, which no file can hold."""
    return str(text).encode("utf-8", "replace").decode("utf-8")
