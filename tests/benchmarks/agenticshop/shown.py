"""A run with drawn pictures and verdicts of two judges, for tests of its page and of labels."""

from __future__ import annotations

import hashlib
import io
from functools import cache
from pathlib import Path

import msgspec
from PIL import Image, ImageDraw

from benchmarks.agenticshop.runs import journals, run_info
from grounding.benchmarks.agenticshop.judge.base import JudgedProduct, judgement_key
from grounding.benchmarks.agenticshop.records import (
    SCENARIOS,
    Attribute,
    ChecklistItem,
    Curated,
    Curation,
    CurationTask,
    CustomerReview,
    Extraction,
    FactSource,
    ItemVerdict,
    Judgement,
    Money,
    PageClass,
    PlaceOnPage,
    ProductFacts,
    RenderedPage,
    Reported,
    Segment,
    StructuredData,
    Target,
    TraceStep,
    UserContext,
    product_id,
)
from grounding.benchmarks.agenticshop.scorebook import CurationFolder
from grounding.records import Box, Call, Failure, Size, Usage

SIZE = Size(width=1280, height=720)
CHECKLIST = tuple(
    ChecklistItem(dimension=dimension, number=number, text=text)  # type: ignore[arg-type]
    for dimension, number, text in (
        ("brand_preferences", 0, "Made by Hearth or Alder"),
        ("price_sensitivity", 0, "Costs at most 40.00 with shipping"),
        ("review_sensitivity", 0, "Rated at least 4.2 of 5 by 100 people or more"),
        ("functional_requirements", 0, "Switches itself off when the water boils"),
        ("functional_requirements", 1, "Holds at least 1.5 litres"),
        ("aesthetic_preferences", 0, "Brushed steel, nothing glossy"),
        ("purchase_preferences", 0, "Can be sent back within 30 days"),
    )
)
CLASSES: tuple[PageClass, ...] = ("product", "listing", "error", "product", "product", "blocked")
JUDGES = {"reference": 2, "looker": 0}  # Who judges, and which third of the items each finds unsatisfied.
FAR = "Returned within thirty days, no questions asked."


@cache
def segment_png(number: int, part: int) -> bytes:
    """A drawn part of a shop's page."""
    image = Image.new("RGB", (SIZE.width, SIZE.height), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, SIZE.width, 64), fill=(40 + 20 * (number % 5), 70, 90))
    draw.text((620, 130), f"Kettle no. {number}, part {part + 1}", fill="black", font_size=34)
    draw.text((620, 200), "34.90 EUR", fill=(160, 40, 20), font_size=40)
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)
    return out.getvalue()


def put(evidence: Path, number: int, part: int) -> Segment:
    content = segment_png(number, part)
    name = f"{hashlib.sha256(content).hexdigest()}.png"
    evidence.mkdir(parents=True, exist_ok=True)
    (evidence / name).write_bytes(content)
    return Segment(file=name, size=SIZE, top_px=720 * part)


def task(number: int, words: str = "") -> CurationTask:
    scenario = SCENARIOS[number % len(SCENARIOS)]
    query = "" if scenario == "casual_browsing" else f"a plain kettle for a small kitchen, {number}"
    return CurationTask(
        id=f"{scenario}/U{number:03d}",
        user=f"U{number:03d}",
        scenario=scenario,
        situation=words or "Moved into a small flat and wants to make tea for two.",
        query=words or query,
        query_type=scenario,
        context=UserContext(brand_preferences=words or "Stays with two makers of kitchen things."),
        checklist=CHECKLIST,
        product_type="Electric Kettles",
        budget="30 to 40 EUR",
        target=Target(title="Hearth Kettle 1.7", brand="Hearth"),
    )


def page_text(words: str = "") -> str:
    start = f"Hearth & Sons  \u2013  {words or 'kettles since 1970'} \U0001f600\nThe “plain” Kettle\n34.90 EUR\n"
    return start + "Switches off when the water   boils. 1.7 litres.\n" + "Our story goes on. " * 400 + FAR


