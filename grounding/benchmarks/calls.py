"""What benchmarks with chat models share: calls added up, texts from files, JSON in replies, a paper's tables."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.cards.places import models_dir, published_dir
from grounding.console import say
from grounding.data.release import data_name, release_mark
from grounding.errors import UserError
from grounding.records import Record
from grounding.scoring.published import PublishedFigure, read_published


class Wording(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    version: int
    source: str

    @property
    def label(self) -> str:
        """Name, version and eight hex digits over every text."""
        digest = hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:8]
        return f"{self.name}.{self.version}@{digest}"


WordingT = TypeVar("WordingT", bound=Wording)


def read_wording(folder: str, name: str, kind: type[WordingT], *, prefix: str = "") -> WordingT:
    """A bundled file of texts of a benchmark, or a YAML file of one's own; a UserError where there is none. ``folder``
    is below ``models/prompts``; the names of bundled files begin with ``prefix``.
    """
    known = {
        file.stem.removeprefix(prefix): file for file in (models_dir() / "prompts" / folder).glob(f"{prefix}*.yaml")
    }
    path = Path(name) if name.endswith((".yaml", ".yml")) else known.get(name)
    if path is None:
        raise UserError(f"no wording is called {name!r}: there are {', '.join(sorted(known))}, or give a .yaml file")
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise UserError(f"no wording: {path} can't be read: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: {error}; such a wording has {', '.join(kind.__struct_fields__)}") from None


_FIELD = re.compile(r"<[A-Z][A-Za-z _]*>|\{[A-Za-z]+\}")


def fill(template: str, **values: str) -> str:
    """Put values into the places ``<NAME>`` and ``{name}`` of a text, all at once; a place without a value stays."""
    given = {name.lower().replace("_", " "): value for name, value in values.items()}

    def put(match: re.Match[str]) -> str:
        return given.get(match[0][1:-1].lower().replace("_", " "), match[0])

    return _FIELD.sub(put, template)


ResultT = TypeVar("ResultT")


class CallColumn(Record, Generic[ResultT], frozen=True, kw_only=True):
    """One column: its name in the file, its two-line heading, and where a run has its figure, in the table's unit."""

    column: str
    heading: str
    own: Callable[[ResultT], float | None]
    digits: int = 3


class PrintedTable(Record, Generic[ResultT], frozen=True, kw_only=True):
    """One table of a paper, and which runs stand under it."""

    number: str
    about: str
    places: tuple[CallColumn[ResultT], ...]
    fits: Callable[[ResultT], bool] = lambda _result: True


def print_tables(
    console: Console,
    path: Path,
    tables: Sequence[PrintedTable[ResultT]],
    results: Sequence[ResultT],
    row_name: Callable[[ResultT], str],
) -> None:
    """Print the tables that some run stands under, and what is odd about their figures."""
    figures = read_published(path)
    for table in tables:
        fitting = [result for result in results if table.fits(result)]
        of_table = [one for one in figures if one.table == table.number]
        if not of_table:
            raise UserError(f"{path}: holds no table {table.number}")
        if fitting:
            console.print(_table(table, of_table, fitting, row_name))
            for note in _notes(of_table):
                say(console, note)


def print_paper(
    console: Console, paper: str, tables: Sequence[PrintedTable[Any]], named: Sequence[tuple[str, Any]]
) -> list[tuple[str, str]]:
    """Print a paper's tables with runs under them, by their names; returns warnings of those over other data."""
    marked = {run.folder: f"{name}{release_mark(run.info.departs)}" for name, run in named}
    runs = [run for _, run in named]
    print_tables(console, published_dir() / f"{paper}.csv", tables, runs, lambda run: marked[run.folder])
    warnings = []
    for name, run in named:
        asked, departs, tasks = run.info.asked, run.info.departs, run.summary.counts.tasks
        if asked.dataset != paper or asked.select != "all" or departs:
            differs = f"{data_name(asked.dataset, departs)}, {tasks} tasks, selection {asked.select}"
            warnings += [("warning", f"{name}: other data than the paper's ({differs}): not comparable with it")]
    return warnings


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


MAX_TRIES = 200  # So many places of a text are tried as the beginning of JSON.
_BEGINNING = re.compile(r"[\[{]")


def json_values(text: str) -> list[Any]:
    """Every outermost JSON object or list of a text, in order; what only looks like one is passed over."""
    decoder = json.JSONDecoder()
    values: list[Any] = []
    place = tries = 0
    while tries < MAX_TRIES and (start := _BEGINNING.search(text, place)) is not None:
        tries += 1
        try:
            value, place = decoder.raw_decode(text, start.start())
            json.dumps(
                value, ensure_ascii=False
            ).encode()  # Halves of characters, which Python lets pass, can't be kept.
        except (ValueError, RecursionError):
            place = start.end()
        else:
            values.append(value)
    return values
