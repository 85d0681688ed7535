"""A page rendered in full and kept: banners taken away, pictures of it, its text and its document."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Any

import msgspec

from grounding.benchmarks.agenticshop.records import RenderedPage, Segment
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder, put_html
from grounding.benchmarks.agenticshop.web.policy import VIEWPORT, PageTrouble, WebPolicy
from grounding.benchmarks.agenticshop.web.tab import BrowserTab, ScriptError, content_type

RENDERING = "rendering-4"
"""Changes whenever the same page would be kept differently."""

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
        blocked_requests=tab.lane.refused,
        seconds=round(time.monotonic() - began, 3),
    )


async def _keep(
    tab: BrowserTab, page: RenderedPage, policy: WebPolicy, evidence: EvidenceFolder, began: float
) -> RenderedPage:
    from playwright.async_api import TimeoutError as Late

    from grounding.benchmarks.agenticshop.extraction.structured import structured_data

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
    """Bring all of the page into view once, so that what loads late loads; how tall it is in the end.

    A page that has come to rest is waited for at each height until it does so again; another not as long.
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
