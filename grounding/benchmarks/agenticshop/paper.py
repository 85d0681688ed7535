"""What the paper prints, of runs: its tables 4 to 7 with the runs under them, figures 3 to 5, and the failure kinds.

The paper's scores came out of the release's arithmetic over what its judge reported; what stands beside them of a run
is the reading ``paper``: the definition that the paper gives. The two agree only for a judge that adds up right.

The failure kinds of appendix D the authors found by hand; here a rule decides each, from the agent's trace, what it
said of its products, and the pages. So a count is where to look first, and no judgement: ``definition`` says the rule,
and every case is listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from rich.console import Console
from rich.text import Text

from grounding.benchmarks.agenticshop.extraction.prices import find_prices
from grounding.benchmarks.agenticshop.figures import ALL, KINDS, FigureValue, looked_at
from grounding.benchmarks.agenticshop.records import (
    COUNTED_PRODUCTS,
    Curated,
    Curation,
    CurationTask,
    Extraction,
    product_id,
)
from grounding.benchmarks.agenticshop.scenarios import ROWS
from grounding.benchmarks.agenticshop.scorebook import CurationScored, read_scored
from grounding.benchmarks.agenticshop.table import (
    DIMENSION_TITLES,
    KIND_TITLES,
    NOTHING,
    drawn,
    figure_of,
    heading,
    percent,
    row_name,
)
from grounding.benchmarks.agenticshop.verdicts import PlaceVerdict, words
from grounding.benchmarks.calls import CallColumn, PrintedTable, print_tables
from grounding.cards.places import published_dir
from grounding.data.release import data_name, release_mark
from grounding.errors import UserError
from grounding.records import Record
from grounding.report.html.content import SummaryTable
from grounding.report.plot import COLOURS, MARKERS, STYLE, WIDTH_IN, save
from grounding.report.table import print_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# --- tables 4 to 7 ---------------------------------------------------------------------------------------------------


def _column(column: str, head: str, name: str, group: str = ALL, scale: int = 1) -> CallColumn[CurationScored]:
    def own(result: CurationScored) -> float | None:
        found = figure_of(result, name, group)
        return None if found is None or found.value is None else scale * found.value

    return CallColumn(column=column, heading=head, own=own, digits=2)


def _by_scenario(name: str, scale: int = 1, more: str = "") -> tuple[CallColumn[CurationScored], ...]:
    return tuple(_column(row.printed + more, heading(row.scenario), name, row.scenario, scale) for row in ROWS)


TABLES: tuple[PrintedTable[CurationScored], ...] = (
    PrintedTable(number="4", about="score by scenario, all tasks, %", places=_by_scenario("score", 100)),
    PrintedTable(
        number="7", about="score by scenario, successes alone, %", places=_by_scenario("success", 100, ", successful")
    ),
    # Only the first three have a target.
    PrintedTable(number="5", about="target's brand and type found", places=_by_scenario("found")[:3]),
    PrintedTable(
        number="6",
        about="errors of attribution",
        places=(
            _column("error percent", "wrong\nlinks %", "wrong", scale=100),
            _column("irrelevant share of errors", "of them\nirrelevant %", "irrelevant", scale=100),
            _column("invalid share of errors", "of them\ninvalid %", "invalid", scale=100),
            _column("no review page", "no\nreviews", "no_review"),
            _column("out of budget share of price failures", "over budget,\nof failed", "over_budget"),
        ),
    ),
)


def read_several(folders: Sequence[Path]) -> list[CurationScored]:
    """Scored runs that curate products; raises a UserError where there is none, or a folder holds none."""
    if not folders:
        raise UserError("give the folder of a run that curates products, such as results/RUN")
    return [read_scored(folder) for folder in folders]


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


# --- figures 3 to 5 --------------------------------------------------------------------------------------------------

FIGURES: dict[str, dict[str, tuple[str, str]]] = {
    "figure 3 · score by kind of goods, %": {
        row.domain: ("score", row.scenario) for row in ROWS if row.intent == "alternative_selection"
    },
    "figure 4 · score by dimension of the checklist, %": {
        title: (dimension, ALL) for dimension, title in DIMENSION_TITLES.items()
    },
    "figure 5 · what steps were for, % of those that say so": {KIND_TITLES[kind]: (kind, ALL) for kind in KINDS},
}
"""The paper's figures: heads and figures. It prints no numbers beside its bars; those of 3 stand in its table 4."""

Rows = dict[str, list[FigureValue | None]]
"""For each run a share with its interval at each place of the axis; None: not measured."""


