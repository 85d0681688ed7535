"""What a page tells of its product beside the offer: brand, seller, path, table of facts, features, description."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from grounding.webagents.agenticshop.extraction.dom import ancestors, named_words, words_of
from grounding.webagents.agenticshop.extraction.regions import Regions
from grounding.webagents.agenticshop.records import Attribute

if TYPE_CHECKING:
    Element = Any

MAX_ATTRIBUTES = 120
MAX_FEATURES = 40
MAX_DESCRIPTION_CHARS = 4_000

_NAME_VALUE = re.compile(r"^(?P<name>[^\W\d_][\w /&().'-]{1,38}?)\s*[:\uff1a]\s+(?P<value>\S.{0,300})$")
_NOT_A_NAME = re.compile(
    r"\b(?:price|shipping|delivery|returns?|warranty|guarantee|rating|reviews?|in stock|availability|sold by|seller|"
    r"note|tip|warning|total|subtotal|select|choose|qty|quantity|was|now|today|save|list price|msrp)\b",
    re.IGNORECASE,
)
_BRAND_NAME = re.compile(r"^(?:brand|brand name|manufacturer|maker|marke|hersteller|marque|made by)$", re.IGNORECASE)
_BRAND_LINE = re.compile(
    r"^(?:brand|marke|manufacturer|made by|maker|a product (?:by|of))\s*[:\uff1a]?\s+(?P<name>\S.{0,60})$", re.I
)
_BY_LINE = re.compile(r"^(?:by|from|von|par)\s+(?P<name>[A-Z0-9].{0,50})$")
_STORE_LINE = re.compile(
    r"^(?:visit|shop|more from|see more from|all from)\s+(?:the\s+)?(?P<name>\S.{0,50}?)(?:\s+store|\s+shop)?$", re.I
)
_SELLER_LINE = re.compile(
    r"\b(?:sold(?: and \w+)? by|ships from and sold by|seller|vendor|sold and dispatched by|merchant|"
    r"verkauf durch)\s*"
    r"[:\uff1a]?\s+(?P<name>[^.;|•·]{2,60})",
    re.IGNORECASE,
)
_FEATURES_HEADING = re.compile(
    r"^(?:(?:key|main|top|product|special)?\s*(?:features?|highlights|benefits)(?: (?:and|&) \w+)?|"
    r"about this (?:item|product)|"
    r"why (?:you'?ll|we) (?:love|like).*|at a glance|details|good to know|what'?s special)\b.{0,30}$",
    re.IGNORECASE,
)
_FEATURE_NAMES = frozenset(
    [
        "feature",
        "features",
        "highlight",
        "highlights",
        "bullet",
        "bullets",
        "benefits",
        "selling",
        "points",
        "keypoints",
    ]
)
_DESCRIPTION_HEADING = re.compile(
    r"^(?:product )?(?:description|details|overview|about(?: (?:this|the) \w+)?|the story)$", re.I
)
_BRAND_PATH = re.compile(r"/(?:brands?|vendors?|designers?|manufacturers?)/[^/]", re.IGNORECASE)
_BRAND_NAMES = frozenset(["brand", "vendor", "manufacturer", "maker", "by", "byline", "designer"])
_HOME = frozenset(("home", "start", "homepage", "shop", "startseite", "accueil", "all", "store", "main"))
_SEPARATOR = re.compile(r"\s*[\u203a»>/→|\\]\s*")


def attributes(regions: Regions) -> tuple[Attribute, ...]:
    """Lines of tables, lists of terms and "Name: value" lines in the product's part, hidden tabs included."""
    found: dict[str, Attribute] = {}

    def add(name: str, value: str) -> None:
        name, value = " ".join(name.split()).rstrip(" :\uff1a"), " ".join(value.split())
        if name and value and len(name) <= 60 and len(value) <= 500 and len(found) < MAX_ATTRIBUTES:
            found.setdefault(name.casefold(), Attribute(name=name, value=value))

    for element in regions.document.body.iter("tr", "dt", "li", "p", "div", "span"):
        if regions.role_of(element) not in ("main", "hidden"):
            continue
        if element.tag == "tr":
            cells = [one for one in element if one.tag in ("td", "th")]
            if len(cells) == 2:
                add(words_of(cells[0]), words_of(cells[1]))
        elif element.tag == "dt":
            after = element.getnext()
            if after is not None and after.tag == "dd":
                add(words_of(element), words_of(after))
        elif not len(element) or element.tag == "li":
            pair = _pair(element)
            if pair is not None:
                add(*pair)
    return tuple(found.values())


