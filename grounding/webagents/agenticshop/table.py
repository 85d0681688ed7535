"""Runs that curate products as tables for the terminal, in the shape of the paper's tables 4 to 7."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grounding.money import dollars
from grounding.options import ScoringName
from grounding.scoring.costs import CallTotals
from grounding.webagents.agenticshop.judge.checking import CheckedItems
from grounding.webagents.agenticshop.options import RULES
from grounding.webagents.agenticshop.page.content import SummaryTable
from grounding.webagents.agenticshop.records import DIMENSIONS, SCENARIOS, Dimension
from grounding.webagents.agenticshop.scenarios import row_of
from grounding.webagents.agenticshop.scorebook import CurationScored
from grounding.webagents.agenticshop.scores.behaviour import KINDS
from grounding.webagents.agenticshop.scores.figures import Estimate
from grounding.webagents.agenticshop.scores.judged import JudgeScores, ScenarioScore

READINGS: dict[ScoringName, str] = {
    "paper": "satisfied items, recounted from the verdicts; three places for each task, an empty or wrong one is 0",
    "official": "the percentages that judges wrote of themselves; what has none is left out (the release's arithmetic)",
}
DIMENSION_TITLES: dict[Dimension, str] = {
    "brand_preferences": "Brand",
    "price_sensitivity": "Price",
    "review_sensitivity": "Reviews",
    "functional_requirements": "Function",
    "aesthetic_preferences": "Looks",
    "purchase_preferences": "Purchase",
}
KIND_TITLES = {
    "information_seeking": "seeking",
    "alternative_evaluation": "comparing",
    "purchase_decision": "deciding",
    "other": "other",
}


def print_curations(console: Console, results: Sequence[CurationScored], *, rule: ScoringName) -> None:
    """Print runs by scenario, all tasks and successes alone, then by dimension, and what became of the links."""
    for table in summary_tables(results, rule):
        console.print(_drawn(table))
    for line in _notes(results, rule):
        console.print(line, soft_wrap=True, highlight=False)
    for result in results:
        console.print(Text(f"signature  {result.summary.signature}"), soft_wrap=True, highlight=False)
    for result in results:
        where = f"run folder {result.folder}" if result.report is None else f"report     {result.report}"
        console.print(Text(where), soft_wrap=True, highlight=False)


def summary_tables(results: Sequence[CurationScored], rule: ScoringName) -> tuple[SummaryTable, ...]:
    """The figures of runs as tables of texts; heads may be of two lines."""
    tables: tuple[SummaryTable, ...] = (scenario_table(results, rule),)
    if rule != "official":
        tables += (dimension_table(results), conduct_table(results))
    checked = any(result.summary.rule_checks for result in results)
    return (*tables, check_table(results)) if checked else tables


def row_name(result: CurationScored) -> str:
    """What a run is called in a table: agent and model."""
    asked = result.info.asked
    return f"{asked.agent} ({asked.model})" if asked.model else asked.agent


def scenario_table(results: Sequence[CurationScored], rule: ScoringName) -> SummaryTable:
    """Scores by scenario, per cent: all tasks, and under them successes alone."""
    present = [scenario for scenario in SCENARIOS if any(_has(result, scenario) for result in results)]
    headings = [row_of(scenario).title.replace(" ", "\n", 1) for scenario in present]
    rows: list[tuple[str, ...]] = []
    for result in results:
        for one in result.summary.judges:
            scores = [one.scenarios.get(scenario) for scenario in present]
            name = f"{row_name(result)} · {one.judge}"
            if rule == "official":
                rows.append((name, *(_official(score) for score in (*scores, one.overall))))
                continue
            every = (_percent(None if score is None else score.all) for score in scores)
            success = (_percent(None if score is None else score.success) for score in scores)
            rows.append((name, *every, *_with_interval(one.overall.all)))
            rows.append(("  success only", *success, *_with_interval(one.overall.success)))
    interval = () if rule == "official" else ("95 % interval\nof all tasks",)
    return SummaryTable(
        title=f"{results[0].info.asked.dataset} · score by scenario, % · {rule}",
        heads=("agent · judge", *headings, "all tasks", *interval),
        rows=tuple(rows),
    )


def dimension_table(results: Sequence[CurationScored]) -> SummaryTable:
    """Scores by dimension, per cent: all items alike, and the mean of the tasks' shares."""
    rows: list[tuple[str, ...]] = []
    for result in results:
        for one in result.summary.judges:
            name = f"{row_name(result)} · {one.judge}, pooled"
            rows.append((name, *(_percent(one.dimensions[each].pooled) for each in DIMENSIONS)))
            rows.append(("  mean of tasks", *(_percent(one.dimensions[each].macro) for each in DIMENSIONS)))
    return SummaryTable(
        title="score by dimension of the checklist, %",
        heads=("agent · judge", *(DIMENSION_TITLES[dimension] for dimension in DIMENSIONS)),
        rows=tuple(rows),
    )


