"""One's own runs among the published figures of a data set: what belongs side by side, and what does not and why."""

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.cards.places import published_dir
from grounding.console import say
from grounding.data.registry import DatasetCard, dataset_cards
from grounding.errors import UserError
from grounding.records import Record
from grounding.report.groups import interval
from grounding.report.plot import COLOURS, STYLE, save
from grounding.report.rows import RunRows, read_rows, run_folders, run_names
from grounding.scoring.metrics import SCORING, scoring_of
from grounding.scoring.published import read_published

FILE = "grounding.csv"
ACCURACY, MACRO = "accuracy", "macro accuracy"
_TITLES = {
    ACCURACY: "steps right, in per cent",
    MACRO: "means over groups of steps, in per cent: every group counts alike, so none stands beside a share of steps",
}
NARROW = 80
WIDTH_IN = 7.0


class BoardLine(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One figure of a board. ``own`` are runs: ``apart`` says why one can't stand among the others. ``disagrees``:
    another source states another figure for the same name.
    """

    name: str
    column: str
    value: float
    source: str
    date: str = ""
    note: str = ""
    flagged: bool = False
    disagrees: bool = False
    own: bool = False
    n: int | None = None
    low: float | None = None
    high: float | None = None
    scoring: str = ""
    signature: str = ""
    apart: tuple[str, ...] = ()


class Board(Record, frozen=True, kw_only=True, omit_defaults=False):
    dataset: str
    lines: tuple[BoardLine, ...]
    notes: tuple[str, ...] = ()


def make_board(dataset: str, runs: Sequence[Path]) -> Board:
    """The published figures of a data set and the runs over it, from the highest down.

    Runs may be named by the folder that holds them; of such a folder those over other data are left out. Raises
    UserError: nothing is published for the data set, or a run that was named can't be read or is over other data.
    """
    every = read_published(published_dir() / FILE)
    figures = [one for one in every if one.table == dataset]
    if not figures:
        known = ", ".join(dict.fromkeys(one.table for one in every))
        raise UserError(f"--dataset {dataset}: no figures are kept for it; there are some for {known}")
    scored = []
    for path in runs:
        found = [read_rows(each) for each in run_folders([path])]
        if (path / "run.json").is_file() and found[0].dataset != dataset:
            raise UserError(f"{path}: a run over {found[0].dataset}, and the board is of {dataset}")
        scored += [run for run in found if run.dataset == dataset]
    lines = [
        BoardLine(
            name=one.row,
            flagged=bool(one.flag),
            disagrees=any(
                _name_key(each.row) == _name_key(one.row) and each.column == one.column and each.value != one.value
                for each in figures
            ),
            **{name: getattr(one, name) for name in ("column", "value", "source", "date", "note", "n")},
        )
        for one in figures
    ]
    card = dataset_cards().get(dataset)
    for run, name in zip(scored, run_names(scored), strict=True):
        lines += _own(run, name, card)
    notes = ["published figures are as their sources print them: prompts, picture sizes and parsers are the authors'"]
    expected = None if card is None else card.expected
    if expected is not None and expected.absent_steps:
        notes.append(
            f"{expected.absent_steps} of {expected.scored_steps:,} steps have no target: own figures count them, and "
            "few sources say whether theirs do"
        )
    return Board(dataset=dataset, lines=tuple(sorted(lines, key=lambda one: -one.value)), notes=tuple(notes))


def _name_key(name: str) -> str:
    """What is alike for one model as several sources write it: ``UI-Venus-1.0-7B`` is ``UI-Venus 7B``."""
    return re.sub(r"-1\.0(?!\d)|[^a-z0-9.+]", "", name.lower().replace("²", "2"))


def _own(run: RunRows, name: str, card: DatasetCard | None) -> list[BoardLine]:
    summary, info, asked = run.summary, run.info, run.info.asked
    wanted = None if card is None or card.expected is None else card.expected.scored_steps
    steps, scoring = summary.counts.steps, scoring_of(run.signature)
    is_whole = not info.departs and asked.select == "all"
    reasons = {
        f"selection {asked.select}": asked.select != "all",
        f"other instructions ({asked.questions})": asked.questions,
        "instructions as they were heard": "transcript:" in run.signature,
        "the run is not complete": summary.status != "complete",
        f"{steps:,} steps, and the data set has {wanted or 0:,}": is_whole and wanted not in (None, steps),
        f"scored by another definition ({scoring}, now {SCORING}): grounding score {run.folder}": scoring != SCORING,
    }
    estimates = {ACCURACY: summary.scores.paper.step_accuracy}
    if len(summary.averages) == 1:
        (both,) = summary.averages.values()
        estimates[MACRO] = both.macro
    return [
        BoardLine(
            name=name,
            column=column,
            source=str(run.folder),
            date=info.started_at[:10],
            own=True,
            scoring=scoring,
            signature=run.signature,
            apart=(*info.departs, *(reason for reason, is_so in reasons.items() if is_so)),
            **{field: getattr(one, field) for field in ("value", "n", "low", "high")},
        )
        for column, one in estimates.items()
        if one.value is not None
    ]


def print_board(console: Console, board: Board) -> None:
    """One table for each definition, own runs in bold; below them what does not belong beside them."""
    together = [one for one in board.lines if not one.apart]
    for column, title in _TITLES.items():
        lines = [one for one in together if one.column == column]
        if any(not one.own for one in lines):
            console.print(_table(f"{board.dataset}: {title}", lines))
    apart = [one for one in board.lines if one.apart and one.column == ACCURACY]
    if apart:
        console.print(_table(f"{board.dataset}: own runs that do not belong beside them", apart))
        for one in apart:
            console.print(Text(f"apart      {one.name}: {'; '.join(one.apart)}", style="yellow"), soft_wrap=True)
    said = ["* can't be right"] if any(one.flagged for one in board.lines) else []
    said += ["≠ sources disagree about this name"] if any(one.disagrees for one in board.lines) else []
    for note in (*board.notes, *(["; ".join(said)] if said else [])):
        console.print(Text(f"note       {note}"), soft_wrap=True)
    for one in board.lines:
        if one.own and one.column == ACCURACY:
            say(console, f"signature  {one.name}: {one.signature}")


def _table(title: str, lines: Sequence[BoardLine]) -> Table:
    table = Table(title=Text("\n".join(textwrap.wrap(title, NARROW))), title_style="bold", title_justify="left")
    table.add_column("%", justify="right", no_wrap=True)
    table.add_column("model", overflow="fold", ratio=2)
    table.add_column("where it is from", overflow="fold", ratio=3)
    same: dict[tuple[str, float], list[str]] = {}
    for one in lines:
        if not one.own:
            note = f" ({one.note})" if one.note else ""
            same.setdefault((_name_key(one.name), one.value), []).append(f"{one.source}, {one.date}{note}")
    for one in lines:
        if one.own:
            ends = interval(one.low, one.high) or "no interval"
            where = f"this run, {one.date}: n = {one.n}, {ends}, scoring {one.scoring}"
            table.add_row(f"{one.value:.1f}", Text(f"▶ {one.name}"), Text(where), style="bold green")
        elif sources := same.pop((_name_key(one.name), one.value), []):
            mark = f"{'*' if one.flagged else ''}{'≠' if one.disagrees else ''}"
            table.add_row(f"{one.value:g}{mark}", Text(one.name), Text("; ".join(sources)))
    return table


def draw_board(board: Board, folder: Path) -> tuple[Path, ...]:
    """Write ``board_NAME.png`` and ``.svg``: the shares of steps from the highest down, own runs with intervals. Raises
    UserError: a file can't be written.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names: dict[tuple[bool, str, bool], list[BoardLine]] = {}
    for one in sorted(board.lines, key=lambda one: bool(one.apart)):  # One row a name, with all that is said of it.
        if one.column == ACCURACY:
            names.setdefault((one.own, one.name if one.own else _name_key(one.name), bool(one.apart)), []).append(one)
    with mpl.rc_context(STYLE):
        figure = Figure(layout="constrained", figsize=(WIDTH_IN, 1.1 + 0.17 * len(names)))
        FigureCanvasAgg(figure)
        axes = figure.subplots()
        for row, of_name in enumerate(names.values()):
            for one in of_name:
                colour = COLOURS[1] if one.own else "#888888" if one.flagged else COLOURS[0]
                if one.own and one.low is not None and one.high is not None:
                    axes.plot([one.low, one.high], [row, row], color=colour, linewidth=1.6)
                full = colour if not one.apart and not one.flagged else "white"
                axes.plot(one.value, row, "D" if one.own else "o", color=colour, markerfacecolor=full, markersize=4.5)
        first = [of_name[0] for of_name in names.values()]
        axes.set_yticks(range(len(first)), [textwrap.shorten(one.name, 44, placeholder="…") for one in first])
        for label, one in zip(axes.get_yticklabels(), first, strict=True):
            if one.own:
                label.set(color=COLOURS[1], fontweight="bold")
        axes.set_ylim(len(first) - 0.4, -0.6)
        axes.set_xlabel("steps right, %")
        if any(one.apart for one in first):
            axes.axhline(next(row for row, one in enumerate(first) if one.apart) - 0.5, color="#888888", linestyle="--")
        said = f"{board.dataset}: own runs (diamonds, 95 % intervals) among published figures (dots; hollow: can't be"
        said += " right, or a run that does not belong beside them, below the dashed line)"
        figure.suptitle("\n".join(textwrap.wrap(said, 100)), x=0.01, ha="left", fontsize=7.5, color="#444444")
        return save(figure, folder, f"board_{board.dataset}")
