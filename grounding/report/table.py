"""A summary as a table for the terminal."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.data.release import data_name, departure_warnings
from grounding.errors import UserError
from grounding.llm.budget import dollars
from grounding.options import ScoringName
from grounding.report.groups import estimate_cells, group_table, table_of
from grounding.report.html.content import SummaryTable
from grounding.report.html.triage import read_triage, triage_lines
from grounding.run.folder import RunInfo
from grounding.run.scorebook import ScoredClicks
from grounding.scoring.metrics import Metric, shown
from grounding.scoring.scored import Estimate, Figure
from grounding.scoring.summary import CallTotals, CostTotals, Summary
from grounding.scoring.words import read_spoken

_DISTANCE = Metric(name="average_distance", of="answers", unit="px", per_step=True)
"""What only the released evaluator measures."""


def print_summary(console: Console, result: ScoredClicks, *, scoring: ScoringName) -> None:
    summary, info = result.summary, result.info
    console.print(_scores(summary, info, scoring))
    groups = group_table(summary, scoring)
    if groups is not None:
        console.print(groups)
    steps, *more = run_lines(result, scoring)
    lines = [("", steps), *(("warning", text) for text in run_warnings(summary, info)), *(("", line) for line in more)]
    lines += [*_beside(result), ("signature", summary.signature)]
    lines += [("report", str(result.report))] if result.report is not None else []
    print_named(console, [*lines, ("run folder", str(result.folder))])


def drawn(table: SummaryTable) -> Table:
    """Columns of figures behind one of names; heads may be of two lines, and a row that is set in is dim."""
    shown = Table(title=Text(table.title), title_style="bold", title_justify="left", box=SIMPLE_HEAD)
    shown.padding, shown.pad_edge = (0, 1, 0, 0), False
    two_lines = any("\n" in head for head in table.heads)
    for number, head in enumerate(table.heads):
        lead = "\n" if two_lines and "\n" not in head else ""
        shown.add_column(f"{lead}{head}", justify="right" if number else "left", overflow="fold")
    for row in table.rows:
        shown.add_row(*map(Text, row), style="dim" if row[0].startswith(" ") else None)
    return shown


def print_named(console: Console, lines: Iterable[tuple[str, str]]) -> None:
    """Print lines below a table, each behind its name where it has one; warnings in yellow."""
    for name, text in lines:
        style = "yellow" if name == "warning" else ""
        shown = Text(f"{name:<10} {text}" if name else text, style=style)
        console.print(shown, soft_wrap=True, highlight=False)


def _beside(result: ScoredClicks) -> Iterator[tuple[str, str]]:
    """How well the words were heard, and what people said of the misses; a damaged file must not hide the scores."""
    try:
        told = read_spoken(result.folder)
        yield from [] if told is None else [("transcript", told.words)]
    except UserError as error:
        yield "transcript", f"can't be read: {error}"
    yield from (("warning", text) for text in result.warnings)
    try:
        wrong = [verdict.step_id for verdict in result.verdicts if verdict.outcome != "hit"]
        yield from (("labels", text) for text in triage_lines(read_triage(result.folder), wrong))
    except UserError as error:
        yield "labels", f"can't be read: {error}"


def _scores(summary: Summary, info: RunInfo, scoring: ScoringName) -> Table:
    asked, words = info.asked, partial_words(summary)
    title = f"{data_name(asked.dataset, info.departs)} · planner {asked.planner} · grounder {asked.grounder}"
    figures = ("value", "k/n", "95 % interval") if scoring == "paper" else ("value", "k/n")
    table = table_of(f"{title}{words and f' · {words}'}", [f"score ({scoring})"], figures)
    if scoring == "paper":
        for metric in metrics_of(summary):
            if (estimate := summary.scores.of(metric.name)) is not None:
                table.add_row(Text(metric.label), *map(Text, estimate_cells(estimate, of=metric.of)))
        return table
    for metric in (*metrics_of(summary), _DISTANCE):
        figure: Figure | None = getattr(summary.scores.official, metric.name, None)
        if figure is not None:
            count = f"{figure.n}" if figure.k is None else f"{figure.k}/{figure.n}"
            table.add_row(metric.label, f"{figure.value:.1f} {metric.unit}", f"{count} {metric.of}")
    return table


def metrics_of(summary: Summary) -> tuple[Metric, ...]:
    return shown([summary.scores], alone=summary.independent)


def partial_words(summary: Summary) -> str:
    """How far a run is that has not come to all steps; "" for others. Its scores are over those that it has come to."""
    counts = summary.counts
    return f"partial: {counts.answered:,} of {counts.steps:,} steps answered" if counts.unasked else ""


def run_lines(result: ScoredClicks, scoring: ScoringName | Literal["page"]) -> list[str]:
    """What became of the steps, time, cost and how intervals were made: a word of ten letters at most, and the rest."""
    summary, info, time = result.summary, result.info, result.time
    counts, cost = summary.counts, summary.cost
    outcomes = f"hit {counts.hit} · miss {counts.miss} · unparsed {counts.unparsed} · error {counts.error}"
    outcomes += f" · missing {counts.missing - counts.unasked}" if counts.missing > counts.unasked else ""
    outcomes += f" · not asked yet {counts.unasked}" if counts.unasked else ""
    lines = [f"steps      {outcomes}  (of {counts.steps} scored; {counts.skipped} without a click)"]
    rate = f" ({time.wall_s / counts.answered:.2f} s a step)" if counts.answered else ""
    spent = f"time       {time.wall_s:.1f} s{rate}"
    spent += f", {time.retries} retries" if time.retries else ""
    paid = cost_lines(cost)
    if cost.usd is None:
        # A run that asked nobody for money has one short line for both.
        nothing = "nothing: all plans were there" if cost.reused.calls and not cost.planner.calls else "none known"
        lines += [f"{spent} · cost: {nothing}", *paid[1:]]
    else:
        lines += [spent, *paid]
    over = "screenshots (steps over one are drawn together)" if summary.independent else "tasks"
    if summary.clusters == "participant":
        over = "participants (all that one did is drawn together)"
    found = [(metric.label, summary.scores.of(metric.name)) for metric in metrics_of(summary)]
    known = [(label, one) for label, one in found if one is not None and one.value is not None]
    how = "".join([f"bootstrap over {over}, seed {info.asked.seed}", *method_words(known, summary.clusters)])
    if scoring == "paper":
        lines.append(f"intervals  {how}; the released evaluator's figures: --scoring official")
    return [*lines, f"intervals  95 %, {how}"] if scoring == "page" else lines


def method_words(found: Sequence[tuple[str, Estimate]], clusters: str) -> list[str]:
    """Of which of these estimates the interval was made otherwise than by a bootstrap, and why."""
    what = {
        "wilson": "Wilson for {}",
        "wilson over clusters": f"Wilson over {clusters}s for {{}} (all {clusters}s at 0 or all at 100 %)",
        "none": f"none for {{}} (one {clusters}, or all {clusters}s alike, say nothing of others)",
    }
    return [
        f", {words.format(' and '.join(labels))}"
        for method, words in what.items()
        if (labels := [label for label, one in found if one.method == method])
    ]


def missing_by_participant(summary: Summary) -> str:
    """How many steps of each participant no recorded answer was found for: ``participant 7: 152``."""
    groups = summary.groups.get("participant", {})
    missing = {name: group.counts.missing - group.counts.unasked for name, group in groups.items()}
    return ", ".join(f"participant {name}: {count}" for name, count in missing.items() if count)


def run_warnings(summary: Summary, info: RunInfo) -> list[str]:
    counts = summary.counts
    found = [*departure_warnings(info.asked.dataset, info.departs)]
    if info.stopped:
        found.append(f"stopped before the end: {info.stopped}")
    if counts.error:
        found.append(
            f"{counts.error} steps ended in an error and count as wrong; run the same command again to ask only those"
        )
    if counts.unasked:
        found.append(
            f"the run is partial: the scores are over the {counts.answered:,} of {counts.steps:,} steps that were "
            "answered, those of tasks over the tasks that are through; the same command goes on"
        )
    elif summary.status == "partial":
        found.append("the run is partial: its scores are not final")
    if missing := counts.missing - counts.unasked:
        where = missing_by_participant(summary)
        found.append(f"{missing} steps have no recorded answer and count as wrong (see verdicts.jsonl): {where}")
    return found


def cost_lines(cost: CostTotals) -> tuple[str, ...]:
    """What a run paid and for how many tokens, and what others had paid for."""
    models = (("planner", cost.planner, cost.planner_usd), ("grounder", cost.grounder, cost.grounder_usd))
    parts = [f"{name} {dollars(usd)}" for name, _, usd in models if usd is not None]
    # One that was asked and has no price must not look free.
    parts += [f"{name} not priced" for name, part, _ in models if part.usd is None and part.calls]
    lines = ["cost       none known" if cost.usd is None else f"cost       {dollars(cost.usd)} ({', '.join(parts)})"]
    tokens = [f"{name} {_tokens(part)}" for name, part, _ in models if part.input_tokens or part.output_tokens]
    if cost.input_tokens or cost.output_tokens:
        lines.append(f"tokens     {' · '.join(tokens)}")
    if cost.reused.calls:
        worth = "of unknown worth" if cost.reused.usd is None else f"worth {dollars(cost.reused.usd)}"
        count = "1 plan" if cost.reused.calls == 1 else f"{cost.reused.calls:,} plans"
        lines.append(f"reused     {count} {worth}, paid for by earlier runs (the plan store)")
    if unreported_usd := cost.planner.unreported_usd + cost.grounder.unreported_usd:
        more = dollars(unreported_usd)
        lines.append(f"           up to {more} more may be charged for tries without a reported usage")
    return tuple(lines)


def _tokens(part: CallTotals) -> str:
    cached = f" ({part.cached_input_tokens:,} cached)" if part.cached_input_tokens else ""
    reasoning = f" ({part.reasoning_tokens:,} reasoning)" if part.reasoning_tokens else ""
    failed = f", {part.failed_tokens:,} of them in tries without an answer" if part.failed_tokens else ""
    return f"{part.input_tokens:,} in{cached}, {part.output_tokens:,} out{reasoning}{failed}"
