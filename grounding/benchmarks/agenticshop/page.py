"""The page of a run over curated products: ``report.html`` in its folder, to look at and to label.

What it shows are the run's own records with long texts cut: an index of the tasks, and a block of JSON for each task
that is read when it is looked at. Pictures are those in the folder of evidence beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from grounding.atomic import atomic_write
from grounding.benchmarks.agenticshop.asking import fact_lines
from grounding.benchmarks.agenticshop.figures import share_of
from grounding.benchmarks.agenticshop.records import COUNTED_PRODUCTS, Curated, Curation, ProductFacts, product_id
from grounding.benchmarks.agenticshop.scorebook import CurationScored
from grounding.benchmarks.agenticshop.table import row_name, run_notes, summary_tables
from grounding.benchmarks.agenticshop.verdicts import PlaceVerdict
from grounding.data.release import data_name
from grounding.records import Record
from grounding.report.html.embed import embedded_json, page_html, static_text
from grounding.report.html.written import written_or_warned

REPORT = "report.html"
MAX_TEXT_CHARS = 3_000
MAX_PAGE_CHARS = 20_000
MAX_PRODUCTS = 12
_STATIC = Path(__file__).parent / "static"


def gather_curation(scored: CurationScored) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the page of a run shows, as plain values: the index, and the details of each of its tasks.

    The filters look at the index: ``shares`` has for each judge how many items are satisfied of how many decided;
    ``classes`` are those of the counted products' pages, "" where nobody looked yet.
    """
    stored, info = scored.stored, scored.info
    verdicts = [{places[0].task: places for places in found} for found in scored.verdicts.values()]
    headline, judgements = scored.places, stored.judgements
    rows, details = [], []
    for task in stored.tasks:
        answers = stored.answers[task.id]
        curation, wrong = answers.curation, [_errors(one) for one in headline.get(task.id, ())]
        products = []
        for curated in () if curation is None else curation.products[:MAX_PRODUCTS]:
            name, rank = product_id(task.id, curated.rank), curated.rank
            extraction = answers.extractions[rank] if rank < len(answers.extractions) else None
            said = [(place, of[name]) for place, of in enumerate(judgements.values()) if name in of]
            errors = wrong[rank] if rank < len(wrong) else []
            products.append({"id": name, "errors": errors, **_product(curated, extraction, said)})
        classes = ["" if one is None else one.page_class or "not fetched" for one in answers.extractions]
        named = () if curation is None else curation.products[:COUNTED_PRODUCTS]
        words = [task.id, task.query, task.situation, task.product_type or ""]
        words += [part for one in named for part in (one.name, one.url)]
        decided = [share_of(item.satisfied for one in of.get(task.id, ()) for item in one.decided) for of in verdicts]
        rows.append(
            {
                "id": task.id,
                "user": task.user,
                "scenario": task.scenario,
                "outcome": _outcome(curation, classes),
                "query": cut(task.query or task.situation, 300),
                "words": "\n".join(word[:300] for word in words).lower(),
                "shares": [(int(yes), int(of)) for yes, of in decided],
                "classes": classes,
            }
        )
        details.append({"task": _plain(task), "curation": _plain(curation), "products": products})
    index = {
        "title": f"{data_name(info.asked.dataset, info.departs)} · {row_name(scored)}",
        "status": scored.summary.status,
        "run_id": info.run_id,
        "facts": [*run_notes(scored), ("command", info.command), ("signature", scored.summary.signature)],
        "tables": summary_tables([scored], info.preset),
        "judges": [
            {"name": name, "shown": next((one.condition for one in of.values()), "full")}
            for name, of in judgements.items()
        ],
        "tasks": rows,
    }
    return index, details


def _errors(place: PlaceVerdict) -> list[str]:
    """What is wrong with a product besides its items (paper, table 6)."""
    judged = place.outcome == "judged"
    said: list[str] = [place.attribution] if place.url and place.attribution else []
    said += ["no review page"] if judged and place.has_reviews is False else []
    return said + (["over budget"] if judged and place.over_budget else [])


def _outcome(curation: Curation | None, classes: Sequence[str]) -> str:
    if curation is None:
        return "missing"
    if not curation.products:
        return "error" if curation.failure is not None else "nothing curated"
    good = classes.count("product")
    return "all product pages" if good == COUNTED_PRODUCTS else "some product pages" if good else "no product page"


def _product(curated: Curated, extraction: Any, judged: Sequence[tuple[int, Any]]) -> dict[str, Any]:
    """A product with its page, the beginning of whose text is shown, and what each judge says of it."""
    page = None if extraction is None else extraction.page
    text, facts = "" if page is None else page.text, None if extraction is None else extraction.facts
    if page is not None:
        page = msgspec.structs.replace(page, text="", data=())
        extraction = msgspec.structs.replace(extraction, page=page, facts=None)
    return {
        **_plain(curated),
        "extraction": _plain(extraction),
        "facts": [] if facts is None else shown_facts(facts),
        "judgements": [{**_plain(one), "judge": place} for place, one in judged],
        "text": text[:MAX_PAGE_CHARS],
        "text_more": max(0, len(text) - MAX_PAGE_CHARS),
    }


def _plain(record: Record | None) -> Any:
    return _cut(msgspec.to_builtins(record))


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, dict):
        return {name: _cut(one) for name, one in value.items()}
    return [_cut(one) for one in value] if isinstance(value, list | tuple) else value


def cut(text: str, most: int = MAX_TEXT_CHARS) -> str:
    """A text of at most so many characters, and how many were left out."""
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most:,} characters more)"


def shown_facts(facts: ProductFacts) -> list[tuple[str, str, str, str]]:
    """Each known fact: name, words, where it was found and the words there; features and the like are one fact."""
    sources = {one.field: (one.source, cut(one.quote)) for one in facts.sources}
    found = []
    for (field, name), group in groupby(fact_lines(facts), key=lambda line: line[:2]):
        lines = [text for *_, text in group]
        title = name if len(lines) == 1 else f"{name}s ({len(lines)})"
        found.append((title, cut("\n".join(lines)), *sources.get(field, ("", ""))))
    return found


def write_curation_page(scored: CurationScored) -> Path:
    """Write ``report.html`` into the folder of a scored run; raises an OSError where it can't be written.

    Everything that is not of this package stands in it as JSON, which no browser runs.
    """
    index, details = gather_curation(scored)
    blocks = (
        f'<script type="application/json" id="task-{number}">{embedded_json(one)}</script>'
        for number, one in enumerate(details)
    )
    own = {name: (_STATIC / name).read_text(encoding="utf-8") for name in ("curation.html", "curation.css")}
    scripts = [static_text("dom.js"), *((_STATIC / f"{name}.js").read_text("utf-8") for name in ("gallery", "labels"))]
    html = page_html(
        own["curation.html"],
        title=index["title"],
        style=static_text("page.css") + own["curation.css"],
        script="\n".join(scripts),
        data=embedded_json(index),
        details="\n".join(blocks),
        sources="img-src 'self' file: data:; connect-src 'none'",
    )
    path = scored.folder / REPORT
    atomic_write(path, html.encode(errors="replace"), shared=True)
    return path


def curation_page(scored: CurationScored) -> Path | None:
    """The page at the end of a run, or a warning on standard error."""
    return written_or_warned(lambda: write_curation_page(scored))
