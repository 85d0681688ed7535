"""One page in a browser context of its own, which has nothing but its proxy to the web; and pages rendered and kept."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..records import RenderedPage, Segment
from .evidence import EvidenceFolder, put_html
from .guard import VIEWPORT, PageLost, PageProxy, PageTrouble, Trouble, WebPolicy, check_url, first_of, within

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page

_SCRIPT = Path(__file__).with_name("page.js")
_EVENTS = (
    *("Network.requestWillBeSent", "Network.responseReceived", "Network.dataReceived", "Network.loadingFinished"),
    *("Network.loadingFailed", "Page.frameRequestedNavigation", "Page.frameNavigated", "Page.frameStoppedLoading"),
    "Page.frameDetached",
)
_ENDLESS = frozenset({"WebSocket", "EventSource", "Media", "Ping", "Manifest"})
_READABLE = frozenset({"", "text/html", "application/xhtml+xml", "text/plain"})
_OF_THE_WEB = ("http://", "https://")
_OFF_THE_WEB = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_TROUBLE_OF: dict[str, Trouble] = {
    "ERR_UNSAFE_PORT": "refused", "ERR_UNSAFE_REDIRECT": "refused", "ERR_UNKNOWN_URL_SCHEME": "refused",
    "ERR_DISALLOWED_URL_SCHEME": "refused", "ERR_INVALID_URL": "refused", "ERR_TIMED_OUT": "too-slow",
    "ERR_TOO_MANY_REDIRECTS": "too-many-redirects",
}  # fmt: skip
_REPLACED = ("Cannot find context", "navigated or closed")  # What the protocol says where a document goes meanwhile.
_FRAME_S, _TOLD_LATER_S = 0.03, 0.4


class ScriptError(PageTrouble):
    """A script of ours did not end well: the page is like no other, or went away meanwhile."""


class BrowserTab:
    """A page and what became of its main document. ``trouble`` fails as soon as it is clear that there is none.

    ``hops`` are the addresses that the main frame, whose id is ``frame``, asked for; ``status`` (None before one comes)
    and ``content_type`` are of the last answer; ``popup`` is the last window that it wanted and did not get;
    ``reusable`` is whether the tab may show another page. ``begun`` counts the requests of the page, ``idle`` is set
    where none is under way. All of that is told in one order with the answers to our scripts: when one that waited for
    two frames has answered, every request that was made by then is known.
    """

    def __init__(self, page: Page, session: CDPSession, frame: str, proxy: PageProxy, policy: WebPolicy) -> None:
        self.page, self.session, self.proxy, self.policy = page, session, proxy, policy
        self._frame = frame
        self.popup, self.reusable = "", True
        self.begun, self.idle = 0, asyncio.Event()
        self.idle.set()
        self._open: dict[str, str] = {}
        self._going: set[str] = set()
        self._begin()
        for name in _EVENTS:
            session.on(name, partial(self._told, name))
        page.on("crash", lambda _: self._fails(PageLost("the page ended its own process")))
        page.context.on("page", self._popup)

    def _begin(self) -> None:
        self.hops: list[str] = []
        self.status: int | None = None
        self.content_type = ""
        self.trouble: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._document_bytes: dict[str, int] = {}

    # --- going to a page ----------------------------------------------------------------------------------------------

    async def go(self, url: str) -> int | None:
        """Wait until the document of an address begins; its status, None where it was within the page already there. A
        PageTrouble or PageLost says why there is none.
        """
        from playwright.async_api import Error

        check_url(url, self.policy)
        self._begin()
        try:
            async with within(self.policy.navigation_s, "no document"):
                going = self.page.goto(url, wait_until="commit", timeout=0)
                response = await first_of(asyncio.shield(self.trouble), going)
        except Error as error:
            if "ERR_ABORTED" in str(error):
                # So end a page without content, a download and a process that dies, of which the last is told later.
                await asyncio.wait([self.trouble], timeout=_TOLD_LATER_S)
            self.hops = self.hops or [url]
            # The reason is the guard's, if it had one, else the browser's own word.
            self.raise_trouble()
            raise _why_not(str(error)) from None
        self.raise_trouble(self.page.url)
        return None if response is None else int(response.status)

    async def visit(self, url: str) -> int | None:
        """As :meth:`go`, and wait until nothing is loading any more."""
        status = await self.go(url)
        await self.still(self.policy.quiet_s)
        return status

    def raise_trouble(self, shown: str = "") -> None:
        """Raise why there is no page, as far as the guard or we know; ``shown`` is the address that is shown."""
        if self.trouble.done():
            self.trouble.result()
        if shown and not shown.startswith("chrome-error:"):
            return
        if (refusal := next(filter(None, map(self.proxy.refusal_of, reversed(self.hops))), None)) is not None:
            raise refusal
        if shown:
            raise PageTrouble("no-answer", "nothing came from where the page went to")

    def _fails(self, trouble: PageTrouble | PageLost) -> None:
        if not self.trouble.done():
            self.trouble.set_exception(trouble)
            self.trouble.exception()  # It may be that nobody asks for it.

    def _told(self, name: str, event: dict[str, Any]) -> None:
        match name:
            case "Network.requestWillBeSent":
                if event.get("type") == "Document":
                    self._asked(event)
                if event.get("type") not in _ENDLESS:
                    self.begun += 1
                    self._open[event["requestId"]] = event["loaderId"]
            case "Network.responseReceived":
                if event["type"] == "Document" and event.get("frameId") == self._frame:
                    self._answered(event["response"])
            case "Network.dataReceived":
                if event["requestId"] in self._document_bytes:
                    self._document_bytes[event["requestId"]] += int(event["dataLength"])  # As it unpacks.
                    if self._document_bytes[event["requestId"]] > (most := self.policy.max_document_bytes):
                        self._fails(PageTrouble("too-large", f"a document of more than {most} bytes"))
            case "Network.loadingFinished" | "Network.loadingFailed":
                self._open.pop(event["requestId"], None)
            case "Page.frameRequestedNavigation":
                # A click or a script wants another document; the request for it is told later.
                self._going |= {event["frameId"]} if event["disposition"] == "currentTab" else set()
            case "Page.frameNavigated":
                # Another document is here: what the last one was waiting for is of no interest.
                frame = event["frame"]
                if "parentId" not in frame:
                    self._open = {one: loader for one, loader in self._open.items() if loader == frame["loaderId"]}
                self._going.discard(frame["id"])
            case "Page.frameStoppedLoading" | "Page.frameDetached":
                self._going.discard(event["frameId"])
        if self._open or self._going:
            self.idle.clear()
        else:
            self.idle.set()

    def _asked(self, event: dict[str, Any]) -> None:
        self._document_bytes[event["requestId"]] = 0
        if event.get("frameId") == self._frame:
            if "redirectResponse" in event:
                self._answered(event["redirectResponse"])
            self.hops.append(event["request"]["url"])
            if len(self.hops) > self.policy.max_redirects + 1:
                self._fails(PageTrouble("too-many-redirects", f"the page went on {len(self.hops) - 1} times"))

    def _answered(self, response: dict[str, Any]) -> None:
        headers = {name.lower(): value for name, value in response["headers"].items()}
        self.status, location = response["status"], headers.get("location", "")
        self.content_type = kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if 300 <= response["status"] < 400:
            if _OFF_THE_WEB.match(location):
                self._fails(PageTrouble("refused", f"the page leads to {location[:200]!r}, which is not of the web"))
        elif "attachment" in headers.get("content-disposition", "").lower() or kind not in _READABLE:
            self._fails(PageTrouble("not-a-page", f"a file to be downloaded, or a document of the kind {kind[:100]!r}"))

    async def _popup(self, page: Page) -> None:
        from playwright.async_api import Error

        if page != self.page:
            if page.url.startswith(_OF_THE_WEB):
                self.popup = page.url
            with suppress(Error):
                await page.close()

    # --- what is there ------------------------------------------------------------------------------------------------

    async def run(self, name: str, argument: object = None) -> Any:
        """Call a function of our scripts in the main frame, in a world of its own; what it returns. Raises a
        ScriptError where it threw or the document was replaced, and a PageTrouble where the page is too slow.
        """
        script, most_ms = _SCRIPT.read_text(encoding="utf-8"), self.policy.script_s * 1000
        call = f"grounding.{name}({json.dumps(argument)})"
        text = f"(() => {{ if (!globalThis.grounding) {{\n{script}\n}} return {call}; }})()"
        async with within(self.policy.script_s, "the page did not answer"):
            # Our own world of the document is made, and given our script, where there is none yet.
            frame = {"frameId": self._frame, "worldName": "grounding"}
            world = (await self.session.send("Page.createIsolatedWorld", frame))["executionContextId"]
            asked = {"expression": text, "contextId": world, "returnByValue": True, "awaitPromise": True}
            answer = await self.session.send("Runtime.evaluate", asked | {"timeout": most_ms})
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            said = details.get("exception", {}).get("description") or details.get("text", "")
            raise ScriptError("no-answer", f"the page could not be read: {name}: {str(said)[:300]}")
        return answer["result"].get("value")

    async def still(self, at_most_s: float) -> bool:
        """Wait until the page has loaded and asks for nothing more; False where that took longer than the limit.

        There is no fixed pause: what was asked for is waited for, then two frames, in which a page may ask for more.
        Raises a PageTrouble where the page does not answer.
        """
        from playwright.async_api import Error

        with suppress(TimeoutError):
            async with asyncio.timeout(at_most_s):
                while True:
                    await self.idle.wait()
                    begun, loaded = self.begun, False
                    try:
                        loaded = await self.run("frames")
                    except (ScriptError, Error) as error:  # The document was just replaced.
                        if isinstance(error, Error) and not any(words in str(error) for words in _REPLACED):
                            raise
                    if begun == self.begun:
                        if loaded:
                            return True
                        await asyncio.sleep(_FRAME_S)
        return False

    async def picture(self, top_px: int) -> bytes:
        """A PNG of one viewport from a height of the page on, whatever part of it is in view."""
        clip = {"x": 0, "y": top_px, "width": VIEWPORT.width, "height": VIEWPORT.height, "scale": 1}
        # Less packing, the same pixels: it takes a third of the time.
        options = {"format": "png", "clip": clip, "captureBeyondViewport": True, "optimizeForSpeed": True}
        async with within(self.policy.script_s, "the page was not painted"):
            answer = await self.session.send("Page.captureScreenshot", options)
        return base64.b64decode(answer["data"])


def _why_not(text: str) -> PageTrouble | PageLost:
    first, known = text.splitlines()[0][:300], re.search(r"net::(ERR_[A-Z0-9_]+)", text)
    if "Download is starting" in text:
        return PageTrouble("not-a-page", "a file to be downloaded")
    if "crashed" in text or "closed" in text:
        return PageLost(first)
    name = known[1] if known else first
    return PageTrouble(_TROUBLE_OF.get(name, "no-answer"), name)


# --- a page rendered in full and kept -------------------------------------------------------------------------------

RENDERING = "rendering-5"  # Changes whenever the same page would be kept differently.
_MOST_BANNERS = 8
_RESTLESS_S, _LINGER_S = 1.5, 0.8
"""How long a page that never rests is waited for at each height, and a newsletter's window that comes after it."""


