"""Runs over a shop as tables for the terminal, in the shape of the paper's, and under the paper's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.benchmarks.calls import CallColumn, PrintedTable, print_tables
from grounding.benchmarks.personalwab.options import OWN_MEMORY
from grounding.benchmarks.personalwab.records import TYPES, TaskType, Track
from grounding.benchmarks.personalwab.scorebook import ShopScored
from grounding.benchmarks.personalwab.scoring import ShopEstimate, ShopRule
from grounding.cards.places import published_dir
from grounding.data.release import data_name, departure_warnings, release_mark
from grounding.llm.budget import dollars
from grounding.scoring.summary import CallTotals

READINGS: dict[ShopRule, str] = {
    "paper": "last attempt: schema-valid call, target as a product, rank r worth 1 - (r - 1)/10, likeness from 0",
    "official": "best attempt: the release's evaluator: no error, target's id anywhere, entry i of n worth 1 - i/n, "
    "any likeness",
}
SHORT: dict[str, str] = {"search": "search", "recommend": "recom.", "review": "review", "overall": "all"}


def print_shop(console: Console, results: Sequence[ShopScored], *, rule: ShopRule) -> None:
    """Print runs with function, result and, in the multi-turn track, steps; then what became of the rest."""
    asked = results[0].info.asked
    models = {result.info.asked.model for result in results}
    model = f" · {asked.model}" if len(models) == 1 and asked.model else ""
    user = f" · user {asked.user}" if asked.user else ""
    title = f"{data_name(asked.dataset, results[0].info.departs)} · {asked.track}-turn · {rule}{model}{user}"
    table = Table(
        title=Text(title),
        title_style="bold",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    measures = {"F": ("function", 3), "R": ("result", 3), "steps": ("steps", 2)}
    if asked.track == "single":
        del measures["steps"]
    table.add_column("\nagent · memory")
    for kind in SHORT.values():
        for measure in measures:
            table.add_column(f"{kind if measure == 'F' else ''}\n{measure}", justify="right")
    table.add_column("95 % interval\nof all R", justify="right")
    # The same in fewer words, with the model where the runs have several.
    names = [row_name(result, several=len(models) > 1).replace(" memory", "") for result in results]
    for name, result in zip(names, results, strict=True):
        scores = result.summary.scores[rule]
        rows = [*(scores.types[kind] for kind in TYPES), scores.overall]
        cells = [share(getattr(one, field), digits) for one in rows for field, digits in measures.values()]
        table.add_row(name, *cells, interval(scores.overall.result))
    console.print(table)
    _say(console, _notes(results, names, rule))


def _say(console: Console, lines: Iterator[str]) -> None:
    for line in lines:
        text = Text(line, style="yellow" if line.startswith("warning ") else "")
        console.print(text, soft_wrap=True, highlight=False)


def row_name(result: ShopScored, *, several: bool = True) -> str:
    """What a run is called in a table: agent, memory and, among ``several`` models, the model."""
    asked = result.info.asked
    memory = "" if asked.agent in OWN_MEMORY else f" · {asked.memory} memory"
    return f"{asked.agent}{memory}{f' ({asked.model})' if asked.model and several else ''}"


def share(estimate: ShopEstimate | None, digits: int = 3) -> str:
    """A value as the paper prints it; a dash where nothing was measured."""
    return "-" if estimate is None or estimate.value is None else f"{estimate.value:.{digits}f}"


def interval(estimate: ShopEstimate) -> str:
    """Both ends of an interval."""
    return "-" if estimate.low is None or estimate.high is None else f"[{estimate.low:.3f}, {estimate.high:.3f}]"


def cost_words(totals: CallTotals) -> str:
    """What was paid, and for how many tokens."""
    if not totals.calls:
        return "no requests"
    price = "not priced" if totals.usd is None else dollars(totals.usd)
    return f"{price}, {totals.input_tokens:,} tokens in, {totals.output_tokens:,} out"


def _notes(results: Sequence[ShopScored], names: Sequence[str], rule: ShopRule) -> Iterator[str]:
    first = results[0]
    counts, scores, departs = first.summary.counts, first.summary.scores[rule], first.info.departs
    by_type = " · ".join(f"{kind} {scores.types[kind].tasks}" for kind in TYPES)
    yield f"tasks      {counts.tasks:,} of {counts.users:,} users ({by_type}) · {counts.products:,} products"
    yield "measures   F: share of tasks with the right function; R: what its result is worth, 0 to 1"
    yield f"reading    {rule}, {READINGS[rule]}"
    yield f"intervals  bootstrap over users, seed {first.info.asked.seed}"
    yield from (f"warning    {text}" for text in departure_warnings(first.info.asked.dataset, departs))
    if few := scores.few["overall"].tasks:
        yield f"few-shot   {few:,} tasks whose user had done fewer than 10 things before"
    for name, result in zip(names, results, strict=True):
        yield from _own_notes(result, rule, f"{name}: " if len(results) > 1 else "")
    yield from (f"signature  {result.summary.signature}" for result in results)
    for result in results:
        yield f"run folder {result.folder}" if result.report is None else f"report     {result.report}"


def _own_notes(result: ShopScored, rule: ShopRule, lead: str) -> Iterator[str]:
    summary, scores = result.summary, result.summary.scores[rule]
    counts, few, function = summary.counts, scores.few["overall"], scores.overall.function
    lists = " · ".join(f"{kind} {share(scores.types[kind].outcome)}" for kind in TYPES[:2])
    shots = f" · few-shot F {share(few.function)}, R {share(few.result)}" if few.tasks else ""
    user = f" · user: {cost_words(summary.user)}" if summary.user.calls else ""
    unparsed, errors = (counts.failures.get(kind, 0) for kind in ("unparsed", "error"))
    refused = ({"unparsed": unparsed} if unparsed else {}) | counts.errors_seen
    yield f"outcome    {lead}right function {function.k}/{function.n} · R of any list: {lists}{shots}"
    yield f"time       {lead}{result.time.wall_s:.1f} s · agent: {cost_words(summary.agent)}{user}"
    if refused:
        yield f"refused    {lead}" + " · ".join(f"{kind} {count}" for kind, count in refused.items())
    for text, is_so in {
        f"stopped before the end: {result.info.stopped}": result.info.stopped,
        f"{errors} tasks ended in an error and count as wrong; run the same command again to ask only those": errors,
        f"{counts.unasked} tasks were not begun: the scores are over the {counts.tasks - counts.unasked} others": (
            counts.unasked
        ),
        "the run is partial: its scores are not final": summary.status == "partial",
    }.items():
        if is_so:
            yield f"warning    {lead}{text}"


# --- the paper's tables -----------------------------------------------------------------------------------------------

FILE = "personalwab.csv"
PAPER_DATASET = "personalwab"
Named = Callable[[ShopScored], str]


def print_published_shop(console: Console, results: Sequence[ShopScored]) -> None:
    """Print the paper's tables of the runs' track with the runs under them, and what is odd about the figures.

    Raises UserError where the figures are missing from this installation or damaged.
    """
    _print_tables(console, TABLES, results, row_name)
    words = "runs stand there by the reading official, the released evaluator's, which made the paper's figures"
    _say(console, iter([f"published  {words}"]))
    _say(console, _other_data(results, lambda result: f"{row_name(result)}: "))


def print_published_training(
    console: Console, *, ablations: Sequence[tuple[str, ShopScored]], lengths: Sequence[tuple[str, ShopScored]]
) -> None:
    """Print the paper's tables of trained models with the runs of one's own under them.

    Raises UserError where the figures are missing from this installation or damaged.
    """
    for table, named in ((ABLATIONS, ablations), (MEMORY_LENGTHS, lengths)):
        names = {result.folder: name for name, result in named}
        _print_tables(console, (table,), [one for _, one in named], lambda one, names=names: names[one.folder])  # type: ignore[misc]
    _say(console, _other_data([result for _, result in (*ablations, *lengths)], lambda _: ""))


def _print_tables(
    console: Console, tables: Sequence[PrintedTable[ShopScored]], results: Sequence[ShopScored], name: Named
) -> None:
    path = published_dir() / FILE
    print_tables(console, path, tables, results, lambda one: name(one) + release_mark(one.info.departs))


def _other_data(results: Sequence[ShopScored], lead: Named) -> Iterator[str]:
    """Warn of every run that is not over the paper's data."""
    told = set()
    for result in results:
        asked, departs = result.info.asked, result.info.departs
        tasks = result.summary.counts.tasks
        differs = f"{data_name(asked.dataset, departs)}, {tasks} tasks, selection {asked.select}"
        line = f"warning    {lead(result)}other data than the paper's ({differs}): not comparable with it"
        if (asked.dataset != PAPER_DATASET or asked.select != "all" or departs) and line not in told:
            told.add(line)
            yield line


