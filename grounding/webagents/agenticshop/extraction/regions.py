"""Which part of a page is about its product: the rest is frame, promotion of other products, or customers' words.

The paper names prices of promoted products as a failure of extraction (section 3.4.1, appendix D), so a price counts
only where no rule here says that its place is another product's. Four rules, none of which knows a shop:

1. Frame: navigation, the site's header and footer, dialogs.
2. Named: an element that is called after recommending, or a section whose heading says so, without the page's title.
3. Card: the smallest block in which a link to another page (with a picture or a title) stands beside a price.
4. Reviews: an element or a section that is called so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urljoin, urlsplit

from grounding.webagents.agenticshop.extraction.dom import Document, Line, ancestors, naming, words_of
from grounding.webagents.agenticshop.extraction.price import find_prices

if TYPE_CHECKING:
    Element = Any

Role = Literal["main", "frame", "promotion", "card", "reviews", "crumbs", "choice", "hidden"]

MAX_CARD_LEVELS = 7
"""How far above a link its price may stand."""

_PROMOTED = re.compile(
    r"\b(?:recommend\w*|recs|related|similar|also (?:bought|viewed|like|bought together)|you may|upsells?|"
    r"(?:cross|up) sells?|sponsored|advert\w*|ads?|recently|frequently|bought together|customers also|more from|"
    r"complete the|suggest\w*|alternatives|best ?sellers?|trending|newsletter|other products|pair with|goes with)\b"
)
_SHOWY = re.compile(r"\b(?:promos?|promotions?|promoted|banners?|deals?|featured|spotlight|teasers?|flash sale|hot)\b")
"""Words that a promotion is called by and that part of the product may be called by too."""
_PROMOTING = re.compile(
    r"^(?:you (?:may|might) (?:also )?(?:like|love|need)|(?:customers|people|others|shoppers)\b.*\b(?:also|"
    r"bought|viewed)|"
    r"(?:related|similar|recommended|suggested|sponsored|featured|other|more)\b.*|.*\byou\b.*\b(?:like|love)\b.*|"
    r"frequently bought.*|recently viewed.*|(?:pairs|goes) (?:well|great|nicely)? ?with.*|complete the.*|"
    r"(?:best ?sellers?|trending|top picks|just for you|picked for you|inspired by|deals? of)\b.*|compare with.*|"
    r"also (?:available|worth|from|in)\b.*|.*\b(?:alternatives|recommendations)\b.*|often bought.*|"
    r"from the same\b.*)$",
    re.IGNORECASE,
)
_REVIEWS_NAMED = re.compile(r"\b(?:reviews?|testimonials?|comments?|ugc|feedback|bewertungen|opinions|voices)\b")
_REVIEWS_HEADING = re.compile(
    r"^(?:\d+ )?(?:customer|user|buyer|our|all|recent|top|verified|product|what (?:customers|people|buyers|"
    r"others))?\s?"
    r"(?:ratings? (?:and|&) )?(?:reviews?|ratings?|say|are saying|bewertungen|opinions|voices|feedback)\b.{0,40}$",
    re.IGNORECASE,
)
_SURELY_PROMOTING = re.compile(
    r"^(?:you (?:may|might) (?:also )?(?:like|love|need)|(?:customers|people|others|"
    r"shoppers) (?:who \w+ this )?also \w+|"
    r"(?:related|similar|recommended|sponsored|featured) (?:products|items|pieces|articles|picks)|recently viewed|"
    r"frequently bought together|(?:recommended|picked|just) for you|complete the look|(?:pairs|"
    r"goes) (?:well )?with(?: it)?)"
    r"\W*$",
    re.IGNORECASE,
)
_SURELY_REVIEWS = re.compile(
    r"^(?:customer |user |buyer )?(?:reviews|opinions|ratings (?:and|&) reviews|testimonials)(?: \(\d+\))?$",
    re.IGNORECASE,
)
_HEADINGS = ("h2", "h3", "h4", "h5", "h6")
_MAYBE_HEADINGS = ("div", "p", "strong", "legend")
_PIECES = re.compile(r"\s+[-|/:\u2013\u2014\u00b7\u2022\u00bb]\s+|\s*\|\s*")
_CRUMBS = re.compile(r"\bbread ?crumbs?\b|\bcrumbs?\b|\b(?:category|nav|page)? ?(?:path|trail)\b")
_FRAME_ROLES = frozenset(("navigation", "banner", "contentinfo", "search", "dialog", "alertdialog"))
_FRAME_NAMED = re.compile(
    r"\b(?:mini ?cart|cart drawer|cookie|consent|mega ?menu|site (?:header|footer|nav)|modal|popup)\b"
)
_PLAIN_LINK = re.compile(
    r"\b(?:shipping|delivery|returns?|warranty|details|learn more|read more|see (?:all|more)|sign in|log in|"
    r"terms|policy|"
    r"size (?:guide|chart)|reviews?|ratings?|questions?|share|wish ?list|save|contact|help|faq|store|visit|cart|"
    r"basket|"
    r"checkout|compare|print|report|gift|coupon|all|more|back to|home)\b",
    re.IGNORECASE,
)
_BY = re.compile(r"\b(?:by|from|brand|seller|sold|manufacturer|ships)\s*:?\s*$", re.IGNORECASE)
_FILE = re.compile(r"\.(?:png|jpe?g|gif|webp|avif|svg|pdf|zip|mp4)$", re.IGNORECASE)
_PAIRED = frozenset(("fieldset", "form"))


@dataclass(frozen=True, slots=True)
class Card:
    """A block that shows another product: where it stands, and the page that it leads to."""

    element: Element
    target: str
    promoted: bool


@dataclass(frozen=True, slots=True)
class Regions:
    """A page's lines by their role. ``title`` is the element that names the page's product, None where none does."""

    document: Document
    roles: dict[Element, Role]
    title: Element | None
    title_place: int
    cards: tuple[Card, ...]

    def role_of(self, element: Element) -> Role:
        """The role of an element."""
        return self.roles.get(element, "main")

    def role(self, line: Line, at: int = 0) -> Role:
        """The role of a line, at one of its characters."""
        owner = self.role_of(line.owner(at))
        return owner if owner != "main" else self.role_of(line.element)

    def lines(self, *roles: Role) -> tuple[Line, ...]:
        """The lines of these roles, in the page's order."""
        return tuple(line for line in self.document.lines if self.role(line) in roles)


