"""PersonalWAB's release on disk: a folder in; users, products and tasks out, or all that is wrong; and their counts.

::

    user_instructions.json           {"train": [...], "test": [...]}
    user_history_part_1.json ...     {user: [{"product_info": {...}, "review": {...}, "split": "history"}, ...]}
    user_profiles.json               {user: {"user_profile": {"Gender": ..., ...}}}
    all_products_part_1.json ...     {asin: {"title": ..., "parent_asin": ..., ...}}

They may lie at any depth up to five below the folder that is given, as in a clone of the release, whose recommender
lies beside its data (``../functions/recommender``). Entries are decoded one by one, so that little is held of them.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

import msgspec
from rich.box import SIMPLE_HEAD
from rich.table import Table

from grounding.benchmarks.personalwab import records
from grounding.benchmarks.personalwab.prompts import behaviour_text, product_text, shop_prompts
from grounding.benchmarks.personalwab.records import Behaviour, Product, Profile, Review, ShopDataset, ShopTask, Split
from grounding.console import say, wide_console
from grounding.data.fields import DatasetProblems, Problem, shorten
from grounding.data.registry import ExpectedCounts, Inspection, departures, differences, locate
from grounding.errors import UserError
from grounding.llm.tokens import text_tokens
from grounding.records import Record

NAME = "personalwab"
INSTRUCTIONS, PROFILES = "user_instructions.json", "user_profiles.json"
HISTORIES, PRODUCTS = "user_history*.json", "all_products*.json"
NUMBERS, CHECKPOINT, NUMBERS_FILE = "*_ids.json", "*.pth", "product_ids.json"
DEPTH, SHOWN_FILES = 5, 12
SPLITS: tuple[Split, ...] = ("train", "test")
TESTED: tuple[Split, ...] = ("test",)

T = TypeVar("T")
RecordT = TypeVar("RecordT", bound=Record)


class ShopFiles(Record, frozen=True, kw_only=True):
    instructions: Path
    histories: tuple[Path, ...]
    products: tuple[Path, ...]
    profiles: tuple[Path, ...]
    numbers: Path | None
    checkpoint: Path | None

    @property
    def lacks(self) -> str:
        parts = {f"checkpoint ({CHECKPOINT})": self.checkpoint, f"file of numbers ({NUMBERS})": self.numbers}
        return " and no ".join(name for name, path in parts.items() if path is None)


def find_files(folder: Path) -> ShopFiles:
    """The parts of a data set below a folder. Raises UserError where one is missing: says which, and what is there."""
    if not folder.is_dir():
        raise UserError(f"{folder}: there is no such folder; give the one that holds {INSTRUCTIONS} with --data-dir")
    instructions = _below(INSTRUCTIONS, folder)
    beside = folder if instructions is None else instructions.parent
    histories, products = sorted(beside.glob(HISTORIES)), sorted(beside.glob(PRODUCTS))
    if instructions is None or not histories or not products:
        there = {INSTRUCTIONS: instructions, HISTORIES: histories, PRODUCTS: products}
        missing = " and no ".join(name for name, found in there.items() if not found)
        names = sorted(path.name + "/" * path.is_dir() for path in beside.iterdir())
        holds = f"it holds {', '.join(names[:SHOWN_FILES])}" if names else "it is empty"
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
        numbers=_below(NUMBERS, *near),
        checkpoint=_below(CHECKPOINT, *near),
    )


def _below(pattern: str, *folders: Path) -> Path | None:
    """The first file of a name, as high up as there is one; an empty file is none (a clone without large files)."""
    deeper = ["/".join(["*"] * depth + [pattern]) for depth in range(DEPTH + 1)]
    paths = (path for folder in folders for name in deeper for path in sorted(folder.glob(name)))
    return next((path for path in paths if path.is_file() and path.stat().st_size), None)


class _WireBehaviour(msgspec.Struct):
    product_info: dict[str, Any]
    review: dict[str, Any] | None = None
    split: Split = "history"


class _WireInstruction(msgspec.Struct):
    user_id: str
    task: str
    type: records.TaskType
    timestamp: int
    target: _WireBehaviour


def read_product(said: dict[str, Any]) -> Product:
    return _known(Product, said | {"details": json.dumps(said.get("details"))})


def read_review(said: dict[str, Any], asin: str = "") -> Review:
    return _known(Review, said | {"parent_asin": said.get("parent_asin") or asin})


def _known(kind: type[RecordT], said: dict[str, Any]) -> RecordT:
    theirs = {"asin": "parent_asin", "timestamp_ms": "timestamp"}
    values = ((name, said.get(theirs.get(name, name))) for name in kind.__struct_fields__)
    return msgspec.convert({name: value for name, value in values if value is not None}, kind)


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
    said = {ours: inner[theirs] for theirs, ours in records.PROFILE_FIELDS.items() if inner.get(theirs)}
    return Profile(**{ours: ", ".join(map(str, one if isinstance(one, list) else [one])) for ours, one in said.items()})


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


def load_shop(dataset: str, data_dir: Path | None = None, *, splits: Collection[Split] = TESTED) -> ShopDataset:
    """Load a data set by the name or path of its card, or by the layout's name and a folder; raises as `read_shop`."""
    place = locate(dataset, data_dir)
    if place.layout != NAME:
        raise UserError(
            f"the data set {place.name!r} holds no web functions to be called: its layout is {place.layout}"
        )
    found = read_shop(place.folder, name=place.name, splits=splits)
    return msgspec.structs.replace(found, departs=departures(_counts(found, splits), place.expected))


