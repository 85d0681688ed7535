"""Runs over a shop as tables for the terminal: the shape of the paper's tables 3 and 4."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.money import dollars
from grounding.scoring.costs import CallTotals
from grounding.webagents.personalwab.scorebook import ShopScored
from grounding.webagents.personalwab.scores import TYPES, ShopEstimate, ShopFigures, ShopScores
from grounding.webagents.personalwab.verdicts import OWN_CHOICE, ShopRule

READINGS: dict[ShopRule, str] = {
    "paper": "schema-valid call, target as a product, rank r worth 1 - (r - 1)/10, likeness from 0, last attempt",
    "official": "the release's evaluator: no error, target's id anywhere, entry i of n worth 1 - i/n, best attempt",
}


def print_shop(console: Console, results: Sequence[ShopScored], *, rule: ShopRule) -> None:
    """Print one row a run with function, result and, in the multi-turn track, steps; then what became of the rest."""
    console.print(_table(results, rule))
    for line in _notes(results, rule):
        console.print(Text(line), soft_wrap=True, highlight=False)
    for result in results:
        console.print(Text(f"signature  {result.summary.signature}"), soft_wrap=True, highlight=False)
    for result in results:
        where = f"run folder {result.folder}" if result.report is None else f"report     {result.report}"
        console.print(Text(where), soft_wrap=True, highlight=False)


def row_name(result: ShopScored) -> str:
    """What a run is called in a table: agent, memory and model."""
    asked = result.info.asked
    own = asked.agent in ("recmind", "interecagent", "puma", "puma-local", "oracle")
    memory = "" if own else f" · {asked.memory} memory"
    model = f" ({asked.model})" if asked.model else ""
    return f"{asked.agent}{memory}{model}"


def _table(results: Sequence[ShopScored], rule: ShopRule) -> Table:
    asked = results[0].info.asked
    multi = asked.track == "multi"
    table = Table(
        title=Text(f"{asked.dataset} · {asked.track}-turn · {rule}"), title_style="bold", title_justify="left"
    )
    table.add_column("agent", overflow="fold")
    for name in (*TYPES, "all"):
        for measure in ("F", "R", *(("steps",) if multi else ())):
            table.add_column(f"{name} {measure}", justify="right")
    table.add_column("R, 95 % interval", justify="right")
    for result in results:
        scores = result.summary.scores[rule]
        cells = [cell for figures in _groups(scores) for cell in _cells(figures, multi=multi)]
        table.add_row(row_name(result), *cells, interval(scores.overall.result))
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


def _notes(results: Sequence[ShopScored], rule: ShopRule) -> list[str]:
    first = results[0]
    counts, scores = first.summary.counts, first.summary.scores[rule]
    by_type = " · ".join(f"{kind} {scores.types[kind].tasks}" for kind in TYPES)
    chosen = first.info.attempt or OWN_CHOICE[rule]
    lines = [
        f"tasks      {counts.tasks} of {counts.users} users ({by_type}) · {counts.products:,} products",
        f"reading    {rule}, {chosen} attempt: {READINGS[rule]}",
        "measures   F: share of tasks with the right function; R: what its result is worth, 0 to 1",
    ]
    for result in results:
        lines += _own_notes(result, rule, row_name(result) if len(results) > 1 else "")
    return lines


def _own_notes(result: ShopScored, rule: ShopRule, name: str) -> list[str]:
    summary, scores = result.summary, result.summary.scores[rule]
    counts = summary.counts
    outcome = " · ".join(f"{kind} {share(scores.types[kind].outcome)}" for kind in ("search", "recommend"))
    right = f"{scores.overall.function.k}/{scores.overall.function.n}"
    lead = f"{name}: " if name else ""
    lines = [f"outcome    {lead}right function {right} · any list with the target: {outcome}"]
    if scores.few["overall"].tasks:
        few = scores.few["overall"]
        lines.append(
            f"few-shot   {few.tasks} tasks with under 10 behaviours before: F {share(few.function)}, "
            f"R {share(few.result)}"
        )
    wrong = [f"{kind} {count}" for kind, count in (counts.failures | counts.errors_seen).items()]
    if wrong or counts.unasked:
        lines.append(f"refused    {' · '.join([*wrong, *([f'not asked {counts.unasked}'] if counts.unasked else [])])}")
    lines.append(f"time       {summary.wall_s:.1f} s · {_cost(summary.agent, 'agent')}{_user(summary.user)}")
    return lines


def _cost(totals: CallTotals, who: str) -> str:
    if not totals.calls:
        return f"{who}: no requests"
    price = "not priced" if totals.usd is None else dollars(totals.usd)
    return f"{who}: {price}, {totals.input_tokens:,} tokens in, {totals.output_tokens:,} out"


def _user(totals: CallTotals) -> str:
    return f" · {_cost(totals, 'user')}" if totals.calls else ""
