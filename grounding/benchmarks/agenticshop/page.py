"""The page of a run over curated products: ``report.html`` in its folder, to look at and to label.

It shows the run's own records with long texts cut: an index of the tasks, and a block of JSON for each task that is
read when it is looked at. Pictures are those in the folder of evidence beside it.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from grounding.atomic import atomic_write
from grounding.benchmarks.agenticshop.asking import fact_lines
from grounding.benchmarks.agenticshop.records import Curated, Extraction, product_id
from grounding.benchmarks.agenticshop.rows import row_name, run_notes, summary_tables
from grounding.benchmarks.agenticshop.scorebook import CurationScored
from grounding.benchmarks.agenticshop.scores import WRONG, PlaceVerdict, share_of
from grounding.data.release import data_name
from grounding.report.html.content import embedded_json, page_html, static_text

REPORT = "report.html"
MAX_TEXT_CHARS = 20_000
MAX_FACTS, MAX_FACT_CHARS = 80, 1_000
MAX_PRODUCTS = 12
_STATIC = Path(__file__).parent / "static"


def gather_curation(scored: CurationScored) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the page of a run shows, as plain values: the index, and the details of each of its tasks.

    The filters look at the index: ``shares`` has for each judge how many items are satisfied of how many decided;
    ``classes`` are those of the counted products' pages, "" where nobody looked yet.
    """
    stored, info, headline = scored.stored, scored.info, scored.places
    verdicts = [{places[0].task: places for places in found} for found in scored.verdicts.values()]
    rows, details = [], []
    for task in stored.tasks:
        answers, places = stored.answers[task.id], headline.get(task.id, ())
        curation, pages = answers.curation, answers.extractions
        named = () if curation is None else curation.products[:MAX_PRODUCTS]
        products = []
        for rank, curated in enumerate(named):
            name = product_id(task.id, rank)
            said = [
                {**msgspec.to_builtins(of[name]), "judge": at}
                for at, of in enumerate(stored.judgements.values())
                if name in of
            ]
            place = places[rank] if rank < len(places) else None
            products.append(_product(curated, pages[rank] if rank < len(pages) else None, place, said))
        decided = [share_of(item.satisfied for one in of.get(task.id, ()) for item in one.decided) for of in verdicts]
        classes = ["" if one is None else one.page_class or "not fetched" for one in pages]
        outcome = ", ".join(dict.fromkeys(one.outcome for one in places)) or "missing"
        named_as = " ".join(f"{one.name} {one.url}" for one in named)
        rows.append(
            {
                "id": task.id,
                "user": task.user,
                "scenario": task.scenario,
                "outcome": outcome,
                "query": (task.query or task.situation)[:300],
                "words": f"{task.id} {task.query} {task.situation} {task.product_type} {named_as}"[:4_000].lower(),
                "shares": [(int(yes), int(of)) for yes, of in decided],
                "classes": classes,
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


def _product(
    curated: Curated, extraction: Extraction | None, place: PlaceVerdict | None, judged: list[dict[str, Any]]
) -> dict[str, Any]:
    page, facts = (None, None) if extraction is None else (extraction.page, extraction.facts)
    text = "" if page is None else page.text
    if extraction is not None and page is not None:
        page = msgspec.structs.replace(page, text="", data=())
        extraction = msgspec.structs.replace(extraction, page=page, facts=None)
    wrong = {} if place is None else {str(place.link): bool(place.url) and place.link in WRONG}
    if place is not None and place.outcome == "judged":
        wrong |= {"no review page": place.has_reviews is False, "over budget": bool(place.over_budget)}
    sources = {} if facts is None else {one.field: (one.source, one.quote) for one in facts.sources}
    lines = () if facts is None else fact_lines(facts)
    return {
        **msgspec.to_builtins(curated),
        "errors": [words for words, so in wrong.items() if so],
        "extraction": extraction,
        "facts": [
            (name, said[:MAX_FACT_CHARS], *sources.get(field, ("", "")))
            for field, name, said in islice(lines, MAX_FACTS)
        ],
        "judgements": judged,
        "text": text[:MAX_TEXT_CHARS],
        "text_more": max(0, len(text) - MAX_TEXT_CHARS),
    }


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _cut(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_cut(one) for one in value]
    return value[:MAX_TEXT_CHARS] if isinstance(value, str) else value


def write_curation_page(scored: CurationScored) -> Path:
    """Write ``report.html`` into the folder of a scored run; raises an OSError where it can't be written.

    Everything that is not of this package stands in it as JSON, which no browser runs.
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
