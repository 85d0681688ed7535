"""The forms that a product comes in: options of a choice, radio buttons, swatches; and how many pictures it has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from grounding.webagents.agenticshop.extraction.buying import is_buying
from grounding.webagents.agenticshop.extraction.dom import ancestors, named_words, naming, words_of
from grounding.webagents.agenticshop.extraction.price import find_prices, money, parse_money
from grounding.webagents.agenticshop.extraction.regions import Regions
from grounding.webagents.agenticshop.records import Availability, Money, Variant

if TYPE_CHECKING:
    Element = Any

MAX_VARIANTS = 100

_QUANTITY = re.compile(
    r"\b(?:qty|quantity|menge|amount|sort|order by|country|currency|language|rating|filter|per page|ship to)\b"
)
_PLACEHOLDER = re.compile(
    r"^(?:[-\u2013—.\s]*|(?:please )?(?:choose|select|pick)\b.*|size|colou?r|options?)$", re.IGNORECASE
)
_OUT = re.compile(r"\b(?:sold.?out|out of stock|unavailable|not available|ausverkauft)\b", re.IGNORECASE)
_SWATCH = frozenset(
    [
        "swatch",
        "swatches",
        "variant",
        "variants",
        "option",
        "options",
        "size",
        "sizes",
        "color",
        "colors",
        "colour",
        "colours",
        "choice",
        "pill",
    ]
)
_NOT_SWATCH = frozenset(
    [
        "quantity",
        "qty",
        "tab",
        "tabs",
        "thumb",
        "thumbnail",
        "thumbnails",
        "gallery",
        "shipping",
        "delivery",
        "payment",
        "rating",
    ]
)
_DELTA = re.compile(r"\(?\s*[+\u2212-]\s*$")
_GALLERY = frozenset(
    [
        "gallery",
        "carousel",
        "slider",
        "slides",
        "thumbs",
        "thumbnails",
        "thumb",
        "images",
        "photos",
        "pictures",
        "media",
        "hero",
        "slide",
    ]
)
_SMALL = re.compile(
    r"\b(?:icon|logo|sprite|pixel|payment|flag|avatar|badge|star|rating|swatch|spacer|loading|placeholder)\b"
)
_SIZE_IN_NAME = re.compile(
    r"(?:[-_.](?:\d{2,4}x\d{0,4}|x\d{2,4}|thumb(?:nail)?|small|medium|large|xl|zoom|mini|preview|[smlt]|"
    r"\d{2,4}w|@\dx))+$",
    re.I,
)


def variants(regions: Regions, hint: str) -> tuple[Variant, ...]:
    """All forms that can be chosen, in the page's order."""
    body = regions.document.body
    found: list[Variant] = []
    for select in body.iter("select"):
        if _outside(select, regions) or _QUANTITY.search(
            f"{naming(select)} {(select.get('aria-label') or '').lower()}"
        ):
            continue
        options = [_option(one, hint) for one in select.iter("option")]
        named = [one for one in options if one is not None]
        if named and not all(re.fullmatch(r"\d{1,3}\+?", one.name) for one in named):
            found.extend(named)
    found.extend(_radios(regions, hint))
    if not found:
        found.extend(_swatches(regions, hint))
    kept = {one.name.casefold(): one for one in reversed(found)}
    return tuple(reversed(kept.values()))[:MAX_VARIANTS] if len(kept) >= 2 else ()


def _outside(element: Element, regions: Regions) -> bool:
    """Whether a choice is not in the product's part; a choice has a role of its own, so its block is asked."""
    parent = element.getparent()
    while parent is not None and regions.role_of(parent) == "choice":
        parent = parent.getparent()
    return parent is not None and regions.role_of(parent) != "main"


def _option(element: Element, hint: str) -> Variant | None:
    words = words_of(element)
    if not words or _PLACEHOLDER.match(words):
        return None
    return _variant(words, element, hint, disabled=element.get("disabled") is not None)


def _variant(words: str, element: Element, hint: str, *, disabled: bool) -> Variant | None:
    price = _stated_price(element, hint) or _price_in(words, hint)
    out = disabled or bool(_OUT.search(words))
    name = _bare_name(words)
    if not name:
        return None
    availability: Availability = "sold_out" if out else "unknown"
    return Variant(name=name[:120], price=price, availability=availability)


