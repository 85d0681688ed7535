"""Tables of a paper beside runs: the figures that were printed, and those of the runs under them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.errors import UserError
from grounding.records import Record
from grounding.scoring.published import PublishedFigure, read_published

ResultT = TypeVar("ResultT")


class Place(Record, Generic[ResultT], frozen=True, kw_only=True):
    """One column: its name in the file, its two-line heading, and where a run has its figure, in the table's unit."""

    column: str
    heading: str
    own: Callable[[ResultT], float | None]
    digits: int = 3


class PrintedTable(Record, Generic[ResultT], frozen=True, kw_only=True):
    """One table of a paper, and which runs stand under it."""

    number: str
    about: str
    places: tuple[Place[ResultT], ...]
    fits: Callable[[ResultT], bool] = lambda _result: True


def print_tables(
    console: Console,
    path: Path,
    tables: Sequence[PrintedTable[ResultT]],
    results: Sequence[ResultT],
    row_name: Callable[[ResultT], str],
) -> None:
    """Print the tables that some run stands under, and what is odd about their figures.

    Args:
        console: Where to.
        path: The file of the paper's figures.
        tables: Which of them.
        results: The runs.
        row_name: What a run is called.

    Raises:
        UserError: the figures are missing from this installation or damaged.
    """
    figures = read_published(path)
    for table in tables:
        fitting = [result for result in results if table.fits(result)]
        of_table = [one for one in figures if one.table == table.number]
        if not of_table:
            raise UserError(f"{path}: holds no table {table.number}")
        if fitting:
            console.print(_table(table, of_table, fitting, row_name))
            for note in _notes(of_table):
                console.print(Text(note), soft_wrap=True, highlight=False)


def _table(
    table: PrintedTable[ResultT],
    figures: Sequence[PublishedFigure],
    results: Sequence[ResultT],
    row_name: Callable[[ResultT], str],
) -> Table:
    title = f"{figures[0].source}: {table.about}"
    shown = Table(title=Text(title), title_style="bold", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column("\nmethod", overflow="fold")
    for place in table.places:
        shown.add_column(place.heading, justify="right")
    cells = {(one.row, one.column): one for one in figures}
    for row in dict.fromkeys(one.row for one in figures):
        shown.add_row(row, *(_printed(cells.get((row, place.column)), place.digits) for place in table.places))
    shown.add_section()
    for result in results:
        shown.add_row(
            f"{row_name(result)} (this run)", *(_own(place.own(result), place.digits) for place in table.places)
        )
    return shown


def _printed(figure: PublishedFigure | None, digits: int) -> str:
    return "-" if figure is None else f"{figure.value:.{digits}f}{'*' if figure.flag else ''}"


def _own(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _notes(figures: Sequence[PublishedFigure]) -> list[str]:
    """What is odd about printed figures: each remark once for all the cells of a row, or of all rows, that it is on."""
    columns: dict[tuple[str, str], list[str]] = {}
    for one in figures:
        if one.note:
            columns.setdefault((one.row, one.note), []).append(one.column)
    rows: dict[tuple[str, int], list[str]] = {}
    for (row, note), names in columns.items():
        rows.setdefault((note, len(names)), []).append(row)
    several = {key: found for key, found in rows.items() if len(found) > 2}
    lines = [f"note       {len(found)} rows, {count} figures each: {note}" for (note, count), found in several.items()]
    return lines + [
        f"note       {row}, {names[0] if len(names) == 1 else f'{len(names)} figures'}: {note}"
        for (row, note), names in columns.items()
        if (note, len(names)) not in several
    ]
