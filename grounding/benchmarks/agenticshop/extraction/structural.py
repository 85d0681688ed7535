"""The extractor without a model: a page's class and facts, by rules over its own words and its data for machines.

Where page and data disagree about the price, the visible one after scripts is taken if it is clear: data is often that
of the form which is chosen first, and a page that changed its price shows it. What differs stays in the sources.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

import msgspec

from grounding.errors import UserError
from grounding.grounders.base import Answerer, Offline
from grounding.records import Failure

from ..records import Attribute, CustomerReview, Extraction, FactSource, Money, ProductFacts, RenderedPage, Variant
from ..web.evidence import EvidenceFolder, load_html
from .document import (
    CALLED,
    MAX_MANY,
    SAID,
    Element,
    FoundPrice,
    Line,
    Page,
    PageData,
    ancestors,
    find_prices,
    named,
    out_of_five,
    read_data,
    structured_data,
    words_of,
)

VERSION = 7  # Goes up in a release whose rules find other facts: part of the extractor's identity.
SHORT_PAGE_CHARS, MAX_TEXT_CHARS = 3_000, 400
_SOURCED = ("brand", "seller", "rating", "rating_count", "availability", "description")
UNKNOWN = (None, "", (), "unknown")
CURRENCY_OF_LANGUAGE = {"en-ca": "CAD", "fr-ca": "CAD", "en-au": "AUD", "en-nz": "NZD", "es-mx": "MXN", "zh-cn": "CNY"}
SOME_SCORE = 3  # What scores less is no price of the product.
CLEAR_SCORE = 5  # From this score on a visible price needs no machine-readable one beside it.
STOCKED = re.compile(f"{SAID['sold_out'].pattern}|{SAID['in_stock'].pattern}", re.IGNORECASE)
_BLOCKED_STATUS = frozenset((401, 403, 407, 429, 451, 503))
_NUMBER_WORDS = ("", "one", "two", "three", "four", "five")
_NAMED_LINE = re.compile(
    r"^(?!(?i:ship|deliver|return|price|sold|seller|rated|rating))(?P<name>[A-Z][\w /&-]{1,30}): (?P<value>\S.{0,200})$"
)


class Extractor(Answerer, Protocol):
    async def extract(self, page: RenderedPage, evidence: EvidenceFolder) -> Extraction:
        """What the page says, or a failure; whose it is, and the page itself, is put in by the stage.

        Raises BudgetReached where the cost limit leaves no room, UserError where every request is refused.
        """


class StructuralExtractor(Offline):
    name = "structural"
    max_concurrency = 2
    identity = f"structural:{VERSION}"

    async def extract(self, page: RenderedPage, evidence: EvidenceFolder) -> Extraction:
        try:
            return await asyncio.to_thread(lambda: extract_page(page, load_html(page, evidence)))
        except (UserError, OSError) as error:
            return Extraction(failure=Failure(kind="error", message=str(error)))


def extract_page(page: RenderedPage, html: str) -> Extraction:
    """The class of a page, by its document after scripts and what the browser said, and of a product's its facts."""
    if page.failure is not None:
        return Extraction(page_class="error", class_reason=f"no page: {page.failure.message[:200]}")
    if page.status is None or page.status >= 400:
        said = "no answer came" if page.status is None else f"the site answered {page.status}"
        return Extraction(page_class="blocked" if page.status in _BLOCKED_STATUS else "error", class_reason=said)
    kind = page.content_type.partition(";")[0].strip().lower()
    if kind and kind not in ("text/html", "application/xhtml+xml"):
        return Extraction(page_class="other", class_reason=f"the answer is {kind}, not a page")
    url = page.final_url or page.url
    blocks = page.data or structured_data(html, url)
    name = read_data(blocks, url).facts.title
    document = Page(html, url, seen="" if page.text_cut else page.text, name=name)
    if not (document.lines or document.framed):
        return Extraction(page_class="other", class_reason="the page has no text", sure=False)
    return _read(page, document, read_data(blocks, url, document.title))


