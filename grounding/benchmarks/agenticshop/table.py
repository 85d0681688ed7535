"""Runs that curate products as tables: scores by scenario and by dimension, links, and the lines below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.benchmarks.agenticshop.figures import ALL, KINDS, FigureValue, JudgeScores
from grounding.benchmarks.agenticshop.judge.reference import NAME as REFERENCE
from grounding.benchmarks.agenticshop.records import DIMENSIONS, SCENARIOS, Dimension, Scenario
from grounding.benchmarks.agenticshop.scenarios import ROWS, row_of
from grounding.benchmarks.agenticshop.scorebook import CurationScored, StoredRun
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
MAX_SITES = 5
MAX_CHARS = 160

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


def figure_of(result: CurationScored, name: str, group: str = ALL) -> FigureValue | None:
    """A figure of a run by the judge that counts, or the share of a kind of steps; None where there is none."""
    shares = {str(kind): one for kind, one in result.summary.behaviours.shares.items()}
    return shares.get(name) if name in KIND_TITLES else result.summary.own.figures.get(group, {}).get(name)


def print_curations(console: Console, results: Sequence[CurationScored], *, rule: ScoringName) -> None:
    """Print runs by scenario, all tasks and successes alone, then by dimension, and what became of the links."""
    for table in summary_tables(results, rule):
        console.print(drawn(table))
    lines = [*_notes(results), *(("signature", result.summary.signature) for result in results)]
    lines += [("run folder", str(one.folder)) if one.report is None else ("report", str(one.report)) for one in results]
    print_named(console, lines)


def row_name(result: CurationScored) -> str:
    """What a run is called in a table: agent and model."""
    asked = result.info.asked
    return f"{asked.agent} ({asked.model})" if asked.model else asked.agent


def summary_tables(results: Sequence[CurationScored], rule: ScoringName) -> tuple[SummaryTable, ...]:
    """The figures of runs as tables of texts: scores by scenario, by dimension, and links, targets and steps.

    By scenario both readings stand under each other, the paper's also for successes alone. Heads may be of two lines.
    """
    scored = [(result, one) for result in results for one in result.summary.judges if one.judge]
    scenarios = [one for one in SCENARIOS if any(one in scores.figures for _, scores in scored)]
    groups = [*scenarios, ALL]
    rows: list[tuple[str, ...]] = []
    for result, one in scored:
        shown = {f"{row_name(result)} · {one.judge}": "score", "  success only": "success"}
        shown |= {"  without blocked": "unblocked"} if one.figures[ALL]["blocked"].value else {}
        for name, measure in shown.items():
            cells = (percent(one.figures.get(group, {}).get(measure)) for group in groups)
            rows.append((name, *cells, _interval(one.figures[ALL][measure])))
        official = (one.official[group].satisfaction_percentage if group in one.official else None for group in groups)
        rows.append(("  official", *(NOTHING if said is None else f"{said:.2f}" for said in official), ""))
    dimensions = (
        (name, *(percent(one.figures[ALL][f"{each}{how}"]) for each in DIMENSIONS))
        for result, one in scored
        for name, how in ((f"{row_name(result)} · {one.judge}, pooled", ""), ("  mean of tasks", ", by task"))
    )
    conduct = ((row_name(one), *(percent(figure_of(one, name)) for name in CONDUCT.values())) for one in results)
    first = results[0].info
    return (
        SummaryTable(
            title=f"{data_name(first.asked.dataset, first.departs)} · score by scenario, % · {rule}",
            heads=(
                "agent · judge",
                *(heading(one) for one in SCENARIOS if one in groups),
                ALL,
                f"95 % interval\nof {ALL}",
            ),
            rows=tuple(rows),
        ),
        SummaryTable(
            title="score by dimension of the checklist, %",
            heads=("agent · judge", *DIMENSION_TITLES.values()),
            rows=tuple(dimensions),
        ),
        SummaryTable(title="links, targets and steps, %", heads=("agent", *CONDUCT), rows=tuple(conduct)),
    )


def heading(scenario: Scenario) -> str:
    """What a column is called, in two lines."""
    return row_of(scenario).title.replace(" ", "\n", 1)


def drawn(table: SummaryTable) -> Table:
    """A table of texts for the terminal."""
    shown = Table(title=Text(table.title), title_style="bold", title_justify="left", box=SIMPLE_HEAD)
    shown.padding, shown.pad_edge = (0, 1, 0, 0), False
    two_lines = any("\n" in head for head in table.heads)
    for number, head in enumerate(table.heads):
        lead = "\n" if two_lines and "\n" not in head else ""
        shown.add_column(f"{lead}{head}", justify="right" if number else "left", overflow="fold")
    for row in table.rows:
        shown.add_row(*row, style="dim" if row[0].startswith(" ") else None)
    return shown


def percent(estimate: FigureValue | None) -> str:
    """A share per cent."""
    return NOTHING if estimate is None or estimate.value is None else f"{100 * estimate.value:.1f}"


def _interval(one: FigureValue) -> str:
    return NOTHING if one.low is None or one.high is None else f"[{100 * one.low:.1f}, {100 * one.high:.1f}]"


# --- lines below the tables ------------------------------------------------------------------------------------------

Line = tuple[str, str]
"""A word of ten letters at most, and what is said."""


def _notes(results: Sequence[CurationScored]) -> Iterator[Line]:
    info, counts = results[0].info, results[0].summary.counts
    yield "tasks", f"{counts.tasks:,} of {counts.users:,} users, three products each"
    yield from (("reading", f"{name}: {said}") for name, said in READINGS.items())
    yield "intervals", f"bootstrap over users, seed {info.asked.seed}, over what was measured"
    yield from (("warning", text) for text in departure_warnings(info.asked.dataset, info.departs))
    for result in results:
        lead = f"{row_name(result)}: " if len(results) > 1 else ""
        yield from ((name, f"{lead}{text}") for name, text in run_notes(result))


def run_notes(result: CurationScored) -> Iterator[Line]:
    """What became of a run: places, judges, what is missing, time and cost."""
    summary, own = result.summary, result.summary.own
    outcomes = {str(name): count for name, count in summary.counts.outcomes.items()}
    listed = " · ".join(f"{name} {count}" for name, count in outcomes.items())
    yield "places", f"{listed} of {summary.counts.places:,}"
    yield "success", f"{own.successes} of {summary.counts.tasks} tasks have three product pages"
    for one in filter(lambda one: one.judge, summary.judges):
        yield "judge", f"{one.judge}: {_said(one)}"
        if one.judge == REFERENCE:
            yield "judge", f"{one.judge} decides what needs no language: a reference, no score of agents"
        if one.official[ALL].satisfaction_percentage is None:
            why = "adds nothing up" if one.judge == REFERENCE else "was not asked for a percentage"
            yield "official", f"{NOTHING}: {one.judge} {why}; the release's judge is --judge NAME@official"
    if summary.behaviours.steps and not summary.behaviours.labelled:
        yield "steps", f"{NOTHING}: nobody asked the agent what its steps are for"
    sought = any(row.intent == "target_finding" for row in ROWS if row.scenario in own.figures)
    if sought and own.figures[ALL]["found"].value is None:
        yield "target", f"{NOTHING}: the data names no targets; the release's raw file does (user_raw/)"
    yield from losses(result.stored)
    yield "time", " · ".join(_took(result))
    if result.info.stopped:
        yield "warning", f"stopped before the end: {result.info.stopped}"
    for name, words in _WARNINGS.items():
        if name in outcomes:
            yield "warning", f"{outcomes[name]} {words}"
    if summary.status == "partial":
        yield "warning", "the run is partial: its scores are not final"


_WARNINGS = {
    "error": "places ended in an error and are not scored; the same command again asks only those",
    "unparsed": "places have replies that could not be read, also when asked again, and are not scored",
    "blocked": "pages wanted to see a human and count as 0; the row without blocked leaves them out",
    "open": "places are not done yet and are not scored",
}


def _said(scores: JudgeScores) -> str:
    """How many items are satisfied of those decided, what was not measured, and what is odd about verdicts."""
    share = f" ({scores.satisfied / scores.decided:.1%})" if scores.decided else ""
    flags = "".join(f" · {name} {count:,}" for name, count in scores.flags.items())
    left = "".join(f" · {name} {count:,} products" for name, count in scores.unmeasured.items())
    return (
        f"{scores.satisfied:,} of {scores.decided:,} decided items satisfied{share}, of {scores.items:,}{flags}{left}"
    )


def losses(stored: StoredRun) -> Iterator[Line]:
    """What is missing: tasks without an answer, pages that were blocked or not there; nothing where nothing is."""
    nothing: dict[str, list[str]] = {}
    for one in stored.curations:
        if one.failure is not None:
            nothing.setdefault(one.failure.kind, []).append(f"{one.step_id}: {one.failure.message}")
    blocked, absent = Counter[str](), dict[str, Counter[str]]()
    for page in stored.extractions:
        if page.page_class == "blocked":
            blocked[_site(page.url)] += 1
        elif page.page is not None and page.page.failure is not None:
            absent.setdefault(page.page.failure.message.partition(":")[0], Counter())[_site(page.url)] += 1
    for kind, each in nothing.items():
        yield "no answer", f"{len(each)} tasks {kind}, such as {each[0][:MAX_CHARS]}"
    if blocked:
        how = "--blocked-retries N asks again, --browser-profile FILE comes with the cookies of your own browser"
        yield "blocked", f"{blocked.total()} pages, of {_listed(blocked)}; {how}"
    for trouble, sites in absent.items():
        yield "no page", f"{sites.total()} {trouble}: {_listed(sites)}"


def _site(url: str) -> str:
    try:
        return urlsplit(url).hostname or url[:60]
    except ValueError:
        return url[:60]


def _listed(sites: Counter[str]) -> str:
    shown = ", ".join(f"{site} {count}" for site, count in sites.most_common(MAX_SITES))
    return shown + (f" and {len(sites) - MAX_SITES} more sites" if len(sites) > MAX_SITES else "")


def _took(result: CurationScored) -> Iterator[str]:
    """Seconds, steps and seconds for a task of an agent that was seen at work, and requests, tokens and their cost."""
    conduct, task_s = result.summary.behaviours, result.time.task_s
    yield f"{result.time.wall_s:.1f} s"
    if conduct.steps and conduct.steps_per_task is not None and task_s is not None:
        yield f"{conduct.steps_per_task:.1f} steps and {task_s:.1f} s a task"
    for who, one in result.summary.costs.items():
        if one.calls:
            usd = "" if one.usd is None else f", {dollars(one.usd)}"
            yield f"{who} {one.calls:,} calls, {one.input_tokens + one.output_tokens:,} tokens{usd}"