def _counts(dataset: ShopDataset, splits: Collection[Split]) -> ExpectedCounts:
    counts: dict[str, Any] = {
        f"{split}_instructions": sum(task.split == split for task in dataset.tasks) for split in splits
    }
    if len(counts) == len(SPLITS):
        counts["instructions"] = len(dataset.tasks)
    return ExpectedCounts(participants=len(dataset.users), **counts)


def read_shop(folder: Path, *, name: str = NAME, splits: Collection[Split] | None = TESTED) -> ShopDataset:
    """Read the release's layout from a folder; the histories are always whole, ``splits`` None is all that are there.

    Raises DatasetProblems where something is wrong; every problem is in it, in order of the files; UserError where
    files are not there, or no task is left.
    """
    files, read = find_files(folder), _Reading()
    products: dict[str, Product] = {}
    for asin, raw in read.entries(*files.products):
        product = read.decoded(asin, lambda raw: read_product(msgspec.json.decode(raw, type=dict[str, Any])), raw)
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
        user: records.ShopUser(id=user, profile=profiles.get(user), behaviours=tuple(histories.get(user, ())))
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
        self.problems.append(Problem(file=str(self._path), field=field, value=value, what=what, fix=fix))


def read_numbers(path: Path) -> dict[str, int]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, int])
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(f"{path}: expected a JSON object of product ids and numbers; {error}") from None


def inspect_shop(name: str, data_dir: Path | None = None) -> Inspection:
    """Read a shop whole, and say what is wrong or odd: what loading refuses, and what lowers what can be reached.
    Raises UserError where there is no such data set, or its files are not there.
    """
    place = locate(name, data_dir)
    files = find_files(place.folder)
    try:
        dataset = read_shop(place.folder, name=place.name, splits=None)
    except DatasetProblems as found:
        return Inspection(problems=found.problems)
    users, tasks = dataset.users, dataset.tasks
    numbers = read_numbers(files.numbers) if files.numbers and not files.lacks else None
    odd = {
        "products are in no file of products; they are searched all the same": len(dataset.products) - dataset.listed,
        "tasks are of a user without any history": sum(not users[task.user_id].behaviours for task in tasks),
        "tasks are of a user without a profile": sum(users[task.user_id].profile is None for task in tasks),
        "recommend tasks have a target without a number, which is never recommended": sum(
            numbers is not None and task.type == "recommend" and task.target_asin not in numbers for task in tasks
        ),
    }
    warnings = [f"there is no {files.lacks}: get_recommendations_by_history will find nothing"] if files.lacks else []
    warnings += [f"there is no list {split} of instructions" for split in SPLITS if split not in dataset.splits]
    warnings += [f"{count} {words}" for words, count in odd.items() if count]
    warnings += differences(_counts(dataset, SPLITS), place.expected)
    bought = sum(len(user.behaviours) for user in users.values())
    parts = [f"{len(users):,} users, {bought:,} purchases, {len(dataset.products):,} products"]
    for split in dataset.splits:
        kinds = Counter(task.type for task in tasks if task.split == split)
        listed = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
        parts.append(f"{kinds.total():,} {split} instructions ({listed})")
    return Inspection(warnings=tuple(warnings), summary=", ".join(parts))