def _read(rendered: RenderedPage, page: Page, data: PageData) -> Extraction:
    offer, own = _read_offer(page, data.facts.price), " ".join(line.text for line in page.lines)
    text = " ".join((own, *page.framed)).strip()
    price, sells = offer.price, bool(page.buttons)
    short = len(text) <= SHORT_PAGE_CHARS and not sells
    if short and price is None:
        said = SAID["blocked"].search(f"{page.document_title} {page.title} {text}")
        said = said or (SAID["guards"].search(page.guards) if len(text) < 400 else None)
        if said is not None:
            return Extraction(page_class="blocked", class_reason=f"asks whether we are human: {said[0]!r}")
    titles = (page.document_title, page.title, text[:1_500] if short and not page.title else "")
    missing = next(filter(None, map(SAID["missing"].search, titles)), None)
    if missing is not None and not (price and sells):
        return Extraction(page_class="error", class_reason=f"says that there is no such page: {missing[0]!r}")
    others = len({urlsplit(url).path for url, _ in page.tiles})
    path = urlsplit(rendered.final_url or rendered.url).path
    signs = [data.is_list, SAID["search_path"].search(path), SAID["results"].search(own[:20_000])]
    many = others >= 3 and not sells and (any(signs) or not offer.clear)
    if many or (others >= 6 and sum(map(bool, signs)) > 1 and not offer.clear):
        reason = f"{others} other products{', no way to buy one of its own' if many else ''}"
        return Extraction(page_class="listing", class_reason=reason)
    told = [f"a price of its own ({price.text})"] if price else []
    told += ["a way to buy it"] if sells else []
    told += ["data of a product"] if data.source else []
    if not sells and any(len(line.text) < 120 and STOCKED.search(line.text) for line in page.lines):
        told += ["words of stock"]
    if page.title and ((price and len(told) > 1) or (sells and data.source)):
        facts = _product_facts(page, data, offer)
        return Extraction(page_class="product", class_reason=f"one title with {', '.join(told)}", facts=facts)
    # What a page shows in pictures alone is not seen here.
    sure = not told and (len(rendered.text) >= 200 or not rendered.segments)
    reason = f"only {', '.join(told)}; that is too little for a product" if told else ""
    reason = reason or "neither a price nor a way to buy nor a list of products"
    return Extraction(page_class="other", class_reason=reason, sure=sure)


class Offer(NamedTuple):
    """What a page asks, by the line ``quote``, and what it struck out; ``clear``: no other price is as loud."""

    price: FoundPrice | None = None
    list_price: FoundPrice | None = None
    clear: bool = False
    quote: str = ""


def _read_offer(page: Page, known: Money | None) -> Offer:
    """Of all prices of the product's part the one that most speaks for; ``known`` is what the data says."""
    found = list(_candidates(page, known))
    current = [one for one in found if one[1].kind == "current" and one[0] >= SOME_SCORE]
    if not current:
        return Offer()
    score, price, line = max(current, key=lambda one: one[0])
    rivals = [other + 1 for other, one, _ in current if one.amount != price.amount]
    old = [pair for pair in found if pair[1].kind == "list" and pair[1].amount > price.amount]
    nearest = min(old, key=lambda pair: abs(pair[2].place - line.place), default=(0, None))[1]
    clear = score >= max([CLEAR_SCORE, *rivals]) and not price.open
    return Offer(price, nearest, clear, line.text[:200])


def _candidates(page: Page, known: Money | None) -> Iterator[tuple[int, FoundPrice, Line]]:
    for line in page.lines:
        prices = () if line.element.tag in ("option", "select") else find_prices(line.text)
        for price in filter(lambda one: page.can_be_seen(one.text), prices):
            up = list(ancestors(line.holder_of(price.text), 4))
            called = [named(one) for one in up]
            now, close, kind = CALLED["now"], named(*up[:2]), price.kind
            if kind == "current" and price.start == 0 and line.label:
                kind = next((one.kind for one in find_prices(f"{line.label} {price.text}")), kind)
            if any(one.tag in ("del", "s", "strike") for one in up) or (close & CALLED["old"] and not close & now):
                kind = "list"
            elif any(one & CALLED["other_price"] and not one & now for one in called[:3]):
                kind = "other"
            score = 4 * any(one & CALLED["price"] for one in called) + 2 * any(one & now for one in called)
            score += (len(line.text) <= 40) - price.open - 4 * (len(line.text) > 90)
            score += 3 * (known is not None and abs(price.amount - known.amount) < 0.005)
            score += 3 * (page.title != "" and 0 < line.place <= 20)
            yield score, price._replace(kind=kind), line


