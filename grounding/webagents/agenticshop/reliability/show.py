"""Tables of agreement between judges and people, with the paper's beside them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from grounding.places import published_dir
from grounding.scoring.published import PublishedFigure, read_published
from grounding.webagents.agenticshop.records import DIMENSIONS, Condition, Dimension
from grounding.webagents.agenticshop.reliability.agreeing import Agreed, RaterFacts
from grounding.webagents.agenticshop.reliability.agreement import PEOPLE, Coefficient

FILE = "agenticshop.csv"
PRINTED_CONDITION: dict[Condition, str] = {
    "full": "Ours",
    "no-info": "w/o product info.",
    "url-only": "w/o screenshots (URL Only)",
}
"""What the paper's table 3 calls the three conditions."""

PRINTED_DIMENSION: dict[Dimension, str] = {
    "brand_preferences": "Brand Pref.",
    "price_sensitivity": "Price Sens.",
    "review_sensitivity": "Review Sens.",
    "functional_requirements": "Func. Req.",
    "aesthetic_preferences": "Aesth. Pref.",
    "purchase_preferences": "Purchase Pref.",
}
"""What table 9 calls the dimensions."""


def print_agreement(agreed: Agreed) -> None:
    """Print the tables and what was left out.

    Raises:
        UserError: the published figures are missing from this installation or damaged.
    """
    console = Console(width=None if sys.stdout.isatty() else 120, markup=False, emoji=False, highlight=False)
    figures = read_published(published_dir() / FILE)
    console.print(_overall(agreed, figures))
    for rater in dict.fromkeys((one.rater, one.condition) for one in agreed.figures if one.rater != PEOPLE):
        console.print(_by_dimension(agreed, rater, figures))
    for line in _notes(agreed):
        console.print(Text(line), soft_wrap=True)


def _overall(agreed: Agreed, figures: Sequence[PublishedFigure]) -> Table:
    table = Table(
        Column("judge", overflow="fold"),
        "shown",
        *(Column(name, justify="right") for name in ("items", "agree", "kappa", "Spearman", "by product")),
        title=Text(f"agreement with {' and '.join(one.name for one in agreed.people)}; the paper's table 3 below"),
        title_justify="left",
    )
    own = [one for one in agreed.figures if one.dimension is None]
    for one in own:
        agree = "-" if one.agree_percent is None else f"{one.agree_percent:.1f} %"
        shares = "-" if one.by_product is None else f"{one.by_product:.3f}"
        table.add_row(
            one.rater,
            one.condition or "",
            str(one.compared),
            agree,
            _coefficient(one.kappa),
            _coefficient(one.spearman),
            shares,
            end_section=one == own[-1],
        )
    cells = {(one.row, one.column): one for one in figures if one.table == "3"}
    for row in dict.fromkeys(one.row for one in figures if one.table == "3"):
        shown = next((name for name, printed in PRINTED_CONDITION.items() if printed == row), "")
        table.add_row(
            f"paper: {row}",
            shown,
            "",
            "",
            _printed(cells.get((row, "kappa"))),
            _printed(cells.get((row, "Spearman"))),
            "",
        )
    return table


def _by_dimension(agreed: Agreed, rater: tuple[str, Condition | None], figures: Sequence[PublishedFigure]) -> Table:
    name, condition = rater
    table = Table(
        Column("about", no_wrap=True),
        *(
            Column(head, justify="right", no_wrap=True)
            for head in ("items", "kappa", "Spearman", "between people", "in the paper")
        ),
        title=Text(f"{name}{'' if condition is None else f' ({condition})'} by dimension; the paper's table 9 beside"),
        title_justify="left",
    )
    cells = {(one.row, one.column): one for one in figures if one.table == "9"}
    of_people = {one.dimension: one for one in agreed.figures if one.rater == PEOPLE}
    mine = {one.dimension: one for one in agreed.figures if (one.rater, one.condition) == rater}
    rows: tuple[Dimension | None, ...] = (*DIMENSIONS, None)
    for dimension in rows:
        one = mine[dimension]
        printed = "Overall" if dimension is None else PRINTED_DIMENSION[dimension]
        table.add_row(
            "all" if dimension is None else dimension.partition("_")[0],
            str(one.compared),
            _coefficient(one.kappa),
            _coefficient(one.spearman),
            _coefficient(of_people[dimension].kappa) if dimension in of_people else "-",
            " ".join(_printed(cells.get((printed, column))) for column in ("kappa", "Spearman", "between people")),
        )
    return table


def _notes(agreed: Agreed) -> list[str]:
    said = {
        "leave-out": "what a person can't tell is left out (--unsure not-satisfied counts it as not satisfied)",
        "not-satisfied": "what a person can't tell counts as not satisfied",
    }[agreed.unsure]
    lines = [
        f"intervals  95 %, bootstrap over products, seed {agreed.seed}; Spearman of yes and no is phi; {said}",
        *(f"person     {_facts(one)}" for one in agreed.people),
        *(f"judge      {_facts(one)}" for one in agreed.judges),
    ]
    thin = [one for one in agreed.figures if one.dimension is None and one.kappa.undefined_draws]
    lines += [f"note       {one.rater}: {one.kappa.undefined_draws} resamples had no kappa" for one in thin]
    lines += [f"warning    {one}" for one in agreed.warnings]
    if any(one.condition for one in agreed.figures):
        lines.append(
            "published  other products, people and judges than the paper's: a place to compare with, not a reproduction"
        )
    return lines


def _facts(one: RaterFacts) -> str:
    parts = [f"{one.name}: {one.items} items of {one.products} products"]
    for count, words in (
        (one.undecided, "not decided"),
        (one.failed_products, "products without a judgement (errors)"),
        (one.not_labelled, "products of the sample not labelled"),
        (one.other_product, "products left out, not of these runs"),
        (one.other_words, "labels left out, other words"),
    ):
        if count:
            parts.append(f"{count} {words}")
    if one.seconds and one.products:
        parts.append(f"{one.seconds / one.products:.0f} s a product")
    return " · ".join(parts)


def _coefficient(one: Coefficient) -> str:
    if one.value is None:
        return "-"
    interval = "" if one.interval is None else f" [{one.interval.low:.2f}, {one.interval.high:.2f}]"
    return f"{one.value:.3f}{interval}"


def _printed(figure: PublishedFigure | None) -> str:
    return "-" if figure is None else f"{figure.value:.3f}{'*' if figure.flag else ''}"
