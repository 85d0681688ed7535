"""A desktop run's summary as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.desktop.scorebook import DesktopScored
from grounding.options import DesktopScoringName
from grounding.report.money import cost_lines
from grounding.scoring.desktop import (
    DESKTOP_FAILURES,
    DESKTOP_RULES,
    DesktopScores,
    DesktopSummary,
    averages,
)
from grounding.scoring.scores import Estimate

_SHOWN_PX = (5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
"""The part of the tolerance curve that fits on a line; summary.json has all of it."""

RULE_NOTES = {
    "paper": "the kind must match, every point within the tolerance; keys, text and scrolls compared as actions",
    "official": "the released evaluator's matcher, fault for fault",
    "strict": "as paper, and inside the recorded element; scroll and text exact",
}


def print_desktop(console: Console, result: DesktopScored, *, scoring: DesktopScoringName) -> None:
    """Print the averages by one rule, accuracy by kind of action by all three, and what became of the rest."""
    summary = result.summary
    console.print(_averages_table(result, scoring))
    console.print(_kinds_table(summary))
    for line in _lines(result, scoring):
        console.print(line, soft_wrap=True, highlight=False)
    console.print(Text(f"signature  {summary.signature}"), soft_wrap=True, highlight=False)
    console.print(Text(f"run folder {result.folder}"), soft_wrap=True, highlight=False)


def _averages_table(result: DesktopScored, scoring: DesktopScoringName) -> Table:
    asked, summary = result.info.asked, result.summary
    style = f" · style {asked.style}" if asked.style else ""
    table = Table(
        title=Text(f"{asked.dataset} · agent {asked.agent} · memory {asked.memory}{style}"),
        title_style="bold",
        title_justify="left",
    )
    table.add_column(f"score ({scoring})", overflow="fold")
    for name in ("tasks", "micro", "k/n steps", "95 % interval", "macro, tasks", "95 % interval", "macro, categories"):
        table.add_column(name, justify="right", overflow="fold")
    kinds = summary.groups.get("kind", {})
    rows = [(name, group.counts.tasks, group.scores) for name, group in kinds.items()]
    rows.append(("all", summary.counts.tasks, summary.scores))
    for name, tasks, scores in rows:
        found = averages(scores, scoring)
        table.add_row(
            name,
            str(tasks),
            _percent(found.micro),
            f"{found.micro.k}/{found.micro.n}",
            _interval(found.micro),
            _percent(found.macro_task),
            _interval(found.macro_task),
            _percent(found.macro_category),
        )
    return table


def _kinds_table(summary: DesktopSummary) -> Table:
    table = Table("action", title_justify="left")
    for name in (*DESKTOP_RULES, "95 % interval (paper)"):
        table.add_column(name, justify="right", overflow="fold")
    for kind, scores in summary.by_action.items():
        table.add_row(kind, *(_count(getattr(scores, rule)) for rule in DESKTOP_RULES), _interval(scores.paper))
    table.add_section()
    table.add_row("all, micro", *_all(summary.scores), _interval(summary.scores.paper.micro))
    return table


def _all(scores: DesktopScores) -> list[str]:
    return [_count(averages(scores, rule).micro) for rule in DESKTOP_RULES]


def _count(found: Estimate) -> str:
    return f"{_percent(found)} ({found.k}/{found.n})"


def _percent(found: Estimate) -> str:
    return "-" if found.value is None else f"{found.value:.1f} %"


def _interval(found: Estimate) -> str:
    return "-" if found.low is None or found.high is None else f"[{found.low:.1f}, {found.high:.1f}]"


def _lines(result: DesktopScored, scoring: DesktopScoringName) -> list[Text]:
    summary, info = result.summary, result.info
    counts, time = summary.counts, result.time
    failures = " · ".join(f"{name} {counts.failures[name]}" for name in DESKTOP_FAILURES if counts.failures.get(name))
    lines = [Text(f"failures   {failures or 'none'}  (by paper; {counts.right} of {counts.steps} right)")]
    lines += [Text(f"warning    {text}", style="yellow") for text in _warnings(result)]
    loops = f"{counts.looping} of {counts.tasks} tasks"
    lines.append(Text(f"dead loops {loops} (the same action three times on an unchanged screen)"))
    lines.append(Text(f"tolerance  {_curve(summary)}  (paper, micro; the scores above: {summary.tolerance_px:g} px)"))
    lines.append(Text(f"rule       {scoring}: {RULE_NOTES[scoring]}"))
    rate = f" ({time.wall_s / counts.steps:.2f} s a step)" if counts.steps else ""
    spent = f"time       {time.wall_s:.1f} s{rate}" + (f", {time.retries} retries" if time.retries else "")
    paid = cost_lines(summary.cost)
    lines += [Text(f"{spent} · cost: none known")] if summary.cost.usd is None else [Text(spent), Text(paid[0])]
    lines += [Text(line) for line in paid[1:]]
    lines.append(Text(f"intervals  bootstrap over tasks, seed {info.asked.seed}"))
    return lines


def _curve(summary: DesktopSummary) -> str:
    points = [point for point in summary.curve if point.tolerance_px in _SHOWN_PX]
    return " · ".join(f"{point.tolerance_px:g} px {_percent(point.paper)}" for point in points)


def _warnings(result: DesktopScored) -> Sequence[str]:
    counts = result.summary.counts
    found = []
    if result.info.stopped:
        found.append(f"stopped before the end: {result.info.stopped}")
    if counts.failures.get("error"):
        found.append(
            f"{counts.failures['error']} steps ended in an error and count as wrong; run the same command again to ask "
            "only those"
        )
    if result.summary.status == "partial":
        found.append("the run is partial: its scores are not final")
    elif counts.failures.get("missing"):
        found.append(f"{counts.failures['missing']} steps have no recorded reply and count as wrong")
    return found
