"""Records to the release's files, so that the loader reads back what went in (layout.py shows them)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from grounding.lockedfolder import LockedFolder
from grounding.webagents.personalwab.construction.records import CutUser, Job
from grounding.webagents.personalwab.layout import PROFILE_FIELDS
from grounding.webagents.personalwab.loader import INSTRUCTIONS, PROFILES
from grounding.webagents.personalwab.records import Product, Profile, Review

T = TypeVar("T")
USERS_A_PART = 400
PRODUCTS_A_PART = 20_000
NUMBERS_FILE = "product_ids.json"


def write_shop(
    folder: LockedFolder,
    users: Sequence[CutUser],
    products: Mapping[str, Product],
    profiles: Mapping[str, Profile],
    instructions: Iterable[tuple[Job, str]],
) -> None:
    """Write all files of a shop; each is replaced whole.

    Args:
        folder: Where to.
        users: Their histories, oldest first.
        products: All that the shop has.
        profiles: Those that there are.
        instructions: Jobs and their texts, in the order of the file.

    Raises:
        UserError: a file can't be written.
    """
    wire = {asin: product_info(product) for asin, product in products.items()}
    names = []
    for number, part in enumerate(_parts(list(wire.items()), PRODUCTS_A_PART), start=1):
        names.append(f"all_products_part_{number}.json")
        folder.replace(names[-1], msgspec.json.encode(dict(part)))
    for number, some in enumerate(_parts(users, USERS_A_PART), start=1):
        histories = {
            user.id: [_bought(one.review, wire[one.asin], one.split) for one in user.behaviours] for user in some
        }
        names.append(f"user_history_part_{number}.json")
        folder.replace(names[-1], msgspec.json.encode(histories))
    for pattern in ("all_products_part_*.json", "user_history_part_*.json"):
        for left in set(folder.path.glob(pattern)) - {folder.path / name for name in names}:
            left.unlink()
    folder.replace(PROFILES, msgspec.json.encode({user: profile_wire(one) for user, one in profiles.items()}))
    folder.replace(NUMBERS_FILE, msgspec.json.encode({asin: place for place, asin in enumerate(wire, start=1)}))
    lists: dict[str, list[dict[str, Any]]] = {"train": [], "test": []}
    for job, text in instructions:
        lists[job.split].append(_instruction(job, text, wire[job.behaviour.asin]))
    folder.replace(INSTRUCTIONS, msgspec.json.encode(lists))


def _parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def product_info(product: Product) -> dict[str, Any]:
    """A product as the release has it; reading it gives the same record."""
    return {
        "main_category": product.main_category,
        "title": product.title,
        "average_rating": product.average_rating,
        "rating_number": product.rating_number,
        "features": product.features,
        "description": product.description,
        "price": None if product.price == "None" else product.price,
        "store": product.store,
        "categories": product.categories,
        "details": msgspec.json.decode(product.details) if product.details else None,
        "parent_asin": product.asin,
    }


def profile_wire(profile: Profile) -> dict[str, dict[str, str]]:
    """A profile as the release has it."""
    return {"user_profile": {theirs: getattr(profile, ours) for theirs, ours in PROFILE_FIELDS.items()}}


def _review(review: Review) -> dict[str, Any]:
    return {
        "rating": review.rating,
        "title": review.title,
        "text": review.text,
        "parent_asin": review.asin,
        "timestamp": review.timestamp_ms,
    }


def _bought(review: Review, product: dict[str, Any], split: str) -> dict[str, Any]:
    return {"product_info": product, "review": _review(review), "split": split}


def _instruction(job: Job, text: str, product: dict[str, Any]) -> dict[str, Any]:
    review = job.behaviour.review
    return {
        "user_id": job.user_id,
        "task": text,
        "type": job.type,
        "timestamp": review.timestamp_ms,
        "target": {"product_info": product, "review": _review(review)},
    }
