"""A summary as a table for the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.errors import UserError
from grounding.options import ScoringName
from grounding.report.groups import group_table
from grounding.report.money import cost_lines
from grounding.runfolder import RunInfo
from grounding.scorebook import Scored
from grounding.scoring.scores import Estimate, Figure
from grounding.scoring.summary import Summary

_METRICS = (
    ("step_accuracy", "step accuracy", "steps"),
    ("instruction_accuracy", "instruction accuracy", "instructions"),
    ("average_progress", "average progress", "tasks"),
    ("task_success", "task success", "tasks"),
    ("average_distance", "average distance", "answers"),
)


_OF_STEPS = ("step_accuracy", "average_distance")
"""What means anything where no step follows another."""


def print_summary(console: Console, result: Scored, *, scoring: ScoringName) -> None:
    """Print the scores by one of the two definitions, what became of the steps, time, cost, signature and folder."""
    summary, info = result.summary, result.info
    console.print(_scores(summary, info, scoring))
    groups = group_table(summary, scoring)
    if groups is not None:
        console.print(groups)
    for line in _lines(result, scoring):
        console.print(line, soft_wrap=True, highlight=False)
    for text in _heard(result):
        console.print(Text(f"transcript {text}"), soft_wrap=True, highlight=False)
    for text in result.warnings:
        console.print(Text(f"warning    {text}", style="yellow"), soft_wrap=True, highlight=False)
    for text in _labels(result):
        console.print(Text(f"labels     {text}"), soft_wrap=True, highlight=False)
    console.print(Text(f"signature  {summary.signature}"), soft_wrap=True, highlight=False)
    if result.report is not None:
        console.print(Text(f"report     {result.report}"), soft_wrap=True, highlight=False)
    console.print(Text(f"run folder {result.folder}"), soft_wrap=True, highlight=False)


def _heard(result: Scored) -> tuple[str, ...]:
    """How well the words were heard; a damaged file of transcripts must not hide the scores."""
    from grounding.report.html.gather import heard_in

    try:
        told = heard_in(result.folder)
    except UserError as error:
        return (f"can't be read: {error}",)
    return () if told is None else (told.words,)


def _labels(result: Scored) -> tuple[str, ...]:
    """What people said of the misses; a damaged file of labels must not hide the scores."""
    from grounding.report.html.triage import read_triage, triage_lines

    try:
        triage = read_triage(result.folder)
    except UserError as error:
        return (f"can't be read: {error}",)
    return triage_lines(triage, [verdict.step_id for verdict in result.verdicts if verdict.outcome != "hit"])


def _scores(summary: Summary, info: RunInfo, scoring: ScoringName) -> Table:
    asked = info.asked
    table = Table(
        title=Text(f"{asked.dataset} · planner {asked.planner} · grounder {asked.grounder}"),
        title_style="bold",
        title_justify="left",
    )
    # Folded, not cut: on a narrow terminal no digit may be lost.
    table.add_column(f"score ({scoring})", overflow="fold")
    for name in ("value", "k/n", "95 % interval") if scoring == "paper" else ("value", "k/n"):
        table.add_column(name, justify="right", overflow="fold")
    scores = summary.scores.paper if scoring == "paper" else summary.scores.official
    for field, label, unit in _METRICS:
        found: Estimate | Figure | None = getattr(scores, field, None)
        if found is None or (summary.independent and field not in _OF_STEPS):
            continue
        count = f"{found.k}/{found.n} {unit}" if found.k is not None else f"{found.n} {unit}"
        unit_text = " px" if field == "average_distance" else " %"
        row = [label, "-" if found.value is None else f"{found.value:.1f}{unit_text}", count]
        if isinstance(found, Estimate):
            row.append("-" if found.low is None or found.high is None else f"[{found.low:.1f}, {found.high:.1f}]")
        table.add_row(*row)
    return table


def _lines(result: Scored, scoring: ScoringName) -> list[Text]:
    summary, info, time = result.summary, result.info, result.time
    counts, cost = summary.counts, summary.cost
    outcomes = f"hit {counts.hit} · miss {counts.miss} · unparsed {counts.unparsed} · error {counts.error}" + (
        f" · missing {counts.missing}" if counts.missing else ""
    )
    lines = [Text(f"steps      {outcomes}  (of {counts.steps} scored; {counts.skipped} without a click)")]
    lines += [Text(f"warning    {text}", style="yellow") for text in _warnings(summary, info)]
    rate = f" ({time.wall_s / counts.steps:.2f} s a step)" if counts.steps else ""
    spent = f"time       {time.wall_s:.1f} s{rate}"
    spent += f", {time.retries} retries" if time.retries else ""
    paid = cost_lines(cost)
    # A run that asked nobody for money has one short line for both.
    nothing = "nothing: all plans were there" if cost.reused.calls and not cost.planner.calls else "none known"
    lines += [Text(f"{spent} · cost: {nothing}")] if cost.usd is None else [Text(spent), Text(paid[0])]
    lines += [Text(line) for line in paid[1:]]
    if scoring == "paper":
        how = interval_words(summary, info)
        lines.append(Text(f"intervals  {how}; the released evaluator's figures: --scoring official"))
    return lines


def interval_words(summary: Summary, info: RunInfo) -> str:
    """How the intervals of a run were made."""
    over = "screenshots (steps over one are drawn together)" if summary.independent else "tasks"
    if summary.clusters == "participant":
        over = "participants (all that one did is drawn together)"
    how = f"bootstrap over {over}, seed {info.asked.seed}"
    scores = summary.scores.paper
    plain = [label for field, label, _ in _METRICS if getattr(getattr(scores, field, None), "method", "") == "wilson"]
    shown = [label for label in plain if not summary.independent or label == "step accuracy"]
    return how + (f", Wilson for {' and '.join(shown)}" if shown else "")


def missing_by_participant(summary: Summary) -> str:
    """How many steps of each participant no recorded answer was found for: ``participant 7: 152``."""
    missing = {name: group.counts.missing for name, group in summary.groups.get("participant", {}).items()}
    return ", ".join(f"participant {name}: {count}" for name, count in missing.items() if count)


def _warnings(summary: Summary, info: RunInfo) -> list[str]:
    counts = summary.counts
    found = []
    if info.stopped:
        found.append(f"stopped before the end: {info.stopped}")
    if counts.error:
        found.append(
            f"{counts.error} steps ended in an error and count as wrong; run the same command again to ask only those"
        )
    if summary.status == "partial":
        found.append("the run is partial: its scores are not final")
    if counts.missing and summary.status == "complete":
        where = missing_by_participant(summary)
        found.append(f"{counts.missing} steps have no recorded answer and count as wrong (see verdicts.jsonl): {where}")
    return found
