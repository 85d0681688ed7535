"""What can be counted in a purchase history without any model. Pure functions for the rules of ``template``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from statistics import median

from grounding.records import Record
from grounding.webagents.rawusers import RawProduct, RawReview, details_of

LOOKS = ("Color", "Style", "Pattern", "Theme", "Shape", "Finish Type", "Material")
"""Details that tell how a product looks."""

NO_FUNCTIONS = frozenset(
    {"Brand", "Manufacturer", "UPC", "ASIN", "Item model number", "Part Number", "Date First Available"}
    | {"Is Discontinued By Manufacturer", "Product Dimensions", "Package Dimensions", "Best Sellers Rank"}
    | {"Item Package Dimensions L x W x H", "Package Weight", "Item Dimensions LxWxH", "Item Dimensions  LxWxH"}
    | {"Units", "Number of Items", "Unit Count", "Country of Origin", "Department", "Brand Name", "Model Name"}
    | {"Customer Reviews", "Item Weight"}
)
"""Details that no shopper asks for, or that differ from product to product."""

TOPICS = {
    "delivery": r"shipp\w*|deliver\w*|arriv\w*",
    "packaging": r"packag\w*|packed|box(?:es)?|wrapp\w*",
    "returns": r"return\w*|refund\w*|exchange\w*",
    "sellers": r"seller\w*|vendor\w*|customer service",
}
"""Words by which a review speaks of the shopping itself."""

_MARKUP = re.compile(r"<[^>]{1,40}>|&#?\w{1,8};")
_MOST_VALUE_CHARS = 40


class Facts(Record, frozen=True, kw_only=True):
    """Counts over a history, most frequent first. ``prices_usd``, ``averages`` and ``ratings`` are sorted.

    ``averages`` are products' average ratings, ``ratings`` how many each rests on; ``stars`` is the user's mean rating
    by brand.
    """

    purchases: int
    brands: tuple[tuple[str, int], ...]
    stars: dict[str, float]
    prices_usd: tuple[float, ...]
    averages: tuple[float, ...]
    ratings: tuple[int, ...]
    functions: tuple[tuple[str, str, int], ...]
    looks: tuple[tuple[str, str, int], ...]
    topics: tuple[tuple[str, int], ...]


def facts_of(history: Sequence[RawReview]) -> Facts:
    """Count what a history says."""
    products = [review.product for review in history]
    brands = Counter(brand_of(product) for product in products if brand_of(product))
    stars: dict[str, list[float]] = {}
    for review in history:
        if brand_of(review.product) and review.user_rating is not None:
            stars.setdefault(brand_of(review.product), []).append(review.user_rating)
    values = Counter(pair for product in products for pair in _named(product))
    prices = sorted(price for product in products if (price := price_usd(product)) is not None)
    texts = [f"{review.user_review_title or ''} {review.user_review or ''}" for review in history]
    speaks = {name: re.compile(rf"\b(?:{words})\b", re.I) for name, words in TOPICS.items()}
    topics = Counter({name: sum(bool(words.search(text)) for text in texts) for name, words in speaks.items()})
    return Facts(
        purchases=len(history),
        brands=tuple(brands.most_common()),
        stars={brand: sum(given) / len(given) for brand, given in stars.items()},
        prices_usd=tuple(prices),
        averages=tuple(sorted(one.average_rating for one in products if one.average_rating is not None)),
        ratings=tuple(sorted(one.rating_number for one in products if one.rating_number is not None)),
        functions=tuple((*pair, count) for pair, count in values.most_common() if pair[0] not in LOOKS),
        looks=tuple((*pair, count) for pair, count in values.most_common() if pair[0] in LOOKS),
        topics=tuple((name, count) for name, count in topics.most_common() if count),
    )


def brand_of(product: RawProduct) -> str:
    """The brand in the details, else the store; "" where neither is."""
    named = details_of(product).get("Brand")
    brand = named if isinstance(named, str) and named.strip() else product.store or ""
    return " ".join(brand.split())


def price_usd(product: RawProduct) -> float | None:
    """The price as a number; None where it is not known."""
    found = re.search(r"\d+(?:\.\d+)?", str(product.price or "").replace(",", ""))
    return float(found[0]) if found else None


def middle(values: Sequence[float]) -> float | None:
    """The median; None of nothing."""
    return median(values) if values else None


def plain(text: str) -> str:
    """A text without markup, in single blanks."""
    return " ".join(_MARKUP.sub(" ", text).split())


def features_of(product: RawProduct) -> list[str]:
    """What tells a product from others of its brand: its details in few words, without numbers and names."""
    return [value for _, value in _named(product) if not any(letter.isdigit() for letter in value)]


def _named(product: RawProduct) -> list[tuple[str, str]]:
    """Details with a short text as their value."""
    pairs = []
    for name, value in details_of(product).items():
        if name in NO_FUNCTIONS or not isinstance(value, str):
            continue
        text = plain(value)
        if text and len(text) <= _MOST_VALUE_CHARS and "," not in text:
            pairs.append((name, text.lower()))
    return pairs
