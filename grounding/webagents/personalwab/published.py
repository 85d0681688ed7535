"""The tables of PersonalWAB's paper beside runs: figures that were printed, and those of the runs under them.

Tables 3 (single-turn), 7 (outcome accuracy), 8 (search method) and 9 (zero- and few-shot users) stand beside runs of
the single-turn track, table 4 beside those of the multi-turn track. The paper's figures came out of the released
evaluator, so it is the reading ``official`` of a run that is shown, whatever its own table shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.errors import UserError
from grounding.places import published_dir
from grounding.records import Record
from grounding.scoring.published import PublishedFigure, read_published
from grounding.webagents.personalwab.records import TaskType, Track
from grounding.webagents.personalwab.scorebook import ShopScored
from grounding.webagents.personalwab.scores import ShopEstimate, ShopFigures
from grounding.webagents.personalwab.table import SHORT, row_name

FILE = "personalwab.csv"
PAPER_DATASET = "personalwab"
PRINTED: dict[TaskType, str] = {"search": "search", "recommend": "recommendation", "review": "review"}
"""How the tables name the types of task."""


class Place(Record, frozen=True, kw_only=True):
    """One column: its name in the file, its two-line heading, and where a run has its figure."""

    column: str
    heading: str
    own: Callable[[ShopScored], ShopEstimate | None]
    digits: int = 3


class PrintedTable(Record, frozen=True, kw_only=True):
    """One table of the paper."""

    number: str
    about: str
    track: Track
    places: tuple[Place, ...]


def print_published_shop(console: Console, results: Sequence[ShopScored]) -> None:
    """Print the paper's tables of the runs' track with the runs under them, and what is odd about the figures.

    Raises:
        UserError: the figures are missing from this installation or damaged.
    """
    path = published_dir() / FILE
    figures = read_published(path)
    for table in TABLES:
        fitting = [result for result in results if result.info.asked.track == table.track]
        of_table = [one for one in figures if one.table == table.number]
        if not of_table:
            raise UserError(f"{path}: holds no table {table.number}")
        if fitting:
            console.print(_table(table, of_table, fitting))
            for note in _notes(of_table):
                console.print(Text(note), soft_wrap=True, highlight=False)
    line = (
        "published  runs stand there by the reading official, the released evaluator's, which made the paper's figures"
    )
    console.print(Text(line), soft_wrap=True, highlight=False)
    for result in results:
        differs = _differs(result)
        if differs:
            line = f"warning    {row_name(result)}: other data than the paper's ({differs}): not comparable with it"
            console.print(Text(line, style="yellow"), soft_wrap=True, highlight=False)


def _table(table: PrintedTable, figures: Sequence[PublishedFigure], results: Sequence[ShopScored]) -> Table:
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


def _own(estimate: ShopEstimate | None, digits: int) -> str:
    return "-" if estimate is None or estimate.value is None else f"{estimate.value:.{digits}f}"


def _notes(figures: Sequence[PublishedFigure]) -> list[str]:
    """What is odd about printed figures, each remark once for all the cells of a row that it is about."""
    columns: dict[tuple[str, str], list[str]] = {}
    for one in figures:
        if one.note:
            columns.setdefault((one.row, one.note), []).append(one.column)
    return [
        f"note       {row}, {names[0] if len(names) == 1 else f'{len(names)} figures'}: {note}"
        for (row, note), names in columns.items()
    ]


def _differs(result: ShopScored) -> str:
    asked = result.info.asked
    if asked.dataset == PAPER_DATASET and asked.select == "all":
        return ""
    return f"{asked.dataset}, {result.summary.counts.tasks} tasks, selection {asked.select}"


def _figures(result: ShopScored, kind: TaskType | None, *, few: bool) -> ShopFigures:
    scores = result.summary.scores["official"]
    if few:
        return scores.few[kind or "overall"]
    return scores.overall if kind is None else scores.types[kind]


def _places(
    kinds: Sequence[TaskType | None], measures: Sequence[tuple[str, str, str]], *, few: bool = False
) -> tuple[Place, ...]:
    """Columns of some types of task and measures, which are (the file's name, the heading, the field)."""

    def place(kind: TaskType | None, number: int, printed: str, heading: str, field: str) -> Place:
        short, named = ("all", "overall") if kind is None else (SHORT[kind], PRINTED[kind])

        def own(result: ShopScored) -> ShopEstimate:
            found: ShopEstimate = getattr(_figures(result, kind, few=few), field)
            return found

        return Place(column=f"{named} {printed}", heading=f"{'' if number else short}\n{heading}", own=own)

    return tuple(place(kind, number, *measure) for kind in kinds for number, measure in enumerate(measures))


def _search_place(printed: str, method: str) -> Place:
    def own(result: ShopScored) -> ShopEstimate | None:
        return _figures(result, "search", few=False).result if result.info.asked.search == method else None

    return Place(column=f"result accuracy, {printed}", heading=f"\n{printed} R", own=own)


_F, _R = ("function accuracy", "F", "function"), ("result accuracy", "R", "result")
_O, _STEPS = ("O. accuracy", "O", "outcome"), ("average steps", "steps", "steps")
_ALL: tuple[TaskType | None, ...] = ("search", "recommend", "review", None)

TABLES: tuple[PrintedTable, ...] = (
    PrintedTable(number="3", about="single-turn track", track="single", places=_places(_ALL, (_F, _R))),
    PrintedTable(number="4", about="multi-turn track", track="multi", places=_places(_ALL, (_F, _R, _STEPS))),
    PrintedTable(
        number="7",
        about="outcome of the list that was asked for (O)",
        track="single",
        places=_places(("search", "recommend"), (_F, _R, _O)),
    ),
    PrintedTable(
        number="8",
        about="search by BM25 and by meaning",
        track="single",
        places=(_search_place("BM25", "bm25"), _search_place("dense", "dense")),
    ),
    PrintedTable(
        number="9",
        about="users with fewer than 10 behaviours",
        track="single",
        places=_places(_ALL, (_F, _R), few=True),
    ),
)
