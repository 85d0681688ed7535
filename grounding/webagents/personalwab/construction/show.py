"""What ``grounding shop`` prints."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grounding.money import dollars
from grounding.webagents.asking import Tally
from grounding.webagents.personalwab.construction.build import Built

if TYPE_CHECKING:
    from grounding.webagents.personalwab.construction.judging import Judged


def built_lines(built: Built, out: Path) -> list[str]:
    """A few lines on what was made."""
    made = built.made
    lines = []
    if made.counts is not None and made.facts is not None:
        counts, facts = made.counts, made.facts
        parts = " · ".join(f"{split} {counts.behaviours.get(split, 0)}" for split in ("history", "train", "test"))
        by_split = {split: _of(counts.instructions, split) for split in ("train", "test")}
        lines += [
            f"{out}: {counts.users} users ({counts.users_with_profile} with a profile) · {counts.products:,} products",
            f"behaviours    {parts}",
            f"instructions  train {by_split['train']} · test {by_split['test']}",
            f"read          {facts.source}: {facts.reviews_read:,} reviews, {facts.products_read:,} products, "
            f"{facts.eligible:,} users with enough behaviours",
        ]
        if facts.same_twice or facts.without_product:
            lines.append(
                f"left out      {facts.same_twice} repeated reviews, {facts.without_product} of unknown products"
            )
        wanted = made.recipe.sampling.users
        if counts.users < wanted:
            more = "--min-behaviours, --max-behaviours and --candidates decide who can be drawn"
            lines.append(f"note          {wanted} users were asked for: {more}")
        if counts.titles_told:
            lines.append(f"note          {counts.titles_told} search instructions hold the whole title of their target")
    lines.append(f"written by    {made.recipe.writer}: {made.written_by}")
    for name, asked in (("profiles", made.profiles), ("instructions", made.instructions)):
        if asked is not None and asked.done < asked.items:
            lines.append(f"{name:<13} {_left(asked)}")
    cost = "" if made.cost_usd is None else f" · {dollars(made.cost_usd)} in all"
    lines.append(f"asked now     {built.asked}{cost} · {built.seconds:.1f} s")
    if built.stopped:
        lines.append(f"stopped before the end: {built.stopped}")
    return lines


def _of(counts: dict[str, int], split: str) -> str:
    kinds = {name.partition("/")[2]: count for name, count in counts.items() if name.startswith(f"{split}/")}
    by_kind = ", ".join(f"{kind} {kinds[kind]}" for kind in ("search", "recommend", "review") if kind in kinds)
    return f"{sum(kinds.values())} ({by_kind})" if kinds else "0"


def _left(asked: Tally) -> str:
    open_ones = asked.items - asked.done - asked.unparsed - asked.error
    return f"unparsed {asked.unparsed} · errors {asked.error} · not asked yet {open_ones}, of {asked.items}"


def print_consistency(judged: Judged, *, as_json: bool) -> None:
    """The table of the two tasks, or all figures as JSON."""
    import msgspec
    from rich.console import Console
    from rich.table import Column, Table

    if as_json:
        print(msgspec.json.format(msgspec.json.encode(judged.consistency), indent=2).decode())
        return
    shown = judged.consistency
    console = Console(width=None if sys.stdout.isatty() else 100, markup=False, emoji=False, highlight=False)
    table = Table(
        "task",
        "measure",
        Column("value", justify="right"),
        Column("users", justify="right"),
        "95 % interval",
        Column("by chance", justify="right"),
        title=f"{shown.dataset} · profiles judged by {shown.by}",
        title_justify="left",
    )
    for one in shown.figures:
        users = f"{one.n}" if one.k is None else f"{one.k}/{one.n}"
        value = "-" if one.value is None else f"{one.value:.3f}"
        interval = "-" if one.low is None or one.high is None else f"[{one.low:.3f}, {one.high:.3f}]"
        table.add_row(one.task, one.measure, value, users, interval, f"{one.chance:.3f}")
    console.print(table)
    for line in (
        f"left out   {shown.without_profile} users without a profile, {shown.too_few} with too few products bought",
        *([f"replies    {_left(judged.tally)}"] if judged.tally is not None else []),
        *([f"cost       {dollars(shown.cost_usd)}"] if shown.cost_usd is not None else []),
        *([f"stopped before the end: {judged.stopped}"] if judged.stopped else []),
    ):
        console.print(line, soft_wrap=True)
