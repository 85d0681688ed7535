"""What benchmarks of agents have in common: their runs by agent and model, and how several are shown."""

from __future__ import annotations

import itertools
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from rich.text import Text

from grounding.console import say
from grounding.errors import UserError
from grounding.options import DesktopScoringName, RunOptions
from grounding.report.compare import ALL, ComparedRun, compare_rows, difference_text
from grounding.report.html.content import SummaryTable
from grounding.report.plot import PlotPoint, SweepPlot, draw, x_axis
from grounding.report.rows import read_rows
from grounding.report.table import drawn
from grounding.run.benchmark import Benchmark, OptionsT, PreparedT, Result, ScoredT

if TYPE_CHECKING:
    from rich.console import Console

TAKEN = frozenset({"json", "scoring", "published", "dry_run", "epochs", "baseline", "no_report"})
"""Options of ``grounding eval`` beside those of a run."""
HARMLESS = {"no_probe": True, "no_plan_store": True}  # Often set in the environment, for all runs.


def combinations(given: Mapping[str, Any], axes: Sequence[str], fields: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The options of each run, one for each combination of values; the last axis changes fastest."""
    values = {axis: tuple(dict.fromkeys(given[axis])) for axis in axes if axis in fields}
    named = {name: value for name, value in given.items() if name in fields and name not in values}
    there = {axis: found for axis, found in values.items() if found}
    for chosen in itertools.product(*there.values()):
        yield {**named, **dict(zip(there, chosen, strict=True))}


def addresses(urls: Sequence[str], model: str | None, models: Sequence[str]) -> tuple[str, ...]:
    """The addresses of one of several models: NAME=URL is that of the one called so, others are of all of them."""
    named = [(url, *url.partition("=")[::2]) for url in urls]
    own = tuple(url for _, name, url in named if name == model)
    return own or tuple(url for url, name, _ in named if name not in models)


TaskT = TypeVar("TaskT")


def select_tasks(
    tasks: Sequence[TaskT],
    options: RunOptions,
    *,
    user_of: Callable[[TaskT], str],
    id_of: Callable[[TaskT], str],
    by: str,
    also: Callable[[TaskT], bool] = lambda _: True,
) -> tuple[TaskT, ...]:
    """Choose by user and task id, and the first ``limit`` of what is left; a UserError where nothing is. ``by`` is a
    further option that chooses, ``also`` what it wants.
    """
    users, ids = {user_of(task) for task in tasks}, {id_of(task) for task in tasks}
    for user in options.participant:
        if user not in users:
            raise UserError(f"--participant {user}: no task is of this user; users look like {min(users, default='')}")
    for task_id in options.sample_id:
        if task_id not in ids:
            raise UserError(f"--sample-id {task_id}: no such task; ids look like {min(ids, default='test/0')}")
    chosen = [
        task
        for task in tasks
        if also(task)
        and (not options.participant or user_of(task) in options.participant)
        and (not options.sample_id or id_of(task) in options.sample_id)
    ][: options.limit]
    if not chosen:
        raise UserError(f"no task is left by {by}, --participant, --sample-id and --limit")
    return tuple(chosen)


class AgentBenchmark(Benchmark[OptionsT, PreparedT, ScoredT]):
    wide = 132

    @abstractmethod
    def reading(self, scored: ScoredT) -> DesktopScoringName:
        """The reading that a run was made for."""

    @abstractmethod
    def measures(self, rule: Any) -> tuple[str, ...]:
        """The metrics by which several runs are compared, under a reading."""

    def as_json(self, result: Result[ScoredT]) -> Any:
        """The summary of a run, or those of several; None for one that could not be run."""
        found = [None if row.scored is None else row.scored.summary for row in result.rows]
        return found[0] if len(found) == 1 else found

    def show(self, console: Console, result: Result[ScoredT], scoring: str | None, *, published: bool) -> None:
        if result.scored:
            rule = scoring or self.reading(result.scored[0])
            self.print_runs(console, result.scored, rule)
            if len(result.scored) > 1:
                self._print_differences(console, result, rule)
        for row in result.rows:
            if row.problem:
                line = Text(f"not run    {row.name}: {row.problem}", style="yellow")
                console.print(line, soft_wrap=True, highlight=False)
        if published and result.scored:
            self.print_published(console, result.scored)

    def write(self, result: Result[ScoredT]) -> None:
        """Write ``sweep.json`` and a plot of the metrics by which runs are compared, with the first that a run has."""
        super().write(result)
        values = [{name: getattr(row.options, name) for name in result.varying} for row in result.rows]
        along = x_axis({name: [one[name] for one in values] for name in result.varying})
        there = [
            (one, read_rows(row.scored.folder)) for one, row in zip(values, result.rows, strict=True) if row.scored
        ]
        if not there or result.folder is None:
            return
        plot = SweepPlot(
            points=tuple(
                PlotPoint(
                    series=", ".join(str(value) for name, value in one.items() if name != along),
                    x=float(one[along]) if along else None,
                    scores=run,
                    partial=run.status == "partial",
                )
                for one, run in there
            ),
            metrics=there[0][1].shown(several=True),
            x_option=along,
            series_options=tuple(name for name in result.varying if name != along),
            subtitle=f"{there[0][1].dataset}, {len(there[0][1].rows)} {self.unit}",
        )
        print(f"sweep      {', '.join(map(str, draw(plot, result.folder)))}", file=sys.stderr)

    def _print_differences(self, console: Console, result: Result[ScoredT], rule: str) -> None:
        first = result.rows[result.baseline]
        names = {str(row.scored.folder): row.name for row in result.rows if row.scored is not None}
        if first.scored is None:
            return
        base = read_rows(first.scored.folder)
        compared: list[ComparedRun] = []
        for run in result.scored:
            if run is first.scored:
                continue
            try:
                found = compare_rows(base, [read_rows(run.folder)], metrics=self.measures(rule))
            except UserError:
                continue  # Over other data: a series of data sets, not of agents.
            compared += found.runs
        if not compared:
            return
        labels = [each.label for each in compared[0].metrics if each.group == ALL]
        rows = []
        for one in compared:
            cells = {each.label: difference_text(each) for each in one.metrics if each.group == ALL}
            rows.append((names[one.folder], *(cells.get(label, "-") for label in labels)))
        title = f"difference to {first.name} · all tasks, paired · {rule}"
        console.print(drawn(SummaryTable(title=title, heads=("run", *labels), rows=tuple(rows))))
        words = f"differences with 95 % intervals by a bootstrap over {found.clusters}s, seed {found.seed}; "
        say(console, words + "`grounding compare` has tests and groups")