async def render_page(tab: BrowserTab, url: str, evidence: EvidenceFolder) -> RenderedPage:
    """Go to an address, wait, clear the view, scroll all of it into view, and keep what is there.

    The text is what can be read with the eyes, open shadow trees included; the document is the page as it was after
    scripts, scrolling and the dismissal of banners. Whatever is wrong with the page is told by ``failure``. A PageLost
    or an Error of playwright: it is gone, and another try may help.
    """
    began, fetched_at = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    try:
        async with within(tab.policy.max_total_s, "the page was not done"):
            await tab.go(url)
            found = await first_of(asyncio.shield(tab.trouble), _keep(tab, evidence, began))
    except PageTrouble as trouble:
        found = {"failure": trouble.failure, "final_url": tab.hops[-1] if tab.hops else ""}
    return RenderedPage(
        url=url,
        fetched_at=fetched_at,
        status=tab.status,
        content_type=tab.content_type,
        blocked_requests=tab.proxy.refused,
        seconds=round(time.monotonic() - began, 3),
        **found,
    )


async def _keep(tab: BrowserTab, evidence: EvidenceFolder, began: float) -> dict[str, Any]:
    """Keep the page that has begun; those fields of its record that only a page has."""
    from ..extraction.document import structured_data

    policy = tab.policy
    left_s = max(policy.navigation_s - (time.monotonic() - began), 1.0)
    async with within(left_s, "a document began, and was not complete"):
        await tab.page.wait_for_load_state("domcontentloaded", timeout=0)
    rests = await tab.still(policy.quiet_s)
    tab.raise_trouble(tab.page.url)
    since = time.monotonic()
    await tab.run("freeze")
    dismissed = await tab.run("banners")
    height = await _scroll_through(tab, rests)
    await asyncio.sleep(max(0.0, since + _LINGER_S - time.monotonic()))
    dismissed += await tab.run("banners")
    kept = await tab.run("kept", {"text": policy.max_text_chars, "html": policy.max_html_bytes})
    url, text, html, most = str(kept["url"]), kept["text"], kept["html"], policy.max_html_bytes
    tab.raise_trouble(url)  # A page may have gone on after it was quiet.
    if not url.startswith(_OF_THE_WEB):
        raise PageTrouble("not-a-page", f"the page went on to {url[:200]!r}")
    if html["length"] > most:
        raise PageTrouble("too-large", f"the rendered document has {html['length']} characters, more than {most}")
    segments = []
    for top_px in segment_tops(max(height, int(kept["height"])), policy.max_segments):
        file = evidence.put(await tab.picture(top_px), ".png")
        segments.append(Segment(file=file, size=VIEWPORT, top_px=top_px))
    return {
        "final_url": url,
        "html_file": put_html(html["html"], evidence),
        "title": str(kept["title"]),
        "text": str(text["text"]),
        "text_cut": bool(text["cut"]),
        # In a thread: the guard of the other pages must not wait for a long document.
        "data": tuple(await asyncio.to_thread(structured_data, html["html"], url)),
        "segments": tuple(segments),
        "dismissed": tuple(map(str, dismissed[:_MOST_BANNERS])),
    }


async def _scroll_through(tab: BrowserTab, rests: bool) -> int:
    """Bring all of the page into view once, so that what loads late loads; how tall it is in the end. A page that has
    come to rest is waited for at each height until it does so again; another not as long.
    """
    top, height, begun = 0, 0, tab.begun
    for _ in range(tab.policy.max_scrolls):
        at = await tab.run("scroll", top)
        if tab.begun != begun:
            rests = await tab.still(tab.policy.quiet_s if rests else _RESTLESS_S) and rests
            begun = tab.begun
            at = await tab.run("scroll", top)
        height = int(at["height"])
        # What came may have made the page ask for more at once, at its end too.
        if at["top"] + VIEWPORT.height >= height and (tab.begun == begun or not rests):
            break
        top = int(at["top"] + VIEWPORT.height * 0.9)
    return height


def segment_tops(height_px: int, most: int) -> tuple[int, ...]:
    """Where the pictures of a page begin, in its pixels: one viewport each; the last ends where the page does."""
    last = max(height_px - VIEWPORT.height, 0)
    tops = [min(top, last) for top in range(0, height_px, VIEWPORT.height)] or [0]
    return tuple(dict.fromkeys(tops))[:most]
