"""AgenticShop's raw users as they lie on disk: ``{user: [{"stats": …}, {"target": …, "review": […]}]}`` to records.

They are reviews of Amazon's customers with what was known of each product. Open users have reviews of several domains,
each with its domain, and no target.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from grounding.errors import UserError
from grounding.records import Record


class RawProduct(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A product as a review has it, in the order of the file's fields. ``price`` is often the text ``None``."""

    description: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    main_category: str | None = None
    store: str | None = None
    details: str | dict[str, Any] | None = None
    title: str
    average_rating: float | None = None
    features: tuple[str, ...] = ()
    price: float | str | None = None
    rating_number: int | None = None


class RawReview(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a user wrote of a product. ``domain`` is "" where the file is of one domain."""

    user_review_title: str | None = None
    user_rating: float | None = None
    user_review: str | None = None
    product: RawProduct
    domain: str = ""


class RawUser(Record, frozen=True, kw_only=True):
    """``main_category`` is "" for open users, whose ``target`` (the release's choice) is None."""

    id: str
    main_category: str = ""
    target: RawReview | None = None
    reviews: tuple[RawReview, ...] = ()


class _Stats(msgspec.Struct):
    main_category: str = ""


class _Entry(msgspec.Struct):
    stats: _Stats | None = None
    target: RawReview | None = None
    review: tuple[RawReview, ...] | None = None


def read_raw_users(path: Path) -> tuple[RawUser, ...]:
    """All users of a file, in its order; a UserError where it can't be read, or is no such file."""
    try:
        users = msgspec.json.decode(path.read_bytes(), type=dict[str, list[_Entry]])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a file of AgenticShop's raw users: {error}") from None
    return tuple(_user(user, entries) for user, entries in users.items())


def _user(user: str, entries: list[_Entry]) -> RawUser:
    return RawUser(
        id=user,
        main_category=next((entry.stats.main_category for entry in entries if entry.stats is not None), ""),
        target=next((entry.target for entry in entries if entry.target is not None), None),
        reviews=tuple(review for entry in entries for review in entry.review or ()),
    )


def details_of(product: RawProduct) -> dict[str, Any]:
    """A product's details as names and values; empty where there are none, or they can't be read."""
    details = product.details
    if isinstance(details, str):
        try:
            details = msgspec.json.decode(details)
        except msgspec.DecodeError:
            return {}
    return details if isinstance(details, dict) else {}
