"""The offline agent: it uses each shop's own search box, opens the likeliest results and compares what they say.

No model takes part, so the same shops and the same need bring the same products. It looks at the shops that belong to
the data set; the open web has no search box of its own. What one task has found out about a shop (its first page, the
address of its search, the results of a query) serves the others of the run.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote_plus, urlsplit

from grounding.benchmarks.agenticshop.agents import ranking
from grounding.benchmarks.agenticshop.agents.base import Browses, CurationServices, agent, made
from grounding.benchmarks.agenticshop.agents.ranking import ProductCandidate, ShoppingNeed, quick_points
from grounding.benchmarks.agenticshop.records import (
    COUNTED_PRODUCTS,
    BehaviourKind,
    Curated,
    Curation,
    ShopperView,
    TraceStep,
)
from grounding.benchmarks.agenticshop.web.policy import PageLost, PageTrouble
from grounding.errors import UserError
from grounding.records import Failure

if TYPE_CHECKING:
    from playwright.async_api import Locator

    from grounding.benchmarks.agenticshop.extraction.base import Extractor
    from grounding.benchmarks.agenticshop.web.browser import WebBrowser
    from grounding.benchmarks.agenticshop.web.tab import BrowserTab

VERSION = 4
MAX_SITES, MAX_CARDS, MAX_CARDS_PER_SEARCH = 12, 60, 12
ENOUGH_CARDS, ENOUGH_TO_EXPLORE = 6, 16
"""No other words are searched for once so many products that may fit were found."""

MAY_FIT = 2.0
"""Points, by the words of a list, from which a product is worth a look."""

MAX_PAGES = 7
"""So many product pages are opened: enough to compare, few enough to be done soon."""

MAX_LOSSES, MOST_BOXES = 3, 2
ACT_MS, LOOK_S, SETTLE_S = 10_000, 15.0, 4.0
CHANGE_S = 15.0
"""How long an answer to a search is waited for that changes nothing in the page's address."""

_TICK_S = 0.05


class NotFound(Exception):
    """Why a shop can't be opened or searched."""


# --- what a page shows ------------------------------------------------------------------------------------------------

_NOTHING = re.compile(
    r"\b(no (results|products|matches|items|hits)\b|nothing (was |has been )?(found|for|matche)|found nothing"
    r"|0 (results|hits|items|products|matches|found)\b|did(n.t| not) match|could(n.t| not) find|no \w+ match)",
    re.IGNORECASE,
)
_SOLD_OUT = re.compile(r"sold out|out of stock|not available|unavailable", re.IGNORECASE)
_SHOWN = """() => [location.href, document.documentElement.outerHTML,
    [...document.links].slice(0, 600).map((one) => [one.href, one.innerText.trim().slice(0, 60)])]"""


class Results(NamedTuple):
    """What a search brought: the text of each product's card by its address.

    ``nothing`` where the page says so; what it shows all the same is then no result. ``shelves`` are the names of links
    without products: the parts of the shop's assortment.
    """

    url: str
    cards: dict[str, str]
    nothing: bool
    shelves: tuple[str, ...]


def read_results(url: str, html: str, links: Sequence[tuple[str, str]] = ()) -> Results:
    """A page of results as cards in the order of the page.

    They are what a product's page takes for tiles of other products: advertisements and navigation are none.
    """
    from grounding.benchmarks.agenticshop.extraction.dom import read_document

    document = read_document(html, url)
    cards: dict[str, str] = {}
    for one in () if document is None else document.tiles:
        if _host(one.url) == _host(url) and urlsplit(one.url).path not in ("", "/") and len(cards) < MAX_CARDS:
            cards.setdefault(one.url, one.text)
    said = "" if document is None else " ".join(line.text for line in document.lines)[:1500]
    shelves = dict.fromkeys(text for href, text in links if href not in cards and 2 < len(text) <= 40)
    return Results(url, cards, _NOTHING.search(said) is not None, tuple(shelves)[:60])


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


# --- a shop in a browser ----------------------------------------------------------------------------------------------

_STATE = "() => location.href + '\\n' + (document.body ? document.body.innerText.slice(0, 20000) : '')"
_SEARCH = re.compile(r"search|find|look(ing)? for|suche|buscar|recherche|cerca|what .*\?", re.IGNORECASE)
_TYPED = "input:not([type]), input[type=text], input[type=search], textarea, [contenteditable=true]"


