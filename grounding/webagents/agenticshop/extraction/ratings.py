"""Stars and their numbers: ratings in words, labels, glyphs and widths, out of five, and how many people gave them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from grounding.records import Record
from grounding.webagents.agenticshop.extraction.described import out_of_five
from grounding.webagents.agenticshop.extraction.dom import Line, ancestors, named_words
from grounding.webagents.agenticshop.extraction.price import BREAK
from grounding.webagents.agenticshop.extraction.regions import Regions

if TYPE_CHECKING:
    Element = Any

_OF = re.compile(
    r"(?<![\d.,])(?P<value>\d{1,2}(?:[.,]\d{1,2})?)\s*(?:stars?\s*)?(?P<how>out of|von|sur|of|/)\s*(?P<best>5|"
    r"10|100)(?:\.0)?(?![\d.,]*\d)",
    re.IGNORECASE,
)
_CALLED = re.compile(r"stars?|rated|rating|score|review|★|☆|sterne|étoiles|bewert", re.IGNORECASE)
_STARS = re.compile(r"(?<![\d.,])(?P<value>[0-5](?:[.,]\d{1,2})?)[\s-]*(?:stars?|sterne|étoiles)\b", re.IGNORECASE)
_RATED = re.compile(
    r"\b(?:rated|rating|average|score)\b\s*:?\s*(?P<value>[0-5](?:[.,]\d{1,2})?)(?![\d.,]*[\d%])", re.IGNORECASE
)
_GLYPHS = re.compile(r"[★☆⯨⯪✭✮]{5}")
_AND_GLYPH = re.compile(
    r"(?<![\d.,$€£])(?P<value>[0-5][.,]\d{1,2})\s*[★⭐]|[★⭐]+\s*(?P<later>[0-5][.,]\d{1,2})(?![\d])"
)
_BESIDE_COUNT = re.compile(
    r"(?<![\d.,$€£])(?P<value>[0-5][.,]\d{1,2})[\s\u200b]*\(\s*\d[\d.,\s]*[kK]?\s*(?:\)|[a-z])", re.I
)
_ALONE = re.compile(r"^\s*(?P<value>[0-5](?:[.,]\d{1,2})?)\s*$")
_WIDTH = re.compile(r"width\s*:\s*(?P<percent>\d{1,3}(?:\.\d+)?)\s*%", re.IGNORECASE)
_VARIABLE = re.compile(r"--[a-z-]*rating[a-z-]*\s*:\s*(?P<value>[0-5](?:\.\d{1,2})?)", re.IGNORECASE)
_NUMBER = r"(?P<count>\d{1,3}(?:[.,\u00a0\u202f]\d{3})+|\d+(?:[.,]\d+)?\s?[kK]\b|\d{1,8})"
_COUNT = re.compile(
    rf"(?<![\d.,$€£/]){_NUMBER}\s*\+?\s*(?:[A-Za-z]+\s+){{0,2}}?(?P<of>ratings?|reviews?|bewertungen|avis|opinions|"
    rf"customers? reviews?)\b",
    re.IGNORECASE,
)
_COUNT_AFTER = re.compile(
    rf"\b(?P<of>ratings?|reviews?|bewertungen|avis)\s*[:(]\s*{_NUMBER}\s*\)?(?![\d.,/%]|\s*(?:/|out|of))", re.I
)
_BASED = re.compile(
    rf"\b(?:based on|from|by)\s+{_NUMBER}\s*(?P<of>ratings?|reviews?|customers?|people)\b",
    re.IGNORECASE,
)
_PARENTHESES = re.compile(r"\(\s*(?P<count>\d{1,3}(?:[.,]\d{3})+|\d{1,7})\s*\)")
_NONE_YET = re.compile(
    r"\b(?:no (?:customer )?(?:reviews|ratings)(?: yet)?|not (?:yet )?(?:rated|reviewed)|"
    r"be the first to (?:write|review))",
    re.IGNORECASE,
)
_RATING_NAMES = frozenset(["rating", "ratings", "stars", "star", "score", "bewertung"])
_HISTOGRAM = re.compile(
    r"\b[1-5] stars?\b.{0,20}\b\d{1,3}\s?%|\bstars?\s*\d{1,3}\s?%|^\s*[1-5] stars?\s*$", re.IGNORECASE
)


class Rating(Record, frozen=True, kw_only=True):
    """What is said of ratings at one place: out of five, how many, of which kind, and the words."""

    value: float | None = None
    ratings: int | None = None
    reviews: int | None = None
    quote: str = ""
    none_yet: bool = False

    @property
    def count(self) -> int | None:
        """Ratings where they are counted, else reviews."""
        return self.ratings if self.ratings is not None else self.reviews


def rating_in_words(text: str) -> float | None:
    """The rating that a text states, out of five; None where it states none."""
    text = _in_digits(text.replace(BREAK, " ")[:400])
    for scaled in _OF.finditer(text):
        # "1 / 5" may count pictures; a rating has a fraction or is called one.
        if scaled["how"] not in ("/", "of") or re.search(r"[.,]", scaled["value"]) or _CALLED.search(text):
            return out_of_five(_decimal(scaled["value"]), float(scaled["best"]))
    glyphs = _GLYPHS.search(text)
    drawn = _glyph_value(glyphs[0]) if glyphs is not None else None
    if drawn is not None:
        return drawn
    for pattern in (_STARS, _AND_GLYPH, _RATED, _BESIDE_COUNT):
        match = pattern.search(text)
        if match is not None:
            said = match["value"] or match.groupdict().get("later") or ""
            return out_of_five(_decimal(said), 5.0)
    return None


_WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "ten": 10}
_SPELLED = re.compile(r"\b(?P<number>one|two|three|four|five|ten)(?P<half> and a half)?\b", re.IGNORECASE)


def _in_digits(text: str) -> str:
    """Spelled numbers as digits where a text speaks of stars: "four and a half stars out of five"."""
    if not _CALLED.search(text):
        return text
    return _SPELLED.sub(lambda match: f"{_WORDS[match['number'].lower()]}{'.5' if match['half'] else ''}", text)


def _glyph_value(glyphs: str) -> float | None:
    """Full and half stars out of five; five full ones may be a drawing that a style cuts, and say nothing alone."""
    full = sum(glyph in "★✭" for glyph in glyphs)
    half = sum(glyph in "⯨⯪✮" for glyph in glyphs)
    return None if full == 5 else full + half / 2 or None


def counts_in_words(text: str) -> tuple[int | None, int | None]:
    """How many ratings and how many reviews a text counts."""
    # What elements set apart is no number together: "out of 5" and "312 reviews".
    text = text.replace(BREAK, " | ")[:400]
    found: dict[str, int] = {}
    for pattern in (_BASED, _COUNT, _COUNT_AFTER):
        for match in pattern.finditer(text):
            count = _whole(match["count"])
            kind = "ratings" if match["of"].lower()[:3] in ("rat", "cus", "peo") else "reviews"
            if match["of"].lower().startswith("customer review"):
                kind = "reviews"
            if count is not None:
                found.setdefault(kind, count)
    return found.get("ratings"), found.get("reviews")


def page_rating(regions: Regions, review_items: frozenset[Element]) -> Rating:
    """The product's rating as the page shows it: never that of a single review or another product.

    Args:
        regions: The page.
        review_items: The elements of single reviews.
    """
    found: list[tuple[int, Rating]] = []
    for element, words in _places(regions):
        if any(up in review_items for up in ancestors(element)):
            continue
        role = regions.role_of(element)
        if role not in ("main", "reviews") or _HISTOGRAM.search(words):
            continue
        value = _value_of(element, words)
        ratings, reviews = counts_in_words(words)
        if value is not None and ratings is None and reviews is None and _is_rating(element):
            alone = _PARENTHESES.search(words)
            reviews = _whole(alone["count"]) if alone else None
        none_yet = bool(_NONE_YET.search(words))
        if value is None and ratings is None and reviews is None and not none_yet:
            continue
        one = Rating(
            value=value, ratings=ratings, reviews=reviews, quote=" ".join(words.split())[:160], none_yet=none_yet
        )
        found.append((0 if role == "main" else 1, one))
    return _together([one for _, one in sorted(found, key=lambda pair: pair[0])])


def _together(found: list[Rating]) -> Rating:
    """The first value and the first counts, which often stand in neighbouring elements."""
    value = next((one for one in found if one.value is not None), None)
    ratings = next((one for one in found if one.ratings is not None), None)
    reviews = next((one for one in found if one.reviews is not None), None)
    nothing = next((one for one in found if one.none_yet), None)
    if nothing is not None and value is None and not (ratings and ratings.ratings):
        return Rating(ratings=0, quote=nothing.quote, none_yet=True)
    quotes = dict.fromkeys(one.quote for one in (value, ratings, reviews) if one is not None)
    return Rating(
        value=value.value if value else None,
        ratings=ratings.ratings if ratings else None,
        reviews=reviews.reviews if reviews else None,
        quote=" | ".join(quotes),
    )


def _places(regions: Regions) -> list[tuple[Element, str]]:
    """Every place that may speak of stars, in the page's order: labels and widths of elements, and lines."""
    document = regions.document
    lines: dict[Element, list[Line]] = {}
    for line in document.lines:
        lines.setdefault(line.element, []).append(line)
    found: list[tuple[Element, str]] = []
    for element in document.body.iter():
        for name in ("aria-label", "title", "alt", "data-rating", "data-score", "data-stars"):
            said = element.get(name)
            if said and len(said) < 120:
                alone = _ALONE.match(said) and name.startswith("data-")
                found.append((element, f"rated {said}" if alone else said))
        style = element.get("style") or ""
        if "%" in style or "--" in style:
            found.extend(_of_style(element, style))
        # A line is what its first words are called, which may be a span in an unnamed block.
        found.extend((line.owner(0), line.text) for line in lines.get(element, ()) if len(line.text) < 300)
    return found