def find_regions(document: Document, url: str, names: tuple[str, ...] = ()) -> Regions:
    """Sort a page's elements by their role.

    Args:
        document: The page.
        url: Where it is.
        names: What the page's data calls its product, which tells its title from a shop's name in large letters.
    """
    title = _title(document, names)
    holders = frozenset(ancestors(title, most=10_000)) if title is not None else frozenset()
    roles = _named_roles(document, holders)
    _mark_sections(document, holders, roles)
    cards = _cards(document, url, holders, roles)
    for card in cards:
        for one in card.element.iter():
            if roles.get(one, "main") == "main":
                roles[one] = "card"
    place = next(
        (line.place for line in document.lines if title is not None and title in set(ancestors(line.element))), -1
    )
    return Regions(document=document, roles=roles, title=title, title_place=place, cards=cards)


def _title(document: Document, names: tuple[str, ...]) -> Element | None:
    """The heading of the page's subject: an h1, else the element or heading that says what data or head say."""
    from rapidfuzz import fuzz

    known = [name.casefold() for name in (*names, document.meta.get("og:title", ""), document.title) if name]

    def likeness(element: Element) -> float:
        words = words_of(element).casefold()
        if not words or len(words) > 400:
            return 0.0
        return max((fuzz.token_set_ratio(words, name) for name in known), default=50.0) + 1.0

    def best(found: list[Element], least: float) -> Element | None:
        seen = [one for one in found if not any(up in document.hidden for up in ancestors(one))]
        scored = [(likeness(one), -place, one) for place, one in enumerate(seen[:50])]
        top = max(scored, key=lambda entry: entry[:2], default=None)
        return top[2] if top is not None and top[0] > least else None

    chosen = best(list(document.body.iter("h1")), 0.0)
    if chosen is not None:
        return chosen
    named = [one for one in document.body.iter() if "name" in (one.get("itemprop") or "").split()]
    for found, least in ((named, 70.0), (list(document.body.iter("h2", "h3")), 85.0)):
        chosen = best(found, least)
        if chosen is not None:
            return chosen
    return _told_by_head(document, known)


def _told_by_head(document: Document, known: list[str]) -> Element | None:
    """The first element whose words are most of what the head calls the page: a title without a heading."""
    best: tuple[int, Element] | None = None
    # A page's title is often the product's name and the shop's, with a sign between them.
    pieces = {piece.strip() for name in known for piece in (name, *_PIECES.split(name))}
    for line in document.lines:
        words = line.words.casefold()
        if not 4 <= len(words) <= 200 or any(up.tag in ("nav", "footer", "select") for up in ancestors(line.element)):
            continue
        home = any(up.tag == "a" and (up.get("href") or "") in ("/", ".") for up in ancestors(line.owner(0), most=4))
        if words in pieces and not home and (best is None or len(words) > best[0]):
            best = (len(words), line.element)
    return best[1] if best is not None else None


