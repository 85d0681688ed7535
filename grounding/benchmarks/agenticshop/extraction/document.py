"""A kept page as the rules read it: amounts of money, its data for machines, and the lines of its product's part.

extruct brings JSON-LD, microdata and OpenGraph into one form; the main product is the one that the page's title names,
and where that is not clear there is none. Frames, promotions and tiles of other products are cut out of the tree.
Whether a line could be seen is known from the text that the browser kept beside it: style sheets are not read here.
"""

import html as entities
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, KeysView, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from ..records import Attribute, Availability, Money, ProductFacts, StructuredData

MAX_HTML_CHARS, MAX_LINES, MAX_LINE_CHARS, MAX_TILES, MAX_MANY = 8_000_000, 20_000, 4_000, 2_000, 100
MAX_BLOCKS, MAX_BLOCK_CHARS, MAX_TOTAL_CHARS = 60, 200_000, 1_000_000
# Elements with `itemprop`: a page with more is not read for microdata, whose cost grows with their nesting.
MAX_MICRODATA_NODES = 3_000
SAME_NAME = 80.0
Element = Any

# --- words and amounts of money ---------------------------------------------------------------------------------------

_WORDS: dict[str, Any] = msgspec.yaml.decode((Path(__file__).parent / "words.yaml").read_bytes())
_AROUND = {"words": (r"\b(?:", r")\b"), "whole": (r"^\W*(?:", r")\W*$"), "forms": ("", "")}
SAID: dict[str, re.Pattern[str]] = {
    name: re.compile(f"{before}{'|'.join(entries)}{after}", re.IGNORECASE)
    for kind, (before, after) in _AROUND.items()
    for name, entries in _WORDS[kind].items()
}
CALLED: dict[str, frozenset[str]] = {name: frozenset(entries) for name, entries in _WORDS["names"].items()}
SIGNS: dict[str, list[str]] = _WORDS["signs"]
_GROUPED = r"\d{1,3}(?:[.,' \u2019\u00a0\u202f]\d{3})+|\d{1,2}(?:,\d\d)+,\d{3}"  # The second as in India.
_NUMBER = rf"(?:{_GROUPED}|\d{{1,9}})(?:[.,](?:\d{{1,2}}|[-\u2013\u2014]))?(?!\d)"
_WORDS_TOO = {"ALL", "BAM", "CUP", "GEL", "MAD", "PEN", "SOS", "TOP", "TRY"}  # "TOP 10" is no amount of money.


@cache
def _price_pattern() -> re.Pattern[str]:
    from price_parser.parser import CURRENCY_CODES, SAFE_CURRENCY_SYMBOLS  # type: ignore[attr-defined]

    signs = sorted((one for one in {*SIGNS, *SAFE_CURRENCY_SYMBOLS} if not one.isalpha()), key=lambda one: -len(one))
    codes = "|".join(sorted({*CURRENCY_CODES} - _WORDS_TOO))
    letters = rf"(?<![A-Za-z])(?:{codes}|[Ee]uros?|kr\.?|Rs\.?|Ft|zł|Kč|RM|Rp|lei)(?![A-Za-z])\s?\$?"
    sign = "|".join([*map(re.escape, signs), letters])
    return re.compile(
        rf"(?P<sign>{sign})\s?(?P<number>{_NUMBER})|(?<![\d.,$€£])(?P<before>{_NUMBER})\s?(?P<after>{sign})"
    )


# "Save" behind a price is of the next one.
_OTHER_AFTER = re.compile(rf"[^.;,$€£\d]{{0,12}}(?!save\b){SAID['other_price'].pattern}", re.IGNORECASE)


class FoundPrice(NamedTuple):
    """A price in a text, from ``start``. ``open``: the least of several ("from 10"). ``kind`` is what the words beside
    it make of it: ``current``, ``list`` (an old price), or ``other``: shipping, a saving, a rate, a price of a unit.
    """

    amount: float
    sign: str
    text: str
    start: int
    kind: str
    open: bool

    def money(self, hint: str) -> Money:
        return Money(amount=self.amount, currency=currency_code(self.sign, hint))


