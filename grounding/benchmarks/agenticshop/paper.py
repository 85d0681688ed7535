"""What the paper prints, of runs: its tables 4 to 7 with the runs under them, figures 3 to 5, and the failure kinds.

The paper's scores came out of the release's arithmetic; beside them stands the definition that the paper gives. The
failure kinds of appendix D the authors found by hand; here a rule decides each (``failures.yaml``), from the agent's
trace, what it said of its products, and the pages: a count is where to look first, and every case is listed.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import numpy as np
from rich.console import Console

from grounding.benchmarks.calls import CallColumn, PrintedTable, print_paper
from grounding.console import say
from grounding.errors import UserError
from grounding.records import Record
from grounding.report.html.content import SummaryTable
from grounding.report.plot import COLOURS, STYLE, WIDTH_IN, save
from grounding.report.rows import run_folders
from grounding.report.table import drawn, print_named
from grounding.run.display import names_apart

from .extraction.document import find_prices
from .records import COUNTED_PRODUCTS, ROWS, Curated, Curation, CurationTask, product_id
from .rows import DIMENSION_TITLES, KIND_TITLES, NOTHING, figure_of, heading, percent, row_name
from .scorebook import CurationScored, read_scored
from .scores import ALL, KINDS, FigureValue, PlaceVerdict, looked_at, words

# --- tables 4 to 7 ---------------------------------------------------------------------------------------------------


def _column(column: str, head: str, name: str, group: str = ALL, scale: int = 1) -> CallColumn[CurationScored]:
    def own(result: CurationScored) -> float | None:
        value = figure_of(result, name, group).value
        return None if value is None else scale * value

    return CallColumn(column=column, heading=head, own=own, digits=2)


def _by_scenario(name: str, scale: int = 1, more: str = "") -> tuple[CallColumn[CurationScored], ...]:
    return tuple(_column(row.printed + more, heading(row.scenario), name, row.scenario, scale) for row in ROWS.values())


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
    return [read_scored(folder) for folder in run_folders(folders)]


def print_published_curations(console: Console, results: Sequence[CurationScored]) -> None:
    """Print the paper's tables 4 to 7 with the runs under them, and what is odd about the figures."""
    print_named(console, print_paper(console, "agenticshop", TABLES, [(row_name(one), one) for one in results]))


# --- figures 3 to 5 --------------------------------------------------------------------------------------------------

FIGURES: dict[str, dict[str, tuple[str, str]]] = {
    "figure 3 · score by kind of goods, %": {
        row.domain: ("score", row.scenario) for row in ROWS.values() if row.intent == "alternative_selection"
    },
    "figure 4 · score by dimension of the checklist, %": {
        title: (dimension, ALL) for dimension, title in DIMENSION_TITLES.items()
    },
    "figure 5 · what steps were for, % of those that say so": {KIND_TITLES[kind]: (kind, ALL) for kind in KINDS},
}  # The paper's figures: heads and figures. It prints no numbers beside its bars; those of 3 stand in its table 4.


def print_figures(console: Console, runs: Sequence[CurationScored], out: Path | None) -> None:
    """Print the three figures as tables, and draw those for which there is anything into a folder."""
    unjudged = next((run for run in runs if not run.summary.headline), None)
    if unjudged is not None:
        raise UserError(f"{unjudged.folder}: nobody judged this run; the same command with --judge does")
    names = names_apart([row_name(run) for run in runs], [run.folder.name[-10:] for run in runs])
    named = dict(zip(names, runs, strict=True))
    for title, columns in FIGURES.items():
        rows = {name: [figure_of(run, *own) for own in columns.values()] for name, run in named.items()}
        cells = tuple((name, *map(percent, found)) for name, found in rows.items())
        console.print(drawn(SummaryTable(title=title, heads=("agent", *columns), rows=cells)))
        if out is not None and any(one.value is not None for found in rows.values() for one in found):
            for path in _draw(title, tuple(columns), rows, out):
                console.print(f"written    {path}", highlight=False, soft_wrap=True)


def _draw(title: str, heads: Sequence[str], rows: dict[str, list[FigureValue]], folder: Path) -> Sequence[Path]:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--out {folder}: the folder can't be made: {error.strerror}") from error
    name, _, about = title.partition(" · ")
    thick = 0.8 / len(rows)
    with mpl.rc_context(STYLE):
        size = (WIDTH_IN, 0.75 + (0.2 + 0.12 * len(rows)) * len(heads) + 0.2 * len(rows))
        picture = Figure(layout="constrained", figsize=size)
        panel = picture.subplots()
        for number, (label, found) in enumerate(rows.items()):
            at = [line + (number + 0.5) * thick - 0.4 for line in range(len(heads))]
            values = [one.value or 0.0 for one in found]
            ends = [one.ends or (value, value) for one, value in zip(found, values, strict=True)]
            shown = 100 * np.array(values)
            away = np.abs(100 * np.transpose(ends) - shown)
            colour = COLOURS[number % len(COLOURS)]
            bars = panel.barh(at, shown, thick, xerr=away, color=colour, error_kw={"lw": 0.8}, label=label)
            panel.bar_label(bars, list(map(percent, found)), padding=2, fontsize=6)
        panel.set_yticks(range(len(heads)), heads)
        panel.set_xlim(0, 115)
        panel.invert_yaxis()
        panel.grid(axis="y", visible=False)
        panel.set_title(about, loc="left")
        picture.legend(loc="outside lower center", ncols=1 if max(map(len, rows)) > 20 else 2, frameon=False)
    return save(picture, folder, name.replace(" ", "-"))


