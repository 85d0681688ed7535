"""A scored run's table, lines and warnings as short texts."""

from __future__ import annotations

from grounding.report.html.content import Fact, Metric
from grounding.report.money import cost_lines
from grounding.report.table import interval_words, missing_by_participant
from grounding.scorebook import Scored
from grounding.scoring.scores import Estimate

_METRICS = (
    ("step_accuracy", "step accuracy", "steps"),
    ("instruction_accuracy", "instruction accuracy", "instructions"),
    ("average_progress", "average progress", "tasks"),
    ("task_success", "task success", "tasks"),
)


def metrics_of(scored: Scored) -> tuple[Metric, ...]:
    """The scores as the paper defines them, and micro and macro averages over groups; each with its n."""
    summary = scored.summary
    found = [
        _metric(name, getattr(summary.scores.paper, field), unit)
        for field, name, unit in _METRICS
        if field == "step_accuracy" or not summary.independent
    ]
    for kind, both in summary.averages.items():
        found.append(_metric(f"step accuracy, macro over {kind}", both.macro, "groups"))
    return tuple(found)


def _metric(name: str, found: Estimate, unit: str) -> Metric:
    known = found.low is not None and found.high is not None
    return Metric(
        name=name,
        value="-" if found.value is None else f"{found.value:.1f} %",
        count=f"{found.k:,}/{found.n:,} {unit}" if found.k is not None else f"{found.n:,} {unit}",
        interval=f"[{found.low:.1f}, {found.high:.1f}]" if known else "-",
    )


def facts_of(scored: Scored) -> tuple[Fact, ...]:
    """What became of the steps, time and cost, and what was run."""
    summary, info = scored.summary, scored.info
    counts, time = summary.counts, scored.time
    outcomes = [f"{getattr(counts, name):,} {name}" for name in ("hit", "miss", "unparsed", "error", "missing")]
    rate = f" ({time.wall_s / counts.steps:.2f} s a step)" if counts.steps else ""
    retries = f", {time.retries} retries" if time.retries else ""
    facts = [
        Fact(
            name="steps",
            text=f"{' · '.join(outcomes)} (of {counts.steps:,} scored; {counts.skipped:,} without a click)",
        ),
        Fact(name="time", text=f"{time.wall_s:,.1f} s{rate}{retries}"),
    ]
    for line in cost_lines(summary.cost):
        name, _, text = line.strip().partition(" ")
        facts.append(Fact(name=name, text=text.strip()))
    return (
        *facts,
        Fact(name="intervals", text=f"95 %, {interval_words(summary, info)}"),
        Fact(name="started", text=info.started_at),
        Fact(name="command", text=info.command),
        Fact(name="signature", text=summary.signature),
        Fact(name="folder", text=str(scored.folder)),
    )


def warnings_of(scored: Scored) -> tuple[str, ...]:
    """What a reader must know before believing the figures: stops, errors, gaps, unreadable replies, the probe."""
    summary, info = scored.summary, scored.info
    counts, found = summary.counts, []
    if info.status == "started":
        found.append("the run is going on, or it died: its figures are not final")
    if info.stopped:
        found.append(f"stopped before the end: {info.stopped}")
    if counts.error:
        found.append(f"{counts.error:,} steps ended in an error and count as wrong; the same command asks them again")
    if counts.missing and info.status != "started":
        where = missing_by_participant(summary)
        found.append(f"{counts.missing:,} steps have no answer and count as wrong: {where}")
    if counts.unparsed:
        found.append(f"{counts.unparsed:,} of {counts.steps:,} replies hold no usable point and count as wrong")
    return (*found, *scored.warnings)
