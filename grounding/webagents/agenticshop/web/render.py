"""A page rendered in full and kept: pictures of it, its text and its document."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

import msgspec

from grounding.webagents.agenticshop.records import RenderedPage, Segment, StructuredData
from grounding.webagents.agenticshop.web.banners import dismiss_banners
from grounding.webagents.agenticshop.web.chromium import VIEWPORT
from grounding.webagents.agenticshop.web.evidence import PICTURE_SUFFIX, EvidenceFolder, put_html
from grounding.webagents.agenticshop.web.going import go, refused
from grounding.webagents.agenticshop.web.isolated import ScriptError
from grounding.webagents.agenticshop.web.policy import WebPolicy
from grounding.webagents.agenticshop.web.tabs import Tab, content_type
from grounding.webagents.agenticshop.web.troubles import PageTrouble, failure_of

RENDERING = "rendering-1"
"""Changes whenever the same page would be kept differently."""

_QUIET_S = 0.4
_STEP_QUIET_S = 0.12
_STEP_LIMIT_S = 1.5
_STEP_SHARE = 0.9


async def render_page(tab: Tab, url: str, policy: WebPolicy, evidence: EvidenceFolder) -> RenderedPage:
    """Go to an address, wait, clear the view, scroll all of it into view, and keep what is there.

    The text is what can be read with the eyes, open shadow trees included. What pictures are called, what only a screen
    reader is told and what frames of other documents show is not in it; the first two are in the kept document. That
    document is the page as it was after scripts, scrolling and the dismissal of banners. Whatever is wrong with the
    page is told by ``failure``.

    Raises:
        PageTrouble: The browser or the page's process is gone: another try may help.
        playwright.async_api.Error: As above.
    """
    began = time.monotonic()
    page = RenderedPage(url=url, fetched_at=datetime.now(UTC).isoformat(timespec="seconds"))
    try:
        async with asyncio.timeout(policy.max_total_s):
            await go(tab, url, policy)
            await tab.unless_trouble(_wait(tab, policy, began))
            page = await tab.unless_trouble(_keep(tab, page, policy, evidence))
    except TimeoutError:
        page = _failed(page, PageTrouble("too-slow", f"the page was not done within {policy.max_total_s:g} s"))
    except ScriptError as error:
        page = _failed(page, PageTrouble("no-answer", f"the page could not be read: {error}"))
    except PageTrouble as trouble:
        if trouble.trouble in ("page-crashed", "browser-crashed"):
            raise
        page = _failed(page, trouble)
    return _told(tab, page, time.monotonic() - began)


def _failed(page: RenderedPage, trouble: PageTrouble) -> RenderedPage:
    return msgspec.structs.replace(page, failure=failure_of(trouble.trouble, trouble.message))


def _told(tab: Tab, page: RenderedPage, seconds: float) -> RenderedPage:
    """With what the way there was like, whether or not there is a page."""
    response = tab.response
    answered = response is not None and tab.lane.refusal_of(response.url) is None
    final = page.final_url or (tab.hops[-1] if tab.hops else "")
    between = tuple(tab.hops[1:-1]) if len(tab.hops) > 2 else ()
    return msgspec.structs.replace(
        page,
        final_url=final,
        redirects=between,
        status=response.status if response is not None and answered else None,
        content_type=content_type(response) if response is not None and answered else "",
        blocked_requests=tab.lane.refused,
        seconds=round(seconds, 3),
    )


async def _wait(tab: Tab, policy: WebPolicy, began: float) -> None:
    """Until the document is complete and nothing more is loaded, or the patience for that is at its end."""
    from playwright.async_api import TimeoutError as Late

    left_s = max(policy.navigation_s - (time.monotonic() - began), 1.0)
    try:
        await tab.page.wait_for_load_state("domcontentloaded", timeout=left_s * 1000)
    except Late:
        raise PageTrouble("too-slow", f"the document was not complete within {policy.navigation_s:g} s") from None
    await tab.traffic.quiet(_QUIET_S, policy.quiet_s)
    refused(tab, tab.page.url)


async def _keep(tab: Tab, page: RenderedPage, policy: WebPolicy, evidence: EvidenceFolder) -> RenderedPage:
    await tab.run("freeze")
    dismissed = await dismiss_banners(tab)
    height = await _scroll_through(tab, policy)
    dismissed += await dismiss_banners(tab)
    covered = int(await tab.run("settle"))
    document = await tab.run("document")
    url = str(document["url"])
    # A page may have gone on after it was quiet.
    refused(tab, url)
    text = await tab.run("text", policy.max_text_chars)
    html = await tab.run("html", policy.max_html_bytes)
    if html["length"] > policy.max_html_bytes:
        raise PageTrouble(
            "too-large", f"the rendered document has {html['length']} characters, more than {policy.max_html_bytes}"
        )
    segments = await _pictures(tab, max(height, int(document["height"])), covered, policy, evidence)
    name, digest = put_html(html["html"], evidence)
    return msgspec.structs.replace(
        page,
        final_url=url,
        html_file=name,
        html_sha256=digest,
        title=_clean(document["title"]),
        text=_clean(text["text"]),
        text_cut=bool(text["cut"]),
        # In a thread: the guard of the other pages must not wait for a long document.
        data=await asyncio.to_thread(_structured, html["html"], url),
        segments=segments,
        dismissed=dismissed,
    )


async def _scroll_through(tab: Tab, policy: WebPolicy) -> int:
    """Bring all of the page into view once, so that what loads late loads; how tall it is in the end."""
    top, height = 0, 0
    for _ in range(policy.max_scrolls):
        at = await tab.run("scroll", top)
        tab.traffic.stirred()
        await tab.traffic.quiet(_STEP_QUIET_S, _STEP_LIMIT_S)
        height = int(at["height"])
        if at["top"] + VIEWPORT.height >= height:
            await tab.traffic.quiet(_QUIET_S, policy.quiet_s)
            grown = int((await tab.run("scroll", top))["height"])
            if grown <= height:
                break
            height = grown
        top = int(at["top"] + VIEWPORT.height * _STEP_SHARE)
    await tab.run("scroll", 0)
    tab.traffic.stirred()
    await tab.traffic.quiet(_STEP_QUIET_S, _STEP_LIMIT_S)
    return height


def segment_tops(height_px: int, covered_px: int, most: int) -> tuple[int, ...]:
    """Where the pictures of a page begin, in its pixels: one viewport each, from the top down.

    The first shows what first is seen, with the bars that stay in view; they are in no other. The second begins where
    a bar at the bottom of the first hides the page, the last ends where the page does and may repeat some of it.

    Args:
        height_px: How tall the page is.
        covered_px: How much of the first viewport's bottom is hidden.
        most: How many pictures there may be.
    """
    last = max(height_px - VIEWPORT.height, 0)
    tops = [0]
    while tops[-1] < last and len(tops) < most:
        step = VIEWPORT.height - (covered_px if len(tops) == 1 else 0)
        tops.append(min(tops[-1] + step, last))
    return tuple(tops)


async def _pictures(
    tab: Tab, height: int, covered: int, policy: WebPolicy, evidence: EvidenceFolder
) -> tuple[Segment, ...]:
    segments: list[Segment] = []
    for top in segment_tops(height, covered, policy.max_segments):
        if len(segments) == 1:
            await tab.run("bare")
        file = evidence.put(await tab.picture(top, VIEWPORT.height), PICTURE_SUFFIX)
        segments.append(Segment(file=file, size=VIEWPORT, top_px=top))
    return tuple(segments)


def _structured(html: str, url: str) -> tuple[StructuredData, ...]:
    from grounding.webagents.agenticshop.extraction.structured import structured_data

    return tuple(structured_data(html, url))


def _clean(text: str) -> str:
    """Text without halves of characters, which no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
