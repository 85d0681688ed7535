"""Runs that curate products as tables: the terminal's, the paper's tables 4 to 7 with the runs, and figures 3 to 5.

The paper's scores came out of the release's arithmetic over what its judge reported; what stands beside them of a run
is the reading ``paper``: the definition that the paper gives. The two agree only for a judge that adds up right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.benchmarks.agenticshop.figures import ALL, KINDS, FigureValue, JudgeScores
from grounding.benchmarks.agenticshop.judge.reference import NAME as REFERENCE
from grounding.benchmarks.agenticshop.records import DIMENSIONS, SCENARIOS, Dimension
from grounding.benchmarks.agenticshop.scenarios import ROWS, intent_of
from grounding.benchmarks.agenticshop.scorebook import CurationScored, StoredRun
from grounding.benchmarks.calls import CallColumn, PrintedTable, print_tables
from grounding.cards.places import published_dir
from grounding.data.release import data_name, departure_warnings, release_mark
from grounding.errors import UserError
from grounding.llm.budget import dollars
from grounding.options import ScoringName
from grounding.report.html.content import SummaryTable
from grounding.report.plot import COLOURS, MARKERS, STYLE, WIDTH_IN, save
from grounding.report.table import print_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

READINGS: dict[ScoringName, str] = {
    "paper": "satisfied items, recounted from the verdicts; three places for each task, an empty or wrong one is 0",
    "official": "the release's arithmetic over the percentages that judges wrote of every link, good or bad",
}
NOTHING = "\u2013"
DIMENSION_TITLES: dict[Dimension, str] = dict(
    zip(DIMENSIONS, ("Brand", "Price", "Reviews", "Function", "Looks", "Purchase"), strict=True)
)
TARGETED = tuple(one for one in SCENARIOS if intent_of(one) == "target_finding")
KIND_TITLES = dict(zip(KINDS, ("seeking", "comparing", "deciding", "other"), strict=True))
MAX_SITES = 5
MAX_CHARS = 160


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
    groups = [*(one for one in SCENARIOS if any(one in scores.figures for _, scores in scored)), ALL]
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
    first = results[0].info
    return (
        SummaryTable(
            title=f"{data_name(first.asked.dataset, first.departs)} · score by scenario, % · {rule}",
            heads=("agent · judge", *map(heading, groups[:-1]), ALL, f"95 % interval\nof {ALL}"),
            rows=tuple(rows),
        ),
        SummaryTable(
            title="score by dimension of the checklist, %",
            heads=("agent · judge", *DIMENSION_TITLES.values()),
            rows=tuple(dimensions),
        ),
        SummaryTable(
            title="links, targets and steps, %",
            heads=("agent", *(head for head, _ in CONDUCT)),
            rows=tuple((row_name(result), *(percent(own(result)) for _, own in CONDUCT)) for result in results),
        ),
    )


def heading(scenario: str) -> str:
    """What a column is called, in two lines."""
    return next(row.title for row in ROWS if row.scenario == scenario).replace(" ", "\n", 1)


Own = Callable[[CurationScored], FigureValue | None]
"""A figure of a run, by the judge that counts; None where there is none."""


def _own(measure: str, group: str = ALL) -> Own:
    return lambda result: result.summary.own.figures.get(group, {}).get(measure)


def _steps(kind: str) -> Own:
    return lambda result: {str(name): one for name, one in result.summary.behaviours.shares.items()}.get(kind)


CONDUCT: tuple[tuple[str, Own], ...] = (
    ("blocked\nlinks", _own("blocked")),
    ("wrong\nlinks", _own("wrong")),
    ("of them\ninvalid", _own("invalid")),
    ("of them\nirrelevant", _own("irrelevant")),
    ("no\nreviews", _own("no_review")),
    ("over budget,\nof failed", _own("over_budget")),
    ("target\nfound", _own("found")),
    *((f"steps:\n{KIND_TITLES[kind]}", _steps(kind)) for kind in KINDS[:3]),
)
"""Errors of attribution, targets found and what steps were for (paper, tables 5 and 6, figure 5)."""

FIGURES: tuple[tuple[str, tuple[tuple[str, Own], ...]], ...] = (
    (
        "figure 3 · score by kind of goods, %",
        tuple((row.domain, _own("score", row.scenario)) for row in ROWS if row.intent == "alternative_selection"),
    ),
    (
        "figure 4 · score by dimension of the checklist, %",
        tuple((title, _own(dimension)) for dimension, title in DIMENSION_TITLES.items()),
    ),
    (
        "figure 5 · what steps were for, % of those that say so",
        tuple((KIND_TITLES[kind], _steps(kind)) for kind in KINDS),
    ),
)
"""The paper's figures 3 to 5. It prints no numbers beside its bars; those of its figure 3 stand in its table 4."""

