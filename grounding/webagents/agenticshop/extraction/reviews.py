"""What customers wrote, as far as it can be read on the page: marked as reviews, or repeated under such a heading."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from grounding.webagents.agenticshop.extraction.dom import Document, ancestors, named_words, words_of
from grounding.webagents.agenticshop.extraction.ratings import rating_in_words
from grounding.webagents.agenticshop.extraction.regions import Regions
from grounding.webagents.agenticshop.records import CustomerReview

if TYPE_CHECKING:
    Element = Any

MAX_REVIEWS = 200
MAX_TEXT_CHARS = 5_000
_BODY = frozenset(["body", "text", "content", "comment", "description", "message", "review"])
_TITLE = frozenset(["title", "headline", "heading", "summary", "subject"])
_AUTHOR = frozenset(
    [
        "author",
        "name",
        "user",
        "date",
        "time",
        "meta",
        "by",
        "verified",
        "helpful",
        "avatar",
        "location",
        "badge",
        "reviewer",
        "footer",
    ]
)
_STARS = frozenset(["rating", "stars", "star", "score"])
_ITEM = frozenset(["item", "card", "entry", "single", "row", "block", "box"])
_NOT_ONE = frozenset(
    [
        "reviews",
        "list",
        "summary",
        "average",
        "overview",
        "header",
        "histogram",
        "distribution",
        "count",
        "link",
        "total",
        "form",
    ]
)
_STAMP = re.compile(
    r"^(?:by .{1,60}|.{0,40}\b(?:19|20)\d\d\b.{0,20}|verified (?:purchase|buyer)|\d+ (?:people|person)\b.*|"
    r"was this\b.{0,40}|(?:report|reply|share|helpful|yes|no|read more|show more|load more|more reviews)\W*\d*\W*)$",
    re.IGNORECASE,
)
_CONTROL = frozenset(("button", "form", "input", "textarea", "label", "select"))


def review_elements(regions: Regions) -> tuple[Element, ...]:
    """The elements of single reviews, outermost first, in the page's order.

    First those marked by ``itemprop`` or schema.org, then those called so, then the repeated children of a part of the
    page whose heading or name says reviews.
    """
    document = regions.document
    found = [
        one
        for one in document.body.iter()
        if one.get("itemscope") is not None
        and ("review" in (one.get("itemprop") or "").split() or (one.get("itemtype") or "").endswith("/Review"))
        and regions.role_of(one) in ("main", "reviews")
    ]
    if not found:
        found = [one for one in document.body.iter() if _is_called_review(one, regions)]
    if not found:
        found = _repeated(document, regions)
    within = set(found)
    return tuple(one for one in found if not any(up in within for up in list(ancestors(one))[1:]))[:MAX_REVIEWS]


def read_reviews(elements: tuple[Element, ...]) -> tuple[CustomerReview, ...]:
    """The words of each review; one without any is left out."""
    found = []
    for element in elements:
        one = _read(element)
        if one is not None and one not in found:
            found.append(one)
    return tuple(found)


def merged(page: tuple[CustomerReview, ...], data: tuple[CustomerReview, ...]) -> tuple[CustomerReview, ...]:
    """Those on the page, then those that only its data has; the same words are one review."""
    seen = {_plain(one.text) for one in page}
    return (*page, *(one for one in data if _plain(one.text) not in seen))[:MAX_REVIEWS]


def _plain(text: str) -> str:
    return re.sub(r"\W+", "", text).casefold()[:200]


def _is_called_review(element: Element, regions: Regions) -> bool:
    if element.tag not in ("li", "article", "div", "section", "blockquote", "figure", "tr"):
        return False
    if element.get("data-review") is not None or element.get("data-review-id") is not None:
        return regions.role_of(element) in ("main", "reviews")
    words = named_words(element)
    if "review" not in words and "testimonial" not in words and not ("reviews" in words and words & _ITEM):
        return False
    if words & (_BODY - {"review", "content", "comment"}) or words & (_NOT_ONE - {"reviews", "list"}):
        return False
    if "list" in words and not words & _ITEM:
        return False
    if regions.role_of(element) not in ("main", "reviews"):
        return False
    alike = [
        one for one in element.iter() if one is not element and named_words(one) >= words and one.tag == element.tag
    ]
    return not alike and len(words_of(element)) >= 12 and not _wraps_many(element)


def _wraps_many(element: Element) -> bool:
    """Whether an element called after a review is the whole part that they stand in."""
    children = Counter((one.tag, one.get("class") or "") for one in element if isinstance(one.tag, str))
    return any(count >= 2 and tag in ("li", "article", "blockquote") for (tag, _), count in children.items())


def _repeated(document: Document, regions: Regions) -> list[Element]:
    groups: dict[tuple[Element, str, str], list[Element]] = {}
    for element in document.body.iter("li", "article", "div", "blockquote", "section", "tr"):
        if regions.role_of(element) != "reviews" or len(words_of(element)) < 12:
            continue
        parent = element.getparent()
        groups.setdefault((parent, element.tag, element.get("class") or ""), []).append(element)
    best: list[Element] = []
    for (parent, _, _), group in groups.items():
        # A lone child is a review only where it is called one thing of a list.
        if len(group) < 2 and not (parent.tag in ("ul", "ol") or group[0].tag in ("article", "blockquote")):
            continue
        rated = [one for one in group if _rating(one) is not None or _long_text(one)]
        if len(rated) == len(group) and not any(set(ancestors(one)) & set(best) for one in group):
            best.extend(group)
    return best


def _long_text(element: Element) -> bool:
    return any(len(words_of(one)) >= 40 for one in element.iter("p", "q", "blockquote"))


def _read(element: Element) -> CustomerReview | None:
    title = _first(element, _TITLE, ("h2", "h3", "h4", "h5", "h6", "strong", "b"), ("name", "headline"))
    body = _body(element, title)
    if not body:
        return None
    return CustomerReview(text=body[:MAX_TEXT_CHARS], title=title[:300], rating=_rating(element))


def _first(element: Element, names: frozenset[str], tags: tuple[str, ...], props: tuple[str, ...]) -> str:
    for one in element.iter():
        marked = set((one.get("itemprop") or "").split())
        if marked & set(props) and not _within_author(one, element):
            return words_of(one)
    for one in element.iter():
        if one is not element and named_words(one) & names and not named_words(one) & _AUTHOR:
            return words_of(one)
    for one in element.iter(*tags):
        if (
            not named_words(one) & _AUTHOR
            and not _STAMP.match(words_of(one))
            and rating_in_words(words_of(one)) is None
        ):
            return words_of(one)
    return ""


def _within_author(one: Element, top: Element) -> bool:
    for up in ancestors(one):
        if up is top:
            return False
        if "author" in (up.get("itemprop") or "") or named_words(up) & {"author", "reviewer", "user"}:
            return True
    return False


def _body(element: Element, title: str) -> str:
    for one in element.iter():
        if {"reviewBody", "description"} & set((one.get("itemprop") or "").split()):
            return words_of(one) or (one.get("content") or "")
    called = [
        one
        for one in element.iter("p", "div", "span", "q", "blockquote", "td", "dd")
        if one is not element and named_words(one) & _BODY and not named_words(one) & (_AUTHOR | _TITLE | _STARS)
    ]
    texts = [words_of(one) for one in called] or [
        words_of(one) for one in element.iter("p", "q", "blockquote", "dd") if not named_words(one) & (_AUTHOR | _STARS)
    ]
    texts = [text for text in texts if text and text != title and not _STAMP.match(text) and not _only_stars(text)]
    if texts and not called:
        return " ".join(texts)
    if texts:
        return max(texts, key=len).removeprefix(title).strip()
    return _own_words(element, title)


def _only_stars(text: str) -> bool:
    return len(text) <= 30 and rating_in_words(f"rated {text}") is not None


def _own_words(element: Element, title: str) -> str:
    """What is left of an element without its title, stars, names and controls."""
    kept = []
    for one in element.iter():
        if not isinstance(one.tag, str) or any(up.tag in _CONTROL for up in ancestors(one, most=4)):
            continue
        outside = any(named_words(up) & (_AUTHOR | _STARS) for up in ancestors(one, most=3) if up is not element)
        own = " ".join(" ".join(filter(None, [one.text, *(child.tail for child in one)])).split())
        if own and own != title and not outside and not _STAMP.match(own) and rating_in_words(own) is None:
            kept.append(own)
    return " ".join(kept) if sum(map(len, kept)) >= 8 else ""


def _rating(element: Element) -> float | None:
    for one in element.iter():
        if "ratingValue" in (one.get("itemprop") or "").split():
            said = (one.get("content") or words_of(one)).strip()
            best = next(
                (up.get("content") for up in element.iter() if "bestRating" in (up.get("itemprop") or "").split()), "5"
            )
            return rating_in_words(f"rated {said} out of {best}") or rating_in_words(words_of(one))
    for one in element.iter():
        for name in ("aria-label", "title", "alt", "data-rating", "data-score", "data-stars"):
            said = one.get(name) or ""
            value = rating_in_words(f"rated {said}" if name.startswith("data-") else said) if said else None
            if value is not None:
                return value
        width = re.search(r"width\s*:\s*(\d{1,3}(?:\.\d+)?)\s*%", one.get("style") or "")
        if width is not None and any(named_words(up) & _STARS for up in ancestors(one, most=3)):
            return round(float(width[1]) / 20, 2) if 0 < float(width[1]) <= 100 else None
    text = words_of(element)[:200]
    full = re.search("[★☆]{5}", text)
    if full is not None:
        # In one review five full stars are a rating, where those of a whole page may be a drawing.
        return float(full[0].count("★")) or None
    # Within a review "4/5" counts stars, where it may count pictures elsewhere.
    return rating_in_words(text) or rating_in_words(f"rating {text}")