def conduct_table(results: Sequence[CurationScored]) -> SummaryTable:
    """Errors of attribution, targets found and what steps were for (paper, tables 5 and 6, figure 5)."""
    headings = ("wrong\nlinks", "of them\ninvalid", "of them\nirrelevant", "no\nreviews", "over budget,\nof failed")
    rows: list[tuple[str, ...]] = []
    for result in results:
        links, conduct = result.summary.attribution, result.summary.behaviours
        found = _together(list(result.summary.search_success.values()))
        shown = (links.error, links.invalid, links.irrelevant, links.no_review, links.over_budget, found)
        kinds = (conduct.shares.get(kind) for kind in KINDS[:3])
        rows.append((row_name(result), *(_percent(one) for one in (*shown, *kinds))))
    return SummaryTable(
        title="links, targets and steps, %",
        heads=("agent", *headings, "target\nfound", *(f"steps:\n{KIND_TITLES[kind]}" for kind in KINDS[:3])),
        rows=tuple(rows),
    )


def check_table(results: Sequence[CurationScored]) -> SummaryTable:
    """Each judge against the rules on what those decide: agreement, Cohen's kappa and how many items, by dimension."""
    rows: list[tuple[str, ...]] = []
    for result in results:
        for one in result.summary.rule_checks:
            found: dict[Dimension | None, CheckedItems] = {each.dimension: each for each in one.dimensions}
            cells = [found.get(dimension) for dimension in DIMENSIONS]
            total = one.total
            agree = [_plain(None if each is None else each.agree_percent, 1) for each in (total, *cells)]
            rows.append(
                (
                    f"{row_name(result)} · {one.judge}, agree %",
                    *agree,
                    f"{total.rules_only:,}",
                    f"{total.model_only:,}",
                    f"{total.missing:,}",
                )
            )
            kappas = (_plain(None if each is None else each.kappa, 2) for each in (total, *cells))
            rows.append(("  Cohen's kappa", *kappas, "", "", ""))
            counts = (0 if each is None else each.compared for each in (total, *cells))
            rows.append(("  items", *(f"{count:,}" for count in counts), "", "", ""))
    return SummaryTable(
        title="judges against the rules, on the items that rules decide",
        heads=(
            "agent · judge",
            "all",
            *(DIMENSION_TITLES[dimension] for dimension in DIMENSIONS),
            "satisfied by\nrules alone",
            "by judge\nalone",
            "judge\nsilent",
        ),
        rows=tuple(rows),
    )