_PRINTED = (
    *("explicit title", "attribute specified", "brand and category"),
    *("high involvement", "low involvement", "aesthetic driven", "casual browsing"),
)
"""How the file of the paper's figures names the scenarios."""


def _place(column: str, head: str, own: Own, scale: float) -> CallColumn[CurationScored]:
    def value(result: CurationScored) -> float | None:
        found = own(result)
        return None if found is None or found.value is None else scale * found.value

    return CallColumn(column=column, heading=head, own=value, digits=2)


def _printed(number: str, about: str, *columns: tuple[str, str, Own, float]) -> PrintedTable[CurationScored]:
    return PrintedTable(number=number, about=about, places=tuple(_place(*one) for one in columns))


_COLUMNS = tuple(zip(_PRINTED, SCENARIOS, strict=True))
TABLES: tuple[PrintedTable[CurationScored], ...] = (
    _printed(
        "4",
        "score by scenario, all tasks, %",
        *((name, heading(one), _own("score", one), 100) for name, one in _COLUMNS),
    ),
    _printed(
        "7",
        "score by scenario, successes alone, %",
        *((f"{name}, successful", heading(one), _own("success", one), 100) for name, one in _COLUMNS),
    ),
    _printed(
        "5",
        "target's brand and type found",
        *((name, heading(one), _own("found", one), 1) for name, one in _COLUMNS if one in TARGETED),
    ),
    _printed(
        "6",
        "errors of attribution",
        ("error percent", "wrong\nlinks %", _own("wrong"), 100),
        ("irrelevant share of errors", "of them\nirrelevant %", _own("irrelevant"), 100),
        ("invalid share of errors", "of them\ninvalid %", _own("invalid"), 100),
        ("no review page", "no\nreviews", _own("no_review"), 1),
        ("out of budget share of price failures", "over budget,\nof failed", _own("over_budget"), 1),
    ),
)


def print_published_curations(console: Console, results: Sequence[CurationScored]) -> None:
    """Print the paper's tables 4 to 7 with the runs under them, and what is odd about the figures.

    Raises:
        UserError: the figures are missing from this installation or damaged.
    """
    marked = {str(one.folder): row_name(one) + release_mark(one.info.departs) for one in results}
    print_tables(
        console, published_dir() / "agenticshop.csv", TABLES, results, lambda result: marked[str(result.folder)]
    )
    for result in results:
        asked, departs = result.info.asked, result.info.departs
        if asked.dataset != "agenticshop" or asked.select != "all" or departs:
            tasks = f"{result.summary.counts.tasks} tasks, selection {asked.select}"
            odd = f"other data than the paper's ({data_name(asked.dataset, departs)}, {tasks}): not comparable with it"
            print_named(console, [("warning", f"{row_name(result)}: {odd}")])


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
        yield from ((name, f"{lead}{text}") for name, text in _own_notes(result))


def outcomes_of(result: CurationScored) -> str:
    """What became of the places of a run."""
    counts = result.summary.counts
    return f"{' · '.join(f'{name} {count}' for name, count in counts.outcomes.items())} of {counts.places:,}"


def _own_notes(result: CurationScored) -> Iterator[Line]:
    summary, own = result.summary, result.summary.own
    yield "places", outcomes_of(result)
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
    if own.figures[ALL]["found"].value is None and any(one in own.figures for one in TARGETED):
        yield "target", f"{NOTHING}: the data names no targets; the release's raw file does (user_raw/)"
    yield from losses(result.stored)
    took = [f"{result.time.wall_s:.1f} s", *filter(None, [per_task(result)])]
    yield "time", " · ".join([*took, *(f"{who} {said}" for who, said in costs_of(result).items())])
    if result.info.stopped:
        yield "warning", f"stopped before the end: {result.info.stopped}"
    for name, words in _WARNINGS.items():
        if count := {str(one): n for one, n in summary.counts.outcomes.items()}.get(name):
            yield "warning", f"{count} {words}"
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


def per_task(result: CurationScored) -> str:
    """Steps and seconds that the agent took for a task; "" where it was not seen at work."""
    conduct, task_s = result.summary.behaviours, result.time.task_s
    if not conduct.steps or conduct.steps_per_task is None or task_s is None:
        return ""
    return f"{conduct.steps_per_task:.1f} steps and {task_s:.1f} s a task"


def costs_of(result: CurationScored) -> dict[str, str]:
    """What the requests of agent, extractor and judges took, of those that were asked."""
    return {
        who: f"{one.calls:,} calls, {one.input_tokens + one.output_tokens:,} tokens"
        + ("" if one.usd is None else f", {dollars(one.usd)}")
        for who, one in result.summary.costs.items()
        if one.calls
    }


