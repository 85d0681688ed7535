"""Words for users and products, as a comparer is shown them. Pure but for the bundled wording."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec

from grounding.places import models_dir
from grounding.records import Record
from grounding.webagents.agenticshop.records import DIMENSIONS, CurationTask
from grounding.webagents.agenticshop.reliability.alignment.records import (
    Comparison,
    Described,
    RatedPair,
    Representation,
)
from grounding.webagents.filling import fill
from grounding.webagents.rawusers import RawProduct, RawUser, details_of

MOST_REVIEWS = 20
MOST_REVIEW_CHARS = 300
MOST_FIELD_CHARS = 1_500
_TAG = re.compile(r"<[^<>]{0,80}>")
_FENCE = re.compile(r"={3,}")


class AlignmentPrompts(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All texts of the question."""

    name: str
    version: int
    source: str
    question: str
    what: dict[Representation, str]
    review: str
    product: str

    @property
    def label(self) -> str:
        """Name, version and eight hex digits over every text."""
        digest = hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:8]
        return f"{self.name}.{self.version}@{digest}"


@cache
def alignment_prompts() -> AlignmentPrompts:
    """The bundled wording."""
    path = models_dir() / "prompts" / "agenticshop" / "alignment.yaml"
    return msgspec.yaml.decode(path.read_bytes(), type=AlignmentPrompts)


def described(tasks: Sequence[CurationTask], user: RawUser, pair: RatedPair) -> tuple[Described, ...]:
    """Every way to stand for the user of a pair.

    Args:
        tasks: The user's tasks in the pair's domain. Their queries differ, so that each is a variant; of context and
            checklist those that differ are.
        user: The user's reviews; those of the pair's products are not shown.
        pair: The pair.
    """
    found: list[Described] = []
    several = len(tasks) > 1
    for task in tasks:
        found.append(_one("query", task.scenario if several else "", task.query))
    found.append(_one("history", "", history_text(user, pair)))
    for kind, text_of in (("context", context_text), ("checklist", checklist_text)):
        texts = dict.fromkeys(map(text_of, tasks))
        for number, text in enumerate(texts):
            found.append(_one("context" if kind == "context" else "checklist", str(number) if number else "", text))
    return tuple(one for one in found if one.text)


def _one(representation: Representation, variant: str, text: str) -> Described:
    return Described(representation=representation, variant=variant, text=text)


def history_text(user: RawUser, pair: RatedPair) -> str:
    """A line for each of a user's first reviews, but for those of the pair's products."""
    hidden = {user.reviews[place].product.title for place in (pair.lower, pair.higher)}
    shown = [review for review in user.reviews if review.product.title not in hidden][:MOST_REVIEWS]
    return "\n".join(
        fill(
            alignment_prompts().review,
            rating="?" if review.user_rating is None else f"{review.user_rating:g}",
            title=_plain(review.product.title, MOST_REVIEW_CHARS),
            text=_plain(f"{review.user_review_title or ''}. {review.user_review or ''}", MOST_REVIEW_CHARS),
        )
        for review in shown
    )


def context_text(task: CurationTask) -> str:
    """What is told of the user, a paragraph for each dimension."""
    parts = ((name, getattr(task.context, name)) for name in DIMENSIONS)
    return "\n".join(f"{name.replace('_', ' ')}: {text}" for name, text in parts if text)


def checklist_text(task: CurationTask) -> str:
    """The items, one a line."""
    return "\n".join(f"- {item.text}" for item in task.checklist)


def product_text(product: RawProduct) -> str:
    """What is known of a product: never the user's rating or review, nor other people's ratings."""
    details = "; ".join(f"{name}: {value}" for name, value in details_of(product).items())
    price = "" if product.price in (None, "None", "") else str(product.price)
    return fill(
        alignment_prompts().product,
        title=_plain(product.title),
        store=_plain(product.store or "unknown"),
        price=_plain(price or "unknown"),
        categories=_plain(" > ".join(product.categories)),
        features=_plain("; ".join(product.features)),
        description=_plain(" ".join(product.description)),
        details=_plain(details),
    )


def question_text(comparison: Comparison) -> str:
    """A comparison as a chat model is asked."""
    prompts = alignment_prompts()
    products: Mapping[str, RawProduct] = {"lower": comparison.lower.product, "higher": comparison.higher.product}
    second = "higher" if comparison.order == "lower" else "lower"
    return fill(
        prompts.question,
        what=prompts.what[comparison.described.representation],
        shopper=_unfenced(comparison.described.text),
        first=_unfenced(product_text(products[comparison.order])),
        second=_unfenced(product_text(products[second])),
    )


def _plain(text: str, most: int = MOST_FIELD_CHARS) -> str:
    """One line without markup, cut."""
    return " ".join(html.unescape(_TAG.sub(" ", text)).split())[:most]


def _unfenced(text: str) -> str:
    """Nothing in a text can be taken for the end of its fence."""
    return _FENCE.sub("==", text)
