"""Searching a shop in a browser, and reading a product's page. Structure in, records out; nothing is raised for a page.

Only a lost page is an exception: a crash, or a script that never ends.
"""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from grounding.records import Failure, Record
from grounding.webagents.agenticshop.agents.searching import boxes, cards
from grounding.webagents.agenticshop.agents.searching.boxes import Candidate, openers, read_candidates, search_boxes
from grounding.webagents.agenticshop.agents.searching.cards import Results, read_results
from grounding.webagents.agenticshop.records import RenderedPage
from grounding.webagents.agenticshop.web.evidence import put_html
from grounding.webagents.agenticshop.web.visits import Refused

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, JSHandle

    from grounding.webagents.agenticshop.web.evidence import EvidenceFolder
    from grounding.webagents.agenticshop.web.session import BrowsingSession

ACT_MS = 4_000
LOOK_S = 15.0
SETTLE_S = 4.0
CHANGE_S = 4.0
"""How long an answer to a search is waited for that changes nothing in the page's address."""

MAX_BOXES, MAX_OPENERS = 2, 3
_TICK_S = 0.1


class LostPage(Exception):
    """The page crashed, hangs, or its browser is gone."""


class Searched(Record, frozen=True, kw_only=True):
    """What came of a search, or of opening a shop's first page; ``problem`` says why there are no results."""

    results: Results | None = None
    problem: str = ""


@cache
def _script(path: Path) -> str:
    return path.read_text(encoding="utf-8")


async def open_shop(session: BrowsingSession, url: str) -> Searched:
    """A shop's first page.

    Raises:
        LostPage: the page crashed or hangs.
    """
    async with _Guarded():
        visit = await session.goto(url)
        if isinstance(visit, Refused):
            return Searched(problem=_refused(visit))
        if visit.status is not None and visit.status >= 400:
            return Searched(problem=f"the server answers with status {visit.status}")
        return Searched(results=await _read(session))


async def search(session: BrowsingSession, query: str) -> Searched:
    """Type a query into the search box of the page that is open, and read what comes.

    A box that is hidden is brought to light by the button for it. Where Enter does nothing, the button beside the box
    is pressed; where that does nothing either, the next likely box is tried.

    Raises:
        LostPage: the page crashed or hangs.
    """
    async with _Guarded():
        found = await _boxes(session)
        if not found:
            return Searched(problem="no search box was found on the page")
        for node in found[:MAX_BOXES]:
            if await _ask(session, node, query):
                return Searched(results=await _read(session))
        return Searched(problem="the search box does nothing")


async def _boxes(session: BrowsingSession) -> list[ElementHandle]:
    """The elements of likely boxes, the likeliest first."""
    from playwright.async_api import Error

    handle, candidates = await _candidates(session)
    found = search_boxes(candidates)
    if not found:
        for opener in openers(candidates)[:MAX_OPENERS]:
            node = await _element(handle, opener.place)
            try:
                if node is not None:
                    await node.click(timeout=ACT_MS)
            except Error as error:
                _only_if_there(session, error)
                continue
            await session.settle(SETTLE_S)
            handle, candidates = await _candidates(session)
            found = search_boxes(candidates)
            if found:
                break
    nodes = [await _element(handle, one.place) for one in found]
    return [node for node in nodes if node is not None]


async def _candidates(session: BrowsingSession) -> tuple[JSHandle, tuple[Candidate, ...]]:
    async with asyncio.timeout(LOOK_S):
        handle = await session.page.evaluate_handle(_script(boxes.SCRIPT))
        return handle, read_candidates(await handle.evaluate("found => found.told"))


async def _element(handle: JSHandle, place: int) -> ElementHandle | None:
    return (await handle.evaluate_handle("(found, place) => found.nodes[place]", place)).as_element()


async def _ask(session: BrowsingSession, node: ElementHandle, query: str) -> bool:
    """Whether typing a query and sending it off changed the page."""
    from playwright.async_api import Error

    before = await _state(session)
    try:
        await node.fill(query, timeout=ACT_MS)
        await node.press("Enter", timeout=ACT_MS)
        if await _changed(session, before):
            return True
        # The nearest button after the box: in its form, else in the block around it.
        button = (
            await node.evaluate_handle(
                """(box) => (box.closest('form') || box.parentElement || box)
                     .querySelector('button, input[type=submit], [role=button]')"""
            )
        ).as_element()
        if button is None:
            return False
        await session.dismiss_banners()
        await button.click(timeout=ACT_MS)
    except Error as error:
        _only_if_there(session, error)
        return False
    return await _changed(session, before)


async def _state(session: BrowsingSession) -> str:
    """What tells one state of a page from another: its address and its words."""
    text: str = await session.page.evaluate("() => document.body ? document.body.innerText.slice(0, 20000) : ''")
    return f"{session.page.url}\n{text}"


async def _changed(session: BrowsingSession, before: str) -> bool:
    """Wait for a page to become another one, and then until it is quiet."""
    from playwright.async_api import Error

    end = asyncio.get_running_loop().time() + CHANGE_S
    while asyncio.get_running_loop().time() < end:
        await asyncio.sleep(_TICK_S)
        try:
            now = await _state(session)
        except Error as error:
            # The document is just being replaced.
            _only_if_there(session, error)
            continue
        if now != before:
            await session.settle(SETTLE_S)
            return True
    return False


async def _read(session: BrowsingSession) -> Results:
    async with asyncio.timeout(LOOK_S):
        return read_results(await session.page.evaluate(_script(cards.SCRIPT)))


async def read_product(session: BrowsingSession, url: str, evidence: EvidenceFolder) -> RenderedPage:
    """A product's page as it is without scrolling, kept for the extractor; a page that can't be had says so.

    Raises:
        LostPage: the page crashed or hangs.
        OSError: the folder can't be written.
    """
    async with _Guarded():
        visit = await session.goto(url)
        if isinstance(visit, Refused):
            return RenderedPage(url=url, failure=Failure(kind="missing", message=_refused(visit)))
        async with asyncio.timeout(LOOK_S):
            html = await session.page.content()
            text = await session.text()
            title = await session.page.title()
        name, digest = await asyncio.to_thread(put_html, html, evidence)
        return RenderedPage(
            url=url,
            final_url=session.page.url,
            status=visit.status,
            content_type="text/html",
            html_file=name,
            html_sha256=digest,
            title=title[:300],
            text=text,
        )


class _Guarded:
    """Turns what a lost page raises into ``LostPage``."""

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from playwright.async_api import Error

        if isinstance(error, Error | TimeoutError | ValueError):
            raise LostPage(str(error).strip().split("\n")[0][:200] or "the page does not answer") from error


def _only_if_there(session: BrowsingSession, error: Exception) -> None:
    """Let a failure pass that is of one element, not of the page."""
    if session.page.is_closed() or "crashed" in str(error).lower() or "has been closed" in str(error):
        raise error


def _refused(visit: Refused) -> str:
    if visit.trouble in ("page-crashed", "browser-crashed"):
        raise LostPage(f"{visit.url[:200]}: {visit.message[:200]}")
    return f"{visit.trouble}: {visit.message[:200]}"
