"""A run and the name of a column in, its metrics for each value of the column out, and both averages over them.

A column is any kind of group that items are in: who, which task, the size of the target, a label of the data set. The
first metric of the run is the one that is averaged; the others that are means over items stand beside it.
"""

import msgspec
from rich.table import Table
from rich.text import Text

from grounding.errors import UserError
from grounding.records import Record
from grounding.report.groups import estimate_cells, estimate_text, heading, table_of
from grounding.report.rows import RunRows, tasks_of
from grounding.scoring.grouping import Averages, GroupCells
from grounding.scoring.intervals import RESAMPLES
from grounding.scoring.metrics import Metric, estimate
from grounding.scoring.scored import ClusterName, Estimate, PaperScores


class BreakdownRow(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The first metric over the items with one value of the column; ``tasks`` is in how many tasks they are.

    ``extra`` are the other metrics over the same items, by name.
    """

    name: str
    accuracy: Estimate
    tasks: int
    extra: dict[str, Estimate] = msgspec.field(default_factory=dict)


class Breakdown(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A run by one column. ``unlabelled`` counts the items that were asked and have no value there."""

    column: str
    averages: Averages
    rows: tuple[BreakdownRow, ...]
    unlabelled: int
    metric: str


def metrics_by(run: RunRows) -> tuple[Metric, ...]:
    first = run.metrics[0]
    task_metrics = set(PaperScores.__struct_fields__)
    return (first, *(each for each in run.metrics[1:] if each.name not in task_metrics))


def break_down(
    run: RunRows, column: str, *, clusters: ClusterName | None = None, resamples: int = RESAMPLES
) -> Breakdown:
    """The metrics for each value of one of ``run.columns()``, and micro and macro over them, with 95 % intervals.

    ``clusters`` is what the bootstrap draws together; None for what the run's own intervals draw. Raises UserError:
    there is no such column; says which there are.
    """
    known = run.columns()
    if column not in known:
        raise UserError(f"--by {column}: there is no such column; these {run.item}s have {', '.join(known)}")
    drawn, metrics = run.drawn(clusters), metrics_by(run)
    names = list(dict.fromkeys(name for row in run.rows for name in row.groups.get(column, ())))
    if column in run.orders:
        order = list(run.orders[column])
        names.sort(key=lambda name: order.index(name) if name in order else len(order))
    rows = []
    for name in names:
        tasks = tasks_of(row for row in run.rows if name in row.groups.get(column, ()))
        found = estimate(metrics, tasks, seed=run.seed, resamples=resamples, clusters=drawn)
        rows.append(BreakdownRow(name=name, accuracy=found.pop(metrics[0].name), tasks=len(tasks), extra=found))
    cells = GroupCells(metrics[0], names)
    for number, task in enumerate(run.tasks):
        cells.add(number, task, lambda row: row.groups.get(column, ()))
    whose = [task.participant for task in run.tasks]
    return Breakdown(
        column=column,
        averages=cells.averages(whose, seed=run.seed, resamples=resamples, clusters=drawn),
        rows=tuple(rows),
        unlabelled=sum(row.was_asked and not row.groups.get(column) for row in run.rows),
        metric=metrics[0].label,
    )


def breakdown_table(found: Breakdown, run: RunRows, *, clusters: ClusterName | None = None) -> Table:
    drawn = "user" if run.by_user else run.drawn(clusters)
    more = [each for each in metrics_by(run)[1:] if not each.narrow]
    others = (each.label if each.unit == "%" else heading(each.label, each.unit) for each in more)
    figures = ("value", "k/n", "95 % interval", "tasks", *others)
    table = table_of(f"{found.metric} by {found.column}", [found.column], figures)
    both = found.averages
    table.add_row(f"micro: every {run.item} once", *estimate_cells(both.micro), "", style="bold")
    table.add_row("macro: every group once", *estimate_cells(both.macro), "", style="bold", end_section=True)
    for row in found.rows:
        cells = [*estimate_cells(row.accuracy), str(row.tasks)]
        table.add_row(Text(row.name), *cells, *(estimate_text(row.extra.get(each.name)) for each in more))
    notes = [f"intervals: bootstrap over {drawn}s, or Wilson where each holds one {run.item}"]
    methods = {row.accuracy.method for row in found.rows if row.accuracy.n}
    if "wilson over clusters" in methods:
        notes.append(f"at 0 % and 100 %: Wilson, with one trial a {drawn}")
    if "none" in methods:
        notes.append(f"none (-): one {drawn}, or {drawn}s that are all alike, say nothing of others")
    if found.unlabelled:
        notes.append(f"{found.unlabelled} {run.item}s have no value here and are left out")
    table.caption, table.caption_justify = Text("\n".join(notes)), "left"
    return table
