"""Runs that curate products as tables: scores by scenario and by dimension, links, and the lines below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.benchmarks.agenticshop.judge.reference import NAME as REFERENCE
from grounding.benchmarks.agenticshop.records import DIMENSIONS, SCENARIOS, Dimension, Scenario
from grounding.benchmarks.agenticshop.scenarios import row_of
from grounding.benchmarks.agenticshop.scorebook import CurationScored, StoredRun
from grounding.benchmarks.agenticshop.scores import ALL, KINDS, FigureValue, seconds_per_task
from grounding.data.release import data_name, departure_warnings
from grounding.llm.budget import dollars
from grounding.options import ScoringName
from grounding.report.html.content import SummaryTable
from grounding.report.table import print_named

READINGS: dict[ScoringName, str] = {
    "paper": "satisfied items, recounted from the verdicts; three places for each task, an empty or wrong one is 0",
    "official": "the release's arithmetic over the percentages that judges wrote of every link, good or bad",
}
NOTHING = "\u2013"
DIMENSION_TITLES: dict[Dimension, str] = dict(
    zip(DIMENSIONS, ("Brand", "Price", "Reviews", "Function", "Looks", "Purchase"), strict=True)
)
KIND_TITLES = dict(zip(KINDS, ("seeking", "comparing", "deciding", "other"), strict=True))
CONDUCT = {
    "blocked\nlinks": "blocked",
    "wrong\nlinks": "wrong",
    "of them\ninvalid": "invalid",
    "of them\nirrelevant": "irrelevant",
    "no\nreviews": "no_review",
    "over budget,\nof failed": "over_budget",
    "target\nfound": "found",
    **{f"steps:\n{KIND_TITLES[kind]}": str(kind) for kind in KINDS[:3]},
}
"""Errors of attribution, targets found and what steps were for (paper, tables 5 and 6, figure 5): heads and figures."""

_WARNINGS = {
    "error": "places ended in an error and are not scored; the same command again asks only those",
    "unparsed": "places have replies that could not be read, also when asked again, and are not scored",
    "blocked": "pages wanted to see a human and count as 0; the row without blocked leaves them out. "
    "--blocked-retries N asks again, --browser-profile FILE comes with the cookies of your own browser",
    "open": "places are not done yet and are not scored",
}


def figure_of(result: CurationScored, name: str, group: str = ALL) -> FigureValue | None:
    shares = {str(kind): one for kind, one in result.summary.behaviours.shares.items()}
    return shares.get(name) if name in KIND_TITLES else result.summary.own.figures.get(group, {}).get(name)


def row_name(result: CurationScored) -> str:
    asked = result.info.asked
    return f"{asked.agent} ({asked.model})" if asked.model else asked.agent


def heading(scenario: Scenario) -> str:
    return row_of(scenario).title.replace(" ", "\n", 1)


def percent(estimate: FigureValue | None) -> str:
    return NOTHING if estimate is None or estimate.value is None else f"{100 * estimate.value:.1f}"


def print_curations(console: Console, results: Sequence[CurationScored], *, rule: ScoringName) -> None:
    for table in summary_tables(results, rule):
        console.print(drawn(table))
    first, counts = results[0].info, results[0].summary.counts
    lines = [("tasks", f"{counts.tasks:,} of {counts.users:,} users, three products each")]
    lines += [("reading", f"{name}: {said}") for name, said in READINGS.items()]
    lines += [("intervals", f"bootstrap over users, seed {first.asked.seed}, over what was measured")]
    lines += [("warning", text) for text in departure_warnings(first.asked.dataset, first.departs)]
    for result in results:
        lead = f"{row_name(result)}: " if len(results) > 1 else ""
        lines += [(name, f"{lead}{text}") for name, text in run_notes(result)]
    lines += [("signature", result.summary.signature) for result in results]
    lines += [("run folder", str(one.folder)) if one.report is None else ("report", str(one.report)) for one in results]
    print_named(console, lines)


def summary_tables(results: Sequence[CurationScored], rule: ScoringName) -> tuple[SummaryTable, ...]:
    """The figures of runs as tables of texts: scores by scenario, by dimension, and links, targets and steps.

    By scenario both readings stand under each other, the paper's also for successes alone. Heads may be of two lines.
    """
    scored = [(result, one) for result in results for one in result.summary.judges if one.judge]
    scenarios = [one for one in SCENARIOS if any(one in scores.figures for _, scores in scored)]
    groups = [*scenarios, ALL]
    rows: list[tuple[str, ...]] = []
    dimensions: list[tuple[str, ...]] = []
    for result, one in scored:
        name, every = f"{row_name(result)} · {one.judge}", one.figures[ALL]
        shown = {name: "score", "  success only": "success"}
        shown |= {"  without blocked": "unblocked"} if every["blocked"].value else {}
        for label, measure in shown.items():
            cells = (percent(one.figures.get(group, {}).get(measure)) for group in groups)
            low, high = every[measure].low, every[measure].high
            interval = NOTHING if low is None or high is None else f"[{100 * low:.1f}, {100 * high:.1f}]"
            rows.append((label, *cells, interval))
        official = (one.official[group].satisfaction_percentage if group in one.official else None for group in groups)
        rows.append(("  official", *(NOTHING if said is None else f"{said:.2f}" for said in official), ""))
        for label, how in ((f"{name}, pooled", ""), ("  mean of tasks", ", by task")):
            dimensions.append((label, *(percent(every[f"{each}{how}"]) for each in DIMENSIONS)))
    conduct = ((row_name(one), *(percent(figure_of(one, name)) for name in CONDUCT.values())) for one in results)
    first = results[0].info
    title = f"{data_name(first.asked.dataset, first.departs)} · score by scenario, % · {rule}"
    heads = ("agent · judge", *map(heading, scenarios), ALL, f"95 % interval\nof {ALL}")
    by_dimension = "score by dimension of the checklist, %"
    return (
        SummaryTable(title=title, heads=heads, rows=tuple(rows)),
        SummaryTable(title=by_dimension, heads=("agent · judge", *DIMENSION_TITLES.values()), rows=tuple(dimensions)),
        SummaryTable(title="links, targets and steps, %", heads=("agent", *CONDUCT), rows=tuple(conduct)),
    )


def drawn(table: SummaryTable) -> Table:
    shown = Table(title=Text(table.title), title_style="bold", title_justify="left", box=SIMPLE_HEAD)
    shown.padding, shown.pad_edge = (0, 1, 0, 0), False
    two_lines = any("\n" in head for head in table.heads)
    for number, head in enumerate(table.heads):
        lead = "\n" if two_lines and "\n" not in head else ""
        shown.add_column(f"{lead}{head}", justify="right" if number else "left", overflow="fold")
    for row in table.rows:
        shown.add_row(*row, style="dim" if row[0].startswith(" ") else None)
    return shown


def run_notes(result: CurationScored) -> Iterator[tuple[str, str]]:
    """What became of a run: places, judges, what is missing, time and cost; each a word of ten letters, and a text."""
    summary, own, stored = result.summary, result.summary.own, result.stored
    outcomes = {str(name): count for name, count in summary.counts.outcomes.items()}
    listed = " · ".join(f"{name} {count}" for name, count in outcomes.items())
    yield "places", f"{listed} of {summary.counts.places:,}"
    yield "success", f"{own.successes} of {summary.counts.tasks} tasks have three product pages"
    for one in filter(lambda one: one.judge, summary.judges):
        share = f" ({one.satisfied / one.decided:.1%})" if one.decided else ""
        flags = "".join(f" · {name} {count:,}" for name, count in one.flags.items())
        left = "".join(f" · {name} {count:,} products" for name, count in one.unmeasured.items())
        said = f"{one.satisfied:,} of {one.decided:,} decided items satisfied{share}, of {one.items:,}{flags}{left}"
        yield "judge", f"{one.judge}: {said}"
        if one.judge == REFERENCE:
            yield "judge", f"{one.judge} decides what needs no language: a reference, no score of agents"
        if one.official[ALL].satisfaction_percentage is None:
            why = "adds nothing up" if one.judge == REFERENCE else "was not asked for a percentage"
            yield "official", f"{NOTHING}: {one.judge} {why}; the release's judge is --judge NAME@official"
    if summary.behaviours.steps and not summary.behaviours.labelled:
        yield "steps", f"{NOTHING}: nobody asked the agent what its steps are for"
    sought = any(row_of(task.scenario).intent == "target_finding" for task in stored.tasks)
    if sought and own.figures[ALL]["found"].value is None:
        yield "target", f"{NOTHING}: the data names no targets; the release's raw file does (user_raw/)"
    yield from losses(stored)
    took, conduct, task_s = [f"{result.info.wall_s:.1f} s"], summary.behaviours, seconds_per_task(stored.curations)
    if conduct.steps and conduct.steps_per_task is not None and task_s is not None:
        took += [f"{conduct.steps_per_task:.1f} steps and {task_s:.1f} s a task"]
    for who, cost in summary.costs.items():
        if cost.calls:
            usd = "" if cost.usd is None else f", {dollars(cost.usd)}"
            took += [f"{who} {cost.calls:,} calls, {cost.input_tokens + cost.output_tokens:,} tokens{usd}"]
    yield "time", " · ".join(took)
    if result.info.stopped:
        yield "warning", f"stopped before the end: {result.info.stopped}"
    yield from (("warning", f"{outcomes[name]} {words}") for name, words in _WARNINGS.items() if name in outcomes)
    if summary.status == "partial":
        yield "warning", "the run is partial: its scores are not final"


def losses(stored: StoredRun) -> Iterator[tuple[str, str]]:
    """What is missing: tasks without an answer, sites that wanted to see a human, pages that were not there by why."""
    lost = Counter(("no answer", f"tasks {one.failure.kind}") for one in stored.curations if one.failure is not None)
    for one in stored.extractions:
        if one.page_class == "blocked":
            # An address may be any text.
            lost["blocked", f"pages of {(one.url.partition('//')[2].partition('/')[0] or one.url)[:60]}"] += 1
        elif one.page is not None and one.page.failure is not None:
            lost["no page", one.page.failure.message.partition(":")[0]] += 1
    yield from ((word, f"{count} {what}") for (word, what), count in lost.most_common(20))
