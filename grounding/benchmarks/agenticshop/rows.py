"""Runs that curate products, as they are shown: tables of runs, and one record a task."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from grounding.atomic import atomic_write
from grounding.data.release import data_name, departure_warnings
from grounding.errors import UserError
from grounding.llm.budget import dollars
from grounding.options import ScoringName
from grounding.report.html.content import SummaryTable, embedded_json, page_html, static_text
from grounding.report.rows import ItemRow, Note, Result, RunRows, call_fields, item_metric
from grounding.report.table import drawn, print_named

from .asking import fact_lines
from .judge.base import REFERENCE
from .records import (
    COUNTED_PRODUCTS,
    DIMENSIONS,
    ROWS,
    SCENARIOS,
    Curated,
    Curation,
    CurationTask,
    Dimension,
    ProductFacts,
    Scenario,
    product_id,
)
from .scorebook import CurationScored, read_scored
from .scores import (
    ALL,
    KINDS,
    MEASURES,
    WRONG,
    FigureValue,
    PlaceOutcome,
    PlaceVerdict,
    StoredRun,
    TaskVerdicts,
    is_success,
    mean,
    share_of,
)

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
}  # Errors of attribution, targets found and what steps were for (paper, tables 5 and 6, figure 5): heads and figures.
_WARNINGS: dict[PlaceOutcome, str] = {
    "error": "places ended in an error and are not scored; the same command again asks only those",
    "unparsed": "places have replies that could not be read, also when asked again, and are not scored",
    "blocked": "pages wanted to see a human and count as 0; the row without blocked leaves them out. "
    "--blocked-retries N asks again, --browser-profile FILE comes with the cookies of your own browser",
    "missing": "places are of products that nothing is recorded of, and are not scored",
    "open": "places are not done yet and are not scored",
}


def figure_of(result: CurationScored, name: str, group: str = ALL) -> FigureValue:
    return result.summary.behaviours.shares.get(name) or result.summary.own.figure(name, group)


def row_name(result: CurationScored) -> str:
    asked = result.info.asked
    return f"{asked.agent} ({asked.model})" if asked.model else asked.agent


def heading(scenario: Scenario) -> str:
    return ROWS[scenario].title.replace(" ", "\n", 1)


def percent(estimate: FigureValue) -> str:
    return NOTHING if estimate.value is None else f"{100 * estimate.value:.1f}"


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
    """The figures of runs as tables of texts: scores by scenario, by dimension, and links, targets and steps. By
    scenario both readings stand under each other, the paper's also for successes alone. Heads may be of two lines.
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
            cells = (percent(one.figure(measure, group)) for group in groups)
            ends = every[measure].ends
            rows.append((label, *cells, f"[{100 * ends[0]:.1f}, {100 * ends[1]:.1f}]" if ends else NOTHING))
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


def run_notes(result: CurationScored) -> Iterator[tuple[str, str]]:
    """What became of a run: places, judges, what is missing, time and cost; each a word of ten letters, and a text."""
    summary, stored, outcomes = result.summary, result.stored, result.summary.counts.outcomes
    listed = " · ".join(f"{name} {count}" for name, count in outcomes.items())
    yield "places", f"{listed} of {summary.counts.places:,}"
    yield "success", f"{summary.own.successes} of {summary.counts.tasks} tasks have three product pages"
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
    sought = any(ROWS[task.scenario].intent == "target_finding" for task in stored.tasks)
    if sought and figure_of(result, "found").value is None:
        yield "target", f"{NOTHING}: the data names no targets; the release's raw file does (user_raw/)"
    yield from losses(stored)
    took, steps_per_task = [f"{result.info.wall_s:.1f} s"], summary.behaviours.steps_per_task
    task_s = mean(one.seconds for one in stored.curations.values() if one.failure is None)
    if steps_per_task and task_s is not None:
        took += [f"{steps_per_task:.1f} steps and {task_s:.1f} s a task"]
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
    lost = Counter(("no answer", f"tasks {one.failure.kind}") for one in stored.curations.values() if one.failure)
    for one in stored.extractions.values():
        if one.page_class == "blocked":
            # An address may be any text.
            lost["blocked", f"pages of {(one.url.partition('//')[2].partition('/')[0] or one.url)[:60]}"] += 1
        elif one.page is not None and one.page.failure is not None:
            lost["no page", one.page.failure.message.partition(":")[0]] += 1
    yield from ((word, f"{count} {what}") for (word, what), count in lost.most_common(20))