class Shops:
    """What was found out about the shops of a run, which serves all tasks, and a few windows to look into them.

    ``_templates`` are the addresses of searches with {query} in them.
    """

    def __init__(self, most: int) -> None:
        self._room = asyncio.Semaphore(most)
        self._known: dict[tuple[str, str], Results] = {}
        self._templates: dict[str, str] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._idle: list[tuple[BrowserTab, AsyncExitStack]] = []

    async def results(self, web: WebBrowser, home: str, query: str = "") -> Results:
        """What a shop has for a query; without one, what its first page shows. A lost window is opened anew.

        A NotFound says why the shop can't be opened or searched, a PageLost that the browser was lost too often.
        """
        from playwright.async_api import Error

        async with self._locks[home]:
            for left in range(MAX_LOSSES, -1, -1):
                if (home, query) in self._known:
                    break
                try:
                    async with self._window(web, home) as tab:
                        self._known[home, query] = await self._found(tab, home, query)
                except (PageLost, Error, TimeoutError, ValueError) as error:
                    if not left:
                        raise PageLost(str(error).partition("\n")[0][:200] or "the page does not answer") from error
            return self._known[home, query]

    async def _found(self, tab: BrowserTab, home: str, query: str) -> Results:
        words, template = quote_plus(query), self._templates.get(home)
        if not query or template is not None:
            return await _open(tab, template.replace("{query}", words) if query and template else home)
        if not tab.page.url.startswith(home):
            self._known[home, ""] = await _open(tab, home)
        results = await _search(tab, query)
        if results.url.count(words) == 1 and "?" in results.url.partition(words)[0] and "{" not in results.url:
            self._templates[home] = results.url.replace(words, "{query}")
        return results

    @asynccontextmanager
    async def _window(self, web: WebBrowser, home: str) -> AsyncIterator[BrowserTab]:
        """A window, that of the shop if there is one; a window in which something went wrong is closed."""
        async with self._room:
            there = (place for place, (tab, _) in enumerate(self._idle) if tab.page.url.startswith(home))
            stack = AsyncExitStack()
            if self._idle:
                tab, stack = self._idle.pop(next(there, 0))
            else:
                tab = await stack.enter_async_context(web.session(pictures=False))
            async with stack:
                yield tab
                self._idle.append((tab, stack.pop_all()))

    async def aclose(self) -> None:
        """Close all windows."""
        while self._idle:
            await self._idle.pop()[1].aclose()


async def _open(tab: BrowserTab, url: str) -> Results:
    try:
        status = await tab.visit(url)
    except PageTrouble as trouble:
        raise NotFound(f"{trouble.trouble}: {trouble.message[:200]}") from None
    if status is not None and status >= 400:
        raise NotFound(f"the server answers with status {status}")
    return await _read(tab)


async def _search(tab: BrowserTab, query: str) -> Results:
    """Type a query into the search box of the page that is open, and read what comes.

    Where Enter does nothing, the next likely box is tried.
    """
    page = tab.page
    boxes = (
        page.get_by_role("searchbox")
        .or_(page.get_by_placeholder(_SEARCH))
        .or_(page.get_by_label(_SEARCH))
        .or_(page.locator("[role=search] *, [name=q], [name*=search i], [id*=search i], [class*=search i] *"))
    )
    found = (await boxes.and_(page.locator(_TYPED)).filter(visible=True).all())[:MOST_BOXES]
    for box in found:
        if await _changes(tab, box, query):
            return await _read(tab)
    raise NotFound("the search box does nothing" if found else "no search box was found on the page")


async def _changes(tab: BrowserTab, box: Locator, query: str) -> bool:
    """Whether typing a query and sending it off changed the page, which is still then."""
    from playwright.async_api import Error

    page = tab.page
    before, end, sent = await page.evaluate(_STATE), time.monotonic() + CHANGE_S, False
    while time.monotonic() < end:
        try:
            if not sent:
                await box.fill(query, timeout=ACT_MS)
                await box.press("Enter", timeout=ACT_MS)
                sent = True
            await tab.still(SETTLE_S)
            if await page.evaluate(_STATE) != before:
                await tab.still(SETTLE_S)
                return True
        except Error as error:
            if page.is_closed() or "crashed" in str(error):
                raise
            if not sent:
                return False
            # Else the document is just being replaced.
        await asyncio.sleep(_TICK_S)
    return False


async def _read(tab: BrowserTab) -> Results:
    async with asyncio.timeout(LOOK_S):
        return await asyncio.to_thread(read_results, *await tab.page.evaluate(_SHOWN))


# --- the agent --------------------------------------------------------------------------------------------------------