def _product_facts(page: Page, data: PageData, offer: Offer) -> ProductFacts:
    told, old = data.facts, offer.list_price
    hint = data.currency or CURRENCY_OF_LANGUAGE.get(page.language, "")
    price = offer.price.money(hint) if offer.price and (offer.clear or told.price is None) else told.price
    attributes = _attributes(page)
    known = {one.name.casefold(): one.value for one in attributes}
    brand = known.get("brand") or known.get("maker") or known.get("manufacturer") or _brand(page)
    seller = next((match["name"] for line in page.lines if (match := SAID["seller"].search(line.text))), "").strip()
    rating, count, rated = _rating(page)
    pictures = {(one.get("src") or "").partition("?")[0] for one in page.body.iter("img")}
    shipping, shipping_text = _shipping(page, price, hint)
    # What the page says of each, and its words for it where they are kept.
    said: dict[str, tuple[Any, str]] = {
        "brand": ((told.brand or brand)[:80], brand),
        "price": (price, offer.quote),
        "list_price": (old.money(hint), old.text) if old else (None, ""),
        "shipping": (shipping, shipping_text),
        "availability": _stock(page, told),
        "rating": (rating, rated),
        "rating_count": (count, rated),
        "title": (page.title, page.title),
        "seller": (seller[:80], seller[:80]),
        **{name: (text, text) for name, text in _terms(page, attributes).items()},
        "shipping_text": (shipping_text, ""),
        "categories": (page.crumbs, ""),
        "attributes": ((*attributes, *(one for one in told.attributes if one.name.casefold() not in known)), ""),
        "reviews": (_reviews(page), ""),
        "description": (_description(page), ""),
        "features": (_features(page), ""),
        "variants": (_variants(page, hint), ""),
        "picture_count": (len(pictures) or None, ""),
    }
    in_data: dict[str, Any] = {"price": told.price and f"{told.price.amount:g} {told.price.currency}"}
    in_data |= {name: getattr(told, name) for name in _SOURCED}
    found = [(name, data.source, text) for name, text in in_data.items()]
    found += [(name, "page", words) for name, (value, words) in said.items() if value not in UNKNOWN]
    quotes = [(name, where, " ".join(str(text).split())[:240]) for name, where, text in found if text not in UNKNOWN]
    sources = tuple(FactSource(field=name, source=where, quote=quote) for name, where, quote in quotes)
    # Where nobody has rated it yet, an older figure of the data is not taken.
    kept = {name: one for name, (one, _) in said.items() if one not in UNKNOWN or (name == "rating" and count == 0)}
    return msgspec.structs.replace(told, **kept, sources=sources)


def _saying(texts: Iterable[str], *names: str, but: Sequence[str] = ()) -> list[str]:
    said = (one for one in texts if all(SAID[name].search(one) for name in names))
    return [one for one in said if not any(SAID[name].search(one) for name in but)]


def _terms(page: Page, attributes: tuple[Attribute, ...]) -> dict[str, str]:
    """Delivery, returns and warranty: the first lines after the title that speak of them, else lines of tables."""
    lines = [line.text[:MAX_TEXT_CHARS] for line in page.lines if " " in line.text]
    texts: dict[str, str] = {}
    for name, more, but in (("delivery", ["time"], "returns"), ("returns", [], ""), ("warranty", [], "money_back")):
        rows = [f"{one.name}: {one.value}" for one in attributes if SAID[name].search(one.name)]
        said = _saying(lines, name, *more, but=[but] if but else []) or rows
        texts[f"{name}_text"] = " | ".join(dict.fromkeys(said[:3]))[: 2 * MAX_TEXT_CHARS]
    return texts


def _stock(page: Page, told: ProductFacts) -> tuple[str, str]:
    """Sold out is believed before in stock, and words before a button; words of single forms don't count."""
    lines = [
        line.text
        for line in page.lines[:80]
        if len(line.text) <= 120 and STOCKED.search(line.text) and page.can_be_seen(line.text)
        if not SAID["other_forms"].search(line.text)
        if not any(up.tag in ("label", "option", "select") for up in ancestors(line.element, 3))
    ]
    if gone := _saying(lines, "sold_out"):
        return "sold_out", gone[0]
    if not lines and told.availability != "sold_out":
        usable = (one for one in page.buttons if one.get("disabled") is None and one.get("aria-disabled") != "true")
        lines = [(words_of(one) or one.get("value") or "")[:80] for one in usable]
    return ("in_stock", lines[0]) if lines else ("unknown", "")


