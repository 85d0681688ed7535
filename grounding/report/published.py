"""A run beside the tables of the paper it can be compared with: printed figures, marked where they can't be right."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from grounding.cards.places import published_dir
from grounding.console import say
from grounding.data.release import data_name, release_mark
from grounding.report.groups import count, interval, number, table_of
from grounding.run.scorebook import ScoredClicks
from grounding.scoring.published import PublishedFigure, read_published

PAPER = "realwebassist"
MARK = "*"  # Stands behind every printed figure that is flagged.
_COLUMNS = {"task success": "task_success", "progress": "average_progress", "step accuracy": "step_accuracy"}


def print_published(console: Console, results: Sequence[ScoredClicks], names: Sequence[str]) -> None:
    """Print the tables of RealWebAssist's paper, each with the runs under it, and what is odd about the figures. Raises
    UserError: the figures are missing from this installation or damaged.
    """
    figures = read_published(published_dir() / f"{PAPER}.csv")
    tables = dict.fromkeys(one.table for one in figures if one.column in _COLUMNS)
    for name in tables:
        of_table = [one for one in figures if one.table == name and one.column in _COLUMNS]
        console.print(_table(of_table, results, names))
    for one in figures:
        if one.note and one.column in _COLUMNS:
            mark = f"{MARK} " if one.flag else "  "
            line = f"{mark}{one.source}: {one.row}, {one.column} {figure_text(one)}: {one.note}"
            say(console, line)
    for result, name in zip(results, names, strict=True):
        asked, departs = result.info.asked, result.info.departs
        if asked.dataset != PAPER or asked.select != "all" or departs:
            what = f"{data_name(asked.dataset, departs)}, {result.summary.counts.steps} steps, selection {asked.select}"
            line = f"warning    {name}: other data than the paper's ({what}): not comparable with the printed figures"
            say(console, line, "yellow")


def figure_text(figure: PublishedFigure) -> str:
    return f"{figure.value:.1f}{MARK if figure.flag else ''}"


def _table(figures: Sequence[PublishedFigure], results: Sequence[ScoredClicks], names: Sequence[str]) -> Table:
    title = f"{figures[0].source}, in per cent; {MARK} can't be right, or another table contradicts it"
    table = table_of(title, ["model"], _COLUMNS)
    cells = {(one.row, one.column): figure_text(one) for one in figures}
    rows = list(dict.fromkeys(one.row for one in figures))
    for row in rows:
        table.add_row(row, *(cells.get((row, column), "-") for column in _COLUMNS), end_section=row == rows[-1])
    for result, name in zip(results, names, strict=True):
        mark, scores = release_mark(result.info.departs), result.summary.scores
        official = [getattr(scores.official, field) for field in _COLUMNS.values()]
        counted = [f"{number(one.value)} ({count(one.k, one.n)})" for one in official]
        table.add_row(f"{name} (this run, official{mark})", *counted)
        paper = [getattr(scores.paper, field) for field in _COLUMNS.values()]
        texts = [f"{number(one.value)} ({count(one.k, one.n)}) {interval(one.low, one.high)}".rstrip() for one in paper]
        measured = ["-" if one.value is None else text for one, text in zip(paper, texts, strict=True)]
        table.add_row(f"{name} (this run, paper{mark})", *measured)
    return table
