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
from typing import TYPE_CHECKING, Any

from grounding.webagents.agenticshop.extraction.buying import ways_to_buy
from grounding.webagents.agenticshop.extraction.cards import Card, Role, find_cards
from grounding.webagents.agenticshop.extraction.dom import Document, Line, ancestors, naming, words_of
from grounding.webagents.agenticshop.extraction.titles import find_title

if TYPE_CHECKING:
    Element = Any

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
_CRUMBS = re.compile(r"\bbread ?crumbs?\b|\bcrumbs?\b|\b(?:category|nav|page)? ?(?:path|trail)\b")
_FRAME_ROLES = frozenset(("navigation", "banner", "contentinfo", "search", "dialog", "alertdialog"))
_FRAME_NAMED = re.compile(
    r"\b(?:mini ?cart|cart drawer|cookie|consent|mega ?menu|site (?:header|footer|nav)|modal|popup)\b"
)

_FOOT = frozenset(("foot", "footer", "colophon", "contentinfo"))
"""What the last block of a page is called where it has no element of its own."""


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
    title = find_title(document, names)
    holders = frozenset(ancestors(title, most=10_000)) if title is not None else frozenset()
    roles = _named_roles(document, holders)
    _mark_sections(document, holders, roles)
    cards = find_cards(document, url, holders, roles)
    for card in cards:
        for one in card.element.iter():
            if roles.get(one, "main") == "main":
                roles[one] = "card"
    place = next(
        (line.place for line in document.lines if title is not None and title in set(ancestors(line.element))), -1
    )
    return Regions(document=document, roles=roles, title=title, title_place=place, cards=cards)


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
    parent = element.getparent()
    if parent is not None and parent.tag == "body" and words & _FOOT:
        return "frame"
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
        for element in _section(heading, holders, role):
            for one in element.iter():
                if roles.get(one, "main") in ("main", "reviews"):
                    roles[one] = role


def _section(heading: Element, holders: frozenset[Element], role: Role) -> list[Element]:
    """What a heading is over: the block that it leads, or the siblings that follow it."""
    words = words_of(heading)
    block = heading
    parent = block.getparent()
    # Wrappers around the heading alone say nothing; the first block with more in it is what it leads.
    while parent is not None and parent not in holders and parent.tag != "body" and words_of(parent) == words:
        block = parent
        parent = block.getparent()
    if parent is not None and parent not in holders and parent.tag not in ("body", "main") and _leads(block, parent):
        return [parent]
    found = [block]
    for one in block.itersiblings():
        if one in holders or not isinstance(one.tag, str):
            break
        if re.fullmatch(r"h[1-6]", one.tag) and one.tag <= heading.tag:
            break
        if heading.tag in _MAYBE_HEADINGS and (one.tag, one.get("class")) == (heading.tag, heading.get("class")):
            break
        # Promoted products are links; where they end without another heading, the product goes on.
        if role == "promotion" and one.tag != "a" and next(one.iter("a"), None) is None and words_of(one):
            break
        found.append(one)
    return found


def _leads(block: Element, parent: Element) -> bool:
    """Whether a block is the first in its parent that says anything, and the parent is about nothing else.

    It is about something else where a heading of the same rank follows, or a way to buy that no link is beside.
    """
    if (parent.text or "").strip():
        return False
    first = next((one for one in parent if words_of(one)), None)
    if first is None or first is not block:
        return False
    level = next((one.tag for one in block.iter("h1", "h2", "h3", "h4", "h5", "h6")), "h6")
    own = set(block.iter())
    if any(one.tag <= level and one not in own for one in parent.iter("h1", "h2", "h3")):
        return False
    return not any(_stands_alone(way, parent) for way in ways_to_buy(parent))


def _stands_alone(way: Element, top: Element) -> bool:
    for up in ancestors(way):
        if up is top:
            return True
        if up is not way and next(up.iter("a"), None) is not None:
            return False
    return True


def _may_buy(element: Element) -> bool:
    """Whether an element holds a way to buy."""
    return bool(ways_to_buy(element))
