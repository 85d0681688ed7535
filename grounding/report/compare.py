"""Scored runs of any benchmark in, how they differ from one of them and whether it could be chance out.

Items are paired by their ids. Differences and p-values come from one bootstrap that draws whole tasks, or whole
participants, of both runs together; what is right or wrong has McNemar's test, too.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.console import say
from grounding.errors import UserError
from grounding.records import Record
from grounding.report.groups import estimate_text, number, table_of, value_text
from grounding.report.rows import ItemTask, Result, RunRows, read_rows, run_names, tasks_of
from grounding.scoring.intervals import RESAMPLES, Interval
from grounding.scoring.metrics import task_sums
from grounding.scoring.paired import (
    Comparison,
    Difference,
    McNemar,
    common_tasks,
    compare,
    holm,
    least_significant,
    mcnemar,
    minimum_detectable,
    wald_difference,
)
from grounding.scoring.scored import ClusterName

Intervals = Literal["bootstrap", "wald"]

ALL = "all"
FEW_CLUSTERS = 10
"""With fewer than that a bootstrap is too sure of itself (Cameron, Gelbach and Miller, 2008, among others)."""


class ComparedMetric(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One metric of a run and of the baseline, in percent or in ``unit``, and their difference in points or in it.

    ``group`` names the items that it is over, "all" for all; only those are counted that both have come to. ``k`` of
    ``n`` are right where the metric counts things. ``low`` and ``high`` are the difference's 95 % interval; None with
    one cluster and where no draw differs, which says nothing about how sure the difference is. ``p`` is the
    bootstrap's, ``p_holm`` corrected over all metrics of all runs. ``detectable`` is the true difference that this
    comparison would have found with a power of 80 % at the 5 % level; None where there is no interval.
    """

    metric: str
    label: str
    group: str
    value: float | None
    k: int | None
    n: int
    baseline_value: float | None
    baseline_k: int | None
    baseline_n: int
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    detectable: float | None
    unit: str = "%"


def difference_text(each: ComparedMetric) -> str:
    found = Difference(value=each.difference, low=each.low, high=each.high)
    return estimate_text(found, unit=each.unit, sign="+")


class PairedTest(Record, frozen=True, kw_only=True, omit_defaults=False):
    """McNemar's test over the items, or over the tasks that are right as a whole; ``p_holm`` over all such tests.

    ``unit`` says what is counted and ``right`` what counts as right, "" where that is a hit. ``least`` is how far apart
    won and lost would have had to be for an uncorrected p-value of 5 %; None where even all of them would not do.
    """

    unit: Literal["steps", "tasks"]
    test: McNemar
    p_holm: float
    least: int | None
    right: str = ""


class Flip(Record, frozen=True, kw_only=True, omit_defaults=False):
    """An item that only one of the two has right: what became of it in each."""

    step_id: str
    participant: str
    task: str
    instruction: str
    outcome: str
    baseline_outcome: str
    result: Result

    @property
    def is_won(self) -> bool:
        return self.result == "hit"