def find_prices(text: str) -> list[FoundPrice]:
    """All prices of a text in its order; a number without a currency is none.

    >>> [one.amount for one in find_prices("Now 1.299,00 € instead of $1,499")]
    [1299.0, 1499.0]
    """
    from price_parser import Price

    text = text[:5_000]
    found: list[FoundPrice] = []
    end = 0
    for match in islice(_price_pattern().finditer(text), MAX_MANY):
        number = re.sub(r"[.,][-\u2013\u2014]$", "", match["number"] or match["before"]).replace("\u2019", "'")
        amount = Price.fromstring(number).amount_float
        if amount is None or not 0 <= amount < 1e8:
            continue
        before, after, end = text[end : match.start()], text[match.end() : match.end() + 40], match.end()
        near = before[-40:].rpartition(".")[2]
        kind = "list" if SAID["old_price"].search(near) else "current"
        if SAID["other_price"].search(near) or _OTHER_AFTER.match(after) or SAID["unit_price"].match(after):
            kind = "other"
        sign = match["sign"] or match["after"]
        found.append(FoundPrice(amount, sign, match[0], match.start(), kind, bool(SAID["from"].search(before))))
    return found


def currency_code(sign: str, hint: str = "") -> str:
    """The ISO 4217 code of a sign or code, "" where it is none; ``hint`` is that of a sign which several share.

    >>> currency_code("€"), currency_code("$", "CAD"), currency_code("usd"), currency_code("?")
    ('EUR', 'CAD', 'USD', '')
    """
    from price_parser.parser import CURRENCY_CODES  # type: ignore[attr-defined]

    plain = unicodedata.normalize("NFKC", sign).strip().rstrip(".").upper()
    plain = plain.removesuffix("$").strip() if plain[:3] in CURRENCY_CODES else plain
    codes = [plain] if plain in CURRENCY_CODES else SIGNS.get(plain, [""])
    return hint if hint in codes else codes[0]


# --- data for machines ------------------------------------------------------------------------------------------------

Node = dict[str, Any]


def parsed(html: str) -> Element:
    """A page as lxml's tree with a head and a body, nothing fetched or run; an empty one of what is no document."""
    import lxml.etree
    import lxml.html

    parser = lxml.html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=True)
    raw = html[:MAX_HTML_CHARS].replace("\0", "\ufffd").encode("utf-8", "replace")
    with suppress(lxml.etree.ParserError, ValueError):
        return lxml.html.document_fromstring(raw, parser=parser, ensure_head_body=True)
    return lxml.html.document_fromstring("<html>", ensure_head_body=True)


def structured_data(html: str, url: str) -> tuple[StructuredData, ...]:
    """The blocks of a document after its scripts: JSON-LD in its order, then microdata, then OpenGraph."""
    import extruct
    from extruct.jsonld import JsonLdExtractor

    document = parsed(html)
    found: dict[Any, list[Any]] = {"json-ld": []}
    for script in document.iter("script"):
        # The library asks for this very word, and a page may say it with a charset or in capitals.
        script.set("type", (script.get("type") or "").partition(";")[0].strip().lower())
        if len(script.text or "") <= MAX_TOTAL_CHARS:
            # One script at a time, so that a broken one takes no other with it.
            with suppress(ValueError, RecursionError):
                found["json-ld"] += JsonLdExtractor().extract_items(script)
    few = document.xpath("count(//*[@itemprop])") <= MAX_MICRODATA_NODES
    for source in ("microdata", "opengraph") if few else ("opengraph",):
        with suppress(ValueError, RecursionError, AssertionError, AttributeError, KeyError):
            found |= extruct.extract(document, base_url=url, syntaxes=[source], uniform=True, errors="strict")
    blocks: list[StructuredData] = []
    for source, item in ((source, item) for source, items in found.items() for item in items[:MAX_BLOCKS]):
        with suppress(RecursionError, UnicodeEncodeError):
            text = msgspec.json.encode(item).decode()
            if len(text) <= min(MAX_BLOCK_CHARS, MAX_TOTAL_CHARS - sum(len(one.json) for one in blocks)):
                blocks.append(StructuredData(source=source, json=text))
    return tuple(blocks)


_PRODUCTS = frozenset(("Product", "ProductGroup", "ProductModel", "IndividualProduct", "Book", "Vehicle", "product"))
_LISTS = frozenset(("ItemList", "SearchResultsPage", "CollectionPage", "OfferCatalog", "ProductCollection"))
_STOCK: dict[str, Availability] = {
    "instock": "in_stock", "instoreonly": "in_stock", "onlineonly": "in_stock", "limitedavailability": "in_stock",
    "outofstock": "sold_out", "soldout": "sold_out", "discontinued": "sold_out",
}  # fmt: skip


class PageData(NamedTuple):
    """What a page's data says; ``source`` is the kind of block that describes its main product, "" for none."""

    facts: ProductFacts
    source: str
    is_list: bool
    currency: str


