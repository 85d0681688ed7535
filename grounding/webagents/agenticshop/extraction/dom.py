"""A kept document as lines of text with the elements they stand in: what everything else of this room reads.

The HTML is parsed, never run. Whether a line could be seen is known from the text that the browser kept beside it,
because style sheets are not read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grounding.webagents.agenticshop.extraction.price import BREAK
from grounding.webagents.agenticshop.extraction.structured import MAX_HTML_CHARS, encoded

if TYPE_CHECKING:
    Element = Any

MAX_LINES = 20_000
MAX_LINE_CHARS = 4_000
MAX_ATTRIBUTE_CHARS = 300

_DROPPED = frozenset(
    [
        "script",
        "style",
        "noscript",
        "template",
        "iframe",
        "frame",
        "object",
        "embed",
        "canvas",
        "video",
        "audio",
        "head",
        "math",
        "param",
        "source",
        "track",
    ]
)
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "button",
        "caption",
        "center",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "html",
        "label",
        "legend",
        "li",
        "main",
        "menu",
        "nav",
        "ol",
        "option",
        "optgroup",
        "p",
        "pre",
        "search",
        "section",
        "select",
        "summary",
        "table",
        "tbody",
        "td",
        "textarea",
        "tfoot",
        "th",
        "thead",
        "tr",
        "ul",
    ]
)
_CENTS = re.compile(r"cents?|fraction|decimals?|pennies", re.IGNORECASE)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_NAMING = ("class", "id", "itemprop", "data-testid", "data-test", "data-role", "data-component", "data-section", "name")


@dataclass(frozen=True, slots=True)
class Line:
    """A run of text that is not broken by a block. ``text`` has BREAK where elements meet without a blank.

    ``place`` counts the lines of the page. ``owners`` are the elements of its pieces, which begin at ``starts``.
    """

    text: str
    element: Element
    place: int
    starts: tuple[int, ...]
    owners: tuple[Element, ...]

    @property
    def words(self) -> str:
        """The text without marks, its white space made single blanks."""
        return " ".join(self.text.replace(BREAK, "").split())

    def owner(self, at: int) -> Element:
        """The element that a character belongs to."""
        found = self.element
        for start, element in zip(self.starts, self.owners, strict=True):
            if start > at:
                break
            found = element
        return found


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed page. ``body`` has no scripts, frames or comments any more; ``hidden`` are elements marked as unseen.

    ``frames`` are the addresses of its frames and scripts. ``meta`` are the ``name``d words of its head. ``visible`` is
    the browser's own text, squashed; "" where there is none to compare with.
    """

    body: Element
    lines: tuple[Line, ...]
    hidden: frozenset[Element]
    frames: tuple[str, ...]
    meta: dict[str, str]
    title: str
    language: str
    canonical: str
    visible: str

    def can_be_seen(self, text: str) -> bool:
        """Whether a piece of text is in what the browser showed; True where that is not known.

        Points and commas may differ: raised cents have none on the page, and get one here.
        """
        wanted = squashed(text)
        return not self.visible or wanted in self.visible or _bare(wanted) in _bare(self.visible)


def parse(html: str, *, text: str = "", text_cut: bool = False) -> Document | None:
    """Parse a page; None where there is nothing to parse.

    Args:
        html: The document after its scripts.
        text: What the browser showed of it, "" where that is not known.
        text_cut: Whether that is not all.
    """
    import lxml.etree
    import lxml.html

    if not html.strip():
        return None
    parser = lxml.html.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        root = lxml.html.document_fromstring(encoded(html[:MAX_HTML_CHARS]), parser=parser)
    except (lxml.etree.ParserError, ValueError):
        return None
    body = root.find("body")
    if body is None:
        return None
    frames = tuple(
        (one.get("src") or "")[:MAX_ATTRIBUTE_CHARS] for one in root.iter("iframe", "frame", "script") if one.get("src")
    )
    meta = {
        (one.get("name") or one.get("property") or "").lower(): one.get("content") or "" for one in root.iter("meta")
    }
    title = " ".join((root.findtext(".//title") or "").split())[:1_000]
    canonical = next((one.get("href") or "" for one in root.iter("link") if one.get("rel") == "canonical"), "")
    language = (root.get("lang") or "").lower()
    for one in list(body.iter(*_DROPPED)):
        if one.getparent() is not None:
            one.drop_tree()
    for drawing in list(body.iter("svg")):
        _keep_label_only(drawing)
    return Document(
        body=body,
        lines=tuple(_lines(body)),
        hidden=frozenset(one for one in body.iter() if _is_hidden(one)),
        frames=frames,
        meta=meta,
        title=title,
        language=language,
        canonical=canonical,
        visible="" if text_cut else squashed(text),
    )


