"""What is wrong with a shop's files, and what is odd: the name of a data set in, problems, warnings and counts out.

Everything that loading refuses is a problem, and so is a recommender whose files don't fit each other. What only
lowers what can be reached (a target without a number, a profile with holes) is a warning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from grounding.errors import UserError
from grounding.loaders.cards import ExpectedCounts
from grounding.loaders.counts import differences
from grounding.loaders.problems import DatasetProblems, Problem
from grounding.loaders.registry import Inspection, locate
from grounding.webagents.personalwab.functions.recommend import open_recommender, read_numbers
from grounding.webagents.personalwab.layout import PROFILE_FIELDS, JsonFile, read_product
from grounding.webagents.personalwab.loader import TESTED, ShopFiles, find_files, read_shop
from grounding.webagents.personalwab.records import Profile, ShopDataset, Split

LEVELS = ("High", "Medium", "Low")
LEVELLED = ("price_sensitivity", "diversity_preference", "interaction_complexity")
SPLITS: tuple[Split, ...] = ("train", "test")


def inspect_shop(name: str, data_dir: Path | None = None) -> Inspection:
    """Read a shop whole, instructions of both splits, and say what is wrong or odd.

    Args:
        name: The name or path of its card, or the name of the layout.
        data_dir: Where the files lie; not needed for a bundled data set.

    Raises:
        UserError: There is no such data set, or its files are not there.
    """
    place = locate(name, data_dir)
    files = find_files(place.folder)
    splits = _splits_there(files)
    try:
        dataset = read_shop(place.folder, name=place.name, splits=splits or TESTED)
    except DatasetProblems as found:
        return Inspection(problems=found.problems)
    numbers, problems, warnings = _recommender(files)
    warnings += [f"there is no list {split} of instructions" for split in SPLITS if split not in splits]
    warnings += dataset.warnings
    warnings += _profiles(dataset)
    warnings += _targets(dataset, files, numbers)
    warnings += differences(_counts(dataset), place.expected)
    return Inspection(problems=tuple(problems), warnings=tuple(warnings), summary=summary(dataset))


def summary(dataset: ShopDataset) -> str:
    """How much a shop holds, in one line."""
    tasks = Counter((task.split, task.type) for task in dataset.tasks)
    behaviours = sum(len(user.behaviours) for user in dataset.users.values())
    parts = []
    for split in SPLITS:
        of_split = {kind: count for (one, kind), count in sorted(tasks.items()) if one == split}
        if of_split:
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in of_split.items())
            parts.append(f"{sum(of_split.values()):,} {split} instructions ({kinds})")
    counts = f"{len(dataset.users):,} users, {behaviours:,} purchases, {len(dataset.products):,} products"
    return f"{counts}, {', '.join(parts)}"


def _splits_there(files: ShopFiles) -> tuple[Split, ...]:
    keys = {key for key, _ in JsonFile(files.instructions, []).entries()}
    return tuple(split for split in SPLITS if split in keys)


def _counts(dataset: ShopDataset) -> ExpectedCounts:
    return ExpectedCounts(participants=len(dataset.users), instructions=len(dataset.tasks))


def _recommender(files: ShopFiles) -> tuple[dict[str, int] | None, list[Problem], list[str]]:
    """The numbers of the products, and what is wrong with them or with the checkpoint."""
    if files.numbers is None or files.checkpoint is None:
        absent = "file of numbers (*_ids.json)" if files.numbers is None else "checkpoint (*.pth)"
        return None, [], [f"there is no {absent}: get_recommendations_by_history will find nothing"]
    try:
        numbers = read_numbers(files.numbers)
    except UserError as error:
        return None, [_problem(files.numbers, error)], []
    if find_spec("torch") is None:
        return numbers, [], [f"{files.checkpoint} was not looked into: that needs torch (pip install 'grounding[web]')"]
    try:
        open_recommender(files.checkpoint, files.numbers, leave_out_bought=False)
    except UserError as error:
        return numbers, [_problem(files.checkpoint, error)], []
    return numbers, [], []


def _problem(file: Path, error: UserError) -> Problem:
    what = str(error).removeprefix(f"{file}: ")
    return Problem(file=str(file), what=what, fix="restore the file, or take it out to run without recommendations")


def _profiles(dataset: ShopDataset) -> list[str]:
    profiles = [user.profile for user in dataset.users.values() if user.profile is not None]
    holes = sum(any(not getattr(profile, field) for field in PROFILE_FIELDS.values()) for profile in profiles)
    odd = Counter(value for profile in profiles for value in _odd_levels(profile))
    warnings = [f"{holes} profiles leave out some of the {len(PROFILE_FIELDS)} dimensions"] if holes else []
    if odd:
        most, _ = odd.most_common(1)[0]
        warnings.append(f"{odd.total()} entries of profiles are none of {', '.join(LEVELS)}, such as {most[:60]!r}")
    return warnings


def _odd_levels(profile: Profile) -> Iterable[str]:
    for field in LEVELLED:
        value = getattr(profile, field)
        if value and value not in LEVELS:
            yield value


def _targets(dataset: ShopDataset, files: ShopFiles, numbers: dict[str, int] | None) -> list[str]:
    listed = _listed(files)
    elsewhere = set(dataset.products) - listed
    pairs = [(one.review, one.asin) for user in dataset.users.values() for one in user.behaviours]
    pairs += [(task.target_review, task.target_asin) for task in dataset.tasks if task.target_review is not None]
    misplaced = sum(review.asin != asin for review, asin in pairs)
    found = []
    if elsewhere:
        targets = len({task.target_asin for task in dataset.tasks} & elsewhere)
        found.append(
            f"{len(elsewhere)} products, {targets} of them targets, are in no file of products; they are searched all "
            "the same"
        )
    if misplaced:
        found.append(f"{misplaced} reviews name another product than the one that they stand beside")
    if numbers is not None:
        unreached = sum(task.type == "recommend" and task.target_asin not in numbers for task in dataset.tasks)
        if unreached:
            found.append(f"{unreached} recommend tasks have a target without a number, which is never recommended")
    return found


def _listed(files: ShopFiles) -> set[str]:
    """The products of the files of products."""
    found = set()
    for path in files.products:
        file = JsonFile(path, [])
        found |= {asin for asin, raw in file.entries() if file.decode(raw, read_product, asin) is not None}
    return found