def _pair(element: Element) -> tuple[str, str] | None:
    words = words_of(element)
    if len(words) > 240:
        return None
    match = _NAME_VALUE.match(words)
    if match is not None:
        return None if _NOT_A_NAME.search(match["name"]) or len(match["name"].split()) > 5 else (match[1], match[2])
    children = [one for one in element if isinstance(one.tag, str)]
    # Two neighbouring pieces, the first of them a label: <li><b>Material</b> <span>oak</span></li>
    if element.tag == "li" and len(children) == 2 and children[0].tag in ("span", "b", "strong", "div"):
        first, second = words_of(children[0]), words_of(children[1])
        if (
            first
            and second
            and len(first.split()) <= 4
            and not _NOT_A_NAME.search(first)
            and words == f"{first} {second}"
        ):
            return first, second
    return None


def pairs_named(pairs: tuple[Attribute, ...], pattern: re.Pattern[str]) -> str:
    """The value of the first line whose name a pattern matches, "" where none does."""
    return next((one.value for one in pairs if pattern.search(one.name)), "")


def brand(regions: Regions, pairs: tuple[Attribute, ...]) -> str:
    """The brand as the page shows it near the title or in its table."""
    named = next((one.value for one in pairs if _BRAND_NAME.match(one.name)), "")
    if named:
        return named
    for element in regions.document.body.iter():
        if regions.role_of(element) == "main" and "brand" in (element.get("itemprop") or "").split():
            words = words_of(element) or (element.get("content") or "")
            if words:
                return _bare_brand(words)
    near = [
        line
        for line in regions.lines("main")
        if regions.title_place < 0 or -4 <= line.place - regions.title_place <= 12
    ]
    for line in near:
        match = _BRAND_LINE.match(line.words) or _BY_LINE.match(line.words) or _STORE_LINE.match(line.words)
        if match is not None and line.element is not regions.title:
            return _bare_brand(match["name"])
    for line in near:
        link = next((up for up in ancestors(line.owner(0), most=3) if up.tag == "a"), None)
        if link is not None and _BRAND_PATH.search(link.get("href") or "") and len(line.words) <= 60:
            return _bare_brand(line.words)
    for line in near:
        called = frozenset().union(*(named_words(one) for one in ancestors(line.owner(0), most=2)))
        if called & _BRAND_NAMES and len(line.words) <= 60 and line.element is not regions.title:
            return _bare_brand(line.words)
    return ""


def _bare_brand(words: str) -> str:
    match = _BRAND_LINE.match(words) or _BY_LINE.match(words) or _STORE_LINE.match(words)
    return (match["name"] if match else words).strip(" .:|·")[:80]


def seller(regions: Regions, pairs: tuple[Attribute, ...]) -> str:
    """Who sells, where the page says so."""
    named = pairs_named(pairs, re.compile(r"^(?:sold by|seller|vendor|merchant)$", re.IGNORECASE))
    if named:
        return named[:80]
    for line in regions.lines("main"):
        match = _SELLER_LINE.search(line.words) if len(line.words) < 200 else None
        if match is not None:
            return re.split(r"\s+(?:and|in|with|since|from)\s+", match["name"])[0].strip()[:80]
    return ""


def categories(regions: Regions, crumbs: tuple[str, ...], title: str) -> tuple[str, ...]:
    """The path of categories: from data or from the page's own crumbs, without the first page and the product."""
    found = crumbs or _page_crumbs(regions)
    kept = [one for one in found if one.casefold() not in _HOME and one.casefold() != title.casefold()]
    if kept and found and kept[-1] == found[-1] and title and _same_start(kept[-1], title):
        kept = kept[:-1]
    return tuple(kept[:12])


def _same_start(crumb: str, title: str) -> bool:
    plain = crumb.rstrip(".… ").casefold()
    return len(plain) >= 8 and title.casefold().startswith(plain)


