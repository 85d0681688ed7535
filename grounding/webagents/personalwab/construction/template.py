"""Profiles and instructions by rules, without any model: what counts and words of the reviews themselves show.

They make a shop that can be built and run on any machine. They are no replacement for a model's: demographics that
purchases don't show stay empty, and the instructions are a few sentence patterns with the products' own words.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, median

from grounding.webagents.personalwab.construction.records import Job, ProfileSubject
from grounding.webagents.personalwab.construction.sampling import chance_rank
from grounding.webagents.personalwab.construction.wording import Level
from grounding.webagents.personalwab.records import Behaviour, Product, Profile

VERSION = 1
MOST_BRANDS, MOST_INTERESTS, MOST_ASPECTS = 10, 5, 3
DETAILED_WORDS, BRIEF_WORDS = 80, 20
"""Mean words of a review from which a user is a thorough, and up to which a minimal talker."""

ASPECTS = {
    "Price": r"price|cheap|expensive|cost|money|value|deal|afford\w*",
    "Size": r"sizes?|small|large|big|tiny|fits?|length|tall|short",
    "Weight": r"weigh\w*|heavy|light(weight)?",
    "Material": r"materials?|fabric|cotton|leather|plastic|metal|steel|wood\w*|organic|ingredients?",
    "Brand": r"brands?",
    "Average Rating": r"stars?|ratings?",
    "Store": r"seller|store|shop",
    "Number of Ratings": r"reviews?",
}
_SEARCH = (
    "I'm looking for {kind}, something like {words}.",
    "Can you find me {kind}? I have {words} in mind.",
    "I need {kind}. It should be about {words}.",
    "Please search for {kind} with {words}.",
)
_RECOMMEND = (
    "Can you recommend something in {kind} that I might like?",
    "I'd like to try something new in {kind}. What would you suggest?",
    "Any ideas for {kind} that fit my taste? Surprise me.",
    "Could you suggest something around {kind} for me?",
)
_REVIEW = (
    "Please help me write a review. I give it {stars}. {thought}",
    "I want to write a review of this product, {stars}. {thought}",
    "Can you turn this into a review with {stars}? {thought}",
)
_EMPTY = frozenset(("and", "for", "the", "with", "from", "your", "you", "all", "set", "pack", "count", "ounce"))
_MARKUP = re.compile(r"<[^>]{1,40}>|&#?\w{1,8};|\[\[\w+:[^\]]{1,80}\]\]")


def template_profile(
    subject: ProfileSubject, products: Mapping[str, Product], usual_usd: Mapping[str, float]
) -> Profile:
    """A profile from what a user bought and how the user writes; empty where that shows nothing.

    Args:
        subject: The user.
        products: What was bought.
        usual_usd: The usual price by main category, from ``usual_prices``.
    """
    bought = [products[one.asin] for one in subject.behaviours]
    texts = [_plain(f"{one.review.title}. {one.review.text}") for one in subject.behaviours]
    kinds = Counter(kind_of(product) for product in bought)
    stores = Counter(product.store for product in bought if product.store)
    return Profile(
        gender=_gender(bought),
        occupation="Other",
        price_sensitivity=_price_sensitivity(bought, usual_usd),
        shopping_interest=", ".join(kind for kind, _ in kinds.most_common(MOST_INTERESTS)),
        brand_preference=", ".join(store for store, _ in stores.most_common(MOST_BRANDS)),
        diversity_preference=_level(len(kinds) / max(1, len(bought)), high=0.8, low=0.4),
        interaction_complexity=_talk(texts),
        tone_and_style=_tone(subject.behaviours, texts),
        item_reference=_reference(bought, texts),
        focus_aspect=", ".join(_aspects(texts)),
    )


def template_instruction(job: Job, profile: Profile, product: Product, *, words: int, seed: int) -> str:
    """An instruction of a job's type in at most so many words; seed and job choose the pattern."""
    chance = random.Random(chance_rank(seed, job.id))
    kind = kind_of(product)
    match job.type:
        case "search":
            text = chance.choice(_SEARCH).format(kind=kind, words=_hints(product, chance))
            focus = profile.focus_aspect.split(", ")[0].lower()
            wish = f" I care about {focus}." if focus else ""
            text += wish
        case "recommend":
            text = chance.choice(_RECOMMEND).format(kind=kind)
        case "review":
            review = job.behaviour.review
            stars = "no stars" if review.rating is None else f"{review.rating:g} of 5 stars"
            text = chance.choice(_REVIEW).format(stars=stars, thought=_plain(f"{review.title}. {review.text}"))
    return " ".join(text.split()[:words])


