"""Reads AgenticShop's raw users: files of ``{user: [{"stats": …}, {"target": …, "review": […]}]}`` in, a selection out.

They hold real users, reviews and products, but neither ids of products nor times. So both are made here:

- A product's id is ``X`` and nine characters (base 32) of the SHA-256 of its title, store, categories and details: the
  same product has the same id in every file and every run, and no ASIN of Amazon begins with X.
- A user's reviews are one day apart, from 2 January 1970 on, so that nobody takes them for real times. The first entry
  of a list is what AgenticShop has for the user's target: it is taken for the newest, and the list is read from its
  end. Where a list goes domain by domain, the domains take turns.

The same words on the same product twice are one review.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from grounding.errors import UserError
from grounding.webagents.personalwab.construction.records import RawUser, Sampling, Selection, SourceFacts
from grounding.webagents.personalwab.construction.sampling import select
from grounding.webagents.personalwab.layout import read_product
from grounding.webagents.personalwab.records import Product, Review
from grounding.webagents.rawusers import RawProduct, RawReview, read_raw_users

DAY_MS = 86_400_000
ID_LETTERS = 9


_Said = tuple[Product, float | None, str, str]


def select_from_agenticshop(folder: Path, sampling: Sampling) -> Selection:
    """Draw users out of all files of a folder.

    Raises:
        UserError: there is no file, one is damaged, or nobody has enough behaviours.
    """
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    if not files:
        raise UserError(f"--agenticshop {folder}: no .json files in it; give AgenticShop's folder of raw users")
    said: dict[str, list[_Said]] = {}
    products: dict[str, Product] = {}
    read = 0
    for path in files:
        for user in read_raw_users(path):
            read += len(user.reviews)
            one = [_said(review, products) for review in _oldest_first(user.reviews)]
            # A user of several files: the later file goes on where the earlier one ends.
            said.setdefault(user.id, []).extend(one)
    once = {user: list(dict.fromkeys(every)) for user, every in said.items()}
    fit = [user for user, one in once.items() if sampling.min_behaviours <= len(one) <= sampling.max_behaviours]
    selection = select(
        (RawUser(id=user, reviews=_dated(one)) for user, one in once.items()),
        products,
        products,
        sampling,
        SourceFacts(
            source="AgenticShop, raw users",
            files=tuple(path.name for path in files),
            times="made up: one day apart in the order of the file, its first entry the newest",
            ids="made up: X and nine characters of the SHA-256 of title, store, categories and details",
            reviews_read=read,
            products_read=len(products),
            eligible=len(fit),
        ),
    )
    again = sum(len(every) - len(once[user]) for user, every in said.items())
    return msgspec.structs.replace(selection, facts=msgspec.structs.replace(selection.facts, same_twice=again))


def _oldest_first(reviews: Sequence[RawReview]) -> list[RawReview]:
    domains: dict[str, list[RawReview]] = {}
    for review in reviews:
        domains.setdefault(review.domain, []).append(review)
    in_turns = [one for turn in itertools.zip_longest(*domains.values()) for one in turn if one is not None]
    return in_turns[::-1]


def _said(wire: RawReview, products: dict[str, Product]) -> _Said:
    product = _product(wire.product)
    known = products.setdefault(product.asin, product)
    return known, wire.user_rating, wire.user_review_title or "", wire.user_review or ""


def _product(wire: RawProduct) -> Product:
    named = msgspec.json.encode((wire.title, wire.store, wire.categories, wire.details))
    letters = base64.b32encode(hashlib.sha256(named).digest()).decode()[:ID_LETTERS]
    fields = {**msgspec.to_builtins(wire), "parent_asin": f"X{letters}", "details": _details(wire.details)}
    return read_product(msgspec.json.encode(fields))


def _details(details: str | dict[str, Any] | None) -> Any:
    if not isinstance(details, str):
        return details
    try:
        return msgspec.json.decode(details)
    except msgspec.DecodeError:
        return details


def _dated(said: Sequence[_Said]) -> tuple[Review, ...]:
    return tuple(
        Review(asin=product.asin, timestamp_ms=(place + 1) * DAY_MS, rating=rating, title=title, text=text)
        for place, (product, rating, title, text) in enumerate(said)
    )