_MEASURED: dict[str, str] = {"score": "score", "wrong_links": "wrong", **{str(name): name for name in DIMENSIONS}}
_DIMENSION = "AgenticShop, section 3.3.5, mean of tasks"
METRICS = (
    item_metric("score", counted=False, of="tasks", source="AgenticShop, section 3.4.2"),
    item_metric("success", title="three product pages", of="tasks", source="AgenticShop, appendix C"),
    item_metric(
        "wrong_links", counted=False, of="tasks with a link", better="lower", source="AgenticShop, table 6, by task"
    ),
    *(
        item_metric(name, title=title.lower(), counted=False, of="tasks", narrow=True, source=_DIMENSION)
        for name, title in DIMENSION_TITLES.items()
    ),
)


def read(path: Path) -> RunRows:
    scored = read_scored(path)
    info, summary, asked, stored = scored.info, scored.summary, scored.info.asked, scored.stored
    places = scored.places if summary.headline else {}
    return RunRows(
        folder=path,
        benchmark="agenticshop",
        name=row_name(scored),
        who={"agent": asked.agent, "model": asked.model},
        same={
            "the judge that counts": summary.headline,
            "the judges": ", ".join(one.name for one in info.judges),
            "the extractor": asked.extractor,
        },
        metrics=METRICS,
        read=lambda: (_row(one, places.get(one.id, ()), stored.curations.get(one.id)) for one in stored.tasks),
        info=info,
        summary=summary,
        load=lambda: scored,
        item="task",
        right="three product pages",
        by_user=True,
        kinds=("scenario",),
        compared="scenario",
        orders={"scenario": [name.replace("_", " ") for name in SCENARIOS]},
    )


def write_page(path: Path, out: Path | None) -> Path:
    if out is not None:
        raise UserError("--out: the page of a run that curates products shows files beside it; leave it out")
    return write_curation_page(read_scored(path))


def _row(task: CurationTask, places: TaskVerdicts, curation: Curation | None) -> ItemRow:
    outcomes = tuple(dict.fromkeys(one.outcome for one in places))
    asked = curation is not None and "open" not in outcomes
    found = curation or Curation(step_id=task.id, key="")
    success = is_success(places) if places else None
    scores: dict[str, float | None] = {"success": None if success is None else 100.0 * success}
    for metric, measure in _MEASURED.items():
        above, below = share_of(MEASURES[measure](places))
        scores[metric] = 100.0 * above / below if below else None
    answer = "\n".join(f"{one.name}  {one.url}".strip() for one in found.products)
    notes = {
        "Situation": task.situation,
        "Checklist": "\n".join(f"{item.id}  {item.text}" for item in task.checklist),
        "Products": answer,
        "Places": "\n".join(f"{one.rank + 1}: {one.outcome} {one.reason}".strip() for one in places),
    }
    result: Result = "hit" if success else "miss"
    lost = next((kind for kind in ("error", "unparsed", "missing") if kind in outcomes), None)
    if curation is None or not places:
        result = "missing"
    elif found.failure is not None and not found.products:
        result = found.failure.kind
    elif lost == "error" or (lost and (success is None or scores["score"] is None)):
        result = lost
    return ItemRow(
        id=task.id,
        task=task.id,
        user=task.user,
        outcome=", ".join(outcomes) or "missing",
        result=result,
        was_asked=asked,
        scores=scores if asked else dict.fromkeys(scores),
        groups={
            "scenario": (task.scenario.replace("_", " "),),
            "user": (task.user,),
            "query": (task.query_type.replace("_", " ") or "not stated",),
            "place": outcomes,
        },
        instruction=task.query or task.situation,
        reply=found.raw,
        answer=answer,
        target="; ".join(item.text for item in task.checklist),
        reason="" if found.failure is None else f"{found.failure.kind}: {found.failure.message}",
        notes=tuple(Note(title=title, text=text) for title, text in notes.items() if text),
        **(call_fields(found.call) | {"seconds": None if curation is None else found.seconds}),
    )


REPORT = "report.html"
MAX_TEXT_CHARS = 20_000
MAX_FACTS, MAX_FACT_CHARS = 80, 1_000
_STATIC = Path(__file__).parent / "static"


