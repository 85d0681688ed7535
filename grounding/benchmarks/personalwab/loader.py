"""PersonalWAB's release on disk: a folder in; users, products and tasks out, or everything that is wrong with it.

::

    user_instructions.json           {"train": [...], "test": [...]}
    user_history_part_1.json ...     {user: [{"product_info": {...}, "review": {...}, "split": "history"}, ...]}
    user_profiles.json               {user: {"user_profile": {"Gender": ..., ...}}}
    all_products_part_1.json ...     {asin: {"title": ..., "parent_asin": ..., ...}}

They may lie at any depth up to five below the folder that is given, as in a clone of the release, whose recommender
lies beside its data (``../functions/recommender``). Entries are decoded one by one, so that of a large file its bytes
and the records are all that is held.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from grounding.benchmarks.personalwab.records import (
    PROFILE_FIELDS,
    Behaviour,
    Product,
    Profile,
    Review,
    ShopDataset,
    ShopTask,
    ShopUser,
    Split,
    TaskType,
)
from grounding.data.fields import DatasetProblems, Problem, shorten
from grounding.data.registry import ExpectedCounts, departures, locate
from grounding.errors import UserError
from grounding.records import Record

NAME = "personalwab"
INSTRUCTIONS, PROFILES = "user_instructions.json", "user_profiles.json"
HISTORIES, PRODUCTS = "user_history*.json", "all_products*.json"
NUMBERS, CHECKPOINT = "*_ids.json", "*.pth"
DEPTH = 5
TESTED: tuple[Split, ...] = ("test",)
SHOWN_FILES = 12

T = TypeVar("T")


# --- what lies where ------------------------------------------------------------------------------------------------


class ShopFiles(Record, frozen=True, kw_only=True):
    """Where the parts of a data set lie; None or nothing where a part that may be absent is."""

    instructions: Path
    histories: tuple[Path, ...]
    products: tuple[Path, ...]
    profiles: tuple[Path, ...] = ()
    numbers: Path | None = None
    checkpoint: Path | None = None

    @property
    def lacks(self) -> str:
        """What is missing for recommendations; "" where nothing is."""
        parts = {f"checkpoint ({CHECKPOINT})": self.checkpoint, f"file of numbers ({NUMBERS})": self.numbers}
        return " and no ".join(name for name, path in parts.items() if path is None)


def find_files(folder: Path) -> ShopFiles:
    """The parts of a data set below a folder.

    Raises UserError where a part that is needed is missing; says which, and what is there.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: there is no such folder; give the one that holds {INSTRUCTIONS} with --data-dir")
    instructions = _below(folder, INSTRUCTIONS)
    beside = folder if instructions is None else instructions.parent
    histories, products = sorted(beside.glob(HISTORIES)), sorted(beside.glob(PRODUCTS))
    if instructions is None or not histories or not products:
        there = {INSTRUCTIONS: instructions, HISTORIES: histories, PRODUCTS: products}
        missing = " and no ".join(name for name, found in there.items() if not found)
        names = sorted(path.name + "/" * path.is_dir() for path in beside.iterdir())
        more = f" and {len(names) - SHOWN_FILES} more" if len(names) > SHOWN_FILES else ""
        holds = f"it holds {', '.join(names[:SHOWN_FILES])}{more}" if names else "it is empty"
        deeper = f" in it, or up to {DEPTH} folders deeper" if instructions is None else ""
        raise UserError(
            f"{beside}: no {missing}{deeper}; {holds}. A shop has {', '.join(there)} and {PROFILES} in one folder; see "
            "--data-dir"
        )
    near = (beside, beside.parent / "functions" / "recommender", folder)
    return ShopFiles(
        instructions=instructions,
        histories=tuple(histories),
        products=tuple(products),
        profiles=tuple(beside.glob(PROFILES)),
        numbers=next((path for place in near if (path := _below(place, NUMBERS))), None),
        checkpoint=next((path for place in near if (path := _below(place, CHECKPOINT))), None),
    )


def _below(folder: Path, pattern: str) -> Path | None:
    """The first file of a name, as high up as there is one; an empty file is none."""
    for depth in range(DEPTH + 1):
        for path in sorted(folder.glob("/".join(["*"] * depth + [pattern]))):
            if path.is_file() and path.stat().st_size:
                return path
    return None


# --- entries --------------------------------------------------------------------------------------------------------


