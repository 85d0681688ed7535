"""Runs over a shop as tables for the terminal.

The shape is that of the paper's tables 3 and 4; where it is too wide, there is a line for each type of task.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from grounding.money import dollars
from grounding.scoring.costs import CallTotals
from grounding.webagents.personalwab.records import TaskType
from grounding.webagents.personalwab.scorebook import ShopScored
from grounding.webagents.personalwab.scores import TYPES, ShopCounts, ShopEstimate, ShopFigures, ShopScores
from grounding.webagents.personalwab.verdicts import OWN_CHOICE, ShopRule

READINGS: dict[ShopRule, str] = {
    "paper": "schema-valid call, target as a product, rank r worth 1 - (r - 1)/10, likeness from 0",
    "official": "the release's evaluator: no error, target's id anywhere, entry i of n worth 1 - i/n, any likeness",
}
SHORT: dict[TaskType, str] = {"search": "search", "recommend": "recom.", "review": "review"}
OWN_MEMORY = ("recmind", "interecagent", "puma", "puma-local", "oracle")


def print_shop(console: Console, results: Sequence[ShopScored], *, rule: ShopRule) -> None:
    """Print runs with function, result and, in the multi-turn track, steps; then what became of the rest."""
    console.print(_fitting(console, results, rule))
    for line in _notes(results, rule):
        console.print(line, soft_wrap=True, highlight=False)
    for result in results:
        console.print(Text(f"signature  {result.summary.signature}"), soft_wrap=True, highlight=False)
    for result in results:
        where = f"run folder {result.folder}" if result.report is None else f"report     {result.report}"
        console.print(Text(where), soft_wrap=True, highlight=False)


def row_name(result: ShopScored) -> str:
    """What a run is called in a table: agent, memory and model."""
    asked = result.info.asked
    memory = "" if asked.agent in OWN_MEMORY else f" · {asked.memory} memory"
    model = f" ({asked.model})" if asked.model else ""
    return f"{asked.agent}{memory}{model}"


def _fitting(console: Console, results: Sequence[ShopScored], rule: ShopRule) -> Table:
    """A line a run where that is not too wide, else a line a run and type."""
    wide = _by_run(results, rule)
    needed = Measurement.get(console, console.options.update(max_width=10_000), wide).maximum
    return wide if needed <= console.width else _by_type(results, rule)


def _names(results: Sequence[ShopScored]) -> list[str]:
    """Agent and memory, and the model where the runs have several."""
    several = len({result.info.asked.model for result in results}) > 1
    names = []
    for result in results:
        asked = result.info.asked
        memory = "" if asked.agent in OWN_MEMORY else f" · {asked.memory}"
        model = f" ({asked.model or 'no model'})" if several else ""
        names.append(f"{asked.agent}{memory}{model}")
    return names


def _frame(results: Sequence[ShopScored], rule: ShopRule) -> Table:
    asked = results[0].info.asked
    models = {result.info.asked.model for result in results}
    model = f" · {asked.model}" if len(models) == 1 and asked.model else ""
    user = f" · user {asked.user}" if asked.user else ""
    title = f"{asked.dataset} · {asked.track}-turn · {rule}{model}{user}"
    return Table(
        title=Text(title),
        title_style="bold",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )


def _by_run(results: Sequence[ShopScored], rule: ShopRule) -> Table:
    multi = results[0].info.asked.track == "multi"
    table = _frame(results, rule)
    table.add_column("\nagent · memory")
    for name in (*SHORT.values(), "all"):
        for place, measure in enumerate(("F", "R", *(("steps",) if multi else ()))):
            table.add_column(f"{name if not place else ''}\n{measure}", justify="right")
    table.add_column("95 % interval\nof all R", justify="right")
    for name, result in zip(_names(results), results, strict=True):
        scores = result.summary.scores[rule]
        cells = [cell for figures in _groups(scores) for cell in _cells(figures, multi=multi)]
        table.add_row(name, *cells, interval(scores.overall.result))
    return table


def _by_type(results: Sequence[ShopScored], rule: ShopRule) -> Table:
    multi = results[0].info.asked.track == "multi"
    table = _frame(results, rule)
    table.add_column("agent · memory", overflow="fold")
    table.add_column("tasks")
    for heading in ("F", "R", "95 % interval of R", *(("steps",) if multi else ())):
        table.add_column(heading, justify="right")
    for name, result in zip(_names(results), results, strict=True):
        table.add_section()
        for place, (kind, figures) in enumerate(
            zip((*TYPES, "all"), _groups(result.summary.scores[rule]), strict=True)
        ):
            function, found, *steps = _cells(figures, multi=multi)
            table.add_row("" if place else name, kind, function, found, interval(figures.result), *steps)
    return table


def _groups(scores: ShopScores) -> list[ShopFigures]:
    return [*(scores.types[kind] for kind in TYPES), scores.overall]


def _cells(figures: ShopFigures, *, multi: bool) -> list[str]:
    steps = figures.steps.value
    more = [] if not multi else ["-" if steps is None else f"{steps:.2f}"]
    return [share(figures.function), share(figures.result), *more]


def share(estimate: ShopEstimate) -> str:
    """A share as the paper prints it; a dash where nothing was scored."""
    return "-" if estimate.value is None else f"{estimate.value:.3f}"


def interval(estimate: ShopEstimate) -> str:
    """Both ends of an interval."""
    return "-" if estimate.low is None or estimate.high is None else f"[{estimate.low:.3f}, {estimate.high:.3f}]"


def _notes(results: Sequence[ShopScored], rule: ShopRule) -> list[Text]:
    first = results[0]
    counts, scores = first.summary.counts, first.summary.scores[rule]
    by_type = " · ".join(f"{kind} {scores.types[kind].tasks}" for kind in TYPES)
    chosen = first.info.attempt or OWN_CHOICE[rule]
    lines = [
        Text(f"tasks      {counts.tasks:,} of {counts.users:,} users ({by_type}) · {counts.products:,} products"),
        Text("measures   F: share of tasks with the right function; R: what its result is worth, 0 to 1"),
        Text(f"reading    {rule}, {chosen} attempt: {READINGS[rule]}"),
        Text(f"intervals  bootstrap over users, seed {first.info.asked.seed}"),
    ]
    few = scores.few["overall"].tasks
    if few:
        lines.append(Text(f"few-shot   {few:,} tasks whose user had done fewer than 10 things before"))
    for name, result in zip(_names(results), results, strict=True):
        lines += _own_notes(result, rule, f"{name}: " if len(results) > 1 else "")
    return lines


def _own_notes(result: ShopScored, rule: ShopRule, lead: str) -> list[Text]:
    summary, scores = result.summary, result.summary.scores[rule]
    right = f"{scores.overall.function.k}/{scores.overall.function.n}"
    lists = " · ".join(f"{kind} {share(scores.types[kind].outcome)}" for kind in ("search", "recommend"))
    few = scores.few["overall"]
    shots = f" · few-shot F {share(few.function)}, R {share(few.result)}" if few.tasks else ""
    spent = f"{result.time.wall_s:.1f} s · {_cost(summary.agent, 'agent')}{_user(summary.user)}"
    lines = [
        Text(f"outcome    {lead}right function {right} · R of any list: {lists}{shots}"),
        Text(f"time       {lead}{spent}"),
    ]
    wrong = _wrong(summary.counts)
    if wrong:
        lines.append(Text(f"refused    {lead}{wrong}"))
    return lines + [Text(f"warning    {lead}{each}", style="yellow") for each in _warnings(result)]


def _wrong(counts: ShopCounts) -> str:
    """What the web refused, and moves that were none."""
    unparsed = {"unparsed": counts.failures["unparsed"]} if counts.failures.get("unparsed") else {}
    return " · ".join(f"{kind} {count}" for kind, count in (unparsed | counts.errors_seen).items())


def _warnings(result: ShopScored) -> list[str]:
    counts, found = result.summary.counts, []
    if result.info.stopped:
        found.append(f"stopped before the end: {result.info.stopped}")
    errors = counts.failures.get("error", 0)
    if errors:
        found.append(
            f"{errors} tasks ended in an error and count as wrong; run the same command again to ask only those"
        )
    if counts.unasked:
        found.append(f"{counts.unasked} tasks were not begun and count as wrong")
    if result.summary.status == "partial":
        found.append("the run is partial: its scores are not final")
    return found


def _cost(totals: CallTotals, who: str) -> str:
    if not totals.calls:
        return f"{who}: no requests"
    price = "not priced" if totals.usd is None else dollars(totals.usd)
    return f"{who}: {price}, {totals.input_tokens:,} tokens in, {totals.output_tokens:,} out"


def _user(totals: CallTotals) -> str:
    return f" · {_cost(totals, 'user')}" if totals.calls else ""