def gather_curation(scored: CurationScored) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the page of a run shows, as plain values: the index, and the details of each of its tasks.

    The filters look at the index: ``shares`` has for each judge how many items are satisfied of how many decided;
    ``classes`` are those of the counted products' pages, "" where nobody looked yet.
    """
    stored, info, headline = scored.stored, scored.info, scored.places
    rows, details = [], []
    for number, task in enumerate(stored.tasks):
        curation, places = stored.curations.get(task.id), headline[task.id]
        named = () if curation is None else curation.products
        judged = zip(named, (*places, *[None] * len(named)), strict=False)
        products = [_product(stored, product_id(task.id, rank), *one) for rank, one in enumerate(judged)]
        verdicts = [found[number] for found in scored.verdicts.values()]
        decided = [share_of(item.satisfied for one in of_task for item in one.decided) for of_task in verdicts]
        named_as = " ".join(f"{one.name} {one.url}" for one in named)
        rows.append(
            {
                "id": task.id,
                "user": task.user,
                "scenario": task.scenario,
                "outcome": ", ".join(dict.fromkeys(one.outcome for one in places)),
                "query": (task.query or task.situation)[:300],
                "words": f"{task.id} {task.query} {task.situation} {task.product_type} {named_as}"[:4_000].lower(),
                "shares": [(int(yes), int(of)) for yes, of in decided],
                "classes": [one["class"] for one in products[:COUNTED_PRODUCTS]],
            }
        )
        details.append(_cut(msgspec.to_builtins({"task": task, "curation": curation, "products": products})))
    conditions = {name: next((one.condition for one in of.values()), "full") for name, of in stored.judgements.items()}
    index = {
        "title": f"{data_name(info.asked.dataset, info.departs)} · {row_name(scored)}",
        "status": scored.summary.status,
        "run_id": info.run_id,
        "facts": [*run_notes(scored), ("command", info.command), ("signature", scored.summary.signature)],
        "tables": summary_tables([scored], info.preset),
        "judges": [{"name": name, "shown": shown} for name, shown in conditions.items()],
        "tasks": rows,
    }
    return index, details


def _product(stored: StoredRun, name: str, curated: Curated, place: PlaceVerdict | None) -> dict[str, Any]:
    extraction, kind = stored.extractions.get(name), ""
    page, facts = (None, None) if extraction is None else (extraction.page, extraction.facts)
    text = "" if page is None else page.text
    if extraction is not None:
        # Of the release's results there is no page that could be classed.
        kind = extraction.page_class or ("product" if place is not None and place.link == "product" else "not fetched")
    if extraction is not None and page is not None:
        page = msgspec.structs.replace(page, text="", data=())
        extraction = msgspec.structs.replace(extraction, page=page, facts=None)
    errors = {} if place is None else {str(place.link): bool(place.url) and place.link in WRONG}
    if place is not None and place.outcome == "judged":
        errors |= {"no review page": place.has_reviews is False, "over budget": bool(place.over_budget)}
    facts = facts or ProductFacts()
    sources = {one.field: (one.source, one.quote) for one in facts.sources}
    return {
        **msgspec.to_builtins(curated),
        "class": kind,
        "errors": [words for words, so in errors.items() if so],
        "extraction": extraction,
        "facts": [
            (called, said[:MAX_FACT_CHARS], *sources.get(field, ("", "")))
            for field, called, said in islice(fact_lines(facts), MAX_FACTS)
        ],
        "judgements": [
            {**msgspec.to_builtins(of[name]), "judge": at, "raw": ""}
            for at, of in enumerate(stored.judgements.values())
            if name in of
        ],
        "text": text[:MAX_TEXT_CHARS],
        "text_more": max(0, len(text) - MAX_TEXT_CHARS),
    }


def _cut(value: Any) -> Any:
    """Recorded files may hold texts of any length."""
    if isinstance(value, dict):
        return {name: _cut(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_cut(one) for one in value]
    return value[:MAX_TEXT_CHARS] if isinstance(value, str) else value


def write_curation_page(scored: CurationScored) -> Path:
    """Write ``report.html`` into the folder of a scored run; raises an OSError where it can't be written. Everything
    that is not of this package stands in it as JSON, which no browser runs.
    """
    index, details = gather_curation(scored)
    blocks = (
        f'<script type="application/json" id="task-{number}">{embedded_json(one)}</script>'
        for number, one in enumerate(details)
    )
    own = {one.name: one.read_text(encoding="utf-8") for one in _STATIC.iterdir()}
    html = page_html(
        own["curation.html"],
        title=index["title"],
        style=static_text("page.css") + own["curation.css"],
        script="\n".join((static_text("dom.js"), own["gallery.js"], own["labels.js"])),
        data=embedded_json(index),
        details="\n".join(blocks),
        sources="img-src 'self' file: data:; connect-src 'none'",
    )
    path = scored.folder / REPORT
    atomic_write(path, html.encode(errors="replace"), shared=True)
    return path
