"""A made-up run over curated products with drawn pictures, for tests of its page and of labels."""

from __future__ import annotations

import hashlib
import io
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw

from grounding.records import Box, Call, Failure, Size, Usage
from grounding.report.html.content import Fact
from grounding.webagents.agenticshop.page.content import SummaryTable
from grounding.webagents.agenticshop.page.page import PageParts
from grounding.webagents.agenticshop.records import (
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

SIZE = Size(width=1280, height=720)
CHECKLIST = (
    ChecklistItem(dimension="brand_preferences", number=0, text="Made by Hearth or Alder"),
    ChecklistItem(dimension="price_sensitivity", number=0, text="Costs at most 40.00 with shipping"),
    ChecklistItem(dimension="review_sensitivity", number=0, text="Rated at least 4.2 of 5 by 100 people or more"),
    ChecklistItem(dimension="functional_requirements", number=0, text="Switches itself off when the water boils"),
    ChecklistItem(dimension="functional_requirements", number=1, text="Holds at least 1.5 litres"),
    ChecklistItem(dimension="aesthetic_preferences", number=0, text="Brushed steel, nothing glossy"),
    ChecklistItem(dimension="purchase_preferences", number=0, text="Can be sent back within 30 days"),
)
CLASSES: tuple[PageClass, ...] = ("product", "listing", "error", "product", "product", "blocked")
FAR = "Returned within thirty days, no questions asked."


@cache
def segment_png(number: int, part: int) -> bytes:
    """A drawn part of a shop's page."""
    image = Image.new("RGB", (SIZE.width, SIZE.height), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, SIZE.width, 64), fill=(40 + 20 * (number % 5), 70, 90))
    draw.text((30, 20), f"Hearth & Sons {number}", fill="white", font_size=24)
    draw.rectangle((60, 120, 560, 620), fill=(225, 225 - 10 * part, 215))
    draw.ellipse((180, 220, 440, 500), fill=(150, 150, 155))
    draw.text((620, 130), f"Kettle no. {number}, part {part + 1}", fill="black", font_size=34)
    draw.text((620, 200), "34.90 EUR", fill=(160, 40, 20), font_size=40)
    draw.text((620, 270), "Switches off when the water boils. 1.7 litres.", fill="black", font_size=20)
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)
    return out.getvalue()


def put(evidence: Path, number: int, part: int) -> Segment:
    content = segment_png(number, part)
    name = f"{hashlib.sha256(content).hexdigest()[:32]}.png"
    path = evidence / name
    if not path.exists():
        evidence.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return Segment(file=name, size=SIZE, top_px=720 * part)


def task(number: int, words: str = "") -> CurationTask:
    scenario = SCENARIOS[number % len(SCENARIOS)]
    user = f"U{number:03d}"
    query = words or f"a plain kettle for a small kitchen, {number}"
    return CurationTask(
        id=f"{scenario}/{user}",
        user=user,
        scenario=scenario,
        situation=words or "Moved into a small flat and wants to make tea for two.",
        query="" if scenario == "casual_browsing" and not words else query,
        query_type=scenario,
        context=UserContext(
            brand_preferences=words or "Stays with two makers of kitchen things.",
            price_sensitivity="Compares prices with shipping.",
        ),
        checklist=CHECKLIST,
        product_type="Electric Kettles",
        budget="30 to 40 EUR",
        target=Target(title="Hearth Kettle 1.7", brand="Hearth"),
    )


def page_text(words: str = "") -> str:
    start = f"Hearth & Sons  \u2013  {words or 'kettles since 1970'} \U0001f600\nThe “plain” Kettle\n34.90 EUR\n"
    return start + "Switches off when the water   boils. 1.7 litres.\n" + "Our story goes on. " * 400 + FAR


def extraction(evidence: Path, name: str, number: int, words: str = "") -> Extraction:
    kind = CLASSES[number % len(CLASSES)]
    url = f"http://kettle.mall.test/p/{number}"
    if kind == "error":
        failure = Failure(kind="error", message="no answer after 20 s")
        page = RenderedPage(url=url, failure=failure)
        return Extraction(
            step_id=name, key="k", url=url, extractor="structural", page=page, page_class=kind, class_reason="no page"
        )
    page = RenderedPage(
        url=url,
        final_url=f"{url}?ref=1",
        redirects=(url,),
        fetched_at="2026-01-31T09:00:00Z",
        status=200,
        html_file="0" * 32 + ".html.gz",
        html_sha256="0" * 64,
        title=words or "Kettle",
        text=page_text(words),
        data=(StructuredData(source="json-ld", json="{}"),),
        segments=tuple(put(evidence, number % 20, part) for part in range(3)),
        dismissed=("cookies",),
        seconds=1.5,
    )
    facts = ProductFacts(
        title=words or "The plain Kettle",
        brand="Hearth",
        price=Money(amount=34.9, currency="EUR"),
        shipping=Money(amount=4.9, currency="EUR"),
        rating=4.4,
        rating_count=1204,
        reviews=(CustomerReview(text=words or "Quick and quiet.", rating=5.0),),
        features=("switches off by itself", "1.7 litres"),
        attributes=(Attribute(name="Material", value="brushed steel"),),
        sources=(FactSource(field="price", source="json-ld", quote='"price": "34.90"'),),
    )
    return Extraction(
        step_id=name,
        key="k",
        url=url,
        extractor="structural",
        page=page,
        page_class=kind,
        class_reason="one product with a price and a button to buy" if kind == "product" else "twelve prices",
        facts=facts if kind == "product" else None,
    )