def squashed(text: str) -> str:
    """A text without white space and marks, in one case: the browser's text has the case that style gives it."""
    return "".join(text.replace(BREAK, "").split()).casefold()


def _bare(text: str) -> str:
    return text.replace(".", "").replace(",", "")


def naming(element: Element) -> str:
    """What an element is called: class, id and the like, as one text in lower case."""
    said = " ".join((element.get(name) or "")[:MAX_ATTRIBUTE_CHARS] for name in _NAMING)
    return " ".join(_WORD.findall(said)).lower()


def named_words(element: Element) -> frozenset[str]:
    """The words that an element is called by: ``priceNow-main`` is price, now and main."""
    return frozenset(naming(element).split())


def words_of(element: Element) -> str:
    """All text of an element, pieces of blocks set apart."""
    return " ".join(line.words for line in _lines(element))


def ancestors(element: Element, *, most: int = 64) -> Iterator[Element]:
    """The element itself, then those around it, nearest first."""
    one: Element | None = element
    for _ in range(most):
        if one is None:
            return
        yield one
        one = one.getparent()


def _keep_label_only(drawing: Element) -> None:
    """A drawing says something by its label or title alone, such as a row of stars."""
    label = drawing.get("aria-label") or " ".join((drawing.findtext("title") or "").split())
    for child in list(drawing):
        drawing.remove(child)
    drawing.text = None
    if label:
        drawing.set("aria-label", label[:MAX_ATTRIBUTE_CHARS])


def _is_hidden(element: Element) -> bool:
    if element.get("hidden") is not None or _HIDDEN_STYLE.search(element.get("style") or ""):
        return True
    return (element.tag == "dialog" and element.get("open") is None) or (
        element.tag == "input" and element.get("type") == "hidden"
    )


class _Gathering:
    """The pieces of the line that is being read."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.starts: list[int] = []
        self.owners: list[Element] = []
        self.length = 0

    def add(self, piece: str, owner: Element) -> None:
        piece = " " + piece.lstrip() if piece[:1].isspace() else piece
        piece = piece.rstrip() + " " if piece[-1:].isspace() else piece
        if not piece or self.length > MAX_LINE_CHARS:
            return
        last = self.pieces[-1] if self.pieces else " "
        if not last[-1:].isspace() and not piece[:1].isspace() and self.owners and self.owners[-1] is not owner:
            # A price's cents often stand in an element of their own, raised instead of after a point.
            joint = "." if _is_cents(last, piece, owner) else BREAK
            self.pieces.append(joint)
            self.starts.append(self.length)
            self.owners.append(owner)
            self.length += 1
        self.pieces.append(piece)
        self.starts.append(self.length)
        self.owners.append(owner)
        self.length += len(piece)

    def line(self, element: Element, place: int) -> Line | None:
        text = "".join(self.pieces)[:MAX_LINE_CHARS]
        found = None
        if text.replace(BREAK, "").strip():
            found = Line(text=text, element=element, place=place, starts=tuple(self.starts), owners=tuple(self.owners))
        self.pieces, self.starts, self.owners, self.length = [], [], [], 0
        return found


def _is_cents(before: str, piece: str, owner: Element) -> bool:
    if not (len(piece.strip()) == 2 and piece.strip().isdigit() and before[-1:].isdigit()):
        return False
    return owner.tag == "sup" or bool(_CENTS.search(owner.get("class") or ""))


def _lines(root: Element) -> Iterator[Line]:
    """Walk a tree without recursion: however deep it is, it is read."""
    gathering = _Gathering()
    place = 0
    stack: list[tuple[Element, bool]] = [(root, False)]
    block = root
    while stack and place < MAX_LINES:
        element, leaving = stack.pop()
        if not isinstance(element.tag, str):
            continue
        is_block = element.tag in _BLOCKS or _is_tile(element)
        breaks = is_block or element.tag == "br"
        if breaks:
            line = gathering.line(block, place)
            if line is not None:
                yield line
                place += 1
        if leaving:
            parent = element.getparent()
            if breaks and parent is not None:
                block = _block_of(parent)
            if element.tail and element is not root:
                gathering.add(element.tail, parent)
            continue
        if is_block:
            block = element
        if element.text:
            gathering.add(element.text, element)
        stack.append((element, True))
        stack.extend((child, False) for child in reversed(element))
    line = gathering.line(root, place)
    if line is not None:
        yield line


def _block_of(element: Element) -> Element:
    return next((one for one in ancestors(element) if one.tag in _BLOCKS or _is_tile(one)), element)


def _is_tile(element: Element) -> bool:
    """Whether a link is a block of its own, as a product's tile is: around a picture or several elements."""
    return element.tag == "a" and (len(element) >= 2 or element.find(".//img") is not None)
