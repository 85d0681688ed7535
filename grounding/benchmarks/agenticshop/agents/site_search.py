"""The offline agent: it uses each shop's own search box, opens the likeliest results and compares what they say.

No model takes part and no checklist is seen; the same shops and the same need bring the same products. It looks at the
shops that belong to the data set: the open web has no search box of its own.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from grounding.errors import UserError
from grounding.records import Failure

from ..records import COUNTED_PRODUCTS as WANTED
from ..records import Curated, Curation, ProductFacts, ShopperView, TraceStep
from ..scores import spending_limits, words
from ..web.guard import PageLost, PageTrouble
from .base import Browses, CurationServices, agent, made

if TYPE_CHECKING:
    from ..web.render import BrowserTab

VERSION = 6
MAX_SITES, MAX_CARDS_PER_SEARCH, MAX_PAGES, MAX_QUERY_WORDS, MAX_EXPLORED = 12, 12, 7, 8, 6
# No other words are searched for once so many products have points enough to be worth a look.
MAY_FIT, ENOUGH_CARDS, ENOUGH_TO_EXPLORE = 2.0, 6, 16
MOST_BOXES, ACT_MS, CHANGE_MS, POLL_MS, LOOK_S, SETTLE_S = 2, 10_000, 15_000, 50, 15.0, 4.0
PICTURES = [f"*.{ending}*" for ending in ("svg", "png", "jpg", "jpeg", "webp", "gif", "avif")]


class NotFound(Exception):
    """Why a shop can't be opened or searched."""


# --- words ------------------------------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+(?:['\u2019&-][^\W_]+)*")
# Words that say nothing about a product, or stand in every profile.
FILLERS = frozenset(words(Path(__file__).with_name("fillers.txt").read_text(encoding="utf-8")))


def telling_words(text: str) -> list[str]:
    return [word for word in dict.fromkeys(words(text)) if word not in FILLERS and len(word) > 1]


def _as_written(text: str) -> list[str]:
    return [word for word in dict.fromkeys(_WORD.findall(text)) if not FILLERS.issuperset(words(word))]


_NAME = re.compile(r"(?:(?<=[a-z,] )|(?<=\bA ))[A-Z][\w'\u2019]+(?: (?:& )?[A-Z][\w'\u2019]+)*")
_AWAY = re.compile(
    r"\b(not?|never|avoid\w*|dislike\w*|against|away from|left|without|refus\w*|stop\w*|hate\w*|disappoint\w*)\b", re.I
)
_CLAUSE = re.compile(
    r"(?<=[.!?;])\s+|,? (?=(?:but|while|because|which|and (?:no|never|not|stays?|keeps?|avoids?|dislikes?)) )"
)


def names_in(text: str) -> tuple[list[str], list[str]]:
    """The makers in a text about brands, capitalised words within a sentence: those that are liked, those shunned."""
    liked: dict[str, None] = {}
    shunned: dict[str, None] = {}
    for clause in _CLAUSE.split(text):
        (shunned if _AWAY.search(clause) else liked).update(dict.fromkeys(_NAME.findall(clause)))
    return [name for name in liked if name not in shunned], list(shunned)


def asks(view: ShopperView) -> bool:
    return view.product_type is not None or view.scenario != "casual_browsing"


def _wishes(view: ShopperView) -> str:
    context = view.context
    return " ".join((context.functional_requirements, context.aesthetic_preferences, view.situation))


def queries_of(view: ShopperView, shelves: Collection[str] = ()) -> list[str]:
    """What is searched for, the most exact first: the query's words, the product type, its last word.

    Agents overload their searches (the paper's section 5.1), so there is no more. Where nobody asks for anything: liked
    makers, ``shelves`` (parts of the shops' assortment) that are spoken of, then the user's words.
    """
    if asks(view):
        kind = _as_written(view.product_type or "")
        asked = [" ".join(one) for one in (_as_written(view.query)[:MAX_QUERY_WORDS], kind, kind[-1:])]
        return [*reversed({words(one): one for one in reversed(asked) if one}.values())]
    spoken = set(telling_words(_wishes(view)))
    known = sorted(shelf for shelf in shelves if spoken & set(telling_words(shelf)))
    found = (
        *names_in(view.context.brand_preferences)[0][:3],
        *(" ".join(_as_written(shelf)) for shelf in known),
        *telling_words(view.context.functional_requirements),
    )
    return [*dict.fromkeys(filter(None, found))][:MAX_EXPLORED]


# --- what fits --------------------------------------------------------------------------------------------------------