def read_data(blocks: Sequence[StructuredData], url: str, title: str = "") -> PageData:
    from rapidfuzz import fuzz
    from rapidfuzz.utils import default_process

    found: list[tuple[float, ProductFacts, str]] = []
    is_list = False
    for block in blocks:
        with suppress(msgspec.DecodeError, RecursionError):
            for node in _objects(msgspec.json.decode(block.json)):
                is_list = is_list or bool(_kinds(node) & _LISTS)
                if _kinds(node) & _PRODUCTS:
                    facts = _facts(_translated(node) if block.source == "opengraph" else node, url)
                    found.append((fuzz.WRatio(facts.title, title, processor=default_process), facts, block.source))
    own = [one for one in found if one[2] != "opengraph" and (one[0] >= SAME_NAME or not title)]
    own = found if len(found) == 1 and found[0][2] == "opengraph" else own
    _, facts, source = max(own, key=lambda one: (one[0], one[1].price is not None), default=(0, ProductFacts(), ""))
    currencies = (one.price.currency for one in (facts, *(each[1] for each in found)) if one.price)
    return PageData(facts, source, is_list, next(filter(None, currencies), ""))


def _objects(value: Any) -> Iterator[Node]:
    """All objects of a block that are no part of a product or of a list's entry."""
    for one in _at(value):
        if isinstance(one, dict):
            yield one
            if not _kinds(one) & (_PRODUCTS | _LISTS):
                yield from _objects(list(one.values()))
        elif isinstance(one, list):
            yield from _objects(one)


def _kinds(node: Node) -> frozenset[str]:
    return frozenset(re.split(r"[/#:]", one)[-1] for one in _at(node, "@type") if isinstance(one, str))


def _translated(node: Node) -> Node:
    """A product of OpenGraph in the words of schema.org: what its tags say of the product itself, and of its offer."""
    said = {tag.partition(":")[2]: value for tag, value in node.items() if value}
    said |= {"name": said.get("title"), "price": said.get("price:amount"), "priceCurrency": said.get("price:currency")}
    return said | {"offers": said}


def _facts(node: Node, url: str) -> ProductFacts:
    offers = [one for path in (("offers",), ("offers", "offers")) for one in _at(node, *path) if isinstance(one, dict)]
    specified = [{**one, **each} for one in offers for each in _at(one, "priceSpecification") if isinstance(each, dict)]
    stated = [(money, one) for one in (*offers, *specified) if (money := _stated(one)) is not None]
    # The price and its offer: that of the page's own address, or the least.
    query = urlsplit(url).query
    own = [pair for pair in stated if query and _text(pair[1], "url").partition("?")[2] == query]
    price, offer = min(own or stated, key=lambda pair: pair[0].amount, default=(None, next(iter(offers), {})))
    value, best, *counts = (
        _number(_text(node, "aggregateRating", name))
        for name in ("ratingValue", "bestRating", "ratingCount", "reviewCount")
    )
    counted = next(filter(None, counts), None)
    category = _text(node, "category")
    details = [(_text(one, "name"), _text(one, "value")) for one in _at(node, "additionalProperty")]
    stocks = (_text(one, *path) for one in (offer, *offers) for path in (("availability",), ("availability", "@id")))
    known = (_STOCK.get(re.sub(r"[_ ]", "", re.split(r"[/#:]", one)[-1].lower())) for one in stocks)
    return ProductFacts(
        title=_text(node, "name"),
        brand=_text(node, "brand") or _text(node, "manufacturer"),
        seller=_text(offer, "seller"),
        categories=() if "://" in category else tuple(filter(None, re.split(r"\s*[>/]\s*", category)))[:12],
        price=price,
        availability=next(filter(None, known), "unknown"),
        rating=None if value is None else out_of_five(value, best or (5.0 if value <= 5 else 10.0)),
        rating_count=None if counted is None else int(counted),
        description=_text(node, "description")[:5_000],
        attributes=tuple(Attribute(name=name[:120], value=value[:500]) for name, value in details if name and value),
    )


def _stated(offer: Node) -> Money | None:
    """The price of an offer; data has a point for decimals, else it is read as a text is."""
    currency, said = currency_code(_text(offer, "priceCurrency")), _text(offer, "price") or _text(offer, "lowPrice")
    if re.fullmatch(r"\d{1,9}(?:\.\d{1,4})?", said):
        return Money(amount=float(said), currency=currency)
    prices = find_prices(said if currency_code(said[:1]) or not currency else f"{currency} {said}")
    return prices[0].money(currency) if len(prices) == 1 and len(said) < 60 else None