def _named_roles(document: Document, holders: frozenset[Element]) -> dict[Element, Role]:
    roles: dict[Element, Role] = {}
    for element in document.body.iter():
        parent = element.getparent()
        inherited = roles.get(parent) if parent is not None else None
        if inherited in ("frame", "hidden", "promotion", "crumbs", "choice"):
            roles[element] = inherited
            continue
        role = _own_role(element, document, holders)
        if role is not None or inherited is not None:
            roles[element] = role or inherited or "main"
    return roles


def _own_role(element: Element, document: Document, holders: frozenset[Element]) -> Role | None:
    if element in document.hidden:
        return "hidden"
    if element.tag in ("select", "option", "datalist"):
        return "choice"
    if element in holders:
        return None
    called = naming(element)
    label = (element.get("aria-label") or "").lower()[:120]
    if _CRUMBS.search(called) or _CRUMBS.search(label):
        return "crumbs"
    if element.tag in ("nav", "footer", "header", "dialog") or (element.get("role") or "") in _FRAME_ROLES:
        inside = {up.tag for up in ancestors(element)} - {element.tag}
        # A header or footer within an article or the main part belongs to that, not to the site.
        return None if element.tag in ("header", "footer") and inside & {"main", "article", "section"} else "frame"
    if _FRAME_NAMED.search(called):
        return "frame"
    if element.tag in ("span", "b", "em", "strong", "i", "small", "label", "input", "button", "body"):
        return None
    words = set(called.split())
    if (_PROMOTED.search(called) or _PROMOTED.search(label)) and "price" not in words:
        return "promotion"
    if _SHOWY.search(called) and "price" not in words and not _may_buy(element):
        return "promotion"
    return "reviews" if _REVIEWS_NAMED.search(called) else None


def _mark_sections(document: Document, holders: frozenset[Element], roles: dict[Element, Role]) -> None:
    """Give a section the role that its heading names: its own block, or what follows up to the next heading."""
    for heading in document.body.iter(*_HEADINGS, *_MAYBE_HEADINGS):
        if roles.get(heading, "main") not in ("main", "reviews") or heading in holders:
            continue
        # What is no heading by its tag is one by words that nothing else says, alone in a small element.
        plain = heading.tag in _MAYBE_HEADINGS
        if plain and (len(heading) or len(heading.text or "") > 60 or heading.get("class") is None):
            continue
        words = words_of(heading)[:160]
        promoting, reviewing = (_SURELY_PROMOTING, _SURELY_REVIEWS) if plain else (_PROMOTING, _REVIEWS_HEADING)
        role: Role | None = "promotion" if promoting.match(words) else None
        role = role or ("reviews" if reviewing.match(words) else None)
        if role is None:
            continue
        for element in _section(heading, holders):
            for one in element.iter():
                if roles.get(one, "main") in ("main", "reviews"):
                    roles[one] = role


def _section(heading: Element, holders: frozenset[Element]) -> list[Element]:
    block = heading
    parent = block.getparent()
    while parent is not None and parent not in holders and parent.tag != "body" and _leads(block, parent):
        block = parent
        parent = block.getparent()
    if block is not heading:
        return [block]
    found = [heading]
    for one in heading.itersiblings():
        if isinstance(one.tag, str) and re.fullmatch(r"h[1-6]", one.tag) and one.tag <= heading.tag:
            break
        if heading.tag in _MAYBE_HEADINGS and (one.tag, one.get("class")) == (heading.tag, heading.get("class")):
            break
        if one in holders:
            break
        found.append(one)
    return found


def _leads(block: Element, parent: Element) -> bool:
    """Whether a block is the first in its parent that says anything, and no heading like its own follows in it."""
    if (parent.text or "").strip():
        return False
    first = next((one for one in parent if words_of(one)), None)
    if first is not block:
        return False
    level = next((one.tag for one in block.iter("h1", "h2", "h3", "h4", "h5", "h6")), "h6")
    own = set(block.iter())
    return not any(one.tag <= level and one not in own for one in parent.iter("h1", "h2", "h3"))


def _may_buy(element: Element) -> bool:
    """Whether an element holds a way to buy."""
    return bool(ways_to_buy(element))


_ADDING = re.compile(r"\b(?:add|buy|order|put|warenkorb|panier|carrito)\b", re.IGNORECASE)
"""Words of an act: "sold out" in a plain element is no control."""
_BUYING = re.compile(
    r"\b(?:add (?:\w+ )?to (?:\w+ )?(?:cart|bag|basket|trolley|order)|buy (?:it )?now|buy|order now|pre-?order|"
    r"purchase|"
    r"in den warenkorb|ajouter au panier|añadir al carrito|notify me|email me when|sold out|out of stock|"
    r"put in (?:the )?(?:cart|basket|bag))\b",
    re.IGNORECASE,
)