class _WireProduct(msgspec.Struct):
    parent_asin: str
    title: str | None = None
    main_category: str | None = None
    average_rating: int | float | str | None = None
    rating_number: int | float | str | None = None
    features: tuple[str, ...] | None = None
    description: tuple[str, ...] | None = None
    price: int | float | str | None = None
    store: str | None = None
    categories: tuple[str, ...] | None = None
    details: Any = None


class WireReview(msgspec.Struct):
    """A review as the release has it, and Amazon."""

    timestamp: int
    rating: int | float | None = None
    title: str | None = None
    text: str | None = None
    parent_asin: str | None = None


class _WireBehaviour(msgspec.Struct):
    product_info: msgspec.Raw
    review: WireReview | None = None
    split: Split = "history"


class _WireInstruction(msgspec.Struct):
    user_id: str
    task: str
    type: TaskType
    timestamp: int
    target: _WireBehaviour


def read_product(raw: msgspec.Raw | bytes) -> Product:
    """A ``product_info``. Raises msgspec.DecodeError where it is something else."""
    said = msgspec.structs.asdict(msgspec.json.decode(raw, type=_WireProduct))
    asin, details = said.pop("parent_asin"), json.dumps(said.pop("details"))
    return Product(asin=asin, details=details, **{name: one for name, one in said.items() if one is not None})


def read_review(wire: WireReview, asin: str) -> Review:
    """A review as the release has it, of a product that it need not name."""
    return Review(
        asin=wire.parent_asin or asin,
        timestamp_ms=wire.timestamp,
        rating=wire.rating,
        title=wire.title or "",
        text=wire.text or "",
    )


def _bought(raw: msgspec.Raw, _place: int) -> tuple[Product, Behaviour]:
    wire = msgspec.json.decode(raw, type=_WireBehaviour)
    product = read_product(wire.product_info)
    if wire.review is None:
        raise ValueError("Object missing required field `review`")
    return product, Behaviour(asin=product.asin, review=read_review(wire.review, product.asin), split=wire.split)


def _profile(raw: msgspec.Raw) -> Profile:
    """Dimensions that the file does not know stay empty, those that we do not know are left out."""
    outer = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    inner = msgspec.json.decode(outer.get("user_profile", raw), type=dict[str, Any])
    said = {ours: inner[theirs] for theirs, ours in PROFILE_FIELDS.items() if inner.get(theirs)}
    return Profile(
        **{name: ", ".join(map(str, one)) if isinstance(one, list) else str(one) for name, one in said.items()}
    )


def _task(split: Split, raw: msgspec.Raw, item: int) -> tuple[ShopTask, Product]:
    wire = msgspec.json.decode(raw, type=_WireInstruction)
    product, review = read_product(wire.target.product_info), wire.target.review
    if wire.type == "review" and review is None:
        raise ValueError("target.review is missing: a review task needs the user's own review")
    task = ShopTask(
        id=f"{split}/{item}",  # By place, so that equal instructions stay apart.
        user_id=wire.user_id,
        type=wire.type,
        instruction=wire.task,
        timestamp_ms=wire.timestamp,
        target_asin=product.asin,
        target_review=None if review is None else read_review(review, product.asin),
        split=split,
    )
    return task, product


# --- the data set -----------------------------------------------------------------------------------------------------


def load_shop(dataset: str, data_dir: Path | None = None, *, splits: Collection[Split] = TESTED) -> ShopDataset:
    """Load a data set by the name or path of its card, or by the layout's name and a folder.

    The histories are always whole. Raises DatasetProblems where something is wrong, with every problem in it;
    UserError where there is no such data set, or its files are not there.
    """
    place = locate(dataset, data_dir)
    if place.layout != NAME:
        raise UserError(
            f"the data set {place.name!r} holds no web functions to be called: its layout is {place.layout}"
        )
    found = read_shop(place.folder, name=place.name, splits=splits)
    return msgspec.structs.replace(found, departs=departures(count_shop(found, splits), place.expected))


def count_shop(dataset: ShopDataset, splits: Collection[Split]) -> ExpectedCounts:
    """The counts of a shop that a card can state, of the splits that were read."""
    by_split = Counter(task.split for task in dataset.tasks)
    return ExpectedCounts(
        participants=len(dataset.users),
        instructions=len(dataset.tasks) if {"train", "test"} <= set(splits) else None,
        train_instructions=by_split["train"] if "train" in splits else None,
        test_instructions=by_split["test"] if "test" in splits else None,
    )