def judgement(name: str, judge: str, number: int, words: str = "") -> Judgement:
    verdicts = []
    for place, item in enumerate(CHECKLIST):
        good = (place + number + len(judge)) % 3 != 0
        verdicts.append(
            ItemVerdict(
                item=item.id,
                satisfied=good,
                reasoning=words or f"The page says so, item {place}.",
                quote=FAR if place == 6 else 'The "plain" kettle' if place == 0 else words if place == 1 else "",
                place=PlaceOnPage(segment=1, box=Box(left_px=615.0, top_px=190.0, right_px=830.0, bottom_px=250.0))
                if place == 1
                else None,
                flags=("quote-not-found",) if place == 1 and words else ("no-evidence",) if place == 3 else (),
            )
        )
    return Judgement(
        step_id=f"{name}/{judge}",
        key="k",
        judge=judge,
        verdicts=tuple(verdicts),
        reported=Reported(satisfaction_percentage=57.0, total_items=7, reason=words or "fine"),
        requests=1,
        call=Call(seconds=1.25, usage=Usage(input_tokens=2100, output_tokens=310), cost_usd=0.0123),
    )


def parts(folder: Path, *, tasks: int = 4, words: str = "", judges: tuple[str, ...] = ("rules", "looker")) -> PageParts:
    """Everything that a page is made of; pictures lie in ``folder/evidence``. Task 2 is an error, 3 is empty."""
    made = [task(number, words) for number in range(tasks)]
    curations, extractions, judgements = [], [], []
    for number, one in enumerate(made):
        if number == 2:
            failure = Failure(kind="error", message=words or "HTTP 503 after 5 tries")
            curations.append(Curation(step_id=one.id, key="k", failure=failure))
            continue
        if number == 3:
            curations.append(Curation(step_id=one.id, key="k", raw=words or "Nothing fits.", ended="answered"))
            continue
        products = tuple(
            Curated(
                rank=rank,
                url=words if words and rank == 2 else f"http://kettle.mall.test/p/{rank + number}",
                name=words or f"Kettle {rank + number}",
                reasoning=words or "It switches itself off.",
            )
            for rank in range(4 if number == 0 else 3)
        )
        trace = (
            TraceStep(
                action=words or "search kettles",
                url="http://kettle.mall.test/?q=kettle",
                thought=words or "Begin with the shop's search.",
                observation=words or "12 results",
                cited_urls=(words or "http://kettle.mall.test/p/1",),
                screenshot=put(folder / "evidence", number % 20, 0).file,
                kind="information_seeking",
                seconds=0.8,
            ),
        )
        call = Call(seconds=4.0, usage=Usage(input_tokens=9000, output_tokens=700), cost_usd=0.21)
        curations.append(
            Curation(
                step_id=one.id,
                key="k",
                products=products,
                trace=trace,
                raw=words or "Three kettles.",
                ended="answered",
                requests=3,
                seconds=12.5,
                call=call,
            )
        )
        for rank in range(3):
            name = product_id(one.id, rank)
            extractions.append(extraction(folder / "evidence", name, rank + number, words))
            judgements += [judgement(name, judge, rank + number, words) for judge in judges]
    return PageParts(
        title="sample-mall · site-search",
        status=f"{tasks} tasks, complete",
        run_id="sample-mall_site-search_0123456789",
        signature="dataset:sample-mall@0123|agent:site-search@4567",
        facts=[Fact(name="command", text=words or "grounding eval --dataset sample-mall --agent site-search")],
        tables=[
            SummaryTable(
                title="paper: satisfied items over three products",
                heads=("scenario", "tasks", "all", "95 % interval"),
                rows=(("explicit title", "3", words or "37.1", "[20.1, 51.0]"), ("all", "20", "33.3", "[25.0, 41.2]")),
            ),
            SummaryTable(
                title="what is wrong with pages",
                heads=("error", "products", "share"),
                rows=(("invalid", "4", "12 %"), ("listing", "3", "9 %")),
                note="Shares are of all counted products.",
            ),
        ],
        tasks=made,
        curations=curations,
        extractions=extractions,
        judgements=judgements,
        errors={product_id(made[0].id, 1): ("irrelevant",), product_id(made[0].id, 2): ("invalid",)},
    )
