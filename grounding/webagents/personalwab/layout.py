"""The release's files as they are on disk: JSON text in, records out, or what is wrong and where.

::

    user_instructions.json           {"train": [...], "test": [...]}
    user_history_part_1.json ...     {user: [{"product_info": {...}, "review": {...}, "split": "history"}, ...]}
    user_profiles.json               {user: {"user_profile": {"Gender": ..., ...}}}
    all_products_part_1.json ...     {asin: {"title": ..., "parent_asin": ..., ...}}

Entries are decoded one by one, so that of a large file its bytes and the records are all that is held.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from grounding.loaders.problems import Problem
from grounding.records import Record
from grounding.webagents.personalwab.records import Product, Profile, Review, Split

T = TypeVar("T")

PROFILE_FIELDS = {
    "Gender": "gender",
    "Age": "age",
    "Occupation": "occupation",
    "Price Sensitivity": "price_sensitivity",
    "Shopping Interest": "shopping_interest",
    "Brand Preference": "brand_preference",
    "Diversity Preference": "diversity_preference",
    "Interaction Complexity": "interaction_complexity",
    "Tone and Style": "tone_and_style",
    "Item Reference": "item_reference",
    "Focus Aspect": "focus_aspect",
}
"""The release's names of a profile's dimensions, and ours."""


class _WireProduct(msgspec.Struct):
    parent_asin: str
    title: str | None = None
    main_category: str | None = None
    average_rating: float | str | None = None
    rating_number: float | str | None = None
    features: list[str] | str | None = None
    description: list[str] | str | None = None
    price: float | str | None = None
    store: str | None = None
    categories: list[Any] | None = None
    details: Any = None


class _WireReview(msgspec.Struct):
    timestamp: int
    rating: float | None = None
    title: str | None = None
    text: str | None = None
    parent_asin: str | None = None


class _WireBehaviour(msgspec.Struct):
    product_info: msgspec.Raw
    review: _WireReview
    split: Split = "history"


class _WireTarget(msgspec.Struct):
    product_info: msgspec.Raw
    review: _WireReview | None = None


class _WireInstruction(msgspec.Struct):
    user_id: str
    task: str
    type: Literal["search", "recommend", "review"]
    timestamp: int
    target: _WireTarget


class Bought(Record, frozen=True, kw_only=True):
    """One entry of a history: what was bought and said of it."""

    product: Product
    review: Review
    split: Split


class Instructed(Record, frozen=True, kw_only=True):
    """One instruction with its target."""

    user_id: str
    text: str
    type: Literal["search", "recommend", "review"]
    timestamp_ms: int
    product: Product
    review: Review | None


class JsonFile:
    """One file of an object of many entries, read entry by entry; what is wrong is added to ``problems``.

    A byte order mark is passed over.
    """

    def __init__(self, path: Path, problems: list[Problem]) -> None:
        self._path = path
        self._problems = problems

    def entries(self) -> Iterator[tuple[str, msgspec.Raw]]:
        """The keys and the undecoded values of the file's object; none, and a problem, where it is no object."""
        try:
            entries = msgspec.json.decode(
                self._path.read_bytes().removeprefix(b"\xef\xbb\xbf"), type=dict[str, msgspec.Raw]
            )
        except (OSError, ValueError) as error:
            self.wrong("", "", f"can't be read as a JSON object: {error}", "restore the file")
            return
        yield from entries.items()

    def decode(self, raw: msgspec.Raw, kind: Callable[[msgspec.Raw], T], key: str) -> T | None:
        """One value, or None and a problem that names the entry by its key."""
        try:
            return kind(raw)
        except (msgspec.DecodeError, ValueError) as error:
            self.wrong(key, "", str(error), "correct this entry, or take it out")
            return None

    def wrong(self, field: str, value: str, what: str, fix: str) -> None:
        """Add a problem."""
        self._problems.append(Problem(file=str(self._path), field=field, value=value, what=what, fix=fix))


def read_product(raw: msgspec.Raw | bytes) -> Product:
    """A ``product_info``.

    Raises:
        msgspec.DecodeError: It is something else.
    """
    wire = msgspec.json.decode(raw, type=_WireProduct)
    return Product(
        asin=wire.parent_asin,
        title=wire.title or "",
        main_category=wire.main_category or "",
        average_rating=_number(wire.average_rating),
        rating_number=None if (count := _number(wire.rating_number)) is None else int(count),
        features=_texts(wire.features),
        description=_texts(wire.description),
        price=_plain(wire.price),
        store=wire.store or "",
        categories=tuple(str(category) for category in wire.categories or ()),
        details=json.dumps(wire.details, ensure_ascii=True) if wire.details is not None else "{}",
    )


def _plain(value: float | str | None) -> str:
    if isinstance(value, float) and value.is_integer():
        return f"{value:.1f}"
    return "None" if value is None else str(value)


def _number(value: float | str | None) -> float | None:
    if isinstance(value, str):
        try:
            return float(value.replace(",", ""))
        except ValueError:
            return None
    return value


def _texts(value: list[str] | str | None) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(value or ())


def _review(wire: _WireReview, asin: str) -> Review:
    return Review(
        asin=wire.parent_asin or asin,
        timestamp_ms=wire.timestamp,
        rating=wire.rating,
        title=wire.title or "",
        text=wire.text or "",
    )


def read_history(raw: msgspec.Raw) -> tuple[Bought, ...]:
    """The history of one user, in the file's order.

    Raises:
        msgspec.DecodeError: It is something else.
    """
    found = []
    for wire in msgspec.json.decode(raw, type=list[_WireBehaviour]):
        product = read_product(wire.product_info)
        found.append(Bought(product=product, review=_review(wire.review, product.asin), split=wire.split))
    return tuple(found)


def read_profile(raw: msgspec.Raw) -> Profile:
    """A user's profile; dimensions that the file does not know stay empty, those that we do not know are left out.

    Raises:
        msgspec.DecodeError: It is something else.
    """
    outer = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    inner = msgspec.json.decode(outer.get("user_profile", raw), type=dict[str, Any])
    return Profile(**{ours: _said(inner[theirs]) for theirs, ours in PROFILE_FIELDS.items() if inner.get(theirs)})


def _said(value: object) -> str:
    return ", ".join(str(one) for one in value) if isinstance(value, list) else str(value)


def read_instruction(raw: msgspec.Raw) -> Instructed:
    """One instruction.

    Raises:
        msgspec.DecodeError: It is something else.
    """
    wire = msgspec.json.decode(raw, type=_WireInstruction)
    product = read_product(wire.target.product_info)
    return Instructed(
        user_id=wire.user_id,
        text=wire.task,
        type=wire.type,
        timestamp_ms=wire.timestamp,
        product=product,
        review=None if wire.target.review is None else _review(wire.target.review, product.asin),
    )