def out_of_five(value: float, best: float) -> float | None:
    """A rating on another scale, which begins at zero, as one out of five; None where it lies outside of its scale."""
    return round(value * 5.0 / best, 2) if best > 0 and 0 <= value <= best else None


def _at(value: Any, *path: str) -> Iterator[Any]:
    """All that lies at a path of names, be it one value or a list at each of them."""
    for one in value[:MAX_MANY] if isinstance(value, list) else [value]:
        if not path:
            yield one
        elif isinstance(one, dict):
            yield from _at(one.get(path[0]), *path[1:])


def _text(value: Any, *path: str) -> str:
    """What is first said at a path as a line of text, without tags and entities; of an object its name or value."""
    for one in _at(value, *path):
        said = str(one) if isinstance(one, str | int | float) and not isinstance(one, bool) else ""
        if isinstance(one, dict):
            said = _text(one, "name") or _text(one, "value") or _text(one, "@value")
        if line := " ".join(entities.unescape(re.sub(r"<[^<>]{1,200}>", " ", said)).split()):
            return line
    return ""


def _number(said: str) -> float | None:
    """The number that a text begins with, such as 4.4 of "4,4 / 5"; "1,284" counts."""
    match = re.match(r"\d{1,12}(?:[.,]\d{1,4})?", said)
    if match is None:
        return None
    return float(match[0].replace(",", "" if re.fullmatch(r"\d+,\d{3}", match[0]) else "."))


# --- the document -----------------------------------------------------------------------------------------------------

_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_BUTTONS = """.//button | .//*[@role='button'] | .//input[@type='submit' or @type='button']
    | .//*[(self::div or self::span or self::p or self::a) and @class and not(*)]"""
_CRUMB = re.compile(r"\s*[\u203a/>»]\s*")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


class Line(NamedTuple):
    """A run of text that no block breaks. ``element`` is the innermost around its first words, ``place`` how many lines
    it stands after the title, ``label`` the line before it where that may name it: a short one without a number.
    """

    text: str
    element: Element
    place: int
    label: str

    def holder_of(self, text: str) -> Element:
        """The smallest element that holds a part of this line."""
        block = next((up for up in ancestors(self.element, 8) if up.tag in CALLED["blocks"]), self.element)
        texts = {one: " ".join("".join(one.itertext()).split()) for one in islice(block.iter("*"), 60)}
        holding = [one for one in texts if text in texts[one]]
        return min(holding, key=lambda one: len(texts[one]), default=self.element)


class Page:
    """A parsed page: ``body`` and ``lines`` are the product's part, all else is cut out of them.

    ``lines`` are those after the title, then those before it. ``framed`` are the lines that were cut out, still read
    for a shop's terms; ``reviews`` the elements in which customers speak, ``buttons`` those with which it sells;
    ``tiles`` address and words of other products.
    """

    def __init__(self, html: str, url: str, *, seen: str = "", name: str = "") -> None:
        """``html`` is a document after its scripts, ``seen`` what the browser showed of it, "" where that is not known,
        ``name`` what its data calls its product.
        """
        root = parsed(html)
        self.body = body = root.find("body")
        self.language = (root.get("lang") or "").lower()
        self.document_title = " ".join((root.findtext(".//title") or "").split())[:1_000]
        self.guards = " ".join((one.get("src") or "")[:300] for one in root.iter("iframe", "frame", "script"))
        self._seen = "".join(seen.split()).casefold()
        # References such as &#x1f; bring signs that lxml reads and won't write, as it does where an element is cut out.
        for one in body.iter("*"):
            one.text, one.tail = (said and _UNWRITABLE.sub(" ", said) for said in (one.text, one.tail))
        for one in list(body.iter(*CALLED["dropped"])):
            one.drop_tree()
        heading = _find_title(body, [one.casefold() for one in (name, self.document_title) if one])
        holders = frozenset(() if heading is None else ancestors(heading))
        path = next((one for one in body.iter("p", "div", "nav", "ul", "ol") if named(one) & CALLED["crumbs"]), None)
        crumbs = () if path is None else [words_of(one) for one in path.iter("li")] or _CRUMB.split(words_of(path))
        outside, reviews = _outside(body, holders)
        cut = _cut(body, outside)
        self.reviews = _cut(body, reviews)
        tiles = _tiles(body, url, holders)
        self.tiles = list(tiles.values())
        cut += _cut(body, tiles)
        self.framed = [text for one in cut for text, _ in lines_of(one)]
        self.title = "" if heading is None else words_of(heading)[:500]
        shown = ("", "home", "start", self.title.casefold())
        self.crumbs = tuple(one for one in crumbs if one.casefold() not in shown)
        found = list(islice(lines_of(body), MAX_LINES))
        start = next((place for place, (_, one) in enumerate(found) if heading in ancestors(one)), -1)
        labels = ["", *(text if len(text) <= 30 and not re.search(r"\d", text) else "" for text, _ in found)]
        lines = [Line(text, one, place - start, labels[place]) for place, (text, one) in enumerate(found)]
        self.lines = sorted(lines, key=lambda line: line.place <= 0)
        self.buttons = list(filter(_is_buying, body.xpath(_BUTTONS)))

    def can_be_seen(self, text: str) -> bool:
        """Whether a text is in what the browser showed; True where that is not known. Raised cents have no point."""
        bare = "".join(text.split()).casefold()
        return not self._seen or bare in self._seen or bare.replace(".", "") in self._seen


