"""Small tasks, curations, extractions and judgements for tests that need some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grounding.benchmarks.agenticshop.records import (
    ChecklistItem,
    Curated,
    Curation,
    CurationTask,
    Extraction,
    ItemVerdict,
    Judgement,
    Money,
    ProductFacts,
    RenderedPage,
    Scenario,
    UserContext,
    product_id,
)
from grounding.benchmarks.agenticshop.scores import StoredRun, TaskVerdicts

CHECKLIST = (
    ChecklistItem(dimension="brand_preferences", number=0, text="Brand is Alder"),
    ChecklistItem(dimension="price_sensitivity", number=0, text="Costs at most $20"),
    ChecklistItem(dimension="price_sensitivity", number=1, text="Shipping is free"),
    ChecklistItem(dimension="review_sensitivity", number=0, text="Has at least 10 reviews"),
)


def made_task(user: str = "u1", scenario: Scenario = "explicit_title", **more: Any) -> CurationTask:
    fields: dict[str, Any] = {
        "id": f"{scenario}/{user}",
        "user": user,
        "scenario": scenario,
        "situation": "A birthday.",
        "query": "alder tea 50 bags",
        "query_type": "explicit_title",
        "context": UserContext(brand_preferences="Likes Alder."),
        "checklist": CHECKLIST,
        "product_type": "Tea",
        "budget": "under $20",
    }
    return CurationTask(**{**fields, **more})


def made_curation(task: CurationTask, urls: Sequence[str], **more: Any) -> Curation:
    products = tuple(Curated(rank=rank, url=url, name=f"Product {rank}") for rank, url in enumerate(urls))
    return Curation(**{"step_id": task.id, "key": "k", "products": products, **more})


def made_extraction(task: CurationTask, rank: int, url: str, **more: Any) -> Extraction:
    fields: dict[str, Any] = {
        "step_id": product_id(task.id, rank),
        "key": "k",
        "url": url,
        "extractor": "structural",
        "page": RenderedPage(url=url, final_url=url, status=200, text="Alder tea $12.00"),
        "page_class": "product",
        "facts": ProductFacts(title="Alder tea", brand="Alder", price=Money(amount=12.0, currency="USD")),
    }
    return Extraction(**{**fields, **more})


def made_judgement(task: CurationTask, rank: int, satisfied: Sequence[str], **more: Any) -> Judgement:
    judge = more.pop("judge", "reference")
    verdicts = tuple(ItemVerdict(item=item.id, satisfied=item.id in satisfied) for item in task.checklist)
    name = product_id(task.id, rank)
    return Judgement(**{"step_id": f"{name}/{judge}", "key": "k", "judge": judge, "verdicts": verdicts, **more})


def verdicts_of(
    task: CurationTask,
    curation: Curation | None = None,
    extractions: Sequence[Extraction | None] = (),
    judgements: Mapping[str, Judgement] | None = None,
    judge: str = "reference",
) -> TaskVerdicts:
    """The verdicts over the places of one task; ``judgements`` is what the judge said, by product's id."""
    run = StoredRun(
        tasks=(task,),
        curations={} if curation is None else {task.id: curation},
        extractions={one.step_id: one for one in extractions if one is not None},
        judgements={judge: dict(judgements or {})},
    )
    (places,) = run.verdicts(judge)
    return places
