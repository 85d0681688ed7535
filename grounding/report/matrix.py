"""Several runs as one table in the shape of the paper's Table 3, and how much each differs from one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.money import dollars
from grounding.options import ScoringName
from grounding.records import Record
from grounding.report.table import missing_by_participant
from grounding.scoring.paired import Comparison, Difference
from grounding.scoring.scores import Estimate, Figure
from grounding.scoring.summary import Summary

COLUMNS = (
    ("task_success", "task success", "tasks"),
    ("average_progress", "average progress", "tasks"),
    ("step_accuracy", "step accuracy", "steps"),
)
"""The paper's three columns in its order: field of the scores, heading, and what is counted."""


WIDE = 140
"""Characters in which the tables of most runs have room."""


class MatrixRow(Record, frozen=True, kw_only=True):
    """One run in a table of several; without a summary where it could not be run, for the reason in ``problem``.

    ``values`` are what the run differs in from the others, one for each of the table's first columns. ``block`` is the
    same for rows that belong together.
    """

    values: tuple[str, ...]
    block: str = ""
    summary: Summary | None = None
    problem: str = ""
    folder: str = ""

    @property
    def name(self) -> str:
        """The values in one word."""
        return ", ".join(self.values)


def print_matrix(
    console: Console,
    rows: Sequence[MatrixRow],
    *,
    title: str,
    headings: Sequence[str],
    scoring: ScoringName,
    compared: Mapping[int, Comparison] | None = None,
    baseline: int = 0,
) -> None:
    """Print the scores, the differences to the baseline, and where the runs lie.

    Args:
        console: Where to.
        rows: The runs.
        title: What they have in common.
        headings: The names of the columns that tell the runs apart.
        scoring: Which definition; only the paper's has intervals and differences.
        compared: Differences to the baseline, by the row's number.
        baseline: The number of the row that the others are compared with.
    """
    console.print(_scores(rows, title, headings, scoring))
    if compared and scoring == "paper":
        console.print(_differences(rows, headings, compared, baseline))
    print_lines(console, rows, scoring=scoring, compared=compared)


def print_lines(
    console: Console,
    rows: Sequence[MatrixRow],
    *,
    scoring: ScoringName,
    compared: Mapping[int, Comparison] | None = None,
) -> None:
    """Print what stands below the tables: how intervals were made, what is odd, and where the runs lie."""
    for line in _lines(rows, compared, scoring):
        console.print(line, soft_wrap=True, highlight=False)


def _scores(rows: Sequence[MatrixRow], title: str, headings: Sequence[str], scoring: ScoringName) -> Table:
    table = Table(title=Text(title), title_style="bold", title_justify="left")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    columns = _columns(rows)
    for _, label, unit in columns:
        table.add_column(f"{label} %", justify="right", overflow="fold")
        if label != "average progress":
            table.add_column(unit, justify="right", overflow="fold")
    cost = any(row.summary is not None and row.summary.cost.usd is not None for row in rows)
    if cost:
        table.add_column("paid", justify="right", overflow="fold")
    for number, row in enumerate(rows):
        cells = [Text(value) for value in row.values]
        cells[-1].append(_mark(row))
        cells += _cells(row.summary, scoring, columns)
        if cost:
            usd = row.summary.cost.usd if row.summary else None
            cells.append(Text("-" if usd is None else dollars(usd)))
        table.add_row(*cells, end_section=number + 1 < len(rows) and rows[number + 1].block != row.block)
    return table


def _mark(row: MatrixRow) -> str:
    if row.summary is None:
        return " (not run)"
    if row.summary.status == "partial":
        return " (partial)"
    return f" ({row.summary.counts.missing} missing)" if row.summary.counts.missing else ""


def _columns(rows: Sequence[MatrixRow]) -> Sequence[tuple[str, str, str]]:
    """What is shown of the runs: where no step follows another, progress and success of tasks mean nothing."""
    summaries = [row.summary for row in rows if row.summary is not None]
    alone = bool(summaries) and all(summary.independent for summary in summaries)
    return [column for column in COLUMNS if column[0] == "step_accuracy" or not alone]


