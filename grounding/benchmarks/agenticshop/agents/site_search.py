"""The offline agent: it uses each shop's own search box, opens the likeliest results and compares what they say.

No model takes part and no checklist is seen; the same shops and the same need bring the same products. It looks at the
shops that belong to the data set: the open web has no search box of its own.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from itertools import chain, zip_longest
from typing import Any
from urllib.parse import urljoin

import msgspec

from grounding.errors import UserError
from grounding.records import Failure

from ..asking import money_text
from ..records import COUNTED_PRODUCTS as WANTED
from ..records import Curated, Curation, Extraction, ProductFacts, ShopperView, TraceStep
from ..scores import spending_limits, words
from ..web.guard import PageLost, PageTrouble, within
from ..web.render import BrowserTab
from .acting import first_line
from .base import WORDS, Browses, CurationServices, agent, made

VERSION = 7
MAX_SITES, MAX_CARDS_PER_SEARCH, MAX_PAGES, MAX_QUERY_WORDS, MAX_QUERIES = 12, 12, 7, 8, 3
MOST_BOXES, ACT_MS, CHANGE_MS, POLL_MS, SHOP_S, SETTLE_S = 2, 10_000, 15_000, 150, 120.0, 4.0
PICTURES = [f"*.{ending}*" for ending in ("svg", "png", "jpg", "jpeg", "webp", "gif", "avif")]


# --- words ------------------------------------------------------------------------------------------------------------

FILLERS = frozenset(words(WORDS["fillers"]))
# Capitalised words within a sentence are taken for the name of a maker.
_MAKER = re.compile(r"(?:(?<=[a-z,] )|(?<=\bA ))[A-Z][\w'\u2019]+(?: (?:& )?[A-Z][\w'\u2019]+)*")
_CLAUSE = re.compile(r"(?<=[.!?;])\s+|(?=, (?!so )| because )")
_AWAY = re.compile(r"\b(not?|never|avoid\w*|dislike\w*|against|away from|left|without|hate\w*|disappoint\w*)\b", re.I)


def telling_words(text: str) -> list[str]:
    return [word for word in dict.fromkeys(words(text)) if word not in FILLERS and len(word) > 1]


def makers_in(text: str) -> tuple[list[str], list[str]]:
    """The makers in a text about brands: those that are liked, those that are shunned."""
    liked: dict[str, None] = {}
    shunned: dict[str, None] = {}
    for clause in _CLAUSE.split(text):
        (shunned if _AWAY.search(clause) else liked).update(dict.fromkeys(_MAKER.findall(clause)))
    return [name for name in liked if name not in shunned], list(shunned)


def explores(view: ShopperView) -> bool:
    return view.scenario == "casual_browsing"


def queries_of(view: ShopperView) -> list[str]:
    """The query's words, then the product type. Who explores asks for nothing: makers that are liked, then wishes.

    Agents overload their searches (the paper's section 5.1), so there is no more.
    """
    if explores(view):
        liked, _ = makers_in(view.context.brand_preferences)
        return [*liked, *telling_words(view.context.functional_requirements)][:MAX_QUERIES]
    asked = []
    for text in (view.query, view.product_type or ""):
        said = [word for word in text.split() if not FILLERS.issuperset(words(word))]
        asked.append(" ".join(said[:MAX_QUERY_WORDS]))
    return list(dict.fromkeys(filter(None, asked)))


# --- what fits --------------------------------------------------------------------------------------------------------

# Points; a star of a rating is one.
ASKED, OTHER_KIND, MAKER, WISHES, OVER_BUDGET, SOLD_OUT = 2.5, 6.0, 1.5, 3.0, 2.0, 4.0
USUAL_RATING = 4.0
_SOLD_OUT = re.compile(r"sold out|out of stock|not available|unavailable", re.IGNORECASE)


def wishes_of(view: ShopperView) -> list[str]:
    context = view.context
    return telling_words(f"{context.functional_requirements} {context.aesthetic_preferences} {view.situation}")


def _share(wanted: Mapping[str, float], have: Collection[str]) -> float:
    return sum(weight for word, weight in wanted.items() if word in have) / (sum(wanted.values()) or 1.0)


def fit(view: ShopperView, wishes: Mapping[str, float], title: str, text: str) -> float:
    """How well a product's words fit, in points; ``wishes`` are words with what they weigh."""
    asked, have, called = dict.fromkeys(telling_words(view.query), 1.0), set(words(text)), f" {' '.join(words(title))} "
    points = ASKED * (_share(asked, words(title)) + _share(asked, have)) / 2 + WISHES * _share(wishes, have)
    for makers, sign in zip(makers_in(view.context.brand_preferences), (1, -1), strict=True):
        points += sign * MAKER * any(f" {' '.join(words(name))} " in called for name in makers)
    # It is of another kind where neither the product type nor the query's last word is said of it.
    kind = {*telling_words(view.product_type or ""), *[*asked][-1:]}
    return points - OTHER_KIND * bool(kind and kind.isdisjoint(have))


def likeliest(view: ShopperView, cards: Mapping[str, str]) -> list[str]:
    """The addresses of cards, by their few words: which pages are worth opening first."""
    wishes = dict.fromkeys(wishes_of(view), 1.0)
    sold_out = {url: SOLD_OUT * bool(_SOLD_OUT.search(card)) for url, card in cards.items()}
    return sorted(cards, key=lambda url: sold_out[url] - fit(view, wishes, cards[url], cards[url]))


def rank(view: ShopperView, found: Mapping[str, ProductFacts]) -> list[Curated]:
    """Products by their addresses, in the order of the search, from the best to the worst. For who explores, those that
    are called as a better one come last.
    """
    texts: dict[str, str] = {}
    for url, facts in found.items():
        lines = (f"{line.name} {line.value}" for line in facts.attributes)
        told = (facts.brand, facts.title, *facts.categories, facts.description, *facts.features, *lines)
        texts[url] = " ".join(told)
    spread = Counter(word for text in texts.values() for word in set(words(text)))
    # A word that only some of the pages have tells them apart; one that all have does not.
    wishes = {word: 1 - (spread[word] - 1) / len(texts) for word in wishes_of(view) if spread[word]}
    most, judged = spending_limits(view.budget).high, list[tuple[float, Curated]]()
    for url, facts in found.items():
        cost, rating, sold_out = facts.total or facts.price, facts.rating, facts.availability == "sold_out"
        over = cost is not None and most is not None and cost.amount > most
        points = fit(view, wishes, f"{facts.brand} {facts.title}", texts[url]) - SOLD_OUT * sold_out
        # A price that nobody knows is half as bad as one that is just over the budget.
        points -= OVER_BUDGET * (0.5 if cost is None else cost.amount / most if over and most else 0.0)
        points += 0.0 if rating is None else rating - USUAL_RATING
        why = [f"costs {money_text(cost)}"] if cost is not None else []
        why += ["over the budget"] * over + ["sold out"] * sold_out + [f"rated {rating} of 5"] * (rating is not None)
        judged.append((round(points, 6), Curated(rank=0, url=url, name=facts.title, reasoning=", ".join(why))))
    products = [product for _, product in sorted(judged, key=lambda one: -one[0])]
    if explores(view):
        called = {one.url: frozenset(telling_words(one.name)) for one in products}
        best = {called[one.url]: one for one in reversed(products)}
        products.sort(key=lambda one: best[called[one.url]] is not one)
    return products


# --- a shop in a browser ----------------------------------------------------------------------------------------------

_NOTHING = re.compile(
    r"\b(no (results|products|matches|items|hits)\b|nothing (was |has been )?(found|for|matche)|found nothing"
    r"|0 (results|hits|items|products|matches|found)\b|did(n.t| not) match|could(n.t| not) find|no \w+ match)",
    re.IGNORECASE,
)
_STATE = "() => location.href + '\\n' + (document.body ? document.body.innerText.slice(0, 20000) : '')"
_SEARCH = re.compile(r"search|find|look(ing)? for|suche|buscar|recherche|cerca|what .*\?", re.IGNORECASE)
_TYPED = "input:not([type]), input[type=text], input[type=search], textarea, [contenteditable=true]"


def read_cards(url: str, html: str) -> dict[str, str]:
    """The words of each product on a page of results by its address, in the order of the page: what a product's page
    takes for tiles of other products. None where the page says that it found none, whatever it shows all the same.
    """
    from ..extraction.document import Page

    page, home, cards = Page(html, url), urljoin(url, "/"), dict[str, str]()
    if _NOTHING.search(" ".join(line.text for line in page.lines)[:1500]):
        return {}
    for target, text in page.tiles:
        if target.startswith(home) and target != home and len(cards) < MAX_CARDS_PER_SEARCH:
            cards.setdefault(target, text)
    return cards


async def search_page(tab: BrowserTab, query: str) -> dict[str, str]:
    """Type a query into the search box of the page that is open, where nothing comes of it into the next one, and read
    the cards that are shown then. A PageTrouble says that no box does anything.
    """
    from playwright.async_api import TimeoutError

    page = tab.page
    said = page.get_by_role("searchbox").or_(page.get_by_placeholder(_SEARCH)).or_(page.get_by_label(_SEARCH))
    marked = page.locator("[role=search] *, [name=q], [name*=search i], [id*=search i], [class*=search i] *")
    for box in (await said.or_(marked).and_(page.locator(_TYPED)).filter(visible=True).all())[:MOST_BOXES]:
        before = await page.evaluate(_STATE)
        with suppress(TimeoutError):
            await box.fill(query, timeout=ACT_MS)
            await box.press("Enter", timeout=ACT_MS)
            changed = f"(before) => ({_STATE})() !== before"
            await page.wait_for_function(changed, arg=before, timeout=CHANGE_MS, polling=POLL_MS)
            await tab.still(SETTLE_S)
            return await asyncio.to_thread(read_cards, page.url, await page.content())
    raise PageTrouble("no-answer", "no search box was found that does anything")


# --- the agent --------------------------------------------------------------------------------------------------------


class SiteSearchAgent(Browses):
    """Searches the shops of a data set by their own search boxes."""

    name = "site-search"

    def __init__(self, *, max_concurrency: int = 2) -> None:
        from ..extraction.structural import StructuralExtractor

        self.max_concurrency = max_concurrency
        self.extractor = StructuralExtractor()
        self.identity = f"site-search:{VERSION}|pages:{MAX_PAGES}|{self.extractor.identity}"

    async def curate(self, view: ShopperView, key: str) -> Curation:
        from playwright.async_api import Error

        if not view.sites:
            raise UserError(
                "site-search looks in the shops of a data set, and this one has none: take a data set with a folder "
                "`shops`, such as sample-mall, or another --agent"
            )
        began, trace, products = time.monotonic(), list[TraceStep](), list[Curated]()
        failure = Failure(kind="unparsed", message="no shop's search brought a page of a product")
        try:
            found = await self._look(likeliest(view, await self._search(view, trace)), trace)
            products = rank(view, found)[:WANTED]
        except (PageLost, Error, TimeoutError) as lost:
            why = first_line(lost) or "the page does not answer"
            failure = Failure(kind="error", message=f"the browser was lost: {why}")
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

    async def _search(self, view: ShopperView, trace: list[TraceStep]) -> dict[str, str]:
        """The cards that all shops have for the first query, then for the next."""
        brought: list[list[dict[str, str]]] = []
        for site in view.sites[:MAX_SITES]:
            async with self.web.shared_tab(without=PICTURES) as tab:
                brought.append(await _search_shop(tab, site.home_url, view, trace))
        found: dict[str, str] = {}
        for cards in chain.from_iterable(zip_longest(*brought, fillvalue={})):
            found |= {url: card for url, card in cards.items() if url not in found}
        return found

    async def _look(self, urls: list[str], trace: list[TraceStep]) -> dict[str, ProductFacts]:
        async def read(url: str) -> tuple[str, Extraction]:
            page = await self.web.render(url, self.evidence)
            return page.final_url or url, await self.extractor.extract(page, self.evidence)

        found = dict[str, ProductFacts]()
        for url, said in await asyncio.gather(*map(read, urls[:MAX_PAGES])):
            if (facts := said.facts) is None:
                why = said.failure.message if said.failure else f"{said.page_class}, {said.class_reason}"
                trace.append(_step("open page", url, f"no page of a product: {why}"))
            else:
                found.setdefault(url, facts)
                told = f"{facts.title}, {money_text(facts.price)}, {facts.availability}"
                trace.append(_step("look at product", url, told, kind="alternative_evaluation"))
        return found


async def _search_shop(tab: BrowserTab, home: str, view: ShopperView, trace: list[TraceStep]) -> list[dict[str, str]]:
    """The cards that a shop has for each query; who asks for something stops at the first that has any."""
    brought, action = list[dict[str, str]](), "open shop"
    try:
        async with within(SHOP_S, "the shop was not searched"):
            if ((status := await tab.visit(home)) or 200) >= 400:
                raise PageTrouble("not-a-page", f"the server answers with status {status}")
            for query in queries_of(view):
                action = f'search "{query}"'
                cards = await search_page(tab, query)
                said = f"{len(cards)} products were found" if cards else "nothing was found"
                trace.append(_step(action, tab.page.url, said, cited_urls=tuple(cards)))
                brought.append(cards)
                if cards and not explores(view):
                    break
    except PageTrouble as trouble:
        trace.append(_step(action, home, trouble.failure.message))
        tab.reusable = False
    return brought


def _step(action: str, url: str, said: str, **more: Any) -> TraceStep:
    return TraceStep(action=action, url=url, observation=said, **{"kind": "information_seeking"} | more)


@agent("site-search", "the offline default: types into each shop's own search box, in Chromium, and reads what comes")
def _site_search(given: CurationServices) -> SiteSearchAgent:
    return SiteSearchAgent(max_concurrency=given.pages)
