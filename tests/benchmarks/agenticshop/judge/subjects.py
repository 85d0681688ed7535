"""Products to be judged, and a model judge that is asked about one over real HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from fakes import make
from fakes.chat_server import Behaviour, ChatServer, working_out
from fakes.judge_model import judge_model

from grounding.benchmarks.agenticshop.judge.base import JudgedProduct
from grounding.benchmarks.agenticshop.judge.model import ModelJudge
from grounding.benchmarks.agenticshop.records import (
    Attribute,
    ChecklistItem,
    CustomerReview,
    Dimension,
    Extraction,
    Judgement,
    Money,
    ProductFacts,
    RenderedPage,
    StructuredData,
    Variant,
)
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder
from grounding.benchmarks.asking import Opened
from grounding.llm.budget import Budget

URL = "https://shop.test/kettle"
TEXT = """Brewster Lane
Copper Gooseneck Kettle 1.2 L
$48.00 $60.00
Shipping $4.50. Arrives in 2-4 business days.
Rated 4.6 out of 5 by 212 customers
30-day returns. 2-year warranty.
Customers also bought: Tin Mug $9.00, dishwasher safe
"""
FACTS = ProductFacts(
    title="Copper Gooseneck Kettle 1.2 L",
    brand="Brewster Lane",
    seller="Kettle House",
    price=Money(amount=48.0, currency="USD"),
    list_price=Money(amount=60.0, currency="USD"),
    shipping=Money(amount=4.5, currency="USD"),
    shipping_text="Shipping $4.50",
    delivery_text="Arrives in 2-4 business days.",
    returns_text="30-day returns.",
    warranty_text="2-year warranty.",
    availability="in_stock",
    rating=4.6,
    rating_count=212,
    reviews=(
        CustomerReview(text="Pours a thin stream, lovely.", rating=5.0),
        CustomerReview(text="The handle gets warm.", rating=4.0),
    ),
    description="A stovetop kettle made of copper. Not dishwasher safe.",
    features=("Gluten-free is not a thing for kettles", "Works on gas"),
    attributes=(
        Attribute(name="Material", value="Copper"),
        Attribute(name="Capacity", value="1.2 L (1200 ml)"),
        Attribute(name="Colour", value="Matte black"),
        Attribute(name="Weight", value="850 g"),
        Attribute(name="Handle material", value="Faux leather"),
        Attribute(name="Induction", value="No"),
    ),
    variants=(
        Variant(name="Black", availability="in_stock"),
        Variant(name="Red", availability="sold_out"),
        Variant(name="White"),
    ),
    picture_count=3,
)


def items(*texts: str, dimension: Dimension = "functional_requirements") -> tuple[ChecklistItem, ...]:
    return tuple(ChecklistItem(dimension=dimension, number=number, text=text) for number, text in enumerate(texts))


def subject(checklist: tuple[ChecklistItem, ...], **more: Any) -> JudgedProduct:
    page = RenderedPage(url=URL, final_url=URL, fetched_at="2026-11-20T09:00:00+00:00", status=200, text=TEXT)
    named = {"step_id": "explicit_title/u1/0", "key": "k", "url": URL, "extractor": "structural"}
    found = Extraction(**{**named, "page": page, "page_class": "product", "facts": FACTS, **more})
    return JudgedProduct(checklist=checklist, extraction=found)


def data(text: str) -> StructuredData:
    return StructuredData(source="json-ld", json=text)


def asked(
    of: JudgedProduct,
    folder: Path,
    *script: Behaviour,
    budget: Budget | None = None,
    card: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[Judgement, ChatServer]:
    """The judgement of a product: the server says what is in the script, then what the fake judge says."""

    async def run(server: ChatServer) -> Judgement:
        model_card = make.planner_card(**(card or {}))
        model = make.model(model_card, server.base_url, budget=budget)
        judge = ModelJudge(Opened(model=model, card=model_card), **options)
        try:
            return await judge.judge(of, EvidenceFolder(folder), "key")
        finally:
            await judge.aclose()

    with ChatServer(working_out(judge_model)) as server:
        server.script(*script)
        return asyncio.run(run(server)), server