def _cells(
    summary: Summary | None, scoring: ScoringName, columns: Sequence[tuple[str, str, str]] = COLUMNS
) -> list[Text]:
    cells = []
    for field, label, _ in columns:
        scores = None if summary is None else summary.scores.paper if scoring == "paper" else summary.scores.official
        found: Estimate | Figure | None = getattr(scores, field, None)
        cells.append(Text(estimate_text(found)))
        if label != "average progress":
            cells.append(Text("-" if found is None or found.k is None else f"{found.k}/{found.n}"))
    return cells


def estimate_text(found: Estimate | Figure | Difference | None, *, sign: str = "") -> str:
    """A value with its interval where it has one: ``42.7 [37.0, 49.0]``; a sign of ``+`` shows it always."""
    if found is None or found.value is None:
        return "-"
    value = f"{found.value:{sign}.1f}"
    if isinstance(found, Figure) or found.low is None or found.high is None:
        return value
    if isinstance(found, Difference) and found.standard_error == 0:
        return value  # No draw differs, which says nothing about how sure the difference is.
    return f"{value} [{found.low:{sign}.1f}, {found.high:{sign}.1f}]"


def _differences(
    rows: Sequence[MatrixRow], headings: Sequence[str], compared: Mapping[int, Comparison], baseline: int
) -> Table:
    named = [f"{heading} {value}" for heading, value in zip(headings, rows[baseline].values, strict=True)]
    base = rows[baseline].name if len(headings) == 1 and "+" in headings[0] else ", ".join(named)
    title = f"difference to {base} in points, paired; won and lost are steps"
    table = Table(title=Text(title), title_style="bold", title_justify="left")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    columns = _columns(rows)
    for _, label, _unit in columns:
        table.add_column(label, justify="right", overflow="fold")
    table.add_column("won", justify="right", overflow="fold")
    table.add_column("lost", justify="right", overflow="fold")
    for number, comparison in compared.items():
        differences = [estimate_text(comparison.metrics[field], sign="+") for field, _, _ in columns]
        table.add_row(
            *map(Text, rows[number].values), *map(Text, differences), str(comparison.won), str(comparison.lost)
        )
    return table


def _lines(rows: Sequence[MatrixRow], compared: Mapping[int, Comparison] | None, scoring: ScoringName) -> list[Text]:
    lines = []
    if scoring == "paper":
        drawn = ", both runs' together for differences" if compared else ""
        over = "tasks" if len(_columns(rows)) == len(COLUMNS) else "screenshots"
        if any(row.summary is not None and row.summary.clusters == "participant" for row in rows):
            over = "participants"
        wilson = ", Wilson for task success" if over == "tasks" else ""
        official = "the released evaluator's: --scoring official"
        lines.append(Text(f"intervals  95 % bootstrap over {over}{wilson}{drawn}; {official}"))
    reused = [row.summary.cost.reused for row in rows if row.summary is not None and row.summary.cost.reused.calls]
    if reused:
        worth = sum(totals.usd or 0.0 for totals in reused)
        lines.append(
            Text(
                f"plans      {sum(totals.calls for totals in reused):,} were not asked for again but taken from the "
                f"store{f', which saved {dollars(worth)}' if worth else ''}"
            )
        )
    for row in rows:
        if row.summary is None:
            lines.append(Text(f"warning    {row.name}: not run: {row.problem}", style="yellow"))
        elif row.summary.status == "partial":
            unasked = row.summary.counts.missing + row.summary.counts.error
            lines.append(
                Text(
                    f"warning    {row.name}: partial, {unasked} steps are unanswered and count as wrong", style="yellow"
                )
            )
        elif row.summary.counts.missing:
            where = missing_by_participant(row.summary)
            text = f"warning    {row.name}: steps without a recorded answer count as wrong: {where}"
            lines.append(Text(text, style="yellow"))
    if any(row.summary is None or row.summary.status == "partial" for row in rows):
        lines.append(Text("           run the same command again to ask only those", style="yellow"))
    lines += [Text(f"run folder {row.folder}  ({row.name})") for row in rows if row.folder]
    return lines
