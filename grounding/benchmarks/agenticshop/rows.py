"""A run that curates products, as it is shown: its files in, one record a task out, by the judge that counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from grounding.benchmarks.agenticshop.paper import print_published_curations
from grounding.benchmarks.agenticshop.records import DIMENSIONS, SCENARIOS, Curation, CurationTask
from grounding.benchmarks.agenticshop.scorebook import read_scored
from grounding.benchmarks.agenticshop.scores import MEASURES, TaskVerdicts, is_success, task_score
from grounding.benchmarks.agenticshop.table import DIMENSION_TITLES, print_curations, row_name
from grounding.errors import UserError
from grounding.options import DesktopScoringName
from grounding.report.rows import ItemRow, Note, Result, RunRows, call_fields, item_metric

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
    places = scored.places
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
        read=lambda: (_row(one, places.get(one.id, ()), stored.answers[one.id].curation) for one in stored.tasks),
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


def print_run(console: Console, run: RunRows, scoring: DesktopScoringName) -> None:
    """The run's own tables; ``strict`` is no reading of a curation."""
    print_curations(console, [run.scored], rule="official" if scoring == "official" else "paper")


def print_published(console: Console, runs: Sequence[RunRows]) -> None:
    print_published_curations(console, [run.scored for run in runs])


def write_page(path: Path, out: Path | None) -> Path:
    from grounding.benchmarks.agenticshop.page import write_curation_page

    if out is not None:
        raise UserError("--out: the page of a run that curates products shows files beside it; leave it out")
    return write_curation_page(read_scored(path))


def _row(task: CurationTask, places: TaskVerdicts, curation: Curation | None) -> ItemRow:
    asked = curation is not None and not any(one.outcome == "open" for one in places)
    failure = None if curation is None else curation.failure
    scores: dict[str, float | None] = {"success": 100.0 * is_success(places) if places else None}
    for metric, measure in _MEASURED.items():
        above, below = MEASURES[measure](places)
        scores[metric] = 100.0 * above / below if below else None
    answer = "\n".join(f"{one.name}  {one.url}".strip() for one in (curation.products if curation else ()))
    notes = {
        "Situation": task.situation,
        "Checklist": "\n".join(f"{item.id}  {item.text}" for item in task.checklist),
        "Products": answer,
        "Places": "\n".join(f"{one.rank + 1}: {one.outcome} {one.reason}".strip() for one in places),
    }
    outcomes = tuple(dict.fromkeys(one.outcome for one in places))
    taken = call_fields(None if curation is None else curation.call)
    result: Result = "hit" if is_success(places) else "miss"
    if curation is None or not places:
        result = "missing"
    elif failure is not None and not curation.products:
        result = failure.kind
    elif "error" in outcomes:
        result = "error"
    elif "unparsed" in outcomes and task_score(places) is None:
        result = "unparsed"
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
        reply="" if curation is None else curation.raw,
        answer=answer,
        target="; ".join(item.text for item in task.checklist),
        reason="" if failure is None else f"{failure.kind}: {failure.message}",
        notes=tuple(Note(title=title, text=text) for title, text in notes.items() if text),
        **(taken | {"seconds": None if curation is None else curation.seconds}),
    )
