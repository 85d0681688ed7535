"""A kept document as the product's part of it: its lines, without frames, promotions and tiles of other products.

What is no part of the product's is cut out of the tree. Whether a line could be seen is known from the text that the
browser kept beside it, because style sheets are not read here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple

from grounding.benchmarks.agenticshop.extraction.prices import CALLED, SAID, find_prices
from grounding.benchmarks.agenticshop.extraction.structured import joined, parsed

Element = Any
MAX_LINES = 20_000
MAX_LINE_CHARS = 4_000
MAX_TILES = 2_000
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


class Line(NamedTuple):
    """A run of text that no block breaks. ``element`` is the innermost around its first words."""

    text: str
    element: Element
    place: int


class Tile(NamedTuple):
    """Another product, shown in a small block with its price."""

    url: str
    text: str
    element: Element


@dataclass(frozen=True)
class Page:
    """A parsed page: ``body`` and ``lines`` are the product's part, all else is cut out of them.

    ``framed`` are the lines that were cut out, still read for a shop's terms; ``reviews`` the elements in which
    customers speak; ``tiles`` other products. ``title_place`` is the line of the title, or -1.
    """

    body: Element
    title: str
    document_title: str
    guards: str
    seen: str
    crumbs: tuple[str, ...]
    tiles: tuple[Tile, ...]
    lines: tuple[Line, ...]
    framed: tuple[str, ...]
    reviews: tuple[Element, ...]
    title_place: int

    def can_be_seen(self, text: str) -> bool:
        """Whether a text is in what the browser showed; True where that is not known. Raised cents have no point."""
        bare = "".join(text.split()).casefold()
        return not self.seen or bare in self.seen or bare.replace(".", "") in self.seen

    def after_title(self, most: int = 10_000) -> list[Line]:
        """The lines from the title on, then those before it."""
        return sorted(self.lines, key=lambda line: line.place <= self.title_place)[:most]


def read_document(html: str, url: str, *, seen: str = "", name: str = "") -> Page | None:
    """Parse a document after its scripts; None where there is nothing to parse.

    ``seen`` is what the browser showed of it, "" where that is not known, ``name`` what its data calls its product.
    """
    root = parsed(html)
    body = None if root is None else root.find("body")
    if root is None or body is None:
        return None
    document_title = " ".join((root.findtext(".//title") or "").split())[:1_000]
    guards = " ".join((one.get("src") or "")[:300] for one in root.iter("iframe", "frame", "script"))
    # References such as &#x1f; bring signs that lxml reads and won't write, as it does where an element is taken out.
    for one in body.iter("*"):
        one.text, one.tail = (said and _UNWRITABLE.sub(" ", said) for said in (one.text, one.tail))
    for one in list(body.iter(*CALLED["dropped"])):
        one.drop_tree()
    heading = _find_title(body, [one.casefold() for one in (name, document_title) if one])
    holders = frozenset(() if heading is None else ancestors(heading))
    path = next((one for one in body.iter("p", "div", "nav", "ul", "ol") if named(one) & CALLED["crumbs"]), None)
    if path is not None:
        crumbs = [words_of(one) for one in path.iter("li")] or re.split(r"\s*[\u203a/>»]\s*", words_of(path))
    outside, reviews = _outside(body, holders)
    cut, reviews = _cut(body, outside), _cut(body, reviews)
    tiles = tuple(_tiles(body, url, holders))
    cut += _cut(body, (one.element for one in tiles))
    lines = tuple(lines_of(body))
    return Page(
        body=body,
        title="" if heading is None else words_of(heading)[:500],
        document_title=document_title,
        guards=guards,
        seen="".join(seen.split()).casefold(),
        crumbs=() if path is None else tuple(crumbs),
        tiles=tiles,
        lines=lines,
        framed=tuple(line.text for one in cut for line in lines_of(one)),
        reviews=tuple(reviews),
        title_place=next((one.place for one in lines if heading in ancestors(one.element)), -1),
    )


def _cut(body: Element, elements: Iterable[Element]) -> list[Element]:
    found = []
    for one in elements:
        if body in ancestors(one):
            one.drop_tree()
            found.append(one)
    return found


def _find_title(body: Element, known: list[str]) -> Element | None:
    """The heading of the page: of all headings and elements called a title the one that its names confirm."""
    best, best_score = None, 0
    for one in body.iter("h1", "h2", "div", "span", "p"):
        if one.tag not in ("h1", "h2") and not (len(one) < 3 and CALLED["title"] & named(one)):
            continue
        words, around = words_of(one).casefold(), list(ancestors(one))
        if not 2 <= len(words) <= 400 or any(up.tag in ("a", "nav", "footer", "aside") for up in around):
            continue
        confirmed = any(words in title or title in words for title in known)
        framed = any(up.tag == "header" and up.getparent() is body for up in around)
        score = 4 * (one.tag == "h1") + 3 * confirmed - 3 * framed
        if score > best_score:
            best, best_score = one, score
    return best


def named(*elements: Element) -> frozenset[str]:
    """The words that elements are called by: ``priceNow-main`` is price, now and main."""
    return frozenset(word for one in elements for word in _naming(one).split())


def _naming(element: Element) -> str:
    names = ((element.get(one) or "")[:300] for one in ("class", "id", "itemprop", "data-testid", "aria-label"))
    return " ".join(_WORD.findall(" ".join(names))).lower()


def words_of(element: Element) -> str:
    return " ".join(line.text for line in lines_of(element))


def ancestors(element: Element, most: int = 10_000) -> Iterator[Element]:
    """The element itself, then those around it, nearest first."""
    return islice(chain((element,), element.iterancestors()), most)


def lines_of(root: Element) -> Iterator[Line]:
    """The lines of a tree, walked without recursion: however deep it is, it is read."""
    import lxml.etree

    pieces: list[str] = []
    owner, place = root, 0
    for event, element in [*lxml.etree.iterwalk(root, events=("start", "end", "comment", "pi")), ("end", None)]:
        if event in ("start", "end") and (element is None or element.tag in CALLED["blocks"]):
            text = " ".join("".join(pieces).split())[:MAX_LINE_CHARS]
            pieces = []
            if text:
                yield Line(text=text, element=owner, place=place)
                place += 1
            if element is None or place > MAX_LINES:
                return
        said = element.text if event == "start" else element.tail if element is not root else ""
        if said:
            if event == "start" and element.tag == "sup" and re.search(r"\d \d\d$", f"{''.join(pieces[-1:])} {said}"):
                said = f".{said}"
            if said.strip() and not "".join(pieces).strip():
                owner = element if event == "start" else element.getparent()
            # Words of neighbouring elements are words of their own.
            apart = event == "start" and said[0].isupper() and pieces and pieces[-1][-1:].isalpha()
            pieces.append(f" {said}" if apart else said)


def _outside(body: Element, holders: Collection[Element]) -> tuple[list[Element], list[Element]]:
    """The elements that are no part of the product's, by tag, role, name and heading; and those of reviews."""
    outside: list[Element] = []
    reviews: list[Element] = []
    for one in body.iter("*"):
        if one in holders:
            continue
        called = _naming(one)
        promoted = one.tag not in CALLED["inline"] and SAID["promoted"].search(called) and "price" not in called.split()
        framed = {one.tag, one.get("role")} & CALLED["frames"] or one.get("hidden") is not None
        framed = framed or (one.tag == "header" and one.getparent() is body)
        if framed or promoted or SAID["hidden"].search(one.get("style") or ""):
            outside.append(one)
        elif one.tag in ("div", "section", "ul", "ol") and SAID["reviews"].search(called):
            # One that is called after reviews may hold their mean alone.
            reviews += [one] if one.find(".//li") is not None or len(words_of(one)) > 120 else []
        claim = one.tag in ("div", "p", "span", "b", "strong") and not len(one) and (one.get("class") or one.get("id"))
        if (claim and not any(up.tag == "a" for up in ancestors(one, 4))) or re.fullmatch("h[2-5]", one.tag):
            said = words_of(one)[:160]
            if len(said) <= 60 and SAID["promoting"].match(said):
                outside += _section(one, holders, promoted=True)
            if len(said) <= 60 and SAID["reviews_heading"].match(said):
                reviews += _section(one, holders, promoted=False)
    return outside, reviews