class ComparedRun(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One run beside the baseline.

    ``steps`` and ``tasks`` are how many items and tasks both have, ``users`` whose; ``left_out`` counts the items that
    only one has. ``differs`` says what keeps the two from being comparable: empty unless the comparison was forced.
    """

    name: str
    folder: str
    signature: str
    steps: int
    tasks: int
    users: int
    left_out: int
    differs: tuple[str, ...]
    metrics: tuple[ComparedMetric, ...]
    tests: tuple[PairedTest, ...]
    flips: tuple[Flip, ...]


class ComparisonResult(Record, frozen=True, kw_only=True, omit_defaults=False):
    """All runs beside one baseline. ``clusters`` is what was drawn, ``intervals`` how intervals were made. ``item`` is
    what one item is called.
    """

    schema: Literal[2] = 2
    baseline: str
    baseline_folder: str
    baseline_signature: str
    clusters: str
    item: Literal["step", "task"]
    intervals: Intervals
    seed: int
    resamples: int
    runs: tuple[ComparedRun, ...]
    warnings: tuple[str, ...]


def compare_runs(
    paths: Sequence[Path],
    *,
    baseline: Path | None = None,
    clusters: ClusterName = "task",
    intervals: Intervals = "bootstrap",
    force: bool = False,
    seed: int = 0,
) -> ComparisonResult:
    """Every scored run beside the baseline (None: the first), paired by item and by task.

    ``clusters`` are drawn together by the bootstrap; where tasks are scored as wholes it is always users. ``wald``
    intervals take the runs for independent samples, and only metrics that count things have one. ``force`` compares
    what differs, too, over the items that both have. Raises UserError: a folder holds no scored run, there is one run
    only, or two can't be compared; says what differs.
    """
    first = baseline or paths[0]
    others = [path for path in dict.fromkeys(paths) if path.resolve() != first.resolve()]
    if not others:
        raise UserError(f"expected at least two runs to compare, got {first} alone; name another run folder")
    base, *rest = [read_rows(path) for path in (first, *others)]
    for run in (base, *rest):
        if clusters == "participant" and not run.by_user and not any(row.user for row in run.rows):
            raise UserError(f"{run.folder}: its tasks have no participants: leave out --clusters participant")
    return compare_rows(base, rest, clusters=clusters, intervals=intervals, force=force, seed=seed)


def compare_rows(
    base: RunRows,
    others: Sequence[RunRows],
    *,
    metrics: Sequence[str] = (),
    clusters: ClusterName = "task",
    intervals: Intervals = "bootstrap",
    force: bool = False,
    seed: int = 0,
) -> ComparisonResult:
    """:func:`compare_runs` of runs that are read already, by these metrics alone where any are named. Raises UserError:
    two runs can't be compared; says what differs.
    """
    runs = (base, *others)
    names = run_names(runs)
    drawn = base.drawn(clusters)
    compared = [
        _compared(run, name, base, drawn, intervals, metrics, force=force, seed=seed)
        for run, name in zip(others, names[1:], strict=True)
    ]
    word = "user" if base.by_user else drawn
    count = len(base.tasks) if drawn == "task" else len({task.participant for task in base.tasks})
    warnings = []
    for run, name in zip(runs, names, strict=True):
        asked, every = run.answered, len(run.rows)
        if run.status == "partial" and asked == every:
            warnings.append(f"{name}: the run is partial; {run.item}s that ended in an error count as wrong")
        elif run.status == "partial":
            far = f"{asked} of {every} {run.item}s answered"
            warnings.append(f"{name}: the run is partial, {far}: only what both runs have answered is compared")
    if count < FEW_CLUSTERS:
        few = f"only {count} {word}{'s are' if count != 1 else ' is'} drawn"
        warnings.append(f"{few}: intervals are too narrow and p-values too small with so few")
    return ComparisonResult(
        baseline=names[0],
        baseline_folder=str(base.folder),
        baseline_signature=base.signature,
        clusters=word,
        item=base.item,
        intervals=intervals,
        seed=seed,
        resamples=RESAMPLES,
        runs=_corrected(compared),
        warnings=tuple(warnings),
    )


def differences(run: RunRows, base: RunRows) -> list[str]:
    """What keeps two runs from being comparable, one sentence each, both values named; empty where nothing does. What
    answered may differ, and how it was asked: that is what runs are compared for.
    """
    if run.benchmark != base.benchmark:
        kinds = (one.benchmark or "clicks" for one in (run, base))
        return [f"the benchmark: {' and '.join(kinds)}"]
    found = []
    for what, there in base.same.items():
        if (here := run.same.get(what, "")) != there:
            again = "; where versions differ, `grounding score` brings both up to date" if "scores" in what else ""
            found.append(f"{what}{'' if ':' in what else ':'} {here} and {there}{again}")
    mine, theirs = ({row.id: row for row in one.rows} for one in (run, base))
    for whose, only in (("the run", mine.keys() - theirs.keys()), ("the baseline", theirs.keys() - mine.keys())):
        if only:
            found.append(f"the {base.item}s: {len(only)} are only in {whose}, such as {min(only)}")
    both = mine.keys() & theirs.keys()
    changed = [name for name in both if mine[name].target != theirs[name].target]
    if changed:
        found.append(f"what is right: another answer at {len(changed)} {base.item}s, such as {min(changed)}")
    moved = [name for name in both if (mine[name].task, mine[name].user) != (theirs[name].task, theirs[name].user)]
    if moved:
        found.append(f"the tasks: {len(moved)} {base.item}s belong to another task, such as {min(moved)}")
    return found


def _compared(
    run: RunRows,
    name: str,
    base: RunRows,
    clusters: ClusterName,
    intervals: Intervals,
    wanted: Sequence[str],
    *,
    force: bool,
    seed: int,
) -> ComparedRun:
    differs = differences(run, base)
    if differs and (not force or run.benchmark != base.benchmark):
        listed = "\n".join(f"  - {each}" for each in differs)
        other = f"go on with the {base.item}s that both have: --force"
        hint = "" if run.benchmark != base.benchmark else f"\nRun one of them again like the other, or {other}"
        raise UserError(
            f"{run.folder} and {base.folder} can't be compared. What differs (run and baseline):\n{listed}{hint}"
        )
    mine, theirs = common_tasks(run.tasks, base.tasks)
    if not mine:
        raise UserError(f"{run.folder} and {base.folder} have no {base.item} in common; nothing can be compared")
    known = {each.name for each in base.metrics}
    # Where groups stand beside all, what a table of several runs has no room for would crowd out the rest.
    metrics = [each for each in run.metrics if each.name in known and not (base.compared and each.narrow)]
    parts = {ALL: (mine, theirs)}
    if wanted:
        metrics = [each for each in run.metrics if each.name in wanted]
    elif kind := base.compared:
        names = {name for row in base.rows for name in row.groups.get(kind, ())}
        for group in (one for one in base.orders.get(kind, sorted(names)) if one in names):
            ours, others = (
                tasks_of(row for task in tasks for row in task.steps if group in row.groups.get(kind, ()))
                for tasks in (mine, theirs)
            )
            parts |= {group: (ours, others)} if ours else {}
    found = {group: compare(metrics, *both, seed=seed, clusters=clusters) for group, both in parts.items()}
    whole = found[ALL]

    def metrics_of(group: str) -> Iterator[ComparedMetric]:
        sums = [part.sum(axis=0) for tasks in parts[group] for part in task_sums(metrics, tasks)]
        for each, above, below, their_above, their_below in zip(metrics, *sums, strict=True):
            difference = found[group].metrics[each.name]
            n, their_n = round(below), round(their_below)
            value = float(above / below) if below else None
            their_value = float(their_above / their_below) if their_below else None
            reach: Difference | Interval = difference
            if intervals == "wald":
                reach = Difference(value=None)
                if each.counted and each.most is not None and value is not None and their_value is not None:
                    reach = wald_difference(value, n, their_value, their_n)
            yield ComparedMetric(
                metric=each.name,
                label=each.label,
                group=group,
                unit=each.unit,
                value=value,
                k=round(above / each.scale) if each.counted else None,
                n=n,
                baseline_value=their_value,
                baseline_k=round(their_above / each.scale) if each.counted else None,
                baseline_n=their_n,
                difference=difference.value,
                low=reach.low,
                high=reach.high,
                p=difference.p,
                p_holm=None,
                detectable=minimum_detectable(difference.standard_error) if difference.standard_error else None,
            )

    return ComparedRun(
        name=name,
        folder=str(run.folder),
        signature=run.signature,
        steps=whole.steps,
        tasks=whole.tasks,
        users=len({task.participant for task in mine if task.asked()}),
        left_out=run.answered + base.answered - 2 * whole.steps,
        differs=tuple(differs),
        metrics=tuple(each for group in parts for each in metrics_of(group)),
        tests=_tests(base, mine, theirs, whole),
        flips=tuple(
            Flip(
                step_id=one.id,
                participant=one.user,
                task=one.task,
                instruction=one.instruction,
                outcome=one.outcome,
                baseline_outcome=other.outcome,
                result=one.result,
            )
            for task, their in zip(mine, theirs, strict=True)
            for one, other in zip(task.steps, their.steps, strict=True)
            if one.is_hit != other.is_hit
        ),
    )


def _tests(
    base: RunRows, tasks: Sequence[ItemTask], theirs: Sequence[ItemTask], found: Comparison
) -> tuple[PairedTest, ...]:
    def test(unit: Literal["steps", "tasks"], won: int, lost: int, n: int) -> PairedTest:
        made = mcnemar(won, lost, n)
        return PairedTest(unit=unit, test=made, p_holm=made.p, least=least_significant(won + lost, n), right=base.right)

    tests = [test("steps" if base.item == "step" else "tasks", found.won, found.lost, found.steps)]
    # Whole tasks mean something only where a metric needs the whole of one.
    if any(not each.per_step for each in base.metrics):
        pairs = [
            (all(one.is_hit for one in task.steps), all(one.is_hit for one in their.steps))
            for task, their in zip(tasks, theirs, strict=True)
            if len(task.asked()) == len(task.steps)
        ]
        tests.append(test("tasks", pairs.count((True, False)), pairs.count((False, True)), len(pairs)))
    return tuple(tests)


def _corrected(runs: Sequence[ComparedRun]) -> tuple[ComparedRun, ...]:
    drawn = iter(holm([each.p for run in runs for each in run.metrics if each.p is not None]))
    paired = iter(holm([each.test.p for run in runs for each in run.tests]))
    return tuple(
        msgspec.structs.replace(
            run,
            metrics=tuple(
                msgspec.structs.replace(each, p_holm=None if each.p is None else next(drawn)) for each in run.metrics
            ),
            tests=tuple(msgspec.structs.replace(each, p_holm=next(paired)) for each in run.tests),
        )
        for run in runs
    )


# --- for the terminal -----------------------------------------------------------------------------------------------


def print_comparison(console: Console, result: ComparisonResult, *, flips: bool = False) -> None:
    say(console, f"baseline   {result.baseline}  ({result.baseline_folder})")
    for run in result.runs:
        console.print(_table(run, result))
        for line in lines_of(run, result):
            say(console, line, "yellow" if line.startswith("warning") else "")
        if flips:
            console.print(_flips(run, result))
    for line in closing(result, flips=flips):
        say(console, line, "yellow" if line.startswith("warning") else "")


def _table(run: ComparedRun, result: ComparisonResult) -> Table:
    over = f"{run.steps} steps in {run.tasks} tasks" if result.item == "step" else f"{run.tasks} tasks"
    over += f" of {run.users} users" if result.clusters == "user" else ""
    title = f"{run.name} minus {result.baseline} · {over}"
    grouped = any(each.group != ALL for each in run.metrics)
    figures = ("run", "baseline", "difference, points", "p", "p (Holm)", "detectable")
    table = table_of(title, [f"{result.item}s", "metric"] if grouped else ["metric"], figures)
    before = None
    for each in run.metrics:
        if before not in (None, each.group):
            table.add_section()
        kind = ("" if each.group == before else each.group,) if grouped else ()
        before = each.group
        table.add_row(*kind, each.label, *metric_cells(each), number(each.detectable, each.unit))
    return table


def metric_cells(each: ComparedMetric) -> tuple[str, ...]:
    return (
        value_text(each.value, each.k, each.n, each.unit),
        value_text(each.baseline_value, each.baseline_k, each.baseline_n, each.unit),
        difference_text(each),
        p_text(each.p),
        p_text(each.p_holm),
    )


def p_text(p: float | None) -> str:
    """Four decimals, and never 0: a test can't tell a probability of nothing."""
    if p is None:
        return "-"
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def lines_of(run: ComparedRun, result: ComparisonResult) -> list[str]:
    lines = []
    for each in run.tests:
        test, of = each.test, each.right or ("steps" if each.unit == "steps" else "whole tasks")
        exact = "exact" if test.method == "exact" else f"chi-square {test.statistic:.2f}"
        p = p_text(test.p) if test.p < 0.0001 else f"= {p_text(test.p)}"
        least = f"; p < 0.05 takes a net {each.least}" if each.least else "; too few for p < 0.05 ever"
        least += f" ({100 * each.least / test.n:.1f} points)" if each.least else ""
        counts = f"{test.won} won, {test.lost} lost of {test.n}"
        lines.append(f"McNemar    {of}: {counts}, p {p} ({exact}), {p_text(each.p_holm)} by Holm{least}")
    lines += [f"warning    forced: {each}" for each in run.differs]
    if run.left_out:
        lines.append(f"warning    {run.left_out} {result.item}s that only one of the two has are left out")
    return lines


def _flips(run: ComparedRun, result: ComparisonResult) -> Table:
    ids = ("step", "task") if result.item == "step" else ("task",)
    table = table_of(f"{result.item}s that flipped · {run.name}", (*ids, "instruction", "baseline", "run"))
    for each in sorted(run.flips, key=lambda flip: not flip.is_won):
        named = (each.step_id, each.task) if result.item == "step" else (each.step_id,)
        words = each.instruction if len(each.instruction) <= 80 else each.instruction[:79] + "…"
        table.add_row(*map(Text, (*named, words, each.baseline_outcome, each.outcome)))
    return table


def closing(result: ComparisonResult, *, flips: bool) -> list[str]:
    clusters = f"{result.clusters}s"
    drawn = f"{result.resamples:,} draws of whole {clusters}, both runs' together, seed {result.seed}"
    if result.intervals == "wald":
        lines = ["intervals  95 % Wald, as if the runs were over different tasks: to compare with published ones"]
        lines.append(f"p          paired bootstrap, {drawn}")
    else:
        lines = [f"intervals  95 % paired bootstrap, {drawn}; p from the same draws"]
        if any(each.difference is not None and each.low is None for run in result.runs for each in run.metrics):
            none = f"one {result.clusters}, or {clusters} that all differ alike, say nothing of others"
            lines.append(f"           none where {none}")
    lines += [
        "p (Holm)   corrected over all bootstrap tests above; McNemar's tests are a family of their own",
        "detectable the true difference found with 80 % power at the 5 % level: 2.80 standard errors, uncorrected",
    ]
    if not flips and any(run.flips for run in result.runs):
        lines.append(f"flips      --flips lists the {result.item}s won and lost")
    return lines + [f"warning    {each}" for each in result.warnings]