def print_figures(console: Console, runs: Sequence[CurationScored], out: Path | None) -> None:
    """Print the three figures as tables, and draw those for which there is anything into a folder.

    Raises:
        UserError: a run has no judge, or a file can't be written.
    """
    unjudged = next((run for run in runs if not run.summary.headline), None)
    if unjudged is not None:
        raise UserError(f"{unjudged.folder}: nobody judged this run; the same command with --judge does")
    plain = [row_name(run) for run in runs]
    # Runs of one agent are told apart by their folders.
    apart = (f"{name}, {run.folder.name[-10:]}" for name, run in zip(plain, runs, strict=True))
    shown = (name if plain.count(name) == 1 else other for name, other in zip(plain, apart, strict=True))
    named = dict(zip(shown, runs, strict=True))
    for title, columns in FIGURES.items():
        rows = {name: [figure_of(run, *own) for own in columns.values()] for name, run in named.items()}
        cells = tuple((name, *map(percent, found)) for name, found in rows.items())
        console.print(drawn(SummaryTable(title=title, heads=("agent", *columns), rows=cells)))
        if out is not None and any(one is not None and one.value is not None for one in chain(*rows.values())):
            try:
                out.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UserError(f"--out {out}: the folder can't be made: {error.strerror}") from error
            for path in _draw(title, tuple(columns), rows, out):
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
        columns = 4 if stacked else 1 if max(map(len, rows)) > 20 else 2
        picture.legend(loc="outside lower center", ncols=columns, frameon=False, columnspacing=1.0, handletextpad=0.4)
    return save(picture, folder, name.replace(" ", "-"))


def _dots(panel: Axes, heads: Sequence[str], rows: Rows) -> None:
    """One line a place of the axis; in it a dot with its interval, where there is one, for each run."""
    apart = min(0.2, 0.7 / len(rows))
    for number, (name, found) in enumerate(rows.items()):
        aside = (number - (len(rows) - 1) / 2) * apart
        known = [(line, one, one.value) for line, one in enumerate(found) if one is not None and one.value is not None]
        low = [100 * max(0.0, value - (value if one.low is None else one.low)) for _, one, value in known]
        high = [100 * max(0.0, (value if one.high is None else one.high) - value) for _, one, value in known]
        look: dict[str, Any] = {
            "fmt": MARKERS[number % len(MARKERS)],
            "color": COLOURS[number % len(COLOURS)],
            "markersize": 4.5,
        }
        at = [100 * value for *_, value in known], [line + aside for line, *_ in known]
        panel.errorbar(*at, xerr=[low, high], linewidth=1.0, capsize=2, label=name, **look)
    panel.set_yticks(range(len(heads)), heads)


def _stacked(panel: Axes, heads: Sequence[str], rows: Rows) -> None:
    """One bar a run, of its shares."""
    left = [0.0] * len(rows)
    for place, title in enumerate(heads):
        shares = [100 * ((one.value if one is not None else 0.0) or 0.0) for one in (of[place] for of in rows.values())]
        bars = panel.barh(range(len(shares)), shares, left=left, height=0.6, color=COLOURS[place], label=title)
        panel.bar_label(bars, [f"{one:.0f}" if one >= 6 else "" for one in shares], label_type="center", color="w")
        left = [before + share for before, share in zip(left, shares, strict=True)]
    panel.set_yticks(range(len(rows)), [name.replace(" (", "\n(") for name in rows])


# --- the failure kinds of appendix D ---------------------------------------------------------------------------------

DETAILED_WORDS = 8
"""So many words about a product are an explanation."""

LONG_QUERY_WORDS = 9
"""A query of more words joins several attributes in one search. Both numbers stand in ``failures.yaml``, too."""

_QUERY = re.compile(
    r'^search(?: for|ed)?:? +"?(?P<plain>[^"]+)|"(?:query|text)": *"(?P<json>[^"]+)"|\btype\b[^;:]*[;:] *(?P<typed>.+)',
    re.IGNORECASE,
)


class Failures(Record, frozen=True, kw_only=True):
    """One kind of failure in one run: how many of how many, and what was seen in each case. ``of``: what is counted."""

    kind: str
    definition: str
    of: str
    count: int
    total: int
    cases: tuple[tuple[str, str], ...] = ()


_KINDS = msgspec.yaml.decode(Path(__file__).with_name("failures.yaml").read_bytes(), type=list[dict[str, str]])


class _Case(NamedTuple):
    kind: str
    where: str
    seen: str
    is_failure: bool


class _Seen(NamedTuple):
    """A product that an agent named, with what became of it."""

    id: str
    product: Curated
    extraction: Extraction | None
    verdict: PlaceVerdict