def _page_crumbs(regions: Regions) -> tuple[str, ...]:
    for element in regions.document.body.iter():
        parent = element.getparent()
        if regions.role_of(element) != "crumbs" or (parent is not None and regions.role_of(parent) == "crumbs"):
            continue
        entries = [words_of(one) for one in element.iter("li")] or [words_of(one) for one in element.iter("a", "span")]
        pieces = entries if len(entries) > 1 else _SEPARATOR.split(words_of(element))
        found = tuple(
            dict.fromkeys(bare for one in pieces if (bare := _SEPARATOR.sub("", one).strip()) and len(bare) < 120)
        )
        if found:
            return found
    return ()


def features(regions: Regions) -> tuple[str, ...]:
    """The list of features: called so, or below such a heading, or the first list of sentences after the title."""
    lists = [one for one in regions.document.body.iter("ul", "ol") if regions.role_of(one) in ("main", "hidden")]
    called = [
        one for one in lists if any(named_words(up) & _FEATURE_NAMES for up in ancestors(one, most=2)) or _headed(one)
    ]
    near = _after_title(regions)
    for one in (*called, *(one for one in lists if one in near)):
        items = [words_of(item) for item in one if item.tag == "li"]
        texts = [text[:400] for text in items if text]
        linked = sum(next(item.iter("a"), None) is not None for item in one if item.tag == "li")
        if texts and linked * 2 <= len(texts) and (one in called or _are_sentences(texts) or _below_text(one)):
            return tuple(texts[:MAX_FEATURES])
    return ()


def _headed(element: Element) -> bool:
    before = element.getprevious()
    words = words_of(before) if before is not None else ""
    return bool(words) and len(words) < 60 and bool(_FEATURES_HEADING.match(words))


def _after_title(regions: Regions) -> frozenset[Element]:
    """The elements in which the lines after the title stand."""
    if regions.title_place < 0:
        return frozenset()
    near = regions.document.lines[regions.title_place + 1 : regions.title_place + 60]
    return frozenset(up for line in near for up in ancestors(line.element))


def _below_text(element: Element) -> bool:
    """Whether a list stands right below a paragraph, as the points of a description do."""
    before = element.getprevious()
    return before is not None and before.tag == "p" and len(words_of(before).split()) >= 6


def _are_sentences(texts: list[str]) -> bool:
    pairs = sum(bool(_NAME_VALUE.match(text)) for text in texts)
    return (
        len(texts) >= 2 and sum(len(text.split()) >= 3 for text in texts) * 2 > len(texts) and pairs * 2 <= len(texts)
    )


def description(regions: Regions) -> str:
    """The describing text: marked or called so, or what stands below such a heading."""
    body = regions.document.body
    for element in body.iter():
        if "description" in (element.get("itemprop") or "").split() and regions.role_of(element) in ("main", "hidden"):
            words = words_of(element)
            if words:
                return words[:MAX_DESCRIPTION_CHARS]
    for element in body.iter("div", "section", "p", "article"):
        if regions.role_of(element) in ("main", "hidden") and "description" in named_words(element):
            paragraphs = " ".join(words_of(one) for one in element.iter("p"))
            words = paragraphs if len(paragraphs) >= 20 else _without_heading(element, words_of(element))
            if len(words) >= 20:
                return words[:MAX_DESCRIPTION_CHARS]
    for heading in body.iter("h2", "h3", "h4", "summary"):
        if regions.role_of(heading) in ("main", "hidden") and _DESCRIPTION_HEADING.match(words_of(heading)):
            after = []
            for one in heading.itersiblings():
                if isinstance(one.tag, str) and re.fullmatch(r"h[1-6]", one.tag):
                    break
                if one.tag not in ("table", "dl", "ul", "ol"):
                    after.append(words_of(one))
            words = " ".join(filter(None, after))
            if len(words) >= 20:
                return words[:MAX_DESCRIPTION_CHARS]
    return _first_paragraph(regions)


def _first_paragraph(regions: Regions) -> str:
    """The first long paragraph of the product's part."""
    for line in regions.lines("main"):
        if line.element.tag == "p" and line.place > regions.title_place and len(line.words.split()) >= 5:
            return line.words[:MAX_DESCRIPTION_CHARS]
    return ""


def _without_heading(element: Element, words: str) -> str:
    heading = next(element.iter("h2", "h3", "h4", "summary"), None)
    return words.removeprefix(words_of(heading)).strip() if heading is not None else words