def _cut(body: Element, elements: Iterable[Element]) -> list[Element]:
    return [one for one in elements if body in ancestors(one) and one.drop_tree() is None]


def _find_title(body: Element, known: list[str]) -> Element | None:
    best, best_score = None, 0
    for one in body.iter("h1", "h2", "div", "span", "p"):
        if one.tag not in ("h1", "h2") and not (len(one) < 3 and CALLED["title"] & named(one)):
            continue
        words, around = words_of(one, 400).casefold(), {up.tag for up in ancestors(one)}
        if not 2 <= len(words) <= 400 or around & {"a", "nav", "footer", "aside"}:
            continue
        # The name of a shop is often a heading of its frame, and stands in the document's title, too.
        confirmed = any(words in title or title in words for title in known)
        score = 4 * (one.tag == "h1") + 3 * confirmed - 3 * ("header" in around and "main" not in around)
        if score > best_score:
            best, best_score = one, score
    return best


def _is_buying(element: Element) -> bool:
    texts = (words_of(element, 80), element.get("aria-label") or "", element.get("value") or "")
    return any(SAID["buying"].match(text[:80]) for text in texts)


def named(*elements: Element) -> KeysView[str]:
    """The words that elements are called by, in their order: ``priceNow-main`` is price, now and main."""
    attributes = ("class", "id", "itemprop", "data-testid", "aria-label")
    names = " ".join((one.get(name) or "")[:300] for one in elements for name in attributes)
    return dict.fromkeys(word.lower() for word in _WORD.findall(names)).keys()


def words_of(element: Element, most: int = MAX_TOTAL_CHARS) -> str:
    """The words of an element, to the line with which they are more than ``most`` characters."""
    texts, length = list[str](), 0
    for text, _ in lines_of(element, min(most, MAX_LINE_CHARS)):
        texts.append(text)
        length += len(text)
        if length > most:
            break
    return " ".join(texts)


def ancestors(element: Element, most: int = 10_000) -> Iterator[Element]:
    """The element itself, then those around it, nearest first."""
    yield element
    yield from islice(element.iterancestors(), most - 1)


def lines_of(root: Element, most: int = MAX_LINE_CHARS) -> Iterator[tuple[str, Element]]:
    """The lines of a tree, each with the element around its first words, however deep it is: without recursion."""
    import lxml.etree

    pieces: list[str] = []
    owner, length, said_any = root, 0, False
    for event, element in lxml.etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        ended = event == "end" and element is root
        breaks = ended or element.tag in CALLED["blocks"]
        # A line that is longer than anybody wants is not gathered to its end.
        if breaks or length > 2 * most + 50:
            text = " ".join("".join(pieces).split())[:MAX_LINE_CHARS]
            pieces, said_any, length = [], False, 0 if breaks else -MAX_HTML_CHARS
            if text:
                yield text, owner
        said = element.text if event == "start" else element.tail
        if said and not ended and length >= 0:
            if event == "start" and element.tag == "sup" and re.search(r"\d \d\d$", f"{''.join(pieces[-1:])} {said}"):
                said = f".{said}"
            if not said_any and said.strip():
                said_any, owner = True, element if event == "start" else element.getparent()
            # Words of neighbouring elements are words of their own.
            apart = event == "start" and said[0].isupper() and pieces and pieces[-1][-1:].isalpha()
            pieces.append(f" {said}" if apart else said)
            length += len(said.strip()) + 1


