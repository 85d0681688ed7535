"""The offline agent: it uses each shop's own search box, opens the likeliest results and compares what they say.

No model takes part, so the same shops and the same need bring the same products. It looks at the shops that belong to
the data set; the open web has no search box of its own.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from grounding.errors import UserError
from grounding.records import Failure
from grounding.webagents.agenticshop.agents.base import Offline, made
from grounding.webagents.agenticshop.agents.searching import boxes, cards, ranking
from grounding.webagents.agenticshop.agents.searching.cards import Card
from grounding.webagents.agenticshop.agents.searching.queries import queries_of
from grounding.webagents.agenticshop.agents.searching.ranking import Candidate, Judged, Need, need_of, quick_points
from grounding.webagents.agenticshop.agents.searching.visiting import (
    LostPage,
    Searched,
    open_shop,
    read_product,
    search,
)
from grounding.webagents.agenticshop.records import COUNTED_PRODUCTS, Curated, Curation, ShopperView, TraceStep

if TYPE_CHECKING:
    from grounding.webagents.agenticshop.extraction.base import Extractor
    from grounding.webagents.agenticshop.web.browser import WebBrowser
    from grounding.webagents.agenticshop.web.evidence import EvidenceFolder
    from grounding.webagents.agenticshop.web.session import BrowsingSession

VERSION = 1
MAX_SITES = 12
MAX_CARDS_PER_SEARCH = 12
ENOUGH_CARDS, ENOUGH_TO_EXPLORE = 6, 16
"""No other words are searched for once so many products that may fit were found."""

MAY_FIT = 2.0
"""Points, by the words of a list, from which a product is worth a look."""

MAX_PAGES = 7
"""So many product pages are opened: enough to compare, few enough to be done soon."""

MAX_LOSSES = 3


class SiteSearchAgent(Offline):
    """Searches the shops of a data set by their own search boxes."""

    name = "site-search"

    def __init__(self, *, max_concurrency: int = 2, extractor: Extractor | None = None) -> None:
        """Nothing is opened yet.

        Args:
            max_concurrency: How many tasks are worked on at once.
            extractor: What reads the pages of products; the structural one where None.
        """
        if extractor is None:
            from grounding.webagents.agenticshop.extraction.structural import StructuralExtractor

            extractor = StructuralExtractor()
        self.max_concurrency = max(1, max_concurrency)
        self._extractor = extractor
        self._web: WebBrowser | None = None
        self._evidence: EvidenceFolder | None = None

    @property
    def identity(self) -> str:
        """The rules of finding boxes and results, of ranking, and of reading pages."""
        rules = f"boxes:{boxes.VERSION} cards:{cards.VERSION} ranking:{ranking.VERSION}"
        return f"site-search:{VERSION}|{rules} pages:{MAX_PAGES}|{self._extractor.identity}"

    def use(self, web: WebBrowser, evidence: EvidenceFolder) -> None:
        """Open pages in this browser and keep documents in this folder from now on."""
        self._web, self._evidence = web, evidence

    async def curate(self, view: ShopperView, key: str) -> Curation:
        """Search, look, compare, choose. What goes wrong is in the trace.

        Raises:
            UserError: the data set has no shops of its own.
            OSError: a document can't be kept.
        """
        if not view.sites:
            raise UserError(
                "site-search looks in the shops of a data set, and this one has none: take a data set with a folder "
                "`shops`, such as sample-mall, or another --agent"
            )
        if self._web is None or self._evidence is None:
            raise RuntimeError("the agent site-search has been given no browser: call use() first")
        trip = _Trip(view, self._extractor, self._evidence)
        lost = await trip.go(self._web)
        chosen = trip.choose()
        failure = None if chosen else _failure(lost)
        return made(
            view,
            key,
            products=chosen,
            trace=tuple(trip.trace),
            ended="browser-lost" if lost and not chosen else "finished",
            seconds=time.monotonic() - trip.began,
            failure=failure,
        )


def open_site_search(*, max_concurrency: int = 2) -> SiteSearchAgent:
    """The agent, with the structural extractor. Starts no browser."""
    return SiteSearchAgent(max_concurrency=max_concurrency)


def _failure(lost: str) -> Failure:
    if lost:
        return Failure(kind="error", message=f"the browser was lost: {lost}")
    return Failure(kind="unparsed", message="no shop's search brought a page of a product")


class _Found(NamedTuple):
    card: Card
    place: int
    points: float


class _Trip:
    """One task: what was found so far, and the trace of it."""

    def __init__(self, view: ShopperView, extractor: Extractor, evidence: EvidenceFolder) -> None:
        self.began = time.monotonic()
        self.trace: list[TraceStep] = []
        self._view = view
        self._need: Need = need_of(view)
        self._extractor = extractor
        self._evidence = evidence
        self._shelves: dict[str, None] = {}
        self._closed: set[str] = set()
        self._searched: set[tuple[str, str]] = set()
        self._found: dict[str, _Found] = {}
        self._useful: set[str] = set()
        self._looked_at: set[str] = set()
        self._candidates: list[Candidate] = []

    async def go(self, web: WebBrowser) -> str:
        """Search and look; a browser that is lost is started anew a few times. Returns why it was given up, or ""."""
        losses = 0
        while True:
            try:
                async with web.session() as session:
                    await self._search_all(session)
                    await self._look_at_best(session)
                    return ""
            except LostPage as lost:
                losses += 1
                self._step("browser started anew", observation=str(lost), began=time.monotonic())
                if losses > MAX_LOSSES:
                    return str(lost)

    async def _search_all(self, session: BrowsingSession) -> None:
        """The first words in every shop, then fewer, until there is enough to look at."""
        if not self._needs_query():
            for site in self._view.sites[:MAX_SITES]:
                if (site.home_url, "") not in self._searched:
                    self._searched.add((site.home_url, ""))
                    await self._visit(session, site.home_url)
        for query in queries_of(self._view, tuple(self._shelves)):
            enough = ENOUGH_CARDS if self._needs_query() else ENOUGH_TO_EXPLORE
            if sum(found.points >= MAY_FIT for found in self._found.values()) >= enough:
                return
            # A shop that had nothing that fits is not asked again while another has.
            useful = set() if not self._needs_query() else set(self._useful)
            for site in self._view.sites[:MAX_SITES]:
                if site.home_url in self._closed or (site.home_url, query) in self._searched:
                    continue
                if useful and site.home_url not in useful:
                    continue
                self._searched.add((site.home_url, query))
                await self._search_one(session, site.home_url, query)

    def _needs_query(self) -> bool:
        """Whether the words come from the user; else the shops' own are looked at first."""
        return self._view.product_type is not None or self._view.scenario != "casual_browsing"

    async def _visit(self, session: BrowsingSession, url: str) -> bool:
        began = time.monotonic()
        came = await open_shop(session, url)
        if came.results is None:
            self._closed.add(url)
            self._step("open shop", url=url, observation=came.problem, began=began)
            return False
        self._shelves |= dict.fromkeys(came.results.shelves)
        return True

    async def _search_one(self, session: BrowsingSession, home: str, query: str) -> None:
        if not await self._visit(session, home):
            return
        began = time.monotonic()
        came: Searched = await search(session, query)
        results = came.results
        cards_found: tuple[Card, ...] = ()
        if results is None:
            self._closed.add(home)
            said = came.problem
        elif results.nothing:
            said = "nothing was found"
        else:
            cards_found = results.cards[:MAX_CARDS_PER_SEARCH]
            said = (
                f"{len(results.cards)} products were found" if results.cards else "no products were found on the page"
            )
        for card in cards_found:
            if card.url not in self._found:
                points = quick_points(self._need, card.text + " " + card.name, sold_out=card.sold_out)
                self._found[card.url] = _Found(card, len(self._found), points)
                if points >= MAY_FIT:
                    self._useful.add(home)
        self._step(
            f'search "{query}"',
            url=results.url if results else home,
            observation=said,
            cited=tuple(card.url for card in cards_found),
            began=began,
        )

    async def _look_at_best(self, session: BrowsingSession) -> None:
        """Open the likeliest pages, one shop's not all before another's of equal points."""
        ordered = sorted(self._found.values(), key=lambda found: (-found.points, found.place))
        for found in ordered:
            if len(self._looked_at) >= MAX_PAGES:
                return
            if found.card.url not in self._looked_at:
                self._looked_at.add(found.card.url)
                await self._look_at(session, found)

    async def _look_at(self, session: BrowsingSession, found: _Found) -> None:
        began = time.monotonic()
        url = found.card.url
        page = await read_product(session, url, self._evidence)
        if page.failure is not None:
            self._step("open page", url=url, observation=page.failure.message, began=began)
            return
        read = await self._extractor.extract(page, self._evidence)
        if read.page_class != "product" or read.facts is None:
            why = (
                read.failure.message
                if read.failure
                else f"no page of a product: {read.page_class}, {read.class_reason}"
            )
            self._step("open page", url=url, observation=why, began=began)
            return
        candidate = Candidate(url=page.final_url or url, place=found.place, facts=read.facts)
        if candidate.url not in {one.url for one in self._candidates}:
            self._candidates.append(candidate)
        facts = read.facts
        price = "" if facts.price is None else f", {facts.price.amount:.2f} {facts.price.currency}"
        self._step(
            "look at product", url=candidate.url, observation=f"{facts.title}{price}, {facts.availability}", began=began
        )

    def choose(self) -> tuple[Curated, ...]:
        """The best of what was looked at; a product that can't be had only where there are too few others."""
        began = time.monotonic()
        judged = ranking.rank(self._need, self._candidates)
        if not self._needs_query():
            judged = ranking.different(judged)
        chosen = judged[:COUNTED_PRODUCTS]
        for one in chosen:
            self._step(
                "choose", url=one.candidate.url, observation=f"{one.points:.2f} points: {_reasons(one)}", began=began
            )
        return tuple(
            Curated(rank=place, url=one.candidate.url, name=one.candidate.facts.title, reasoning=_reasons(one))
            for place, one in enumerate(chosen)
        )

    def _step(
        self, action: str, *, began: float, url: str = "", observation: str = "", cited: tuple[str, ...] = ()
    ) -> None:
        kinds = {
            "look at product": "alternative_evaluation",
            "choose": "purchase_decision",
            "browser started anew": "other",
        }
        self.trace.append(
            TraceStep(
                action=action,
                url=url,
                observation=observation,
                cited_urls=cited,
                kind=kinds.get(action, "information_seeking"),  # type: ignore[arg-type]
                seconds=time.monotonic() - began,
            )
        )


def _reasons(judged: Judged) -> str:
    return "; ".join(judged.reasons)