def _price_in(words: str, hint: str) -> Money | None:
    """A price in an option's words; what is only added to another is none."""
    prices = find_prices(words)
    if len(prices) != 1 or _DELTA.search(words[: prices[0].start]):
        return None
    return money(prices[0], hint)


def _stated_price(element: Element, hint: str) -> Money | None:
    said = (element.get("data-price") or "")[:40]
    return parse_money(said, hint) if said and (hint or find_prices(said)) and not said.startswith(("+", "-")) else None


def _bare_name(words: str) -> str:
    prices = find_prices(words)
    delta = bool(prices) and bool(_DELTA.search(words[: prices[0].start]))
    name = words if delta or not prices else words[: prices[0].start] + words[prices[-1].end :]
    name = _OUT.sub("", name)
    return re.sub(r"\(\s*\)|\s+", " ", name).strip(" -\u2013—:|·,(").replace("( )", "").strip()


def _radios(regions: Regions, hint: str) -> list[Variant]:
    found = []
    labels = {one.get("for"): one for one in regions.document.body.iter("label") if one.get("for")}
    for radio in regions.document.body.iter("input"):
        if radio.get("type") != "radio" or regions.role_of(radio) != "main":
            continue
        if _QUANTITY.search(naming(radio)) or named_words(radio) & _NOT_SWATCH:
            continue
        label = next((up for up in ancestors(radio, most=4) if up.tag == "label"), labels.get(radio.get("id")))
        words = words_of(label) if label is not None else (radio.get("aria-label") or radio.get("value") or "")
        one = _variant(words, radio, hint, disabled=radio.get("disabled") is not None) if words else None
        if one is not None and len(words) <= 160:
            found.append(one)
    return found


def _swatches(regions: Regions, hint: str) -> list[Variant]:
    found = []
    for element in regions.document.body.iter("button", "li", "a", "div", "span"):
        if regions.role_of(element) != "main" or (element.tag == "button" and is_buying(element)):
            continue
        called = named_words(element)
        parent = element.getparent()
        pressed = element.get("aria-pressed") is not None or element.get("role") in ("radio", "option")
        pressed = pressed or (element.get("role") == "button" and bool(named_words(parent) & _SWATCH))
        if called & _NOT_SWATCH or not (pressed or (element.tag == "button" and called & _SWATCH)):
            continue
        words = words_of(element) or (element.get("aria-label") or element.get("title") or "")
        if not words or len(words) > 100 or _QUANTITY.search(words.lower()):
            continue
        disabled = element.get("disabled") is not None or element.get("aria-disabled") == "true"
        one = _variant(
            words, element, hint, disabled=disabled or bool(called & {"disabled", "unavailable", "gone", "soldout"})
        )
        if one is not None:
            found.append(one)
    return found


def picture_count(regions: Regions, title: str, in_data: int | None) -> int | None:
    """How many different pictures of the product there are: of its gallery, else those called like it, else in data."""
    gallery: dict[str, None] = {}
    called: dict[str, None] = {}
    words = set(title.casefold().split())
    for image in regions.document.body.iter("img"):
        if regions.role_of(image) != "main" or _SMALL.search(naming(image)):
            continue
        name = _picture_name(image)
        if not name or _SMALL.search(" ".join(re.split(r"\W+|_", name.lower()))):
            continue
        if any(named_words(up) & _GALLERY for up in ancestors(image, most=6)):
            gallery[name] = None
        said = set((image.get("alt") or "").casefold().split())
        if words and said and len(words & said) * 2 >= min(len(words), len(said)):
            called[name] = None
    return len(gallery) or len(called) or in_data


def _picture_name(image: Element) -> str:
    """The file's name without size, so that a thumbnail and its picture are one."""
    source = image.get("data-src") or image.get("data-zoom") or image.get("src") or ""
    if source.startswith("data:"):
        return ""
    path = unquote(urlsplit(source[:2_000]).path) if "\\" not in source else source
    stem = re.sub(r"\.(?:png|jpe?g|webp|gif|svg|avif)$", "", path.rsplit("/", 1)[-1], flags=re.IGNORECASE)
    return _SIZE_IN_NAME.sub("", stem) or stem