def _section(heading: Element, holders: Collection[Element], *, promoted: bool) -> list[Element]:
    """What a heading is over: it, and what follows it or the block that holds it alone, up to the next heading."""
    block = heading
    while (parent := block.getparent()) not in holders and parent.tag != "body" and words_of(parent) == words_of(block):
        block = parent
    if parent.tag == "section" and parent not in holders and next(filter(words_of, parent), None) is block:
        return [parent]
    found = [block]
    for one in block.itersiblings("*"):
        if one in holders or re.fullmatch(r"h[1-4]", one.tag):
            break
        # Promoted products are links; where they end without another heading, the product goes on.
        if promoted and one.tag != "a" and one.find(".//a") is None and words_of(one):
            break
        found.append(one)
    return found


def _tiles(body: Element, url: str, holders: Collection[Element]) -> Iterator[Tile]:
    tiled: set[Element] = set()
    for link in list(body.iter("a"))[:MAX_TILES]:
        href = (link.get("href") or "").partition("#")[0]
        target, path = joined(url, href)
        if not href or not target or path == joined(url, "")[1]:
            continue
        for up in ancestors(link, 6):
            words = words_of(up)
            if up in holders or up.tag in ("body", "main", "html") or up in tiled or len(words) > 600:
                break
            if find_prices(words):
                like = [one for one in up.getparent() if (one.tag, one.get("class")) == (up.tag, up.get("class"))]
                several = sum(one.find(".//a") is not None for one in like) > 1
                links = {one.get("href") for one in up.iter("a")}
                pictured = len(links) == 1 and link.find(".//img") is not None
                if up is link or pictured or (several and len(links) <= 3):
                    tiled.add(up)
                    yield Tile(url=target, text=words, element=up)
                break