def _plain(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _drawn(table: SummaryTable) -> Table:
    shown = Table(title=Text(table.title), title_style="bold", title_justify="left", box=SIMPLE_HEAD)
    shown.padding, shown.pad_edge = (0, 1, 0, 0), False
    two_lines = any("\n" in head for head in table.heads)
    for number, head in enumerate(table.heads):
        lead = "\n" if two_lines and "\n" not in head else ""
        shown.add_column(f"{lead}{head}", justify="right" if number else "left", overflow="fold")
    for row in table.rows:
        shown.add_row(*row, style="dim" if row[0].startswith(" ") else None)
    return shown


def _together(found: Sequence[Estimate]) -> Estimate | None:
    n = sum(one.n for one in found)
    return Estimate(value=sum((one.value or 0.0) * one.n for one in found) / n, n=n) if n else None


def _has(result: CurationScored, scenario: str) -> bool:
    return any(scenario in one.scenarios for one in result.summary.judges)


def _percent(estimate: Estimate | None) -> str:
    return "-" if estimate is None or estimate.value is None else f"{100 * estimate.value:.1f}"


def _official(score: ScenarioScore | None) -> str:
    value = None if score is None else score.official.satisfaction_percentage
    return "-" if value is None else f"{value:.2f}"


def _with_interval(estimate: Estimate) -> tuple[str, str]:
    if estimate.low is None or estimate.high is None:
        return _percent(estimate), "-"
    return _percent(estimate), f"[{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


def _notes(results: Sequence[CurationScored], rule: ScoringName) -> list[Text]:
    first = results[0].summary
    lines = [
        Text(f"tasks      {first.counts.tasks:,} of {first.counts.users:,} users, three products each"),
        Text(f"reading    {rule}: {READINGS[rule]}"),
    ]
    if rule != "official":
        lines.append(Text(f"intervals  bootstrap over users, seed {results[0].info.asked.seed}"))
    for result in results:
        lines += _own_notes(result, f"{row_name(result)}: " if len(results) > 1 else "")
    return lines


def _own_notes(result: CurationScored, lead: str) -> list[Text]:
    summary = result.summary
    outcomes = " · ".join(f"{name} {count}" for name, count in summary.counts.outcomes.items())
    successes = summary.of(summary.headline).overall.successes if summary.headline else 0
    lines = [
        Text(f"places     {lead}{outcomes} of {summary.counts.places}"),
        Text(f"success    {lead}{successes} of {summary.counts.tasks} tasks have three product pages"),
    ]
    for one in summary.judges:
        lines.append(Text(f"judge      {lead}{one.judge}: {_said(one)}"))
    lines += [Text(f"rules      {lead}{each}") for each in _checked(result)]
    lines.append(Text(f"time       {lead}{result.time.wall_s:.1f} s{_steps(result)}{_money(result)}"))
    return lines + [Text(f"warning    {lead}{each}", style="yellow") for each in _warnings(result)]


def _said(scores: JudgeScores) -> str:
    """How many items are satisfied, of all and of those that the judge decides, and what is odd about the verdicts."""
    flags = "".join(f" · {name} {count:,}" for name, count in scores.flags.items())
    decided = scores.items - scores.flags.get("undecided", 0) - scores.flags.get("missing", 0)
    share = f" ({scores.satisfied / decided:.1%} of the {decided:,} decided)" if 0 < decided < scores.items else ""
    return f"{scores.satisfied:,}/{scores.items:,} items satisfied{share}{flags}"


def _checked(result: CurationScored) -> list[str]:
    """Where the differences from the rules stand, or how to have them."""
    checks = result.summary.rule_checks
    if checks:
        said = (
            f"{one.judge} on {one.total.rules_only + one.total.model_only:,} of {one.total.compared:,}"
            for one in checks
        )
        return [f"contradict {', '.join(said)} items that both decide: differences.jsonl has each"]
    if result.summary.judges and all(one.judge != RULES for one in result.summary.judges):
        return [f"did not judge: with --judge {RULES} beside the others they check them on what they can decide"]
    return []


def _steps(result: CurationScored) -> str:
    conduct, task_s = result.summary.behaviours, result.time.task_s
    if not conduct.steps or conduct.steps_per_task is None or task_s is None:
        return ""
    return f" · {conduct.steps_per_task:.1f} steps and {task_s:.1f} s a task"


def _money(result: CurationScored) -> str:
    costs = result.summary.costs
    parts = (("agent", costs.agent), ("extractor", costs.extractor), ("judges", costs.judges))
    return "".join(f" · {who} {_spent(totals)}" for who, totals in parts if totals.calls)


def _spent(totals: CallTotals) -> str:
    paid = "" if totals.usd is None else f", {dollars(totals.usd)}"
    return f"{totals.calls:,} calls, {totals.input_tokens + totals.output_tokens:,} tokens{paid}"


def _warnings(result: CurationScored) -> list[str]:
    counts, found = result.summary.counts, []
    if result.info.stopped:
        found.append(f"stopped before the end: {result.info.stopped}")
    errors = counts.outcomes.get("error", 0)
    if errors:
        found.append(f"{errors} places ended in an error and count as 0; run the same command again to ask only those")
    left = counts.outcomes.get("open", 0)
    if left:
        found.append(f"{left} places are not done yet and count as 0")
    if result.summary.status == "partial":
        found.append("the run is partial: its scores are not final")
    return found