def _shipping(page: Page, price: Money | None, hint: str) -> tuple[Money | None, str]:
    """The cost of shipping by the product's own lines, then by the shop's rule, its bound held against the price."""
    said, rules = list[str](), list[str]()
    for line in page.lines:
        named_so = SAID["shipping"].search(line.label)
        text = f"{line.label.rstrip(':')}: {line.text}" if named_so else line.text
        (said if line.place > 0 else rules).extend(_saying([text], "shipping"))
    rules += _saying(page.framed, "shipping")
    for text in (one for one in (*said, *filter(find_prices, rules)) if len(one) <= MAX_TEXT_CHARS):
        for clause in re.split(r"[.;](?=\s|$)", text):
            speaks = SAID["shipping"].search(clause) or "order" in clause.lower()
            if speaks and not SAID["not_shipping"].search(clause) and (cost := _clause_cost(clause, text, price, hint)):
                return cost, text
    return None, said[0][:MAX_TEXT_CHARS] if said else ""


def _clause_cost(clause: str, text: str, price: Money | None, hint: str) -> Money | None:
    prices, every = find_prices(clause), find_prices(text)
    bounds = [one.amount for one in every if SAID["threshold"].search(text[: one.start])]
    nothing = Money(amount=0.0, currency=price.currency if price is not None else hint)
    if not bounds:
        return prices[-1].money(hint) if prices else nothing if SAID["free"].search(clause) else None
    if not SAID["free"].search(text) or price is None:
        return None
    return nothing if price.amount >= bounds[0] else next((o.money(hint) for o in every if o.amount != bounds[0]), None)


def stars_in(text: str) -> float | None:
    """A rating in words, out of five; None where there is none.

    >>> stars_in("Rated 4.6/5 by 12"), stars_in("9.2 / 10 stars"), stars_in("Four and a half stars out of five")
    (4.6, 4.6, 4.5)
    """
    if match := SAID["out_of"].search(text):
        return out_of_five(float(match["of"].replace(",", ".")), float(match["best"]))
    if not (match := SAID["stars"].search(text)):
        return None
    if match["whole"]:
        return _NUMBER_WORDS.index(match["whole"].lower()) + (0.5 if match["half"] else 0.0)
    return float((match["value"] or match["rated"] or match["alone"]).replace(",", "."))


def _rating(page: Page) -> tuple[float | None, int | None, str]:
    """Stars and their number from the product's part: of lines, and of what elements are called for screen readers."""
    value: float | None = None
    count: int | None = None
    quotes: list[str] = []
    written = [(one.text, one.element) for one in page.lines[:200]]
    drawn = [("", one) for one in page.body.xpath(".//*[@aria-label and not(normalize-space())]")[:200]]
    for text, element in (*written, *drawn, *(written if drawn else ())):  # How many rated may come before stars.
        up = list(ancestors(element, 3))
        called = bool(named(*up) & CALLED["ratings"])
        texts = (text, *(one.get("aria-label") or "" for one in up[:2]))
        for text in (one for one in texts if len(one) <= 200):
            if SAID["none_yet"].search(text) and value is None:
                return None, 0, text
            before = value, count
            if value is None and (called or SAID["rated"].search(text)):
                value = stars_in(text)
            if count is None and (value is not None or called):
                match = SAID["counted"].search(text) or SAID["in_brackets"].search(text.strip())
                if match and (said := match["count"] or match["later"]):
                    count = round(float(said[:-1]) * 1000) if said[-1] in "kK" else int(re.sub(r"\D", "", said))
            quotes += [text[:160]] if before != (value, count) else []
    return value if count != 0 else None, count, " | ".join(dict.fromkeys(quotes))


def _brand(page: Page) -> str:
    called = ""
    for line in sorted(page.lines, key=lambda line: abs(line.place))[:14]:
        if match := SAID["brand"].match(line.text):
            return (match["name"] or match["store"]).strip()
        is_called = "/brand" in (line.element.get("href") or "") or named(*ancestors(line.element, 2)) & CALLED["brand"]
        called = called or (line.text if is_called and len(line.text) <= 40 else "")
    return called


def _attributes(page: Page) -> tuple[Attribute, ...]:
    """Rows of tables and lists of terms, then lines such as "Colour: Red"; the first of each name."""
    names = page.body.xpath(".//dt | .//tr[count(th | td) = 2]/*[self::th or self::td][1]")
    found = [(words_of(one).rstrip(":"), words_of(one.getnext())) for one in names if one.getnext() is not None]
    later = (line.text for line in page.lines if line.place > 0 and not find_prices(line.text))
    found += [(match["name"], match["value"]) for match in map(_NAMED_LINE.match, later) if match]
    first: dict[str, str] = {}
    for name, value in found:
        first.setdefault(name, value[:500])
    return tuple(Attribute(name=name, value=first[name]) for name in first if name and first[name] and len(name) <= 120)


