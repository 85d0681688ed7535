"""What is shown of a run, whatever it is a run of: one record an item, and the metrics that are computed from them.

An item is what a benchmark scores one by one: a step where steps are answered, a task where whole tasks are. Each
benchmark has one module that reads a run's folder (:data:`READERS`, by the field ``benchmark`` of ``run.json``); the
tables, comparisons, exports, frames and pages know no more of a run than what stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import msgspec
from rich.table import Table
from rich.text import Text

from grounding.errors import UserError
from grounding.records import Call, Point, Record, Region, Screenshot
from grounding.report.groups import estimate_cells, estimate_text, heading, table_of
from grounding.run.display import QUEUE, folder_of, names_apart, read_queue
from grounding.run.lock import benchmark_of
from grounding.scoring.grouping import Averages, GroupCells
from grounding.scoring.intervals import RESAMPLES
from grounding.scoring.metrics import Metric, Part, estimate
from grounding.scoring.scored import ClusterName, Estimate, PaperScores

Result = Literal["hit", "miss", "unparsed", "error", "missing"]

READERS = {
    "": "grounding.report.clicks",
    "desktop": "grounding.benchmarks.desktop.rows",
    "personalwab": "grounding.benchmarks.personalwab.rows",
    "agenticshop": "grounding.benchmarks.agenticshop.rows",
}
"""The module that reads the runs of each benchmark. Each has ``METRICS`` in their order, and

- ``read(path) -> RunRows``: a scored run; judges nothing and writes nothing;
- ``write_page(path, out) -> Path``: writes the page of a scored run; None for ``report.html`` in its folder.
"""


def run_folders(given: Sequence[Path]) -> tuple[Path, ...]:
    """The runs in folders that a user named: a run's own, that of a command with several, or one that holds scored
    runs. Dry runs are left out. Raises UserError: no run is left.
    """
    found: list[Path] = []
    for path in given:
        if (path / "run.json").is_file():
            found.append(path)
        elif (path / QUEUE).is_file():
            runs = (folder_of(path, run) for run in read_queue(path).runs)
            found += [run for run in runs if (run / "run.json").is_file()]
        elif inside := [one.parent for one in path.glob("*/summary.json") if (one.parent / "run.json").is_file()]:
            found += sorted(inside)
        elif not (path / "estimate.json").is_file():
            found.append(path)
    if not found:
        raise UserError("which runs? Name their folders, such as results/sample-web_none_ocr_1234567890")
    return tuple(dict.fromkeys(found))


class Note(Record, frozen=True, kw_only=True):
    title: str
    text: str


class ItemRow(Record, frozen=True, kw_only=True):
    """One item: what was asked, what was answered and what that is worth. Lengths are in pixels of the screenshot.

    ``outcome`` is in the benchmark's own words, ``result`` one of five that all share. ``scores`` are the item's values
    of the metrics that are means over items, in their units; None where nothing was measured. ``groups`` are the names
    of the groups that it is in, by kind. ``target`` says in words what is right, ``answer`` what was answered, as it
    was read from ``reply``. ``region`` is where a click is right, ``recorded`` the points of the recorded action,
    ``points`` those of the answer. ``record`` is what the benchmark's own metrics read, where items are not enough.
    """

    id: str
    task: str
    user: str = ""
    outcome: str
    result: Result
    was_asked: bool = True
    scores: dict[str, float | None] = msgspec.field(default_factory=dict)
    groups: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    instruction: str = ""
    plan: str = ""
    reply: str = ""
    answer: str = ""
    target: str = ""
    reason: str = ""
    notes: tuple[Note, ...] = ()
    screenshot: Screenshot | None = None
    region: Region | None = None
    recorded: tuple[Point, ...] = ()
    points: tuple[Point, ...] = ()
    distance_px: float | None = None
    seconds: float | None = None
    usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    record: Any = None

    @property
    def is_hit(self) -> bool:
        return self.result == "hit"

    def unasked(self) -> ItemRow:
        nothing = dict.fromkeys(self.scores)
        return msgspec.structs.replace(self, outcome="missing", result="missing", was_asked=False, scores=nothing)


class ItemTask(Record, frozen=True, kw_only=True):
    participant: str
    label: str
    steps: tuple[ItemRow, ...]

    def asked(self) -> tuple[ItemRow, ...]:
        return tuple(row for row in self.steps if row.was_asked)


def item_metric(name: str, **fields: Any) -> Metric:
    """A metric that is the mean of the items' scores of its name, in percent, over those that have one."""

    def part(task: ItemTask) -> Part:
        known = [score for row in task.steps if (score := row.scores.get(name)) is not None]
        return Part(numerator=sum(known) / 100, denominator=len(known))

    return Metric(name=name, function=part, **{"per_step": True, **fields})


