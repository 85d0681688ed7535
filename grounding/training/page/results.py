"""What a grounder's training changed: its ``summary.json`` and its split as tables, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import msgspec

from grounding.errors import UserError
from grounding.training.grounder.pooled import FoldOutcome, GrounderSummary
from grounding.training.grounder.split import Split, SplitSide
from grounding.training.grounder.texts import change_cells, difference_text, mean_text
from grounding.training.page.content import Span, Table, TableRow
from grounding.training.page.samples import cut

RecordT = TypeVar("RecordT", bound=msgspec.Struct)

_HEADS = ("metric", "before", "after", "difference, points", "p")
_WHY = {
    "participant": "of participants who are tested",
    "task": "of a task that is tested",
    "screenshot": "over a screenshot that is tested",
    "limit": "beyond the limit",
}
_MOST_ROWS = 400


def read_summary(path: Path) -> GrounderSummary | None:
    """The figures of a grounder's training; None where there are none yet.

    Raises:
        UserError: the file is damaged.
    """
    return read_record(path / "summary.json", GrounderSummary)


def read_split(path: Path) -> Split | None:
    """What was trained on and what held out; None where the folder doesn't say.

    Raises:
        UserError: the file is damaged.
    """
    return read_record(path / "split.json", Split)


def read_record(path: Path, kind: type[RecordT]) -> RecordT | None:
    """A file of one record; None where it is not there.

    Raises:
        UserError: it is damaged.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: can't be read ({error})") from error


def result_tables(summary: GrounderSummary, folder: Path) -> tuple[Table, ...]:
    """Before and after: all held-out steps together, the mean of the folds, and each fold."""
    return tuple(one for one in (_pooled(summary), _means(summary), _folds(summary, folder)) if one is not None)


def lead_of(summary: GrounderSummary) -> str:
    """The first figure in a sentence; "" where nothing was evaluated."""
    change = next((each for each in summary.pooled if each.metric == "step_accuracy"), None)
    if change is None or change.base.value is None or change.tuned.value is None:
        return ""
    return (
        f"Step accuracy on what was held out: {change.base.value:.1f} % before, {change.tuned.value:.1f} % after, "
        f"a difference of {difference_text(change.difference)} points."
    )


def spans_of(summary: GrounderSummary) -> tuple[Span, ...]:
    """The pooled figures before and after, for a drawing."""
    return tuple(
        Span(
            name=metric_name(each.metric),
            before=each.base.value,
            before_low=each.base.low,
            before_high=each.base.high,
            after=each.tuned.value,
            after_low=each.tuned.low,
            after_high=each.tuned.high,
        )
        for each in summary.pooled
        if each.base.value is not None and each.tuned.value is not None
    )


def _pooled(summary: GrounderSummary) -> Table | None:
    if not summary.pooled:
        return None
    evaluated = [fold for fold in summary.folds if fold.metrics]
    steps = sum(fold.test_steps for fold in evaluated)
    where = f"{len(evaluated)} folds" if len(summary.folds) > 1 else cut(evaluated[0].held_out, 200)
    return Table(
        title=f"All held-out steps together: {steps:,} steps, {where}",
        heads=_HEADS,
        rows=tuple(TableRow(name=metric_name(each.metric), cells=change_cells(each)) for each in summary.pooled),
        notes=(
            f"Per cent with 95 % intervals: bootstrap over tasks, {summary.resamples:,} draws, seed {summary.seed}; "
            "the difference is paired by task, p its two-sided value by the same draws.",
        ),
    )


def _means(summary: GrounderSummary) -> Table | None:
    if not summary.means:
        return None
    folds = len(summary.means[0].base.values)
    return Table(
        title=f"Mean of {folds} folds",
        heads=_HEADS[:4],
        rows=tuple(
            TableRow(
                name=metric_name(each.metric),
                cells=(mean_text(each.base, ".1f"), mean_text(each.tuned, ".1f"), mean_text(each.difference, "+.1f")),
            )
            for each in summary.means
        ),
        notes=(
            "Every fold counts alike. 95 % Student's intervals over folds, which share most of what they are trained "
            "on: the intervals are a little narrow.",
        ),
    )


def _folds(summary: GrounderSummary, folder: Path) -> Table | None:
    if len(summary.folds) < 2:
        return None
    heads = ("held out", "trained on", "tested on", "before, %", "after, %", "difference, points", "status")
    rows = tuple(_fold(fold, folder) for fold in summary.folds[:_MOST_ROWS])
    done = sum(fold.status == "complete" for fold in summary.folds)
    notes = (f"{done} of {len(summary.folds)} folds are complete.",)
    return Table(title="Step accuracy by fold", heads=heads, rows=rows, notes=notes)


def _fold(fold: FoldOutcome, folder: Path) -> TableRow:
    change = next((each for each in fold.metrics if each.metric == "step_accuracy"), None)
    figures = ("-", "-", "-") if change is None else change_cells(change)[:3]
    return TableRow(
        name=cut(fold.held_out, 200),
        cells=(f"{fold.train_steps:,} steps", f"{fold.test_steps:,} steps", *figures, fold.status),
        link=page_link(folder, fold.folder),
    )


def page_link(folder: Path, below: str) -> str:
    """The relative address of the page of a run below a folder; "" where there is none, or it would lead out of it."""
    parts = Path(below).parts
    if not parts or Path(below).is_absolute() or ".." in parts or not (folder / below / "report.html").is_file():
        return ""
    return "/".join([*(quote(part) for part in parts), "report.html"])


def evaluation_rows(summary: GrounderSummary, folder: Path) -> Table | None:
    """The evaluations of a run with one fold, with links to their pages."""
    if len(summary.folds) != 1:
        return None
    fold = summary.folds[0]
    runs = [(name, run) for name, run in (("before", fold.base_run), ("after", fold.tuned_run)) if run]
    if not runs:
        return None
    rows = tuple(TableRow(name=name, cells=(cut(run, 300),), link=page_link(folder, run)) for name, run in runs)
    return Table(title="Evaluations (grounding eval)", heads=("", "run folder"), rows=rows, is_text=True)


def split_tables(split: Split) -> tuple[Table, ...]:
    """Who is on which side, in numbers, and what was left out and why."""
    rows = (_side("train", split.train), _side("test (held out)", split.test))
    left = tuple(
        TableRow(name=f"left out, {_WHY[each.reason]}", cells=(f"{len(each.step_ids):,}", "", ""))
        for each in split.left_out
    )
    return (
        Table(
            title=f"{cut(split.dataset, 200)}, held out: {cut(split.text, 300)}",
            heads=("side", "scored steps", "tasks", "participants"),
            rows=(*rows, *left),
            notes=("No participant, task or screenshot is on both sides; split.json names every step.",),
        ),
    )


def _side(name: str, side: SplitSide) -> TableRow:
    people = cut(", ".join(side.participants), 200)
    return TableRow(
        name=name,
        cells=(f"{len(side.step_ids):,}", f"{len(side.tasks):,}", f"{len(side.participants):,} ({people})"),
    )


def metric_name(metric: str) -> str:
    """A metric in words."""
    return cut(metric.replace("_", " "), 80)
