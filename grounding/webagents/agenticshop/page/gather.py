"""Records of a run to the content of its page. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from grounding.report.html.content import Fact
from grounding.webagents.agenticshop.page.content import (
    MOST_TEXT,
    CurationPage,
    JudgeName,
    LabelPlace,
    Share,
    ShownItem,
    ShownProduct,
    ShownStep,
    SummaryTable,
    TaskDetail,
    TaskOutcome,
    TaskRow,
)
from grounding.webagents.agenticshop.page.pictures import is_evidence_name
from grounding.webagents.agenticshop.page.products import shown_product
from grounding.webagents.agenticshop.page.words import EVIDENCE, cut, failure_text, link_of, took_text
from grounding.webagents.agenticshop.records import (
    COUNTED_PRODUCTS,
    DIMENSIONS,
    Curation,
    CurationTask,
    Dimension,
    Extraction,
    Judgement,
    TraceStep,
    product_id,
)

MOST_SEARCHED = 1_200
MOST_KEPT_PRODUCTS = 12

StepT = TypeVar("StepT", Curation, Extraction, Judgement)
_Judged = Mapping[str, Sequence[tuple[int, Judgement]]]


def gather_curation(
    *,
    title: str,
    status: str,
    run_id: str,
    signature: str,
    facts: Sequence[Fact],
    tables: Sequence[SummaryTable],
    tasks: Sequence[CurationTask],
    curations: Iterable[Curation],
    extractions: Iterable[Extraction],
    judgements: Iterable[Judgement],
    errors: Mapping[str, Sequence[str]] | None = None,
    pictures: Mapping[str, str] | None = None,
) -> CurationPage:
    """Put everything together that the page of a run shows.

    Args:
        title: What was run, such as the data set and the agent.
        status: How much of it there is.
        run_id: The run's name, which files of labels repeat.
        signature: What would have to be equal for another run to be comparable.
        facts: Lines below the tables.
        tables: The run's figures.
        tasks: The tasks, in the order in which they are shown.
        curations: What the agent made of them; the last one of a task counts, here and below.
        extractions: The evidence.
        judgements: What the judges say.
        errors: What is wrong with a product, by its id.
        pictures: Small pictures of segments as data URLs, by the file's name.
    """
    made, seen = _last(curations), _last(extractions)
    small = pictures or {}
    places_of = {name: place for place, name in enumerate(small)}
    said = _last(judgements)
    judges = tuple(dict.fromkeys((one.judge, one.condition) for one in said.values()))
    judged: dict[str, list[tuple[int, Judgement]]] = {}
    for one in said.values():
        place = judges.index((one.judge, one.condition))
        judged.setdefault(one.step_id.removesuffix(f"/{one.judge}"), []).append((place, one))
    rows, details, places = [], [], []
    for number, task in enumerate(tasks):
        curation = made.get(task.id)
        products = _products(task, curation, seen, judged, errors or {}, places_of)
        rows.append(_row(task, curation, products, judged, len(judges)))
        details.append(_detail(task, curation, products))
        places += [
            LabelPlace(id=one.id, task=number, product=place, page_class=one.page_class)
            for place, one in enumerate(products)
            if one.counted and one.id in seen
        ]
    return CurationPage(
        title=title,
        status=status,
        run_id=run_id,
        signature=signature,
        facts=tuple(facts),
        tables=tuple(tables),
        judges=tuple(JudgeName(name=name, condition=condition) for name, condition in judges),
        tasks=tuple(rows),
        places=tuple(places),
        details=tuple(details),
        pictures=tuple(small.values()),
    )


def outcome_of(curation: Curation | None, classes: Sequence[str]) -> TaskOutcome:
    """What became of a task, from the classes of its first three products."""
    if curation is None:
        return "missing"
    if not curation.products:
        return "error" if curation.failure is not None else "nothing curated"
    good = sum(one == "product" for one in classes[:COUNTED_PRODUCTS])
    if good == COUNTED_PRODUCTS:
        return "all product pages"
    return "some product pages" if good else "no product page"


def _last(steps: Iterable[StepT]) -> dict[str, StepT]:
    return {one.step_id: one for one in steps}


def _products(
    task: CurationTask,
    curation: Curation | None,
    seen: Mapping[str, Extraction],
    judged: _Judged,
    errors: Mapping[str, Sequence[str]],
    pictures: Mapping[str, int],
) -> tuple[ShownProduct, ...]:
    if curation is None:
        return ()
    found = []
    for product in curation.products[:MOST_KEPT_PRODUCTS]:
        name = product_id(task.id, product.rank)
        found.append(
            shown_product(
                name,
                product,
                seen.get(name),
                judged.get(name, ()),
                errors=errors.get(name, ()),
                pictures=pictures,
                counted=product.rank < COUNTED_PRODUCTS,
            )
        )
    return tuple(found)


def _row(
    task: CurationTask, curation: Curation | None, products: Sequence[ShownProduct], judged: _Judged, judges: int
) -> TaskRow:
    counted = [one for one in products if one.counted]
    flags = [flag for one in counted for said in one.judgements for each in said.verdicts for flag in each.flags]
    words = [task.id, task.query, task.situation, task.product_type or ""]
    words += [part for one in counted for part in (one.name, one.url)]
    return TaskRow(
        id=task.id,
        user=task.user,
        scenario=task.scenario,
        outcome=outcome_of(curation, [one.page_class for one in counted]),
        query=cut(task.query or task.situation, 300),
        words="\n".join(cut(word, 300) for word in words).lower()[:MOST_SEARCHED],
        shares=tuple(_shares(task, judged, judge) for judge in range(judges)),
        classes=tuple(dict.fromkeys(one.page_class for one in counted)),
        flags=tuple(dict.fromkeys(flags)),
        errors=tuple(dict.fromkeys(error for one in counted for error in one.errors)),
    )


def _shares(task: CurationTask, judged: _Judged, judge: int) -> dict[Dimension, Share]:
    """Satisfied items of each dimension over three products, of what the checklist has: what is missing is not."""
    of_item = {item.id: item.dimension for item in task.checklist}
    good = dict.fromkeys(DIMENSIONS, 0)
    for rank in range(COUNTED_PRODUCTS):
        for place, judgement in judged.get(product_id(task.id, rank), ()):
            if place == judge:
                # Once for each item, whatever a judge repeats.
                for item in {one.item for one in judgement.verdicts if one.satisfied and one.item in of_item}:
                    good[of_item[item]] += 1
    every = [item.dimension for item in task.checklist]
    return {name: Share(k=good[name], n=COUNTED_PRODUCTS * every.count(name)) for name in DIMENSIONS if name in every}


def _detail(task: CurationTask, curation: Curation | None, products: tuple[ShownProduct, ...]) -> TaskDetail:
    target = task.target
    named = "" if target is None else " · ".join(part for part in (target.title, target.brand) if part)
    facts = [
        ("user", task.user),
        ("looks for", task.product_type or ""),
        ("budget", task.budget or ""),
        ("query", task.query_type.replace("_", " ")),
        ("made of", named),
    ]
    context = [(name.replace("_", " "), getattr(task.context, name)) for name in DIMENSIONS]
    return TaskDetail(
        situation=cut(task.situation, MOST_TEXT),
        facts=tuple(Fact(name=name, text=cut(text, MOST_TEXT)) for name, text in facts if text),
        context=tuple(Fact(name=name, text=cut(text, MOST_TEXT)) for name, text in context if text),
        checklist=tuple(
            ShownItem(id=item.id, dimension=item.dimension, text=cut(item.text, MOST_TEXT)) for item in task.checklist
        ),
        products=products,
        trace=() if curation is None else tuple(_step(one) for one in curation.trace),
        ended="" if curation is None else curation.ended,
        raw="" if curation is None else cut(curation.raw, MOST_TEXT),
        took="" if curation is None else took_text(curation.seconds, curation.requests, curation.call),
        failure="" if curation is None else failure_text(curation.failure),
    )


def _step(step: TraceStep) -> ShownStep:
    kept = step.screenshot if is_evidence_name(step.screenshot) else ""
    return ShownStep(
        action=cut(step.action, 600),
        kind=step.kind.replace("_", " "),
        url=cut(step.url, 600),
        link=link_of(step.url),
        thought=cut(step.thought, MOST_TEXT),
        observation=cut(step.observation, MOST_TEXT),
        cited=tuple(cut(url, 300) for url in step.cited_urls[:20]),
        screenshot=f"{EVIDENCE}/{kept}" if kept else "",
        seconds=step.seconds,
    )
