"""Reads Amazon-Reviews-2023: a folder of JSONL files, plain or gzipped, in; drawn users and their products out.

For every category one file of reviews and one of products, named as they are published: ``Electronics.jsonl`` and
``meta_Electronics.jsonl``, perhaps with ``.gz``, at any depth up to three. Files are read line by line, three passes in
all: who wrote how much, what the drawn users wrote, and the products that this needs. Held are the counts of the
candidates, the reviews of the drawn users and of those in reserve, their products, and as many further products as the
shop gets. The ids are Amazon's (``parent_asin``), the times those of the reviews.
"""

from __future__ import annotations

import gzip
import heapq
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from grounding.errors import UserError
from grounding.records import Record
from grounding.webagents.personalwab.construction.records import (
    CATEGORIES,
    RawUser,
    Sampling,
    Selection,
    SourceFacts,
)
from grounding.webagents.personalwab.construction.sampling import CandidateCounts, chance_rank, select, with_spare
from grounding.webagents.personalwab.layout import read_product
from grounding.webagents.personalwab.records import Product, Review

DEPTH = 3
ENDINGS = (".jsonl", ".jsonl.gz")
T = TypeVar("T")
Told = Callable[[str], None]


class _Writer(msgspec.Struct):
    user_id: str


class _WireReview(msgspec.Struct):
    user_id: str
    parent_asin: str
    timestamp: int
    rating: float | None = None
    title: str | None = None
    text: str | None = None


class _Named(msgspec.Struct):
    parent_asin: str
    title: str | None = None


class CategoryFiles(Record, frozen=True, kw_only=True):
    """The two files of one category."""

    category: str
    reviews: Path
    products: Path


def find_categories(folder: Path, categories: Sequence[str] = CATEGORIES) -> tuple[CategoryFiles, ...]:
    """The files of the categories below a folder.

    Raises:
        UserError: the folder or a file is not there; says all that are missing.
    """
    if not folder.is_dir():
        raise UserError(f"--reviews {folder}: no such folder; give the one with Electronics.jsonl and the others")
    found, missing = [], []
    for category in categories:
        reviews, products = _below(folder, category), _below(folder, f"meta_{category}")
        missing += [name for name, path in ((category, reviews), (f"meta_{category}", products)) if path is None]
        if reviews is not None and products is not None:
            found.append(CategoryFiles(category=category, reviews=reviews, products=products))
    if missing:
        raise UserError(
            f"--reviews {folder}: no {', no '.join(f'{name}.jsonl[.gz]' for name in missing)} in it or up to {DEPTH} "
            "folders deeper; fetch them from Amazon-Reviews-2023 (raw/review_categories and raw/meta_categories), or "
            "name the categories that are there with --category"
        )
    return tuple(found)


def _below(folder: Path, name: str) -> Path | None:
    for depth in range(DEPTH + 1):
        for ending in ENDINGS:
            paths = sorted(folder.glob("/".join(["*"] * depth + [name + ending])))
            if paths:
                return paths[0]
    return None


def select_from_amazon(files: Sequence[CategoryFiles], sampling: Sampling, told: Told) -> Selection:
    """Draw users and gather what they wrote and bought.

    Args:
        files: The categories.
        sampling: Whom to draw.
        told: Called with what is being read.

    Raises:
        UserError: a file can't be read, a line of it is damaged, or nobody has enough behaviours.
    """
    counts = CandidateCounts(sampling.candidates, sampling.seed)
    reviews_read = 0
    for one in files:
        told(f"counting the reviews of {one.reviews.name}")
        for writer in _lines(one.reviews, _Writer):
            counts.add(writer.user_id)
            reviews_read += 1
    eligible = counts.eligible(sampling.min_behaviours, sampling.max_behaviours)
    gathered = _gather_reviews(files, eligible[: with_spare(sampling.users)], told)
    needed = {review.asin for reviews in gathered.values() for review in reviews}
    shelf = _Shelf(needed, sampling)
    for one in files:
        told(f"reading the products of {one.products.name}")
        for line, named in _raw_lines(one.products, _Named):
            shelf.add(line, named.parent_asin, named.title or "")
    products, further = shelf.products()
    return select(
        (RawUser(id=user, reviews=tuple(reviews)) for user, reviews in gathered.items()),
        products,
        further,
        sampling,
        SourceFacts(
            source="Amazon-Reviews-2023",
            files=tuple(path.name for one in files for path in (one.reviews, one.products)),
            times="of the reviews",
            ids="parent_asin of the products",
            reviews_read=reviews_read,
            products_read=shelf.read,
            eligible=len(eligible),
        ),
    )


def _gather_reviews(files: Sequence[CategoryFiles], users: Sequence[str], told: Told) -> dict[str, list[Review]]:
    gathered: dict[str, list[Review]] = {user: [] for user in users}
    decoder = msgspec.json.Decoder(_WireReview)
    for one in files:
        told(f"reading the drawn users' reviews of {one.reviews.name}")
        for number, (line, writer) in enumerate(_raw_lines(one.reviews, _Writer), start=1):
            if writer.user_id not in gathered:
                continue
            wire = _decoded(decoder, line, one.reviews, number)
            gathered[writer.user_id].append(
                Review(
                    asin=wire.parent_asin,
                    timestamp_ms=wire.timestamp,
                    rating=wire.rating,
                    title=wire.title or "",
                    text=wire.text or "",
                )
            )
    return gathered


class _Shelf:
    """Keeps the lines of needed products, and those of the first by chance of the others."""

    def __init__(self, needed: set[str], sampling: Sampling) -> None:
        self._needed = needed
        self._sampling = sampling
        self._kept: dict[str, bytes] = {}
        self._queue: list[tuple[int, str]] = []
        self._others: dict[str, bytes] = {}
        self.read = 0

    def add(self, line: bytes, asin: str, title: str) -> None:
        """A product was read; one without a title is none."""
        self.read += 1
        if not title.strip():
            return
        if asin in self._needed:
            self._kept.setdefault(asin, line)
            return
        # Products of users in reserve take none of the further ones' places.
        if not self._sampling.products or asin in self._others:
            return
        entry = (-chance_rank(self._sampling.seed, asin), asin)
        if len(self._queue) < self._sampling.products:
            heapq.heappush(self._queue, entry)
        elif entry > self._queue[0]:
            self._others.pop(heapq.heapreplace(self._queue, entry)[1])
        else:
            return
        self._others[asin] = line

    def products(self) -> tuple[dict[str, Product], tuple[str, ...]]:
        """All that are kept, and the ids of those that nobody of the drawn bought."""
        lines = {**self._kept, **self._others}
        found = {}
        for asin, line in lines.items():
            try:
                found[asin] = read_product(line)
            except (msgspec.DecodeError, ValueError) as error:
                raise UserError(f"the product {asin} is damaged: {error}") from None
        return found, tuple(found)


def _lines(path: Path, kind: type[T]) -> Iterator[T]:
    return (value for _, value in _raw_lines(path, kind))


def _raw_lines(path: Path, kind: type[T]) -> Iterator[tuple[bytes, T]]:
    """Every line that is not blank, as it is and read.

    Raises:
        UserError: the file can't be read, or a line is something else; says which.
    """
    decoder = msgspec.json.Decoder(kind)
    try:
        with _opened(path) as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield line, _decoded(decoder, line, path, number)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: can't be read to its end: {error}; fetch it again") from None


def _opened(path: Path) -> BinaryIO | gzip.GzipFile:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _decoded(decoder: msgspec.json.Decoder[T], line: bytes, path: Path, number: int) -> T:
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}, line {number}: {error}; expected one JSON object a line, as published") from None