def kind_of(product: Product) -> str:
    """The narrowest category of a product."""
    return product.categories[-1] if product.categories else product.main_category or "products"


def _plain(text: str) -> str:
    return " ".join(_MARKUP.sub(" ", text).split())


def _hints(product: Product, chance: random.Random) -> str:
    """Up to three words of the title besides the brand, in its order: enough for a search, too few for the product."""
    known = set(_words(f"{product.store} {kind_of(product)}")) | _EMPTY
    once = [word for word in dict.fromkeys(_words(product.title)) if word not in known][:8]
    places = sorted(chance.sample(range(len(once)), min(3, len(once))))
    return " ".join(once[place] for place in places) or "good quality"


def _words(text: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Za-z][A-Za-z'-]{2,}", text)]


def _gender(bought: Sequence[Product]) -> str:
    """Whom clothes were made for, where one of the two is at least twice as frequent; else nothing."""
    words = Counter(word for product in bought for word in product.categories if word in ("Women", "Men"))
    for gender, mine, other in (("Female", "Women", "Men"), ("Male", "Men", "Women")):
        if words[mine] >= 2 and words[mine] >= 2 * words[other]:
            return gender
    return ""


def usual_prices(products: Iterable[Product]) -> dict[str, float]:
    """The median price in US dollars of each main category, over the products with a known price."""
    found: dict[str, list[float]] = {}
    for product in products:
        price = _usd(product)
        if price is not None:
            found.setdefault(product.main_category, []).append(price)
    return {category: median(prices) for category, prices in found.items()}


def _price_sensitivity(bought: Sequence[Product], usual_usd: Mapping[str, float]) -> Level:
    """By the share of purchases that cost less than is usual for their main category."""
    priced = [(price, usual_usd[product.main_category]) for product in bought if (price := _usd(product)) is not None]
    return _level(mean(price < usual for price, usual in priced), high=2 / 3, low=1 / 3) if priced else "Medium"


def _usd(product: Product) -> float | None:
    found = re.search(r"\d+(\.\d+)?", product.price.replace(",", ""))
    return float(found[0]) if found else None


def _level(value: float, *, high: float, low: float) -> Level:
    if value >= high:
        return "High"
    return "Low" if value <= low else "Medium"


def _talk(texts: Sequence[str]) -> Level:
    return _level(mean(len(text.split()) for text in texts) if texts else 0, high=DETAILED_WORDS, low=BRIEF_WORDS)


def _tone(behaviours: Sequence[Behaviour], texts: Sequence[str]) -> str:
    ratings = [one.review.rating for one in behaviours if one.review.rating is not None]
    usual = mean(ratings) if ratings else 3.0
    mood = "positive" if usual >= 4 else "critical" if usual < 3 else "balanced"
    loud = sum("!" in text for text in texts) * 2 >= max(1, len(texts))
    length: Level = _talk(texts)
    return ", ".join([mood, "enthusiastic" if loud else "matter-of-fact", _LENGTHS[length]])


_LENGTHS: dict[Level, str] = {"High": "detailed", "Medium": "practical", "Low": "brief"}


def _reference(bought: Sequence[Product], texts: Sequence[str]) -> str:
    naming = sum(
        bool(product.store) and product.store.lower() in text.lower()
        for product, text in zip(bought, texts, strict=True)
    )
    return "names brands" if naming * 4 >= max(1, len(texts)) else "seldom names brands"


def _aspects(texts: Sequence[str]) -> list[str]:
    """The aspects that most reviews speak of; nothing where none does."""
    found = {
        name: sum(bool(re.search(rf"\b({words})\b", text, re.I)) for text in texts) for name, words in ASPECTS.items()
    }
    ranked = sorted((name for name in found if found[name]), key=lambda name: -found[name])
    return ranked[:MOST_ASPECTS]