# --- the failure kinds of appendix D ---------------------------------------------------------------------------------

# So many words about a product are an explanation; a query of more joins several attributes (``failures.yaml``).
DETAILED_WORDS, LONG_QUERY_WORDS = 8, 9

_QUERY = re.compile(
    r'^search(?: for|ed)?:? +"?(?P<plain>[^"]+)|"(?:query|text)": *"(?P<json>[^"]+)"|\btype\b[^;:]*[;:] *(?P<typed>.+)',
    re.IGNORECASE,
)


class Failures(Record, frozen=True, kw_only=True):
    """One kind of failure in one run: how many of how many (``of``), and what was seen in each case."""

    kind: str
    definition: str
    of: str
    count: int
    total: int
    cases: tuple[tuple[str, str], ...] = ()


_KINDS = msgspec.yaml.decode(Path(__file__).with_name("failures.yaml").read_bytes(), type=list[dict[str, str]])
Case = tuple[str, str, str, bool]  # The kind, where it was seen, what was seen, and whether it is a failure.


def failures_of(run: CurationScored) -> tuple[Failures, ...]:
    stored, tasks = run.stored, {task.id: task for task in run.stored.tasks}
    answered = [(tasks[one.step_id], one) for one in stored.curations.values() if one.failure is None]
    brands = {words(one.facts.brand) for one in stored.extractions.values() if one.facts is not None}
    brands |= {words(task.target.brand) for task, _ in answered if task.target}
    cases: list[Case] = []
    verdicts = run.places
    for task, curation in answered:
        places = verdicts[task.id]
        cases += _of_task(task, curation, places, brands - {()})
        for curated, place in zip(curation.products, places, strict=False):
            cases += _of_product(run, curation, curated, place)
    found = []
    for kind in _KINDS:
        mine = [one for one in cases if one[0] == kind["kind"]]
        bad = tuple((where, seen[:300]) for _, where, seen, is_failure in mine if is_failure)
        found.append(Failures(**kind, count=len(bad), total=len(mine), cases=bad))
    return tuple(found)


def _of_product(run: CurationScored, curation: Curation, curated: Curated, place: PlaceVerdict) -> Iterator[Case]:
    name, url, said = product_id(place.task, place.rank), curated.url, curated.reasoning
    if looked_at(place):
        brought = any(url in (step.url, *step.cited_urls) for step in curation.trace)
        seen = f"{url} ({'brought' if brought else 'in no step of the trace'})"
        yield "URL hallucination", name, seen, place.link == "invalid"
    if place.link == "invalid":
        yield "response hallucination: page", name, said, len(said.split()) >= DETAILED_WORDS
    extraction = run.stored.extractions.get(name)
    facts = None if extraction is None else extraction.facts
    stated = next((price.amount for price in find_prices(f"{curated.name} {said}") if price.kind == "current"), None)
    if extraction is not None and facts is not None and facts.price is not None and stated is not None:
        lines = extraction.page.text.splitlines() if extraction.page else []
        shown = [price.amount for line in lines for price in find_prices(line)]
        own = [one.amount for one in (facts.price, facts.total) if one is not None]
        right, beside = (any(abs(one - stated) < 0.005 for one in amounts) for amounts in (own, shown))
        text = f"states {stated:g}, the page {facts.price.amount:g}"
        yield "response hallucination: price", name, text, not right and not beside
        yield "distraction by promotion", name, text, not right and beside


def _of_task(
    task: CurationTask, curation: Curation, places: Sequence[PlaceVerdict], brands: set[tuple[str, ...]]
) -> Iterator[Case]:
    asked = set(words(task.query))
    for query in queries_of(curation):
        said = set(words(query))
        biased = any(set(brand) <= said and not set(brand) <= asked for brand in brands)
        yield "biased query rewriting", task.id, query, biased
        yield "overcomplicated query", task.id, query, len(query.split()) > LONG_QUERY_WORDS
    named = [one for one in places if one.url]
    lists = [one.url for one in named if one.page_class == "listing"]
    early = len(curation.products) < COUNTED_PRODUCTS or bool(lists)
    if early or all(one.link for one in named):  # Else a page that was not looked at may be a list.
        seen = ", ".join(lists) or f"{len(curation.products)} products"
        yield "premature termination", task.id, seen, early
    sites = {urlsplit(step.url).hostname for step in curation.trace if step.url.startswith("http")}
    satisfied = [item.satisfied for one in named for item in one.decided]
    if sites and satisfied:
        alone = len(sites) == 1 and not all(satisfied)
        yield "insufficient exploration", task.id, ", ".join(sorted(map(str, sites))), alone


def queries_of(curation: Curation) -> tuple[str, ...]:
    """What an agent searched for, in the words of its trace, each once."""
    matches = (_QUERY.search(step.action) for step in curation.trace)
    found = (match["plain"] or match["json"] or match["typed"] for match in matches if match is not None)
    return tuple(dict.fromkeys(query.strip(" \"'[]") for query in found if query.strip()))


def print_failures(console: Console, runs: Sequence[CurationScored]) -> None:
    columns = [failures_of(run) for run in runs]
    rows = []
    for row in zip(*columns, strict=True):
        shares = (f"{one.count} of {one.total} ({one.count / one.total:.0%})" if one.total else NOTHING for one in row)
        rows.append((f"{row[0].kind}, of {row[0].of}", *shares))
    heads = ("failure", *map(row_name, runs))
    console.print(drawn(SummaryTable(title="failures by kind (appendix D)", heads=heads, rows=tuple(rows))))
    for one in columns[0]:
        say(console, f"{one.kind}: {one.definition}")
