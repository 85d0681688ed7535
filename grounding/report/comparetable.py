"""A comparison as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.report.compare import ALL, ComparedMetric, ComparedRun, ComparisonResult, difference_text
from grounding.report.groups import number, table_of, value_text


def print_comparison(console: Console, result: ComparisonResult, *, flips: bool = False) -> None:
    def say(lines: Iterable[str]) -> None:
        for line in lines:
            style = "yellow" if line.startswith("warning") else ""
            console.print(Text(line, style=style), soft_wrap=True, highlight=False)

    say([f"baseline   {result.baseline}  ({result.baseline_folder})"])
    for run in result.runs:
        console.print(_metrics(run, result))
        say(lines_of(run, result))
        if flips:
            console.print(_flips(run, result))
    say(closing(result, flips=flips))


def _metrics(run: ComparedRun, result: ComparisonResult) -> Table:
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
