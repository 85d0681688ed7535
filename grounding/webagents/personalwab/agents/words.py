"""Words of an instruction to what is meant by it: the rules of the agent without a model. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from grounding.webagents.personalwab.functions.analysis import terms
from grounding.webagents.personalwab.records import Behaviour, Product, TaskType

_REVIEW = re.compile(r"\b(reviews?|feedback|testimonial|write[- ]?up|share my (thoughts|experience))\b", re.I)
_RECOMMEND = re.compile(
    r"\b(recommend\w*|suggest\w*|ideas?|inspir\w+|something new|surprise me|explore|discover|what else|"
    r"(might|would|could) (like|enjoy|love)|my (taste|style)s?)\b",
    re.I,
)
_SEARCH = re.compile(r"\b(find|search\w*|look(ing)? for|need|want to buy|where can i)\b", re.I)
_ASKING = re.compile(
    r"\b(can|could|would|will) you|please|help me|i('m| am)|i('d| would) like|looking for|searching for|"
    r"find|search|show|need|want|get|some|something|really|just|thanks?|thank you|hey|hi|hello\b",
    re.I,
)


def meant_type(instruction: str) -> TaskType:
    """The type of task that the words ask for; a search where nothing says otherwise."""
    if _REVIEW.search(instruction) and not _SEARCH.search(instruction.split(".")[0]):
        return "review"
    return "recommend" if _RECOMMEND.search(instruction) else "search"


def search_words(instruction: str) -> str:
    """The words that say what is looked for."""
    kept = " ".join(_ASKING.sub(" ", instruction).split())
    return kept or instruction


def meant_category(instruction: str, past: Sequence[Behaviour], products: dict[str, Product]) -> str:
    """The category of the past purchases that the words fit best; of the newest where none does; "" without a past."""
    wanted = set(terms(instruction))
    fits: Counter[str] = Counter()
    for behaviour in past:
        product = products[behaviour.asin]
        fits[product.main_category] += len(wanted & _terms(f"{product.title} {product.main_category}"))
    best = fits.most_common(1)
    if best and best[0][1] > 0:
        return best[0][0]
    newest = max(past, key=lambda one: one.review.timestamp_ms, default=None)
    return "" if newest is None else products[newest.asin].main_category


@lru_cache(maxsize=1 << 16)
def _terms(text: str) -> frozenset[str]:
    """A user's purchases come back with every task and every turn."""
    return frozenset(terms(text))


def review_words(instruction: str) -> str:
    """The part of a request for a review that says what the user thought: whole sentences without the asking."""
    sentences = re.split(r"(?<=[.!?])\s+", instruction)
    kept = [one for one in sentences if not _REVIEW.search(one)]
    return " ".join(kept) or instruction


def usual_opening(past: Sequence[Behaviour]) -> str:
    """How the user begins a review: the first sentence of the shortest one; "" without a past."""
    texts = [one.review.text.strip() for one in past if one.review.text.strip()]
    if not texts:
        return ""
    return re.split(r"(?<=[.!?])\s+", min(texts, key=len))[0]