@dataclass(kw_only=True)
class RunRows:
    """A scored run as it is shown.

    ``who`` says what answered, by option; ``name`` is the same in short. ``same`` is what two runs must have in common
    to be compared. ``item`` is what one item is called. ``kinds`` are the groups that the run's own table shows;
    ``orders`` are the names of groups that have an order of their own. ``scores`` are the run's metrics as it stored
    them. ``table`` names the metrics of tables of several runs, in their order; none for all but the narrow ones.
    ``by_user``: intervals are always over users. ``info`` and ``summary`` are the content of ``run.json`` and
    ``summary.json``; ``load`` reads what the benchmark's own table is printed from.
    """

    folder: Path
    benchmark: str
    name: str
    who: Mapping[str, str]
    same: Mapping[str, str]
    metrics: tuple[Metric, ...]
    read: Callable[[], Iterable[ItemRow]]
    info: Any
    summary: Any
    load: Callable[[], Any]
    item: Literal["step", "task"] = "step"
    right: str = ""
    clusters: ClusterName = "task"
    by_user: bool = False
    kinds: tuple[str, ...] = ()
    compared: str = ""
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    table: tuple[str, ...] = ()
    stored: Mapping[str, Estimate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        asked = self.info.asked
        self.dataset: str = asked.dataset
        self.fingerprint: str = asked.fingerprint
        self.select: str = asked.select
        self.seed: int = asked.seed
        self.started_at: str = self.info.started_at
        self.signature: str = self.summary.signature
        self.status: str = self.summary.status
        data = {"the data set": asked.dataset, "the data: fingerprint": asked.fingerprint[:12]}
        self.same = data | dict(self.same)

    @cached_property
    def scored(self) -> Any:
        return self.load()

    @cached_property
    def rows(self) -> tuple[ItemRow, ...]:
        return tuple(self.read())

    @cached_property
    def tasks(self) -> tuple[ItemTask, ...]:
        return tasks_of(self.rows)

    @cached_property
    def scores(self) -> dict[str, Estimate]:
        """Every metric by its name with its 95 % interval: as stored, else computed from the items."""
        if self.stored:
            return dict(self.stored)
        return estimate(self.metrics, self.tasks, seed=self.seed, clusters=self.drawn(None))

    def of(self, name: str) -> Estimate | None:
        return self.scores.get(name)

    def drawn(self, wanted: ClusterName | None) -> ClusterName:
        """What a bootstrap draws as a whole, where a user may have asked for another than the run's own."""
        return "participant" if self.by_user else wanted or self.clusters

    def shown(self, *, several: bool = False) -> tuple[Metric, ...]:
        """The metrics that have an estimate, in the order of a run's own table or of tables of several runs."""
        known = {each.name: each for each in self.metrics if each.name in self.scores}
        if not several:
            return tuple(known.values())
        first = [known[name] for name in self.table if name in known]
        return tuple(each for each in dict.fromkeys([*first, *known.values()]) if not each.narrow)

    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(kind for row in self.rows for kind in row.groups))

    @property
    def answered(self) -> int:
        return sum(row.was_asked for row in self.rows)

    @property
    def clusters_word(self) -> str:
        """What one cluster of the run's own intervals is called."""
        return "user" if self.by_user else self.clusters


def reader_of(path: Path) -> Any:
    """What reads the runs of the benchmark that a folder is a run of. Raises UserError: no benchmark of this version
    has that name.
    """
    name = benchmark_of(path)
    if name not in READERS:
        known = ", ".join(name or "clicks" for name in READERS)
        raise UserError(f"{path}: is a run of {name!r}, which this version does not know; it knows {known}")
    return import_module(READERS[name])


def first_metric(benchmark: str) -> Metric:
    """The metric that stands for a run of a benchmark, by the field ``benchmark`` of ``run.json``."""
    metric: Metric = import_module(READERS[benchmark]).METRICS[0]
    return metric


def read_rows(path: Path) -> RunRows:
    """A scored run of any benchmark, as it is shown. Its items are read when they are first asked for. Raises
    UserError: the folder holds no run, it was never scored, or a file in it is damaged.
    """
    run: RunRows = reader_of(path).read(path)
    return run


def tasks_of(rows: Iterable[ItemRow]) -> tuple[ItemTask, ...]:
    """Items by participant and task, in the order of each task's first item."""
    found: dict[tuple[str, str], list[ItemRow]] = {}
    for row in rows:
        found.setdefault((row.user, row.task), []).append(row)
    return tuple(ItemTask(participant=user, label=task, steps=tuple(steps)) for (user, task), steps in found.items())


def run_names(runs: Sequence[RunRows]) -> tuple[str, ...]:
    """A short name for each, all different."""
    return names_apart([run.name for run in runs], [run.folder.name for run in runs])


def call_fields(*calls: Call | None) -> dict[str, Any]:
    """What calls took together: the fields of an item that say so; nothing where none was made."""
    made = [call for call in calls if call is not None]
    usages = [call.usage for call in made if call.usage is not None]
    prices = [call.cost_usd for call in made if call.cost_usd is not None]
    return {
        "seconds": sum(call.seconds for call in made) if made else None,
        "usd": sum(prices) if prices else None,
        "input_tokens": sum(usage.input_tokens for usage in usages) if usages else None,
        "output_tokens": sum(usage.output_tokens for usage in usages) if usages else None,
    }


class BreakdownRow(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The first metric over the items with one value of the column; ``tasks`` is in how many tasks they are. ``extra``
    are the other metrics over the same items, by name.
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
