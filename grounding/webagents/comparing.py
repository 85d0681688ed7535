"""``grounding compare`` where the runs are of web agents: a comparison to tables for the terminal."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.webagents.comparison import ComparedRun, Difference, RunComparison


def print_run_comparison(console: Console, result: RunComparison) -> None:
    """Print each run's differences to the baseline, and what they are worth."""
    console.print(Text(f"baseline   {result.baseline}  ({result.baseline_folder})"), soft_wrap=True, highlight=False)
    for run in result.runs:
        console.print(_table(run, result))
        for line in _lines(run, result.right):
            console.print(line, soft_wrap=True, highlight=False)
    drawn = f"{result.resamples:,} draws of whole users, both runs' together, seed {result.seed}"
    closing = [
        Text(f"intervals  95 % paired bootstrap, {drawn}; p from the same draws"),
        Text("p (Holm)   corrected over all tests of this table, and of the others above"),
        Text("detectable the true difference found with 80 % power at the 5 % level, uncorrected"),
        *(Text(f"warning    {each}", style="yellow") for each in result.warnings),
    ]
    for closing_line in closing:
        console.print(closing_line, soft_wrap=True, highlight=False)


def _table(run: ComparedRun, result: RunComparison) -> Table:
    title = f"{run.name} minus {result.baseline} · {result.rule} · {run.tasks} tasks of {run.users} users"
    table = Table(title=Text(title), title_style="bold", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("tasks")
    table.add_column("measure")
    for heading in ("run", "baseline", "difference", "95 % interval", "p", "p (Holm)", "detectable"):
        table.add_column(heading, justify="right")
    before = ""
    for each in run.measures:
        if before and each.group != before:
            table.add_section()
        kind = "" if each.group == before else f"{each.group} ({each.tasks})"
        before = each.group
        table.add_row(kind, each.measure, *_cells(each))
    return table


def _cells(each: Difference) -> list[str]:
    digits = 2 if each.measure == "steps" else 3
    unsure = each.low is None or each.high is None
    return [
        f"{each.value:.{digits}f}",
        f"{each.baseline_value:.{digits}f}",
        f"{each.difference:+.{digits}f}",
        "-" if unsure else f"[{each.low:+.{digits}f}, {each.high:+.{digits}f}]",
        _p(each.p),
        _p(each.p_holm),
        "-" if each.detectable is None else f"{each.detectable:.{digits}f}",
    ]


def _p(p: float | None) -> str:
    if p is None:
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _lines(run: ComparedRun, right: str) -> list[Text]:
    lines = []
    test = run.right
    if test is not None:
        how = "exact" if test.method == "exact" else f"chi-square {test.statistic:.2f}"
        lines.append(Text(f"McNemar    {right}: {test.won} won, {test.lost} lost of {test.n}, p {_p(test.p)} ({how})"))
    return lines + [Text(f"warning    forced: {each}", style="yellow") for each in run.differs]