def _of_style(element: Element, style: str) -> list[tuple[Element, str]]:
    """Stars drawn by a width: only where they are called so, and no bar of a histogram."""
    around = list(ancestors(element, most=4))
    called = frozenset().union(*(named_words(one) for one in around))
    if not called & _RATING_NAMES or called & {
        "bar",
        "bars",
        "histogram",
        "distribution",
        "progress",
        "breakdown",
        "meter",
    }:
        return []
    variable = _VARIABLE.search(style)
    if variable is not None:
        return [(element, f"rated {variable['value']}")]
    width = _WIDTH.search(style)
    if width is None or not 0 < float(width["percent"]) <= 100:
        return []
    return [(element, f"{float(width['percent']) / 20:.2f} out of 5")]


def _value_of(element: Element, words: str) -> float | None:
    value = rating_in_words(words)
    if value is None and _is_rating(element):
        value = rating_in_words(f"rating {words}") if _OF.search(words) else None
    if value is None and _is_rating(element):
        alone = _ALONE.match(words.replace(BREAK, " ")) or re.match(
            r"^\W*(?P<value>[0-5][.,]\d)\b(?!\s*%)", words.replace(BREAK, " ")
        )
        value = out_of_five(_decimal(alone["value"]), 5.0) if alone else None
    return value


def _is_rating(element: Element) -> bool:
    return any(named_words(one) & _RATING_NAMES for one in ancestors(element, most=3))


def _decimal(said: str) -> float:
    return float(said.replace(",", "."))


def _whole(said: str) -> int | None:
    plain = said.strip().lower()
    if plain.endswith("k"):
        return round(float(plain[:-1].strip().replace(",", ".")) * 1000)
    digits = re.sub(r"\D", "", plain)
    return int(digits) if digits and len(digits) <= 9 and not re.fullmatch(r"\d+[.,]\d{1,2}", plain) else None