_BUYING_ALONE = re.compile(rf"^\W*(?:{_BUYING.pattern})\W*$", re.IGNORECASE)


def ways_to_buy(element: Element) -> list[Element]:
    """All controls in an element that buy: buttons, and what scripts made one, which says just that and no more."""
    found = [one for one in element.iter("button", "input", "a") if is_buying(one)]
    for one in element.iter("div", "span", "p"):
        if one.get("role") == "button":
            found.extend([one] if is_buying(one) else [])
        elif not len(one) and one.text and len(one.text) <= 40 and _BUYING_ALONE.match(one.text):
            inside = any(up.tag in ("button", "a") for up in ancestors(one, most=4))
            found.extend([one] if _ADDING.search(one.text) and not inside else [])
    return found


def is_buying(element: Element) -> bool:
    """Whether a control buys, or would if the product were there."""
    if element.tag == "a" and (element.get("role") or "") != "button" and "button" not in naming(element).split():
        return False
    said = (element.get("value") or "") if element.tag == "input" else words_of(element)
    return bool(_BUYING.search(f"{said[:80]} {(element.get('aria-label') or '')[:80]}"))


# --- cards --------------------------------------------------------------------------------------------------------


def _cards(document: Document, url: str, holders: frozenset[Element], roles: dict[Element, Role]) -> tuple[Card, ...]:
    priced: dict[Element, int] = {}
    for line in document.lines:
        for price in find_prices(line.text) if any(sign.isdigit() for sign in line.text) else ():
            for one in ancestors(line.owner(price.start), most=10_000):
                priced[one] = priced.get(one, 0) + 1
    found: dict[Element, str] = {}
    targets: dict[Element, set[str]] = {}
    for link in document.body.iter("a"):
        target = _other_page(link, url, document.canonical)
        if not target or roles.get(link, "main") in ("frame", "hidden", "crumbs") or not _shows_product(link):
            continue
        for one in ancestors(link, most=MAX_CARD_LEVELS):
            if one in holders or one.tag in ("body", "html", "main"):
                break
            if one in priced:
                found.setdefault(one, target)
                targets.setdefault(one, set()).add(target)
                break
    ways = [one for one in ways_to_buy(document.body) if roles.get(one, "main") in ("main", "reviews")]
    cards = []
    for element, target in found.items():
        # Several pages and one price: other colours of this product, or a list of links beside it.
        if len(targets[element]) > 1 and priced[element] < 2:
            continue
        if _is_whole_offer(element, ways):
            continue
        cards.append(
            Card(element=element, target=target, promoted=roles.get(element, "main") in ("promotion", "reviews"))
        )
    return tuple(cards)


def _is_whole_offer(element: Element, ways: list[Element]) -> bool:
    """Whether a block holds the only way to buy that the page has: then it is the page's own, whatever it links to."""
    inside = sum(element in set(ancestors(one)) for one in ways)
    return 0 < inside == len(ways) and any(one.tag in _PAIRED for one in element.iter(*_PAIRED))


def _other_page(link: Element, url: str, canonical: str) -> str:
    """Where a link leads, without query and fragment; "" where that is this page, or no page."""
    href = (link.get("href") or "").strip()
    if not href or href.startswith(("#", "javascript:", "mailto:", "tel:", "data:")) or len(href) > 2_000:
        return ""
    try:
        there, here = urlsplit(urljoin(url, href)), urlsplit(url)
        own = {here.path.rstrip("/"), urlsplit(urljoin(url, canonical)).path.rstrip("/") if canonical else ""}
    except ValueError:
        return ""
    if there.scheme not in ("http", "https") or _FILE.search(there.path):
        return ""
    same_site = there.netloc == here.netloc
    # A shop may tell its products apart by a number in the query alone.
    if same_site and there.path.rstrip("/") in own - {""} and (not there.query or there.query == here.query):
        return ""
    return f"{there.netloc}{there.path}?{there.query}"


def _shows_product(link: Element) -> bool:
    """Whether a link is a product's picture or name, rather than a way to a policy, a seller or a list."""
    if next(link.iter("img"), None) is not None or link.find(".//h2") is not None or link.find(".//h3") is not None:
        return True
    words = words_of(link)
    if not words or len(words) > 200 or _PLAIN_LINK.search(words):
        return False
    parent = link.getparent()
    before = (link.getprevious().tail if link.getprevious() is not None else parent.text) or ""
    if _BY.search(before.strip()):
        return False
    heads = {"h2", "h3", "h4", "h5"} & {one.tag for one in ancestors(link, most=3)}
    return bool(heads) or len(words.split()) >= 2 or bool(find_prices(words))
