"""What is wrong with a shop's files, what is odd, and what the paper counts: a data set's name in, findings out.

Everything that loading refuses is a problem. What only lowers what can be reached, such as a target without a number,
is a warning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from grounding.benchmarks.personalwab.loader import count_shop, find_files, read_shop
from grounding.benchmarks.personalwab.prompts import behaviour_text, product_text, shop_prompts
from grounding.benchmarks.personalwab.recommend import read_numbers
from grounding.benchmarks.personalwab.records import PROFILE_FIELDS, TYPES, ShopDataset, Split
from grounding.console import wide_console
from grounding.data.fields import DatasetProblems
from grounding.data.registry import Inspection, differences, locate
from grounding.llm.tokens import text_tokens

DRAWN = ("gender", "age", "occupation", "price_sensitivity", "diversity_preference", "interaction_complexity")
"""The dimensions whose shares figures 3 and 4 (a) show."""

SPLITS: tuple[Split, ...] = ("train", "test")


def inspect_shop(name: str, data_dir: Path | None = None) -> Inspection:
    """Read a shop whole, instructions of both splits, and say what is wrong or odd.

    Raises UserError where there is no such data set, or its files are not there.
    """
    place = locate(name, data_dir)
    files = find_files(place.folder)
    try:
        dataset = read_shop(place.folder, name=place.name, splits=None)
    except DatasetProblems as found:
        return Inspection(problems=found.problems)
    users, tasks, numbers = (
        dataset.users,
        dataset.tasks,
        read_numbers(files.numbers) if files.numbers and not files.lacks else None,
    )
    warnings = [f"there is no {files.lacks}: get_recommendations_by_history will find nothing"] if files.lacks else []
    odd = {
        "products are in no file of products; they are searched all the same": len(dataset.products) - dataset.listed,
        "tasks are of a user without any history": sum(not users[task.user_id].behaviours for task in tasks),
        "tasks are of a user without a profile": sum(users[task.user_id].profile is None for task in tasks),
        "recommend tasks have a target without a number, which is never recommended": sum(
            numbers is not None and task.type == "recommend" and task.target_asin not in numbers for task in tasks
        ),
    }
    warnings += [f"there is no list {split} of instructions" for split in SPLITS if split not in dataset.splits]
    warnings += [f"{count} {words}" for words, count in odd.items() if count]
    warnings += differences(count_shop(dataset, SPLITS), place.expected)
    return Inspection(warnings=tuple(warnings), summary=_summary(dataset))


def _summary(dataset: ShopDataset) -> str:
    """How much a shop holds, in one line."""
    behaviours = sum(len(user.behaviours) for user in dataset.users.values())
    parts = [f"{len(dataset.users):,} users, {behaviours:,} purchases, {len(dataset.products):,} products"]
    for split in dataset.splits:
        kinds = sorted(Counter(task.type for task in dataset.tasks if task.split == split).items())
        listed = ", ".join(f"{count:,} {kind}" for kind, count in kinds)
        parts.append(f"{sum(count for _, count in kinds):,} {split} instructions ({listed})")
    return ", ".join(parts)


# --- what the paper counts ------------------------------------------------------------------------------------------


def statistics(dataset: ShopDataset) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """The rows of the paper's table 2 by column, and the counts that figures 3 and 4 show, by dimension.

    A behaviour is counted for a split where it is earlier than a task of it. Tokens are those of cl100k_base, since the
    paper names no tokenizer.
    """
    entry, products = shop_prompts().entry, dataset.products
    tokens = {
        user.id: [
            (one.review.timestamp_ms, text_tokens(behaviour_text(entry, place, one, products[one.asin])))
            for place, one in enumerate(user.behaviours)
        ]
        for user in dataset.users.values()
    }
    table: dict[str, dict[str, float]] = {}
    for split in SPLITS:
        tasks = [task for task in dataset.tasks if task.split == split]
        latest = {task.user_id: task.timestamp_ms for task in sorted(tasks, key=lambda task: task.timestamp_ms)}
        before = [[count for at, count in tokens[user] if at < moment] for user, moment in latest.items()]
        table[split] = {
            "users": len(latest),
            "behaviours of a user": _mean(map(len, before)),
            "tokens of a user's behaviours": _mean(map(sum, before)),
            "instructions": len(tasks),
            "tokens of an instruction": _mean(text_tokens(task.instruction) for task in tasks),
        }
        for kind in TYPES:
            of_kind = [text_tokens(task.instruction) for task in tasks if task.type == kind]
            table[split] |= {f"{kind} instructions": len(of_kind), f"tokens of a {kind} instruction": _mean(of_kind)}
    listed = list(products.values())[: dataset.listed]
    profiles = [user.profile for user in dataset.users.values() if user.profile is not None]
    lines = (
        "\n".join(f"{theirs}: {getattr(one, ours)}" for theirs, ours in PROFILE_FIELDS.items()) for one in profiles
    )
    table["all"] = {
        "users": len(dataset.users),
        "tokens of a profile": _mean(map(text_tokens, lines)),
        "products": len(listed),
        "tokens of a product": _mean(text_tokens(product_text(product)) for product in listed),
    }
    shares = {name: dict(Counter(getattr(one, name) or "-" for one in profiles).most_common()) for name in DRAWN}
    return table, shares


def print_statistics(name: str, table: dict[str, dict[str, float]], shares: dict[str, dict[str, int]]) -> None:
    """Print what the paper counts as tables."""
    console = wide_console(100)
    shown = Table("", *table, title=f"{name} · table 2, figure 4 (b)", title_justify="left", box=SIMPLE_HEAD)
    for row in dict.fromkeys(row for column in table.values() for row in column):
        cells = (column.get(row) for column in table.values())
        shown.add_row(row, *("\u2013" if one is None else f"{one:,.{0 if one == int(one) else 1}f}" for one in cells))
    console.print(shown)
    for dimension, counts in shares.items():
        words = ", ".join(f"{value} {count / sum(counts.values()):.0%}" for value, count in counts.items())
        console.print(Text(f"{dimension.replace('_', ' ')}: {words}"), soft_wrap=True, highlight=False)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fmean(found) if found else 0.0