ASKED, KIND, WISHES, LIKED, OTHER_KIND, BUDGET, SOLD_OUT = 4.0, 4.0, 3.0, 2.5, 6.0, 2.0, 5.0
USUAL_RATING = 4.0
ALIKE = 0.6  # Titles that share so many of their words are of the same kind.


class ShoppingNeed(NamedTuple):
    """A need as telling words with weights, makers that are liked and shunned, and the most that may be spent."""

    asked: dict[str, float]
    kind: dict[str, float]
    wishes: dict[str, float]
    makers: tuple[list[str], list[str]]
    most: float | None


def need_of(view: ShopperView) -> ShoppingNeed:
    most = spending_limits(view.budget or view.context.price_sensitivity).high
    said = (view.query if view.product_type else "", view.product_type or "", _wishes(view))
    asked, kind, wishes = (dict.fromkeys(telling_words(one), 1.0) for one in said)
    return ShoppingNeed(asked, kind, wishes, names_in(view.context.brand_preferences), most)


def _share(wanted: Mapping[str, float], have: Collection[str]) -> float:
    return sum(weight for word, weight in wanted.items() if word in have) / (sum(wanted.values()) or 1.0)


def _named(names: Sequence[str], text: str) -> bool:
    have = f" {' '.join(words(text))} "
    return any(f" {' '.join(words(name))} " in have for name in names)


def _fit(need: ShoppingNeed, title: str, text: str) -> float:
    have, (liked, shunned) = {*words(text)}, need.makers
    points = ASKED * (_share(need.asked, words(title)) + _share(need.asked, have)) / 2
    points += KIND * _share(need.kind, have) + WISHES * _share(need.wishes, have)
    points += LIKED * (_named(liked, title) - 2 * _named(shunned, title))
    return points - OTHER_KIND * bool(need.kind and have.isdisjoint((*need.kind, *[*need.asked][-1:])))


_SOLD_OUT = re.compile(r"sold out|out of stock|not available|unavailable", re.IGNORECASE)


def card_points(need: ShoppingNeed, card: str) -> float:
    """By the few words of a list: which pages are worth opening first."""
    return _fit(need, card, card) - SOLD_OUT * bool(_SOLD_OUT.search(card))


def rank(need: ShoppingNeed, found: Mapping[str, ProductFacts], *, different: bool) -> list[Curated]:
    """Products by their addresses, in the order of the search, from the best to the worst. ``different``: those that
    are called nearly as a better one come last.
    """
    texts: dict[str, str] = {}
    for url, facts in found.items():
        lines = (f"{line.name} {line.value}" for line in facts.attributes)
        told = (facts.brand, facts.title, *facts.categories, facts.description, *facts.features, *lines)
        texts[url] = " ".join(told)
    spread = Counter(word for text in texts.values() for word in set(words(text)))
    # A word that only some of the pages have tells them apart; one that all have does not.
    need = need._replace(wishes={word: 1 - (spread[word] - 1) / len(texts) for word in need.wishes if spread[word]})
    judged: list[tuple[float, Curated]] = []
    for url, facts in found.items():
        points, why = _fit(need, f"{facts.brand} {facts.title}", texts[url]), list[str]()
        cost, sold_out = facts.total or facts.price, facts.availability == "sold_out"
        if cost is not None:
            over = cost.amount / need.most - 1 if need.most else None
            points -= 0.0 if over is None else BUDGET * (min(2.0, 0.5 + over) if over > 0 else -1)
            why.append(f"costs {cost.amount:.2f} {cost.currency}{', over the budget' * bool(over and over > 0)}")
        if facts.rating is not None:
            points += facts.rating - USUAL_RATING
            why.append(f"rated {facts.rating} of 5")
        why += ["is sold out"] * sold_out
        product = Curated(rank=0, url=url, name=facts.title, reasoning="; ".join(why))
        judged.append((round(points - SOLD_OUT * sold_out, 6), product))
    first, later = list[Curated](), list[Curated]()
    for _, product in sorted(judged, key=lambda one: -one[0]):
        own = set(telling_words(product.name))
        others = (set(telling_words(one.name)) for one in first if different)
        alike = any(len(own & other) >= ALIKE * len(own | other) for other in others)
        (later if alike else first).append(product)
    return first + later


# --- a shop in a browser ----------------------------------------------------------------------------------------------

_NOTHING = re.compile(
    r"\b(no (results|products|matches|items|hits)\b|nothing (was |has been )?(found|for|matche)|found nothing"
    r"|0 (results|hits|items|products|matches|found)\b|did(n.t| not) match|could(n.t| not) find|no \w+ match)",
    re.IGNORECASE,
)
_SHOWN = """() => [location.href, document.documentElement.outerHTML,
    [...document.links].slice(0, 600).map((one) => [one.href, one.innerText.trim().slice(0, 60)])]"""
