"""PersonalWAB's release on disk: a folder in; users, products and tasks out, or everything that is wrong with it.

The files may lie at any depth up to three below the folder that is given, as in the release's
``PersonalWAB/envs/pwab/data``. A history in several parts is put together in the order of the files' names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec

from grounding.errors import UserError
from grounding.loaders.problems import DatasetProblems, Problem, shorten
from grounding.loaders.registry import locate
from grounding.records import Record
from grounding.webagents.personalwab.fingerprint import shop_fingerprint
from grounding.webagents.personalwab.layout import (
    Bought,
    Instructed,
    JsonFile,
    read_history,
    read_instruction,
    read_product,
    read_profile,
)
from grounding.webagents.personalwab.records import Behaviour, Product, Profile, ShopDataset, ShopTask, ShopUser, Split

NAME = "personalwab"
INSTRUCTIONS = "user_instructions.json"
PROFILES = "user_profiles.json"
HISTORIES = "user_history*.json"
PRODUCTS = "all_products*.json"
NUMBERS = "*_ids.json"
CHECKPOINT = "*.pth"
DEPTH = 3
TESTED: tuple[Split, ...] = ("test",)

Told = Callable[[str], None]


class ShopFiles(Record, frozen=True, kw_only=True):
    """Where the parts of a data set lie; None or nothing where a part that may be absent is."""

    instructions: Path
    histories: tuple[Path, ...]
    products: tuple[Path, ...]
    profiles: Path | None = None
    numbers: Path | None = None
    checkpoint: Path | None = None


def load_shop(
    dataset: str,
    data_dir: Path | None = None,
    *,
    splits: Collection[Split] = TESTED,
    users: Collection[str] = (),
    told: Told | None = None,
) -> ShopDataset:
    """Load a data set by the name or path of its card, or by the layout's name and a folder.

    Args:
        dataset: ``sample-shop``, ``personalwab``, ``my/card.yaml``.
        data_dir: Where the files lie; not needed for a bundled data set.
        splits: Whose instructions become tasks; the histories are always whole.
        users: Ids of the users whose tasks are kept; empty for all.
        told: Called with the name of every file before it is read.

    Raises:
        DatasetProblems: Something is wrong; every problem is in it.
        UserError: There is no such data set, or its files are not there.
    """
    place = locate(dataset, data_dir)
    if place.layout != NAME:
        raise UserError(
            f"the data set {place.name!r} holds no web functions to be called: its layout is {place.layout}"
        )
    return read_shop(place.folder, name=place.name, splits=splits, users=users, told=told)


def find_files(folder: Path) -> ShopFiles:
    """The parts of a data set below a folder.

    Raises:
        UserError: A part that is needed is missing; says which.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: there is no such folder; give the one that holds {INSTRUCTIONS} with --data-dir")
    instructions = _below(folder, INSTRUCTIONS)
    if not instructions:
        raise UserError(f"{folder}: no {INSTRUCTIONS} in it, or up to {DEPTH} folders deeper; see --data-dir")
    beside = instructions[0].parent
    histories, products = sorted(beside.glob(HISTORIES)), sorted(beside.glob(PRODUCTS))
    missing = [name for name, found in ((HISTORIES, histories), (PRODUCTS, products)) if not found]
    if missing:
        raise UserError(f"{beside}: no {' and no '.join(missing)}; a shop has instructions, histories and products")
    profiles = beside / PROFILES
    numbers, checkpoints = _below(folder, NUMBERS), _below(folder, CHECKPOINT)
    return ShopFiles(
        instructions=instructions[0],
        histories=tuple(histories),
        products=tuple(products),
        profiles=profiles if profiles.is_file() else None,
        numbers=numbers[0] if numbers else None,
        checkpoint=checkpoints[0] if checkpoints else None,
    )


def _below(folder: Path, pattern: str) -> list[Path]:
    for depth in range(DEPTH + 3):
        found = sorted(folder.glob("/".join(["*"] * depth + [pattern])))
        if found:
            return found
    return []


def read_shop(
    folder: Path,
    *,
    name: str = NAME,
    splits: Collection[Split] = TESTED,
    users: Collection[str] = (),
    told: Told | None = None,
) -> ShopDataset:
    """Read the release's layout from a folder.

    Raises:
        DatasetProblems: Something is wrong; every problem is in it, in order of the files.
        UserError: Files are not there, or no task is left.
    """
    files = find_files(folder)
    problems: list[Problem] = []
    warnings: list[str] = []
    tell = told or (lambda _: None)
    products: dict[str, Product] = {}
    for path in files.products:
        tell(path.name)
        _read_products(path, products, problems)
    histories: dict[str, list[Bought]] = {}
    for path in files.histories:
        tell(path.name)
        _read_histories(path, histories, problems)
    profiles = {} if files.profiles is None else _read_profiles(files.profiles, problems)
    tell(files.instructions.name)
    given = _read_instructions(files.instructions, splits, problems)
    if problems:
        raise DatasetProblems(problems)
    tasks = _tasks(given, users)
    if not tasks:
        raise UserError(
            f"{files.instructions}: no instruction is left to be done; see --split, --participant and --limit"
        )
    for one in given:
        products.setdefault(one[2].product.asin, one[2].product)
    people = _people(histories, profiles, [task.user_id for task in tasks])
    warnings += _odd(tasks, people, products, histories)
    return ShopDataset(
        name=name,
        fingerprint=shop_fingerprint(tasks, people, products),
        users=people,
        products=products,
        tasks=tasks,
        warnings=tuple(warnings),
    )


