"""Who is in a shop, out of Amazon-Reviews-2023: users drawn by chance, their time lines cut, what is to be written.

Files are read line by line in three passes: who wrote how much, what the drawn users wrote, and their products.
"""

from __future__ import annotations

import gzip
import hashlib
import heapq
import itertools
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from grounding.benchmarks.personalwab.loader import read_product, read_review
from grounding.benchmarks.personalwab.records import TYPES, Behaviour, Product, Review, ShopUser, Split, TaskType
from grounding.errors import UserError
from grounding.records import Record

CATEGORIES = (
    *("Electronics", "Home_and_Kitchen", "Grocery_and_Gourmet_Food", "Clothing_Shoes_and_Jewelry"),
    "Health_and_Household",
)
"""The five of the paper (section 3.2.1), by their names in Amazon-Reviews-2023."""

MIN_BEHAVIOURS, MAX_BEHAVIOURS = 5, 500
"""How much a user must have done and may have done to be drawn; the paper doesn't say."""

CANDIDATES = 1_000_000
"""So many users are counted at a time, at most twice as many: the reviews are by tens of millions."""

T = TypeVar("T")


class _Writer(msgspec.Struct):
    user_id: str


class _Named(msgspec.Struct):
    parent_asin: str
    title: str | None = None


_writer, _named = msgspec.json.Decoder(_Writer).decode, msgspec.json.Decoder(_Named).decode


class Selection(Record, frozen=True, kw_only=True):
    """The users that were drawn, their behaviour oldest first, and their products."""

    users: tuple[ShopUser, ...]
    products: dict[str, Product]


def chance_rank(seed: int, name: str) -> int:
    """A place in the queue: 64 random bits that hang on seed and name alone."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8, key=str(seed).encode()).digest())


def find_categories(folder: Path, categories: Sequence[str] = CATEGORIES) -> tuple[tuple[Path, Path], ...]:
    """The files of reviews and products of each category. Raises UserError: names all that are missing."""
    names = [name for category in categories for name in (category, f"meta_{category}")]
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.jsonl*"), key=lambda path: (len(path.parts), path)):
        if path.name.endswith((".jsonl", ".jsonl.gz")):
            found.setdefault(path.name.partition(".")[0], path)
    missing = [f"{name}.jsonl[.gz]" for name in names if name not in found]
    if missing:
        raise UserError(
            f"--reviews {folder}: no {', no '.join(missing)} in it; fetch them from Amazon-Reviews-2023 "
            "(raw/review_categories and raw/meta_categories), or name the categories that are there with --category"
        )
    return tuple((found[category], found[f"meta_{category}"]) for category in categories)


def _lines(path: Path, read: Callable[[bytes], T]) -> Iterator[T]:
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
            for line in lines:
                number += 1
                if line.strip():
                    yield read(line)
    except ValueError as error:
        raise UserError(f"{path}, line {number}: {error}; expected one JSON object a line, as published") from None
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: can't be read to its end: {error}; fetch it again") from None


def count_candidates(names: Iterable[str], seed: int, capacity: int = CANDIDATES) -> Counter[str]:
    """How often each of the first ``capacity`` users of the queue is named; at most twice as many are held."""
    counts: Counter[str] = Counter()
    bound = 1 << 64
    for name in names:
        if name in counts or chance_rank(seed, name) < bound:
            counts[name] += 1
        if len(counts) > 2 * capacity:
            kept = heapq.nsmallest(capacity, counts, key=lambda one: chance_rank(seed, one))
            bound = chance_rank(seed, kept[-1]) + 1
            counts = Counter({one: counts[one] for one in kept})
    return counts


def draw_users(files: Sequence[tuple[Path, Path]], wanted: int, seed: int) -> Selection:
    """Draw users. Raises UserError where a file can't be read, a line is damaged, or nobody has enough behaviours."""

    def review(line: bytes) -> tuple[str, Review] | None:
        user = _writer(line).user_id
        return (user, read_review(msgspec.json.decode(line))) if user in written else None

    def product(line: bytes) -> Product | None:
        named = _named(line)
        there = named.parent_asin in needed and (named.title or "").strip()
        return read_product(msgspec.json.decode(line)) if there else None

    counts = count_candidates((one.user_id for path, _ in files for one in _lines(path, _writer)), seed)
    eligible = [name for name, count in counts.items() if MIN_BEHAVIOURS <= count <= MAX_BEHAVIOURS]
    # Some lose reviews whose product nothing is known of, so that more are drawn than are wanted.
    queue = sorted(eligible, key=lambda name: chance_rank(seed, name))[: wanted + wanted // 4 + 20]
    written: dict[str, list[Review]] = {name: [] for name in queue}
    for user, said in filter(None, (one for path, _ in files for one in _lines(path, review))):
        written[user].append(said)
    needed = {said.asin for reviews in written.values() for said in reviews}
    products: dict[str, Product] = {}
    for sold in filter(None, (one for _, path in files for one in _lines(path, product))):
        products.setdefault(sold.asin, sold)
    users: list[ShopUser] = []
    for name, reviews in written.items():
        known = [said for said in dict.fromkeys(reviews) if said.asin in products]
        if len(known) >= MIN_BEHAVIOURS and (behaviours := cut_time_line(known)) and len(users) < wanted:
            users.append(ShopUser(id=name, behaviours=behaviours))
    if not users:
        raise UserError(f"no user has {MIN_BEHAVIOURS} to {MAX_BEHAVIOURS} behaviours with known products")
    bought = {one.asin for user in users for one in user.behaviours}
    return Selection(users=tuple(users), products={asin: products[asin] for asin in sorted(bought)})


def cut_time_line(reviews: Sequence[Review]) -> tuple[Behaviour, ...]:
    """The behaviours, oldest first, each with its part; empty where nothing would be left as history.

    Equal times are one moment, which lies in one part; within it the order is by product and words.
    """
    ordered = sorted(reviews, key=lambda one: (one.timestamp_ms, one.asin, one.title, one.text))
    moments = [tuple(group) for _, group in itertools.groupby(ordered, key=lambda one: one.timestamp_ms)]
    tenth = len(ordered) // 10
    left: dict[Split, int] = {"test": max(1, tenth), "train": tenth}
    cut: list[Behaviour] = []
    for moment in reversed(moments):
        split: Split = next((name for name, wanted in left.items() if wanted > 0), "history")
        cut += [Behaviour(asin=one.asin, review=one, split=split) for one in reversed(moment)]
        if split in left:
            left[split] -= len(moment)
    return tuple(reversed(cut)) if cut and cut[-1].split == "history" else ()


class Job(Record, frozen=True, kw_only=True):
    """One instruction to be written."""

    id: str
    user_id: str
    type: TaskType
    behaviour: Behaviour


def instruction_jobs(users: Sequence[ShopUser], seed: int) -> tuple[Job, ...]:
    """An instruction for each behaviour of train and test, the types in turns; a review needs words to be about."""
    jobs = []
    for user in users:
        later = [(place, one) for place, one in enumerate(user.behaviours) if one.split != "history"]
        for turn, (place, one) in enumerate(later, start=chance_rank(seed, user.id)):
            kind = TYPES[turn % len(TYPES)]
            kind = "search" if kind == "review" and not one.review.text.strip() else kind
            jobs.append(Job(id=f"{user.id}/{place}/{kind}", user_id=user.id, type=kind, behaviour=one))
    return tuple(jobs)