def _features(page: Page) -> tuple[str, ...]:
    later = {line.element for line in page.lines if line.place > 0}
    for one in page.body.iter("ul", "ol"):
        texts = [words_of(item)[:400] for item in one if item.tag == "li"]
        linked = sum(item.find(".//a") is not None for item in one)
        terms = any(SAID[name].search(text) for text in texts for name in ("returns", "seller", "shipping"))
        if texts and not terms and linked * 2 <= len(texts) and not later.isdisjoint((*ancestors(one, 3), *one.iter())):
            return tuple(texts[:MAX_MANY])
    return ()


def _description(page: Page) -> str:
    marked = (one for one in page.body.iter("p", "div", "section") if "description" in named(one))
    called = (" ".join(words_of(part) for part in one.iter("p")) or words_of(one) for one in marked)
    lines = (line.text for line in page.lines if line.element.tag in ("p", "span", "em"))
    long = _saying((one for one in lines if len(one.split()) > 4), but=("returns", "delivery", "rated", "seller"))
    return next((text[:5_000] for text in (*called, *long) if len(text) >= 20), "")


def _alike(elements: Iterable[Element], attribute: str) -> list[list[Element]]:
    """Elements in groups of those that stand side by side and are built alike."""
    groups: defaultdict[Any, list[Element]] = defaultdict(list)
    for one in elements:
        groups[one.getparent(), one.tag, one.get(attribute)].append(one)
    return list(groups.values())


def _variants(page: Page, hint: str) -> tuple[Variant, ...]:
    selects = page.body.iter("select")
    own = [one for one in selects if not SAID["quantity"].search(f"{' '.join(named(one))} {one.get('name') or ''}")]
    choices = [one for select in own for one in select.iter("option")]
    choices += page.body.iterfind(".//input[@type='radio']")
    if not choices:
        small = page.body.xpath(".//*[self::button or @role='radio' or @role='option' or @role='button']")
        choices = [one for group in _alike(small, "role") if len(group) > 1 for one in group if one not in page.buttons]
    variants: dict[str, Variant] = {}
    for one in choices[:MAX_MANY]:
        around = next(one.iterancestors("label"), one) if one.tag == "input" else one
        words = words_of(around if one.label is None else one.label, 200) or one.get("aria-label") or ""
        prices = find_prices(words)
        # "(+ $20)" is what a form adds to the price, and stays in its name.
        stated = prices[0] if len(prices) == 1 and "+" not in words else None
        name = SAID["sold_out"].sub("", words if stated is None else words.replace(stated.text, ""))
        name = " ".join(name.replace("()", "").split()).strip(" -\u2013\u2014:|·,")
        if name and len(name) <= 100 and not SAID["placeholder"].match(name):
            out = one.get("disabled") is not None or SAID["sold_out"].search(words) or named(one) & CALLED["gone"]
            money = None if stated is None else stated.money(hint)
            variant = Variant(name=name, price=money, availability="sold_out" if out else "unknown")
            variants.setdefault(name.casefold(), variant)
    return tuple(variants.values()) if len(variants) > 1 else ()


def _reviews(page: Page) -> tuple[CustomerReview, ...]:
    parts = (page.body, *page.reviews)
    marked = [one for part in parts for one in part.iter() if "review" in (one.get("itemprop") or "").split()]
    blocks = (one for part in page.reviews for one in part.iter("li", "article", "div", "blockquote"))
    groups = [one for one in _alike(blocks, "class") if len(one) > 1 or one[0].tag in ("article", "blockquote")]
    marked = marked or max(groups, key=lambda group: sum(len(words_of(one, 5_000)) for one in group), default=[])
    found: dict[str, CustomerReview] = {}
    for one in marked[:MAX_MANY]:
        title = next((words_of(part) for part in one.iter("h3", "h4", "h5", "strong", "b")), "")
        text = max([words_of(part) for part in one.iter("p", "q")] or [words_of(one)], key=len)
        said = (words_of(one), *(part.get("aria-label") or "" for part in one.iter()))
        rating = next((stars for words in said if (stars := stars_in(words)) is not None), None)
        if len(text) >= 8:
            found[text] = CustomerReview(text=text[:5_000], title=title[:300], rating=rating)
    return tuple(found.values())