# --- figures 3 to 5 --------------------------------------------------------------------------------------------------

Rows = list[tuple[str, list[FigureValue | None]]]
"""For each run a share with its interval at each place of the axis; None: not measured."""


def print_figures(console: Console, runs: Sequence[CurationScored], out: Path | None) -> None:
    """Print the three figures as tables, and draw those for which there is anything into a folder.

    Raises:
        UserError: a run has no judge, or a file can't be written.
    """
    unjudged = next((run for run in runs if not run.summary.headline), None)
    if unjudged is not None:
        raise UserError(f"{unjudged.folder}: nobody judged this run; the same command with --judge does")
    names = [row_name(run) for run in runs]
    # Runs of one agent are told apart by their folders.
    names = [
        one if names.count(one) == 1 else f"{one}, {run.folder.name[-10:]}"
        for one, run in zip(names, runs, strict=True)
    ]
    for title, columns in FIGURES:
        heads = [head for head, _ in columns]
        rows = [(name, [own(run) for _, own in columns]) for name, run in zip(names, runs, strict=True)]
        cells = tuple((name, *map(percent, found)) for name, found in rows)
        console.print(drawn(SummaryTable(title=title, heads=("agent", *heads), rows=cells)))
        if out is not None and any(one is not None and one.value is not None for _, found in rows for one in found):
            try:
                out.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UserError(f"--out {out}: the folder can't be made: {error.strerror}") from error
            for path in _draw(title, heads, rows, out):
                console.print(f"written    {path}", highlight=False, soft_wrap=True)


def _draw(title: str, heads: Sequence[str], rows: Rows, folder: Path) -> tuple[Path, ...]:
    """Write a figure as PNG and SVG: bars that stand on each other for figure 5, dots with intervals for the others."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    name, _, words = title.partition(" · ")
    stacked = name == "figure 5"
    lines, each = (len(rows), 0.42) if stacked else (len(heads), 0.28 + 0.1 * len(rows))
    with mpl.rc_context(STYLE):
        height = 0.75 + each * lines + 0.2 * (2 if stacked else len(rows))
        picture = Figure(layout="constrained", figsize=(WIDTH_IN, height))
        FigureCanvasAgg(picture)
        panel = picture.subplots()
        (_stacked if stacked else _dots)(panel, heads, rows)
        panel.set_xlim(0, 102)
        panel.set_ylim(lines - 0.5, -0.5)
        panel.grid(axis="y", visible=False)
        panel.set_title(words, loc="left")
        columns = 4 if stacked else 1 if max(len(name) for name, _ in rows) > 20 else 2
        picture.legend(loc="outside lower center", ncols=columns, frameon=False, columnspacing=1.0, handletextpad=0.4)
    return save(picture, folder, name.replace(" ", "-"))


def _dots(panel: Axes, heads: Sequence[str], rows: Rows) -> None:
    """One line a place of the axis; in it a dot with its interval for each run."""
    apart = min(0.2, 0.7 / len(rows))
    for number, (name, found) in enumerate(rows):
        aside = (number - (len(rows) - 1) / 2) * apart
        known = [(line, one, one.value) for line, one in enumerate(found) if one is not None and one.value is not None]
        # A value that no interval is known of stands without one.
        low = [100 * max(0.0, value - (value if one.low is None else one.low)) for _, one, value in known]
        high = [100 * max(0.0, (value if one.high is None else one.high) - value) for _, one, value in known]
        panel.errorbar(
            [100 * value for *_, value in known],
            [line + aside for line, *_ in known],
            xerr=[low, high],
            fmt=MARKERS[number % len(MARKERS)],
            color=COLOURS[number % len(COLOURS)],
            markersize=4.5,
            linewidth=1.0,
            capsize=2,
            label=name,
        )
    panel.set_yticks(range(len(heads)), heads)


def _stacked(panel: Axes, heads: Sequence[str], rows: Rows) -> None:
    """One bar a run, of its shares."""
    left = [0.0] * len(rows)
    for place, title in enumerate(heads):
        found = [of[place] for _, of in rows]
        shares = [0.0 if one is None else 100 * (one.value or 0.0) for one in found]
        bars = panel.barh(range(len(shares)), shares, left=left, height=0.6, color=COLOURS[place], label=title)
        panel.bar_label(bars, [f"{one:.0f}" if one >= 6 else "" for one in shares], label_type="center", color="w")
        left = [before + share for before, share in zip(left, shares, strict=True)]
    panel.set_yticks(range(len(rows)), [name.replace(" (", "\n(") for name, _ in rows])