def extraction(evidence: Path, name: str, number: int, url: str, words: str = "") -> Extraction:
    kind = CLASSES[number % len(CLASSES)]
    found = Extraction(step_id=name, key="k", url=url, extractor="structural", page_class=kind, class_reason="a reason")
    if kind == "error":
        page = RenderedPage(url=url, failure=Failure(kind="missing", message="no answer after 20 s"))
        return msgspec.structs.replace(found, page=page)
    page = RenderedPage(
        url=url,
        final_url=f"{url}?ref=1",
        fetched_at="2026-01-31T09:00:00Z",
        status=200,
        html_file="0" * 64 + ".html.gz",
        title=words or "Kettle",
        text=page_text(words),
        data=(StructuredData(source="json-ld", json='{"secret": 1}'),),
        segments=tuple(put(evidence, number % 20, part) for part in range(3)),
        seconds=1.5,
    )
    facts = ProductFacts(
        title=words or "The plain Kettle",
        brand="Hearth",
        price=Money(amount=34.9, currency="EUR"),
        shipping=Money(amount=4.9, currency="EUR"),
        rating_count=1204,
        reviews=(CustomerReview(text=words or "Quick and quiet.", rating=5.0),),
        features=("switches off by itself", "1.7 litres"),
        attributes=(Attribute(name="Material", value="brushed steel"),),
        sources=(FactSource(field="price", source="json-ld", quote='"price": "34.90"'),),
    )
    return msgspec.structs.replace(found, page=page, facts=facts if kind == "product" else None)


def judgement(of: CurationTask, seen: Extraction, judge: str, number: int, words: str = "") -> Judgement:
    place = PlaceOnPage(segment=1, box=Box(left_px=615.0, top_px=190.0, right_px=830.0, bottom_px=250.0))
    quotes = {0: 'The "plain" kettle', 1: words, 6: FAR}
    return Judgement(
        step_id=f"{seen.step_id}/{judge}",
        key=judgement_key(f"{judge} 1", JudgedProduct(checklist=of.checklist, extraction=seen)),
        judge=judge,
        verdicts=tuple(
            ItemVerdict(
                item=item.id,
                satisfied=(at + number + JUDGES[judge]) % 3 != 0,
                reasoning=words or f"The page says so, item {at}.",
                quote=quotes.get(at, ""),
                place=place if at == 1 else None,
                flags=("no-evidence",) if at == 3 else (),
            )
            for at, item in enumerate(CHECKLIST)
        ),
        reported=Reported(satisfaction_percentage=57.0, total_items=7, reason=words or "fine"),
        requests=1,
        call=Call(seconds=1.25, usage=Usage(input_tokens=2100, output_tokens=310), cost_usd=0.0123),
    )


def shown_run(
    path: Path,
    *,
    tasks: int = 4,
    words: str = "",
    judges: tuple[str, ...] = tuple(JUDGES),
    run_id: str = "tiny",
) -> CurationFolder:
    """The folder of a run; task 2 ended in an error, and of task 3 nothing came."""
    folder, evidence = CurationFolder(path), path / "evidence"
    folder.create()
    folder.write_info(run_info(run_id, judges))
    made = [task(number, words) for number in range(tasks)]
    folder.write_tasks(made)
    curations, extractions, judgements = journals(folder)
    for number, one in enumerate(made):
        if number in (2, 3):
            failure = Failure(kind="error", message=words or "HTTP 503 after 5 tries") if number == 2 else None
            curations.append(Curation(step_id=one.id, key="k", raw=words or "Nothing fits.", failure=failure))
            continue
        urls = [
            words if words and rank == 2 else f"http://kettle.mall.test/p/{rank + number}"
            for rank in range(4 if number == 0 else 3)
        ]
        step = TraceStep(
            action=words or "search kettles",
            url="http://kettle.mall.test/?q=kettle",
            thought=words or "Begin with the shop's search.",
            cited_urls=(words or "http://kettle.mall.test/p/1",),
            screenshot=put(evidence, number % 20, 0).file,
            kind="information_seeking",
        )
        products = tuple(
            Curated(rank=rank, url=url, name=words or f"Kettle {rank + number}", reasoning=words or "It fits.")
            for rank, url in enumerate(urls)
        )
        call = Call(seconds=4.0, usage=Usage(input_tokens=9000, output_tokens=700), cost_usd=0.21)
        curations.append(
            Curation(step_id=one.id, key="k", products=products, trace=(step,), ended="answered", requests=3, call=call)
        )
        for rank in range(3):
            seen = extraction(evidence, product_id(one.id, rank), rank + number, urls[rank], words)
            extractions.append(seen)
            for judge in judges:
                judgements.append(judgement(one, seen, judge, rank + number, words))
    for journal in (curations, extractions, judgements):
        journal.close()
    folder.release()
    return folder