def _read_products(path: Path, products: dict[str, Product], problems: list[Problem]) -> None:
    file = JsonFile(path, problems)
    for asin, raw in file.entries():
        product = file.decode(raw, read_product, asin)
        if product is None:
            continue
        if product.asin != asin:
            file.wrong(asin, shorten(product.asin), "parent_asin is another than the key", "make them the same")
            continue
        products[asin] = product


def _read_histories(path: Path, histories: dict[str, list[Bought]], problems: list[Problem]) -> None:
    file = JsonFile(path, problems)
    for user, raw in file.entries():
        history = file.decode(raw, read_history, user)
        if history is None:
            continue
        if user in histories:
            file.wrong(user, "", "this user's history is in an earlier part already", "keep it in one file")
            continue
        histories[user] = list(history)


def _read_profiles(path: Path, problems: list[Problem]) -> dict[str, Profile]:
    file = JsonFile(path, problems)
    found = {}
    for user, raw in file.entries():
        profile = file.decode(raw, read_profile, user)
        if profile is not None:
            found[user] = profile
    return found


def _read_instructions(
    path: Path, splits: Collection[Split], problems: list[Problem]
) -> list[tuple[Split, int, Instructed]]:
    file = JsonFile(path, problems)
    given: list[tuple[Split, int, Instructed]] = []
    seen = set()
    for split, raw in file.entries():
        if split not in ("train", "test"):
            file.wrong(split, "", "expected the lists train and test", "rename it, or take it out")
            continue
        seen.add(split)
        if split not in splits:
            continue
        for item, one in enumerate(file.decode(raw, _list, split) or ()):
            instruction = file.decode(one, read_instruction, f"{split}[{item}]")
            if instruction is None:
                continue
            if instruction.type == "review" and instruction.review is None:
                file.wrong(
                    f"{split}[{item}].target.review", "", "is missing", "a review task needs the user's own review"
                )
                continue
            given.append((_split(split), item, instruction))
    for split in sorted(set(splits) - seen):
        if not problems:
            file.wrong(split, "", "there is no such list", "give the split that is there with --split")
    return given


def _list(raw: msgspec.Raw) -> list[msgspec.Raw]:
    return msgspec.json.decode(raw, type=list[msgspec.Raw])


def _split(name: str) -> Split:
    return "train" if name == "train" else "test"


def _tasks(given: Sequence[tuple[Split, int, Instructed]], users: Collection[str]) -> tuple[ShopTask, ...]:
    """Tasks named by split and place in the file, so that equal instructions stay apart."""
    return tuple(
        ShopTask(
            id=f"{split}/{item}",
            user_id=one.user_id,
            type=one.type,
            instruction=one.text,
            timestamp_ms=one.timestamp_ms,
            target_asin=one.product.asin,
            target_review=one.review,
            split=split,
        )
        for split, item, one in given
        if not users or one.user_id in users
    )


def _people(
    histories: dict[str, list[Bought]], profiles: dict[str, Profile], wanted: Sequence[str]
) -> dict[str, ShopUser]:
    """The users of histories and tasks; behaviour oldest first, in the file's order where times are equal."""
    people = {}
    for user in dict.fromkeys([*histories, *wanted]):
        bought = sorted(histories.get(user, ()), key=lambda one: one.review.timestamp_ms)
        behaviours = tuple(Behaviour(asin=one.product.asin, review=one.review, split=one.split) for one in bought)
        people[user] = ShopUser(id=user, profile=profiles.get(user), behaviours=behaviours)
    return people


def _odd(
    tasks: Sequence[ShopTask],
    people: dict[str, ShopUser],
    products: dict[str, Product],
    histories: dict[str, list[Bought]],
) -> list[str]:
    for history in histories.values():
        for one in history:
            products.setdefault(one.product.asin, one.product)
    texts = Counter((task.user_id, task.instruction) for task in tasks)
    counts = {
        "tasks share user and words with another; each counts": sum(n for n in texts.values() if n > 1),
        "tasks are of a user without any history": sum(not people[task.user_id].behaviours for task in tasks),
        "tasks are of a user without a profile": sum(people[task.user_id].profile is None for task in tasks),
    }
    return [f"{count} {words}" for words, count in counts.items() if count]