class SiteSearchAgent(Browses):
    """Searches the shops of a data set by their own search boxes.

    ``extractor`` reads the pages of products; the structural one where None.
    """

    name = "site-search"

    def __init__(self, *, max_concurrency: int = 2, extractor: Extractor | None = None) -> None:
        from grounding.benchmarks.agenticshop.extraction.structural import StructuralExtractor

        self.max_concurrency = max_concurrency
        self.extractor = extractor or StructuralExtractor()
        self.shops = Shops(max_concurrency)
        self.aclose = self.shops.aclose  # type: ignore[method-assign]
        self.identity = f"site-search:{VERSION}|ranking:{ranking.VERSION} pages:{MAX_PAGES}|{self.extractor.identity}"

    async def curate(self, view: ShopperView, key: str) -> Curation:
        """Search, look, compare, choose. What goes wrong is in the trace."""
        if not view.sites:
            raise UserError(
                "site-search looks in the shops of a data set, and this one has none: take a data set with a folder "
                "`shops`, such as sample-mall, or another --agent"
            )
        need, began, trace = ranking.need_of(view), time.monotonic(), list[TraceStep]()
        chosen: tuple[ProductCandidate, ...] = ()
        failure = Failure(kind="unparsed", message="no shop's search brought a page of a product")
        try:
            ranked = ranking.rank(need, await self._look(await self._search(view, need, trace), trace))
            chosen = (ranked if ranking.asks(view) else ranking.different(ranked))[:COUNTED_PRODUCTS]
        except PageLost as lost:
            failure = Failure(kind="error", message=f"the browser was lost: {lost}")
        for one in chosen:
            said = f"{one.points:.2f} points: {'; '.join(one.reasons)}"
            trace.append(TraceStep(action="choose", url=one.url, observation=said, kind="purchase_decision"))
        return made(
            view,
            key,
            products=tuple(
                Curated(rank=place, url=one.url, name=one.facts.title, reasoning="; ".join(one.reasons))
                for place, one in enumerate(chosen)
            ),
            trace=tuple(trace),
            ended="finished" if chosen else failure.kind,
            seconds=time.monotonic() - began,
            failure=None if chosen else failure,
        )

    async def _search(self, view: ShopperView, need: ShoppingNeed, trace: list[TraceStep]) -> list[str]:
        """The first words in every shop, then fewer, until there is enough to look at; what is likeliest, first.

        Who says what to look for asks no shop again that had nothing that fits, while another has; else the names of
        the shops' own shelves are words, too.
        """
        asks, sites = ranking.asks(view), [site.home_url for site in view.sites[:MAX_SITES]]
        points: dict[str, float] = {}
        useful, closed, shelves = set[str](), set[str](), dict[str, None]()

        async def results(home: str, query: str) -> Results:
            began = time.monotonic()
            try:
                found = await self.shops.results(self.web, home, query)
                said = "nothing was found" if found.nothing else f"{len(found.cards) or 'no'} products were found"
            except NotFound as problem:
                closed.add(home)
                found, said = Results(home, {}, True, ()), str(problem)
            if query or home in closed:
                action = f'search "{query}"' if query else "open shop"
                cards = () if found.nothing else tuple(found.cards)[:MAX_CARDS_PER_SEARCH]
                trace.append(_step(action, began, found.url, said, "information_seeking", cards))
                for card in cards:
                    text = found.cards[card]
                    points.setdefault(card, quick_points(need, text, sold_out=_SOLD_OUT.search(text) is not None))
            return found

        for home in () if asks else sites:
            shelves |= dict.fromkeys((await results(home, "")).shelves)
        for query in ranking.queries_of(view, tuple(shelves)):
            if sum(one >= MAY_FIT for one in points.values()) >= (ENOUGH_CARDS if asks else ENOUGH_TO_EXPLORE):
                break
            for home in [home for home in sites if home not in closed and (not useful or home in useful)]:
                await results(home, query)
            fitting = [url for url, one in points.items() if asks and one >= MAY_FIT]
            useful = {home for home in sites if any(url.startswith(home) for url in fitting)}
        return sorted(points, key=lambda url: -points[url])

    async def _look(self, found: list[str], trace: list[TraceStep]) -> list[ProductCandidate]:
        """Open the likeliest pages."""

        async def read(url: str) -> tuple[str, Any]:
            page = await self.web.render(url, self.evidence)
            if page.failure is not None:
                return url, page.failure.message
            return page.final_url or url, await self.extractor.extract(page, self.evidence)

        began, candidates, urls = time.monotonic(), dict[str, ProductCandidate](), found[:MAX_PAGES]
        for asked, (url, page) in zip(urls, await asyncio.gather(*map(read, urls)), strict=True):
            facts = None if isinstance(page, str) or page.page_class != "product" else page.facts
            if facts is None:
                why = page if isinstance(page, str) else page.failure or f"{page.page_class}, {page.class_reason}"
                trace.append(_step("open page", began, asked, f"no page of a product: {why}", "information_seeking"))
                continue
            candidates.setdefault(url, ProductCandidate(url, found.index(asked), facts))
            price = "" if facts.price is None else f", {facts.price.amount:.2f} {facts.price.currency}"
            said = f"{facts.title}{price}, {facts.availability}"
            trace.append(_step("look at product", began, url, said, "alternative_evaluation"))
        return list(candidates.values())


def _step(
    action: str, began: float, url: str, said: str, kind: BehaviourKind, cited: tuple[str, ...] = ()
) -> TraceStep:
    seconds = time.monotonic() - began
    return TraceStep(action=action, url=url, observation=said, kind=kind, cited_urls=cited, seconds=seconds)


@agent(
    "site-search",
    "types into each shop's own search box and reads what comes: the offline default, no model",
    browses=True,
)
def _site_search(given: CurationServices) -> SiteSearchAgent:
    # What it has read of a page is not read again, where the run's extractor is its own.
    shared = given.extractor if given.options.extractor == "structural" else None
    return SiteSearchAgent(max_concurrency=given.pages, extractor=shared)
