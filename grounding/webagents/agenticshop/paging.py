"""A scored run as its page: which figures and which facts stand on top."""

from __future__ import annotations

import msgspec

from grounding.money import dollars
from grounding.report.html.content import Fact
from grounding.webagents.agenticshop.page.content import SummaryTable
from grounding.webagents.agenticshop.page.page import curation_page
from grounding.webagents.agenticshop.records import Curation, Extraction, Judgement
from grounding.webagents.agenticshop.scorebook import CurationScored
from grounding.webagents.agenticshop.scores.judged import TaskVerdicts
from grounding.webagents.agenticshop.table import row_name, summary_tables


def with_page(scored: CurationScored) -> CurationScored:
    """The same with ``report.html`` written, or a warning on standard error that it could not be."""
    stored, asked = scored.stored, scored.info.asked
    answers = [stored.answers[task.id] for task in stored.tasks]
    curations: list[Curation] = [one.curation for one in answers if one.curation is not None]
    extractions: list[Extraction] = [each for one in answers for each in one.extractions if each is not None]
    judgements: list[Judgement] = [each for found in stored.judgements.values() for each in found.values()]
    report = curation_page(
        scored.folder,
        title=f"{asked.dataset} · {row_name(scored)}",
        status=scored.summary.status,
        run_id=scored.info.run_id,
        signature=scored.summary.signature,
        facts=_facts(scored),
        tables=[_on_one_line(table) for table in summary_tables([scored], scored.info.preset)],
        tasks=stored.tasks,
        curations=curations,
        extractions=extractions,
        judgements=judgements,
        errors=_errors(scored.verdicts.get(scored.summary.headline, ())),
    )
    return msgspec.structs.replace(scored, report=report)


def _facts(scored: CurationScored) -> tuple[Fact, ...]:
    info, summary = scored.info, scored.summary
    outcomes = " · ".join(f"{name} {count}" for name, count in summary.counts.outcomes.items())
    facts = [
        Fact(name="tasks", text=f"{summary.counts.tasks:,} of {summary.counts.users:,} users"),
        Fact(name="places", text=f"{outcomes} of {summary.counts.places:,}"),
        Fact(name="judge that counts", text=summary.headline or "none"),
        Fact(name="time", text=f"{scored.time.wall_s:.1f} s"),
    ]
    conduct, task_s = summary.behaviours, scored.time.task_s
    if conduct.steps and conduct.steps_per_task is not None and task_s is not None:
        each = f"{conduct.steps_per_task:.1f} steps and {task_s:.1f} s a task"
        facts.append(Fact(name="agent", text=each))
    costs = (("agent", summary.costs.agent), ("extractor", summary.costs.extractor), ("judges", summary.costs.judges))
    for who, totals in costs:
        if totals.calls:
            paid = "" if totals.usd is None else f", {dollars(totals.usd)}"
            tokens = totals.input_tokens + totals.output_tokens
            facts.append(Fact(name=f"cost of {who}", text=f"{totals.calls:,} calls, {tokens:,} tokens{paid}"))
    if info.stopped:
        facts.append(Fact(name="stopped", text=info.stopped))
    versions = ", ".join(f"{name} {version}" for name, version in info.versions.items())
    return (*facts, Fact(name="command", text=info.command), Fact(name="versions", text=versions))


def _on_one_line(table: SummaryTable) -> SummaryTable:
    """Heads of one line, and rows that say by themselves whose they are."""
    rows: list[tuple[str, ...]] = []
    whole = ""
    for row in table.rows:
        indented = row[0].startswith(" ")
        whole = whole if indented else row[0].partition(",")[0]
        rows.append((f"{whole}, {row[0].strip()}", *row[1:]) if indented else row)
    heads = tuple(head.replace("\n", " ").strip() for head in table.heads)
    return msgspec.structs.replace(table, heads=heads, rows=tuple(rows))


def _errors(tasks: tuple[TaskVerdicts, ...]) -> dict[str, tuple[str, ...]]:
    """What is wrong with each product besides its items (paper, table 6)."""
    found: dict[str, tuple[str, ...]] = {}
    for one in (place for places in tasks for place in places if place.url):
        said: list[str] = [one.attribution] if one.attribution else []
        said += ["no review page"] if one.has_reviews is False and one.outcome == "judged" else []
        said += ["over budget"] if one.over_budget and one.outcome == "judged" else []
        if said:
            found[one.id] = tuple(said)
    return found