DRAWN = ("gender", "age", "occupation", "price_sensitivity", "diversity_preference", "interaction_complexity")
"""The dimensions whose shares figures 3 and 4 (a) show."""


def statistics(dataset: ShopDataset) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """The rows of the paper's table 2 by column, and the counts that figures 3 and 4 show, by dimension.

    A behaviour is counted for a split where it is earlier than a task of it. Tokens are those of cl100k_base, since the
    paper names no tokenizer.
    """

    def mean(values: Iterable[float]) -> float:
        found = list(values)
        return fmean(found) if found else 0.0

    entry, products, tokens = shop_prompts().entry, dataset.products, dict[str, list[tuple[int, int]]]()
    for user in dataset.users.values():
        worded = [behaviour_text(entry, at, one, products[one.asin]) for at, one in enumerate(user.behaviours)]
        times = (one.review.timestamp_ms for one in user.behaviours)
        tokens[user.id] = list(zip(times, map(text_tokens, worded), strict=True))
    table: dict[str, dict[str, float]] = {}
    for split in SPLITS:
        tasks = [task for task in dataset.tasks if task.split == split]
        latest = {task.user_id: task.timestamp_ms for task in sorted(tasks, key=lambda task: task.timestamp_ms)}
        before = [[count for at, count in tokens[user] if at < moment] for user, moment in latest.items()]
        table[split] = {
            "users": len(latest),
            "behaviours of a user": mean(map(len, before)),
            "tokens of a user's behaviours": mean(map(sum, before)),
            "instructions": len(tasks),
            "tokens of an instruction": mean(text_tokens(task.instruction) for task in tasks),
        }
        for kind in records.TYPES:
            of_kind = [text_tokens(task.instruction) for task in tasks if task.type == kind]
            table[split] |= {f"{kind} instructions": len(of_kind), f"tokens of a {kind} instruction": mean(of_kind)}
    listed = list(products.values())[: dataset.listed]
    profiles = [user.profile for user in dataset.users.values() if user.profile is not None]
    lines = (
        "\n".join(f"{name}: {getattr(one, ours)}" for name, ours in records.PROFILE_FIELDS.items()) for one in profiles
    )
    table["all"] = {
        "users": len(dataset.users),
        "tokens of a profile": mean(map(text_tokens, lines)),
        "products": len(listed),
        "tokens of a product": mean(text_tokens(product_text(product)) for product in listed),
    }
    return table, {name: dict(Counter(getattr(one, name) or "-" for one in profiles).most_common()) for name in DRAWN}


def print_statistics(name: str, table: dict[str, dict[str, float]], shares: dict[str, dict[str, int]]) -> None:
    console = wide_console(100)
    shown = Table("", *table, title=f"{name} · table 2, figure 4 (b)", title_justify="left", box=SIMPLE_HEAD)
    for row in dict.fromkeys(row for column in table.values() for row in column):
        cells = (column.get(row) for column in table.values())
        shown.add_row(row, *("\u2013" if one is None else f"{one:,.{0 if one == int(one) else 1}f}" for one in cells))
    console.print(shown)
    for dimension, counts in shares.items():
        words = ", ".join(f"{value} {count / sum(counts.values()):.0%}" for value, count in counts.items())
        say(console, f"{dimension.replace('_', ' ')}: {words}")