def _figure(result: ShopScored, *, kind: str, field: str, few: bool = False, search: str = "") -> float | None:
    scores = result.summary.scores["official"]
    figures = scores.overall if kind == "overall" else scores.types[kind]  # type: ignore[index]
    found: ShopEstimate = getattr(scores.few[kind] if few else figures, field)
    return found.value if search in ("", result.info.asked.search) else None


_NAMED = {"recommend": "recommendation"}
"""How the tables name a type of task, where otherwise."""
_F, _R = ("function accuracy", "F", "function"), ("result accuracy", "R", "result")
_O, _STEPS = ("O. accuracy", "O", "outcome"), ("average steps", "steps", "steps")


def _table(
    number: str,
    about: str,
    *measures: tuple[str, str, str],
    kinds: Sequence[str] = tuple(SHORT),
    track: Track | None = None,
    few: bool = False,
) -> PrintedTable[ShopScored]:
    """A table by type; ``measures`` are the file's names, the headings and the fields of figures."""
    places = tuple(
        CallColumn(
            column=f"{_NAMED.get(kind, kind)} {printed}",
            heading=f"{SHORT[kind] if place == 0 else ''}\n{heading}",
            own=partial(_figure, kind=kind, field=field, few=few),
        )
        for kind in kinds
        for place, (printed, heading, field) in enumerate(measures)
    )
    return PrintedTable(number=number, about=about, places=places, fits=partial(_is_of, track))


def _is_of(track: Track | None, result: ShopScored) -> bool:
    return track in (None, result.info.asked.track)


_LISTS: tuple[TaskType, ...] = ("search", "recommend")
_BY_SEARCH = tuple(
    CallColumn(
        column=f"result accuracy, {name}",
        heading=f"\n{name} R",
        own=partial(_figure, kind="search", field="result", search=name.lower()),
    )
    for name in ("BM25", "dense")
)
TABLES: tuple[PrintedTable[ShopScored], ...] = (
    _table("3", "single-turn track", _F, _R, track="single"),
    _table("4", "multi-turn track", _F, _R, _STEPS, track="multi"),
    _table("7", "outcome of the list that was asked for (O)", _F, _R, _O, kinds=_LISTS, track="single"),
    PrintedTable(number="8", about="search by BM25 and by meaning", places=_BY_SEARCH, fits=partial(_is_of, "single")),
    _table("9", "users with fewer than 10 behaviours", _F, _R, track="single", few=True),
)
ABLATIONS = _table("5", "ablations of PUMA", _F, _R)
MEMORY_LENGTHS = _table("6", "length of PUMA's memory", _F, _R)