_STATE = "(location.href + '\\n' + (document.body ? document.body.innerText.slice(0, 20000) : ''))"
_SEARCH = re.compile(r"search|find|look(ing)? for|suche|buscar|recherche|cerca|what .*\?", re.IGNORECASE)
_TYPED = "input:not([type]), input[type=text], input[type=search], textarea, [contenteditable=true]"


class Results(NamedTuple):
    """What a search brought: the text of each product's card by its address.

    ``nothing`` where the page says so; what it shows all the same is then no result. ``shelves`` are the names of links
    without products: the parts of the shop's assortment.
    """

    url: str
    cards: dict[str, str]
    nothing: bool
    shelves: list[str]


def read_results(url: str, html: str, links: Sequence[tuple[str, str]] = ()) -> Results:
    """A page of results, in its order: what a product's page takes for tiles of other products."""
    from ..extraction.document import Page

    page, cards = Page(html, url), dict[str, str]()
    home = re.sub(r"(//[^/?#]*).*", r"\1/", url, flags=re.DOTALL)
    for target, text in page.tiles:
        if target.startswith(home) and target != home:
            cards.setdefault(target, text)
    said = " ".join(line.text for line in page.lines)[:1500]
    shelves = dict.fromkeys(text for href, text in links if href not in cards and 2 < len(text) <= 40)
    return Results(url, cards, _NOTHING.search(said) is not None, [*shelves][:60])


async def _search(tab: BrowserTab, query: str) -> None:
    """Type a query into the search box of the page that is open; where nothing comes of it, into the next one."""
    from playwright.async_api import TimeoutError

    page = tab.page
    boxes = (
        page.get_by_role("searchbox")
        .or_(page.get_by_placeholder(_SEARCH))
        .or_(page.get_by_label(_SEARCH))
        .or_(page.locator("[role=search] *, [name=q], [name*=search i], [id*=search i], [class*=search i] *"))
    )
    found = (await boxes.and_(page.locator(_TYPED)).filter(visible=True).all())[:MOST_BOXES]
    for box in found:
        before = await page.evaluate(f"() => {_STATE}")
        with suppress(TimeoutError):
            await box.fill(query, timeout=ACT_MS)
            await box.press("Enter", timeout=ACT_MS)
            await page.wait_for_function(
                f"(before) => {_STATE} !== before", arg=before, timeout=CHANGE_MS, polling=POLL_MS
            )
            return
    raise NotFound("the search box does nothing" if found else "no search box was found on the page")


# --- the agent --------------------------------------------------------------------------------------------------------


