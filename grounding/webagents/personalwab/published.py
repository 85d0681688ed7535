"""The tables of PersonalWAB's paper beside runs: figures that were printed, and those of the runs under them.

Tables 3 (single-turn), 7 (outcome accuracy), 8 (search method) and 9 (zero- and few-shot users) stand beside runs of
the single-turn track, table 4 beside those of the multi-turn track; tables 5 (ablations) and 6 (memory lengths) beside
models that were trained here. The paper's figures came out of the released evaluator, so it is the reading ``official``
of a run that is shown, whatever its own table shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from grounding.places import published_dir
from grounding.webagents.personalwab.records import TaskType, Track
from grounding.webagents.personalwab.scorebook import ShopScored
from grounding.webagents.personalwab.scores import ShopEstimate, ShopFigures
from grounding.webagents.personalwab.table import SHORT, row_name
from grounding.webagents.printed import Place, PrintedTable, print_tables

FILE = "personalwab.csv"
PAPER_DATASET = "personalwab"
PRINTED: dict[TaskType, str] = {"search": "search", "recommend": "recommendation", "review": "review"}
"""How the tables name the types of task."""


def print_published_shop(console: Console, results: Sequence[ShopScored]) -> None:
    """Print the paper's tables of the runs' track with the runs under them, and what is odd about the figures.

    Raises:
        UserError: the figures are missing from this installation or damaged.
    """
    print_tables(console, published_dir() / FILE, TABLES, results, row_name)
    line = (
        "published  runs stand there by the reading official, the released evaluator's, which made the paper's figures"
    )
    console.print(Text(line), soft_wrap=True, highlight=False)
    for result in results:
        differs = _differs(result)
        if differs:
            line = f"warning    {row_name(result)}: other data than the paper's ({differs}): not comparable with it"
            console.print(Text(line, style="yellow"), soft_wrap=True, highlight=False)


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
) -> tuple[Place[ShopScored], ...]:
    """Columns of some types of task and measures, which are (the file's name, the heading, the field)."""

    def place(kind: TaskType | None, number: int, printed: str, heading: str, field: str) -> Place[ShopScored]:
        short, named = ("all", "overall") if kind is None else (SHORT[kind], PRINTED[kind])

        def own(result: ShopScored) -> float | None:
            found: ShopEstimate = getattr(_figures(result, kind, few=few), field)
            return found.value

        return Place(column=f"{named} {printed}", heading=f"{'' if number else short}\n{heading}", own=own)

    return tuple(place(kind, number, *measure) for kind in kinds for number, measure in enumerate(measures))


def _search_place(printed: str, method: str) -> Place[ShopScored]:
    def own(result: ShopScored) -> float | None:
        return _figures(result, "search", few=False).result.value if result.info.asked.search == method else None

    return Place(column=f"result accuracy, {printed}", heading=f"\n{printed} R", own=own)


_F, _R = ("function accuracy", "F", "function"), ("result accuracy", "R", "result")
_O, _STEPS = ("O. accuracy", "O", "outcome"), ("average steps", "steps", "steps")
_ALL: tuple[TaskType | None, ...] = ("search", "recommend", "review", None)


def _of_track(track: Track) -> Callable[[ShopScored], bool]:
    return lambda result: result.info.asked.track == track


TABLES: tuple[PrintedTable[ShopScored], ...] = (
    PrintedTable(number="3", about="single-turn track", fits=_of_track("single"), places=_places(_ALL, (_F, _R))),
    PrintedTable(number="4", about="multi-turn track", fits=_of_track("multi"), places=_places(_ALL, (_F, _R, _STEPS))),
    PrintedTable(
        number="7",
        about="outcome of the list that was asked for (O)",
        fits=_of_track("single"),
        places=_places(("search", "recommend"), (_F, _R, _O)),
    ),
    PrintedTable(
        number="8",
        about="search by BM25 and by meaning",
        fits=_of_track("single"),
        places=(_search_place("BM25", "bm25"), _search_place("dense", "dense")),
    ),
    PrintedTable(
        number="9",
        about="users with fewer than 10 behaviours",
        fits=_of_track("single"),
        places=_places(_ALL, (_F, _R), few=True),
    ),
)

ABLATIONS: PrintedTable[ShopScored] = PrintedTable(
    number="5", about="ablations of PUMA", places=_places(_ALL, (_F, _R))
)
MEMORY_LENGTHS: PrintedTable[ShopScored] = PrintedTable(
    number="6", about="length of PUMA's memory", places=_places(_ALL, (_F, _R))
)


def print_published_training(
    console: Console,
    *,
    ablations: Sequence[tuple[str, ShopScored]],
    lengths: Sequence[tuple[str, ShopScored]],
) -> None:
    """Print the paper's tables of trained models with the runs of one's own under them.

    Args:
        console: Where to.
        ablations: Runs and what table 5 calls their models.
        lengths: Runs and what table 6 calls their models.

    Raises:
        UserError: the figures are missing from this installation or damaged.
    """
    for table, named in ((ABLATIONS, ablations), (MEMORY_LENGTHS, lengths)):
        names = {result.folder: name for name, result in named}
        runs = [result for _, result in named]
        print_tables(console, published_dir() / FILE, (table,), runs, _named(names))
    for line in dict.fromkeys(_differs(result) for _, result in (*ablations, *lengths)):
        if line:
            said = f"warning    other data than the paper's ({line}): not comparable with it"
            console.print(Text(said, style="yellow"), soft_wrap=True, highlight=False)


def _named(names: Mapping[Path, str]) -> Callable[[ShopScored], str]:
    return lambda result: names[result.folder]
