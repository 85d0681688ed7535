"""Several runs as one table in the shape of the paper's Table 3, and how much each differs from one of them."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.llm.budget import dollars
from grounding.options import ScoringName
from grounding.records import Record
from grounding.report.groups import estimate_text, table_of
from grounding.report.table import method_words, missing_by_participant
from grounding.scoring.metrics import Metric, shown
from grounding.scoring.paired import Comparison
from grounding.scoring.scored import Estimate, Figure
from grounding.scoring.summary import Summary

WIDE = 140  # Characters in which the tables of most runs have room.


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
    """Print the scores, the differences to the baseline (the row of that number), and where the runs lie.

    ``headings`` name the columns that tell the runs apart; ``compared`` has differences by the row's number. Only the
    paper's definition has intervals and differences.
    """
    console.print(_scores(rows, title, headings, scoring))
    if compared and scoring == "paper":
        console.print(_differences(rows, headings, compared, baseline))
    for line in _lines(rows, compared, scoring):
        console.print(line, soft_wrap=True, highlight=False)


def _scores(rows: Sequence[MatrixRow], title: str, headings: Sequence[str], scoring: ScoringName) -> Table:
    columns = columns_of([row.summary for row in rows if row.summary is not None])
    cost = any(row.summary is not None and row.summary.cost.usd is not None for row in rows)
    figures = [name for each in columns for name in (f"{each.label} {each.unit}", *([each.of] if each.counted else ()))]
    table = table_of(title, headings, [*figures, "paid"] if cost else figures)
    for number, row in enumerate(rows):
        cells = [Text(value) for value in row.values]
        cells[-1].append(_mark(row))
        for each in columns:
            found: Estimate | Figure | None = None
            if row.summary is not None:
                scores = row.summary.scores
                found = scores.of(each.name) if scoring == "paper" else getattr(scores.official, each.name, None)
            cells.append(Text(estimate_text(found)))
            if each.counted:
                cells.append(Text("-" if found is None or found.k is None else f"{found.k}/{found.n}"))
        if cost:
            usd = row.summary.cost.usd if row.summary else None
            cells.append(Text("-" if usd is None else dollars(usd)))
        table.add_row(*cells, end_section=number + 1 < len(rows) and rows[number + 1].block != row.block)
    return table


def _mark(row: MatrixRow) -> str:
    if row.summary is None:
        return " (not run)"
    counts = row.summary.counts
    if counts.unasked:
        return f" (partial, {counts.answered:,} of {counts.steps:,} steps)"
    if row.summary.status == "partial":
        return " (partial)"
    return f" ({counts.missing} missing)" if counts.missing else ""


def columns_of(summaries: Sequence[Summary]) -> tuple[Metric, ...]:
    """The metrics of a table of these runs; where no step follows another, scores of tasks mean nothing."""
    alone = bool(summaries) and all(summary.independent for summary in summaries)
    return shown([summary.scores for summary in summaries], alone=alone, several=True)


def _differences(
    rows: Sequence[MatrixRow], headings: Sequence[str], compared: Mapping[int, Comparison], baseline: int
) -> Table:
    named = [f"{heading} {value}" for heading, value in zip(headings, rows[baseline].values, strict=True)]
    base = rows[baseline].name if len(headings) == 1 and "+" in headings[0] else ", ".join(named)
    title = f"difference to {base} in points, paired; won and lost are steps"
    shown = columns_of([row.summary for row in rows if row.summary is not None])
    columns = [each for each in shown if any(each.name in one.metrics for one in compared.values())]
    table = table_of(title, headings, [*(each.label for each in columns), "won", "lost"])
    for number, comparison in compared.items():
        differences = [estimate_text(comparison.metrics.get(each.name), sign="+") for each in columns]
        table.add_row(
            *map(Text, rows[number].values), *map(Text, differences), str(comparison.won), str(comparison.lost)
        )
    return table


def _lines(rows: Sequence[MatrixRow], compared: Mapping[int, Comparison] | None, scoring: ScoringName) -> list[Text]:
    lines, summaries = [], [row.summary for row in rows if row.summary is not None]
    if scoring == "paper":
        drawn = ", both runs' together for differences" if compared else ""
        if compared and any(summary.counts.unasked for summary in summaries):
            drawn += " (over what both have answered)"
        columns = columns_of(summaries)
        over = "tasks" if any(not each.per_step for each in columns) else "screenshots"
        if any(summary.clusters == "participant" for summary in summaries):
            over = "participants"
        found = [
            (f"{each.label} of {row.name}", one)
            for each in columns
            for row in rows
            if row.summary is not None
            and (one := row.summary.scores.of(each.name)) is not None
            and one.value is not None
        ]
        wilson = ", Wilson for task success" if over == "tasks" else ""
        wilson += "".join(method_words([one for one in found if one[1].method != "wilson"], over.removesuffix("s")))
        official = "the released evaluator's: --scoring official"
        lines.append(Text(f"intervals  95 % bootstrap over {over}{wilson}{drawn}; {official}"))
    reused = [summary.cost.reused for summary in summaries if summary.cost.reused.calls]
    if reused:
        worth = sum(totals.usd or 0.0 for totals in reused)
        saved = f", which saved {dollars(worth)}" if worth else ""
        calls = sum(totals.calls for totals in reused)
        lines.append(Text(f"plans      {calls:,} were not asked for again but taken from the store{saved}"))
    for row in rows:
        if row.summary is None:
            lines.append(Text(f"warning    {row.name}: not run: {row.problem}", style="yellow"))
        else:
            lines += [Text(f"warning    {row.name}: {text}", style="yellow") for text in _oddities(row.summary)]
    if any(row.summary is None or row.summary.status == "partial" for row in rows):
        lines.append(Text("           run the same command again to ask only those", style="yellow"))
    lines += [Text(f"run folder {row.folder}  ({row.name})") for row in rows if row.folder]
    return lines


def _oddities(summary: Summary) -> list[str]:
    counts, found = summary.counts, []
    if counts.unasked:
        found.append(
            f"partial: its scores are over the {counts.answered:,} of {counts.steps:,} steps that were answered"
        )
    if counts.error:
        found.append(f"{counts.error:,} steps ended in an error and count as wrong")
    if counts.is_void:
        found.append("no step has a recorded answer: see that --predictions or --plans is for these steps")
    elif counts.missing > counts.unasked:
        found.append(f"steps without a recorded answer count as wrong: {missing_by_participant(summary)}")
    return found
