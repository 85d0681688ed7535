"""A training run in the terminal, from the same content as its page, which is written anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from grounding.errors import UserError
from grounding.training.page.content import Table, TrainingPage
from grounding.training.page.gather import gather_training
from grounding.training.page.page import write_page


def report_trainings(console: Console, folders: Sequence[Path]) -> None:
    """Write the page of each training run anew, and print what it says in short.

    Raises:
        UserError: a folder is not that of a training run, is damaged, or can't be written.
    """
    for folder in folders:
        try:
            page = gather_training(folder)
            path = write_page(page, folder)
        except OSError as error:
            raise UserError(f"{folder}: {error.filename or 'a file'}: {error.strerror}") from error
        print_page(console, page)
        console.print(Text(f"page       {path}"), soft_wrap=True)


def print_page(console: Console, page: TrainingPage) -> None:
    """The title, warnings, results and how each figure moved, as text."""
    console.print(Text(f"{page.title}: {page.status}", style="bold"), soft_wrap=True)
    console.print(Text(page.lead), soft_wrap=True)
    for warning in page.warnings:
        console.print(Text(f"warning    {warning}", style="yellow"), soft_wrap=True)
    for one in page.results:
        console.print(_grid(one))
    for stage in page.stages:
        facts = [f"{fact.name} {fact.text}".strip() for fact in stage.facts]
        said = ", ".join([*([stage.stopped] if stage.stopped else []), *facts])
        console.print(Text(f"stage {stage.name}: {stage.status}; {said}"), soft_wrap=True)
        for chart in stage.charts:
            console.print(Text(f"  {chart.title:<22} {chart.movement}"), soft_wrap=True)
        for one in stage.tables:
            console.print(_grid(one))
    for folds in page.folds:
        console.print(Text(f"stage {folds.stage}, median of {folds.runs} folds"), soft_wrap=True)
        for chart in folds.charts:
            console.print(Text(f"  {chart.title:<22} {chart.movement}"), soft_wrap=True)


def _grid(one: Table) -> Grid:
    grid = Grid(title=Text(one.title), title_style="bold", title_justify="left")
    for place, head in enumerate(one.heads):
        grid.add_column(Text(head), justify="left" if place == 0 or one.is_text else "right", overflow="fold")
    for row in one.rows:
        grid.add_row(Text(row.name), *map(Text, row.cells))
    return grid