def read_shop(folder: Path, *, name: str = NAME, splits: Collection[Split] | None = TESTED) -> ShopDataset:
    """Read the release's layout from a folder; a history in several parts is put together in order of the names.

    ``splits`` None is for those that are there. Raises DatasetProblems where something is wrong; every problem is in
    it, in order of the files; UserError where files are not there, or no task is left.
    """
    files, read = find_files(folder), _Reading()
    products: dict[str, Product] = {}
    for asin, raw in read.entries(*files.products):
        product = read.decoded(asin, read_product, raw)
        if product is not None and product.asin != asin:
            read.wrong(asin, "parent_asin is another than the key", "make them the same", shorten(product.asin))
        elif product is not None:
            products[asin] = product
    listed = len(products)
    histories: dict[str, list[Behaviour]] = {}
    bought: dict[str, Product] = {}
    for user, raw in read.entries(*files.histories):
        if user in histories:
            read.wrong(user, "this user's history is in an earlier part already", "keep it in one file")
            continue
        both = list(read.listed(user, _bought, raw))
        histories[user] = [behaviour for _, behaviour in both]
        bought = {product.asin: product for product, _ in both} | bought
    profiles = {user: read.decoded(user, _profile, raw) for user, raw in read.entries(*files.profiles)}
    tasks: list[ShopTask] = []
    there: list[Split] = []
    for split, raw in read.entries(files.instructions):
        if split not in ("train", "test"):
            read.wrong(split, "expected the lists train and test", "rename it, or take it out")
            continue
        there.append("train" if split == "train" else "test")
        if splits is None or split in splits:
            for task, product in read.listed(split, partial(_task, there[-1]), raw):
                products.setdefault(product.asin, product)
                tasks.append(task)
    for absent in sorted(set(splits or ()) - set(there)) if not read.problems else ():
        read.wrong(absent, "there is no such list", "give the split that is there with --split")
    if read.problems:
        raise DatasetProblems(read.problems)
    if not tasks:
        raise UserError(f"{files.instructions}: no instruction is left to be done; see --split")
    # What is in no file of products is searched all the same: the tasks' targets, then what was bought.
    products |= {asin: product for asin, product in bought.items() if asin not in products}
    users = {
        user: ShopUser(id=user, profile=profiles.get(user), behaviours=tuple(histories.get(user, ())))
        for user in dict.fromkeys([*histories, *(task.user_id for task in tasks)])
    }
    # Everything in order of ids, and the order of the products; neither the name nor the place of the files.
    digest = hashlib.sha256(b"grounding-shop-1\n")
    ordered = (sorted(tasks, key=lambda task: task.id), (products[one] for one in sorted(products)))
    for line in (*ordered[0], *ordered[1], *(users[one] for one in sorted(users)), list(products)):
        digest.update(msgspec.json.encode(line) + b"\n")
    return ShopDataset(
        name=name,
        fingerprint=digest.hexdigest(),
        users=users,
        products=products,
        tasks=tuple(tasks),
        listed=listed,
        splits=tuple(there),
    )


class _Reading:
    """Files of a shop, entry by entry, and what is wrong with them; a byte order mark is passed over."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def entries(self, *paths: Path) -> Iterator[tuple[str, msgspec.Raw]]:
        """The keys and the undecoded values of files' objects; none, and a problem, where one is no object."""
        for path in paths:
            self._path = path
            try:
                content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
                yield from msgspec.json.decode(content, type=dict[str, msgspec.Raw]).items()
            except (OSError, ValueError) as error:
                self.wrong("", f"can't be read as a JSON object: {error}", "restore the file")

    def decoded(self, key: str, kind: Callable[..., T], *raw: Any) -> T | None:
        """One value, or None and a problem that names the entry by its key."""
        try:
            return kind(*raw)
        except ValueError as error:
            self.wrong(key, str(error), "correct this entry, or take it out")
            return None

    def listed(self, key: str, kind: Callable[[msgspec.Raw, int], T], raw: msgspec.Raw) -> Iterator[T]:
        """The values of a list, given their places; every one that is wrong is a problem of its own."""
        every = self.decoded(key, partial(msgspec.json.decode, type=list[msgspec.Raw]), raw)
        for place, one in enumerate(every or ()):
            value = self.decoded(f"{key}[{place}]", kind, one, place)
            if value is not None:
                yield value

    def wrong(self, field: str, what: str, fix: str, value: str = "") -> None:
        """Note a problem with the file that is being read."""
        self.problems.append(Problem(file=str(self._path), field=field, value=value, what=what, fix=fix))