class SiteSearchAgent(Browses):
    """Searches the shops of a data set by their own search boxes."""

    name = "site-search"

    def __init__(self, *, max_concurrency: int = 2) -> None:
        from ..extraction.structural import StructuralExtractor

        self.max_concurrency = max_concurrency
        self.extractor = StructuralExtractor()
        self.identity = f"site-search:{VERSION}|pages:{MAX_PAGES}|{self.extractor.identity}"
        self._room = asyncio.Semaphore(max_concurrency)
        self._known: dict[tuple[str, str], Results] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._idle: dict[str, tuple[BrowserTab, AsyncExitStack]] = {}

    async def aclose(self) -> None:
        while self._idle:
            await self._idle.popitem()[1][1].aclose()

    async def results(self, home: str, query: str = "") -> Results:
        """What a shop has for a query; without one, what its first page shows. Serves all tasks of the run. A NotFound
        says why the shop can't be opened or searched, a PageLost that the browser was lost.
        """
        from playwright.async_api import Error

        async with self._locks[home]:
            if (home, query) not in self._known:
                try:
                    async with self._window(home) as tab:
                        here = query and tab.page.url.startswith(home)
                        if not here and ((status := await tab.visit(home)) or 200) >= 400:
                            raise NotFound(f"the server answers with status {status}")
                        if query:
                            await _search(tab, query)
                            await tab.still(SETTLE_S)
                        async with asyncio.timeout(LOOK_S):
                            shown = await tab.page.evaluate(_SHOWN)
                            self._known[home, query] = await asyncio.to_thread(read_results, *shown)
                except PageTrouble as trouble:
                    raise NotFound(f"{trouble.trouble}: {trouble.message[:200]}") from None
                except (Error, TimeoutError, ValueError) as error:
                    raise PageLost(str(error).partition("\n")[0][:200] or "the page does not answer") from error
            return self._known[home, query]

    @asynccontextmanager
    async def _window(self, home: str) -> AsyncIterator[BrowserTab]:
        async with self._room:
            if self._idle:
                tab, stack = self._idle.pop(home if home in self._idle else next(iter(self._idle)))
            else:
                stack = AsyncExitStack()
                tab = await stack.enter_async_context(self.web.session())
                await tab.session.send("Network.setBlockedURLs", {"urls": PICTURES})
            async with stack:
                yield tab
                self._idle[home] = (tab, stack.pop_all())

    async def curate(self, view: ShopperView, key: str) -> Curation:
        if not view.sites:
            raise UserError(
                "site-search looks in the shops of a data set, and this one has none: take a data set with a folder "
                "`shops`, such as sample-mall, or another --agent"
            )
        began, need, trace, products = time.monotonic(), need_of(view), list[TraceStep](), list[Curated]()
        failure = Failure(kind="unparsed", message="no shop's search brought a page of a product")
        try:
            found = await self._look(await self._search(view, need, trace), trace)
            products = rank(need, found, different=not asks(view))[:WANTED]
        except PageLost as lost:
            failure = Failure(kind="error", message=f"the browser was lost: {lost}")
        for one in products:
            trace.append(TraceStep(action="choose", url=one.url, observation=one.reasoning, kind="purchase_decision"))
        return made(
            view,
            key,
            products=tuple(msgspec.structs.replace(one, rank=place) for place, one in enumerate(products)),
            trace=tuple(trace),
            ended="finished" if products else failure.kind,
            seconds=time.monotonic() - began,
            failure=None if products else failure,
        )

    async def _search(self, view: ShopperView, need: ShoppingNeed, trace: list[TraceStep]) -> list[str]:
        """The first words in every shop, then fewer, until there is enough to look at; what is likeliest, first. Who
        says what to look for asks no shop again that had nothing that fits, while another has.
        """
        exact, sites = asks(view), [site.home_url for site in view.sites[:MAX_SITES]]
        points: dict[str, float] = {}
        shelves: dict[str, None] = {}

        async def search(home: str, query: str) -> None:
            began = time.monotonic()
            try:
                found = await self.results(home, query)
                said = "nothing was found" if found.nothing else f"{len(found.cards) or 'no'} products were found"
            except NotFound as problem:
                sites.remove(home)
                found, said = Results(home, {}, True, []), str(problem)
            shelves.update(dict.fromkeys(found.shelves))
            if query or home not in sites:
                action = f'search "{query}"' if query else "open shop"
                cards = () if found.nothing else tuple(found.cards)[:MAX_CARDS_PER_SEARCH]
                trace.append(_step(action, began, found.url, said, cited_urls=cards))
                for card in cards:
                    points.setdefault(card, card_points(need, found.cards[card]))

        for home in () if exact else tuple(sites):
            await search(home, "")
        for query in queries_of(view, tuple(shelves)):
            fitting = [url for url, one in points.items() if one >= MAY_FIT]
            if len(fitting) >= (ENOUGH_CARDS if exact else ENOUGH_TO_EXPLORE):
                break
            useful = [home for home in sites if exact and any(url.startswith(home) for url in fitting)]
            for home in useful or tuple(sites):
                await search(home, query)
        return sorted(points, key=lambda url: -points[url])

    async def _look(self, urls: list[str], trace: list[TraceStep]) -> dict[str, ProductFacts]:
        async def read(url: str) -> tuple[str, str, ProductFacts | None]:
            page = await self.web.render(url, self.evidence)
            if page.failure is not None:
                return url, page.failure.message, None
            said = await self.extractor.extract(page, self.evidence)
            facts = said.facts if said.page_class == "product" else None
            return page.final_url or url, str(said.failure or f"{said.page_class}, {said.class_reason}"), facts

        began, found = time.monotonic(), dict[str, ProductFacts]()
        for url, why, facts in await asyncio.gather(*map(read, urls[:MAX_PAGES])):
            if facts is None:
                trace.append(_step("open page", began, url, f"no page of a product: {why}"))
            else:
                found.setdefault(url, facts)
                said = f"{facts.title}, {facts.price and facts.price.amount}, {facts.availability}"
                trace.append(_step("look at product", began, url, said, kind="alternative_evaluation"))
        return found


def _step(action: str, began: float, url: str, said: str, **more: Any) -> TraceStep:
    told: dict[str, Any] = {"kind": "information_seeking", "seconds": time.monotonic() - began} | more
    return TraceStep(action=action, url=url, observation=said, **told)


@agent(
    "site-search",
    "types into each shop's own search box and reads what comes: the offline default, no model",
    browses=True,
)
def _site_search(given: CurationServices) -> SiteSearchAgent:
    return SiteSearchAgent(max_concurrency=given.pages)