def failures_of(run: CurationScored) -> tuple[Failures, ...]:
    """All kinds, in the order of the paper."""
    stored, tasks = run.stored, {task.id: task for task in run.stored.tasks}
    places = {product_id(one.task, one.rank): one for of in run.places.values() for one in of}
    answered = [(tasks[one.step_id], one) for one in stored.curations if one.failure is None]
    brands = {words(one.facts.brand) for one in stored.extractions if one.facts is not None}
    brands |= {words(task.target.brand) for task, _ in answered if task.target}
    cases: list[_Case] = []
    for task, curation in answered:
        pairs = zip(curation.products, stored.answers[task.id].extractions, strict=False)
        named = [
            _Seen(name, product, extraction, places[name])
            for product, extraction in pairs
            if (name := product_id(task.id, product.rank)) in places
        ]
        cases += [case for one in named for case in _of_product(one, curation)]
        cases += _of_task(task, curation, named, brands - {()})
    found = []
    for kind in _KINDS:
        mine = [one for one in cases if one.kind == kind["kind"]]
        bad = tuple((one.where, one.seen[:300]) for one in mine if one.is_failure)
        found.append(Failures(**kind, count=len(bad), total=len(mine), cases=bad))
    return tuple(found)


def _of_product(one: _Seen, curation: Curation) -> Iterator[_Case]:
    url, said = one.product.url, one.product.reasoning
    invalid = one.verdict.link == "invalid"
    if looked_at([one.verdict]):
        brought = any(url in (step.url, *step.cited_urls) for step in curation.trace)
        yield _Case(
            "URL hallucination", one.id, f"{url} ({'brought' if brought else 'in no step of the trace'})", invalid
        )
    if invalid:
        yield _Case("response hallucination: page", one.id, said, len(said.split()) >= DETAILED_WORDS)
    prices = find_prices(f"{one.product.name} {said}")
    stated = next((price.amount for price in prices if price.kind == "current"), None)
    facts = None if one.extraction is None else one.extraction.facts
    if facts is not None and facts.price is not None and stated is not None:
        page = None if one.extraction is None else one.extraction.page
        shown = [price.amount for line in (page.text if page else "").splitlines() for price in find_prices(line)]
        right = _has([facts.price.amount, *([facts.total.amount] if facts.total else [])], stated)
        beside = _has(shown, stated)
        text = f"states {stated:g}, the page {facts.price.amount:g}"
        yield _Case("response hallucination: price", one.id, text, not right and not beside)
        yield _Case("distraction by promotion", one.id, text, not right and beside)


def _has(amounts: Sequence[float], wanted: float) -> bool:
    return any(abs(amount - wanted) < 0.005 for amount in amounts)


def _of_task(
    task: CurationTask, curation: Curation, named: Sequence[_Seen], brands: set[tuple[str, ...]]
) -> Iterator[_Case]:
    asked = set(words(task.query))
    for query in queries_of(curation):
        said = set(words(query))
        biased = any(set(brand) <= said and not set(brand) <= asked for brand in brands)
        yield _Case("biased query rewriting", task.id, query, biased)
        yield _Case("overcomplicated query", task.id, query, len(query.split()) > LONG_QUERY_WORDS)
    lists = [one.product.url for one in named if one.verdict.page_class == "listing"]
    few = len(curation.products) < COUNTED_PRODUCTS
    seen = ", ".join(lists) or f"{len(curation.products)} products"
    yield _Case("premature termination", task.id, seen, few or bool(lists))
    sites = {urlsplit(step.url).hostname for step in curation.trace if step.url.startswith("http")}
    if sites:
        failed = any(not item.satisfied for one in named for item in one.verdict.decided)
        yield _Case("insufficient exploration", task.id, ", ".join(sorted(map(str, sites))), len(sites) == 1 and failed)


def queries_of(curation: Curation) -> tuple[str, ...]:
    """What an agent searched for, in the words of its trace, each once."""
    matches = (_QUERY.search(step.action) for step in curation.trace)
    found = (match["plain"] or match["json"] or match["typed"] for match in matches if match is not None)
    return tuple(dict.fromkeys(query.strip(" \"'[]") for query in found if query.strip()))


def print_failures(console: Console, runs: Sequence[CurationScored]) -> None:
    """Print how often each kind occurs in each run, and by which rule."""
    columns = [failures_of(run) for run in runs]
    rows = [(f"{row[0].kind}, of {row[0].of}", *map(_share, row)) for row in zip(*columns, strict=True)]
    heads = ("failure", *(row_name(run) for run in runs))
    console.print(drawn(SummaryTable(title="failures by kind (appendix D)", heads=heads, rows=tuple(rows))))
    for one in columns[0]:
        console.print(Text(f"{one.kind}: {one.definition}"), soft_wrap=True, highlight=False)


def _share(one: Failures) -> str:
    return f"{one.count} of {one.total} ({one.count / one.total:.0%})" if one.total else NOTHING