def _outside(body: Element, holders: Collection[Element]) -> tuple[list[Element], list[Element]]:
    """The elements that are no part of the product's, by tag, role, name and heading; and those of reviews."""
    outside, reviews, covered = list[Element](), list[Element](), set[Element]()
    buttons = [one for one in body.xpath(_BUTTONS) if _is_buying(one)]
    # What holds all that sells is the product's own part, however it is called.
    selling = {*ancestors(buttons[0])}.intersection(ancestors(buttons[-1])) if buttons else set()
    for one in body.iter("*"):
        if one in holders:
            continue
        called = " ".join(named(one))
        promoted = one.tag not in CALLED["inline"] and SAID["promoted"].search(called) and "price" not in called.split()
        hidden = one.get("hidden") is not None or SAID["hidden"].search(one.get("style") or "")
        framed = {one.tag, one.get("role")} & CALLED["frames"] or (one.tag == "header" and one.getparent() is body)
        if hidden or ((framed or promoted) and one not in selling and (framed or not _is_priced(one))):
            outside.append(one)
        elif one.tag in ("div", "section", "ul", "ol") and SAID["reviews"].search(called):
            # One that is called after reviews may hold their mean alone.
            reviews += [one] if one.find(".//li") is not None or len(words_of(one, 120)) > 120 else []
        claim = one.tag in ("div", "p", "span", "b", "strong") and not len(one) and (one.get("class") or one.get("id"))
        if (claim and not any(up.tag == "a" for up in ancestors(one, 4))) or re.fullmatch("h[2-5]", one.tag):
            said = words_of(one, 60)
            counts = claim and re.search(r"\d", said)  # "87 reviews" beside the stars is over nothing.
            for name, found in (("promoting", outside), ("reviews_heading", reviews)):
                heads = len(said) <= 60 and SAID[name].match(said) and not (counts and found is reviews)
                if heads and one not in covered:
                    found += (section := _section(one, holders, promoted=found is outside))
                    covered.update(section)
    return outside, reviews


def _is_priced(element: Element) -> bool:
    """Whether it has a line that is not much more than a price, and leads nowhere."""
    if element.find(".//a") is not None or any(up.tag == "a" for up in ancestors(element)):
        return False
    short = () if len(words_of(element, 200)) > 200 else (text for text, _ in lines_of(element) if len(text) <= 24)
    return any(one.kind == "current" for text in short for one in find_prices(text))


def _section(heading: Element, holders: Collection[Element], *, promoted: bool) -> list[Element]:
    """What a heading is over: it, and what follows it or the block that holds it alone, up to the next heading."""
    block = heading
    while (
        (parent := block.getparent()) not in holders
        and parent.tag != "body"
        and words_of(parent, 100) == words_of(block, 100)
    ):
        block = parent
    if parent.tag == "section" and parent not in holders and next(filter(words_of, parent), None) is block:
        return [parent]
    found = [block]
    for one in block.itersiblings("*"):
        if one in holders or re.fullmatch(r"h[1-4]", one.tag):
            break
        # Promoted products are links; where they end without another heading, the product goes on.
        if promoted and one.tag != "a" and one.find(".//a") is None and words_of(one, 0):
            break
        if not promoted and (_is_priced(one) or any(map(_is_buying, one.xpath(_BUTTONS)))):
            break
        found.append(one)
    return found


def _tiles(body: Element, url: str, holders: Collection[Element]) -> dict[Element, tuple[str, str]]:
    """Address and words of the small blocks that show other products, each with its price."""
    tiles: dict[Element, tuple[str, str]] = {}
    own = urlsplit(url).path.rstrip("/")
    body.make_links_absolute(url, handle_failures="discard")
    for link in list(body.iter("a"))[:MAX_TILES]:
        target = (link.get("href") or "").partition("#")[0]
        if not target or urlsplit(target).path.rstrip("/") == own:
            continue
        for up in ancestors(link, 6):
            words = words_of(up, 600)
            if up in holders or up.tag in ("body", "main", "html") or up in tiles or len(words) > 600:
                break
            if find_prices(words):
                like = (one for one in up.getparent() if (one.tag, one.get("class")) == (up.tag, up.get("class")))
                several = len(list(islice((one for one in like if one.find(".//a") is not None), 2))) > 1
                links = {one.get("href") for one in islice(up.iter("a"), MAX_MANY)}
                pictured = len(links) == 1 and link.find(".//img") is not None
                if up is link or pictured or (several and len(links) <= 3):
                    tiles[up] = (target, words)
                break
    return tiles
