"""The table of alignment, with the paper's under it."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from grounding.money import dollars
from grounding.places import published_dir
from grounding.scoring.published import read_published
from grounding.webagents.agenticshop.reliability.alignment.aligning import Aligned
from grounding.webagents.agenticshop.reliability.alignment.figures import AVERAGE, AlignmentFigure
from grounding.webagents.agenticshop.reliability.alignment.records import REPRESENTATIONS, Representation

PRINTED_ROW: dict[Representation, str] = {
    "query": "Query",
    "history": "Histories",
    "context": "Context",
    "checklist": "Checklist",
}
PRINTED_COLUMN = {
    "Food": "food",
    "Home": "home",
    "Electronics": "electronics",
    "Fashion": "fashion",
    "All": "all",
    AVERAGE: "average",
}
FEW_USERS = 30


def print_alignment(aligned: Aligned) -> None:
    """Print the table and what was left out.

    Raises:
        UserError: the published figures are missing from this installation or damaged.
    """
    found = aligned.alignment
    console = Console(width=None if sys.stdout.isatty() else 120, markup=False, emoji=False, highlight=False)
    domains = [name for name in PRINTED_COLUMN if any(one.domain == name for one in found.figures)]
    cells = {(one.representation, one.domain): one for one in found.figures}
    printed = {
        (one.row, one.column): one for one in read_published(published_dir() / "agenticshop.csv") if one.table == "2"
    }
    table = Table(
        "told by",
        *(Column(name, justify="right") for name in domains),
        title=Text(f"prefers the product that its user rated higher · by {found.by}"),
        title_justify="left",
    )
    for row in REPRESENTATIONS:
        table.add_row(row, *(_cell(cells[row, name]) for name in domains), end_section=row == REPRESENTATIONS[-1])
    for row in REPRESENTATIONS:
        figures = [printed.get((PRINTED_ROW[row], PRINTED_COLUMN[name])) for name in domains]
        table.add_row(
            f"paper: {row}",
            *("-" if one is None else f"{one.value:.2f}{'*' if one.flag else ''}" for one in figures),
        )
    console.print(table)
    for line in _notes(aligned, domains):
        console.print(Text(line), soft_wrap=True)


def _cell(one: AlignmentFigure) -> str:
    if one.accuracy is None:
        return "-"
    interval = "" if one.interval is None else f" [{one.interval.low:.2f}, {one.interval.high:.2f}]"
    return f"{one.accuracy:.2f}{interval}"


def _notes(aligned: Aligned, domains: list[str]) -> list[str]:
    found = aligned.alignment
    users = {one.domain: one.users for one in found.figures if one.representation == "checklist"}
    counts = " · ".join(f"{name} {users[name]}" for name in domains if name != AVERAGE)
    lines = [
        f"users      {counts}; {found.pairs} pairs, one product of the lowest and one of the highest rating (seed "
        f"{found.seed}, reviews: {found.source})",
        f"left out   {found.without_history} users without reviews in --raw, {found.same_rating} who rated everything "
        f"alike, {found.too_few} with fewer than two products",
        f"leak       in {found.in_context} of {found.pairs} pairs a product is among the reviews that the release "
        "wrote context and checklist from",
    ]
    if len(domains) < len(PRINTED_COLUMN):
        lines.append(
            f"average    over {len(domains) - 1} of the paper's {len(PRINTED_COLUMN) - 1} domains; the paper's own is "
            "over all of them"
        )
    ties = sum(one.ties for one in found.figures if one.domain == AVERAGE)
    asked = sum(one.questions for one in found.figures if one.domain == AVERAGE)
    lines.append(f"ties       {ties} of {asked} questions, each worth a half; chance is 0.50")
    same = [one for one in found.figures if one.domain == AVERAGE and one.same_choice is not None]
    if same:
        said = " · ".join(f"{one.representation} {one.same_choice:.2f}" for one in same)
        lines.append(f"order      the same product chosen in both orders: {said}")
    if aligned.tally is not None:
        left = aligned.tally
        open_ones = left.items - left.done - left.unparsed - left.error
        lines.append(
            f"replies    {left.items}: unparsed {left.unparsed}, errors {left.error}, not asked yet {open_ones}"
        )
    if found.cost_usd is not None:
        lines.append(f"cost       {dollars(found.cost_usd)}")
    if aligned.stopped:
        lines.append(f"stopped before the end: {aligned.stopped}")
    if any(users[name] < FEW_USERS for name in domains if name != AVERAGE):
        lines.append("note       so few users say little: look at the intervals before you compare with the paper's 50")
    return lines
