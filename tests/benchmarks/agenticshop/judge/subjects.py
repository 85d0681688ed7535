"""Products to be judged, for the tests of judges."""

from __future__ import annotations

from typing import Any

from grounding.benchmarks.agenticshop.judge.base import JudgedProduct
from grounding.benchmarks.agenticshop.records import (
    Attribute,
    ChecklistItem,
    CustomerReview,
    Dimension,
    Extraction,
    Money,
    ProductFacts,
    RenderedPage,
    StructuredData,
    Variant,
)

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


def item(text: str, dimension: Dimension = "functional_requirements", number: int = 0) -> ChecklistItem:
    return ChecklistItem(dimension=dimension, number=number, text=text)


def items(*texts: str, dimension: Dimension = "functional_requirements") -> tuple[ChecklistItem, ...]:
    return tuple(item(text, dimension, number) for number, text in enumerate(texts))


def extraction(**more: Any) -> Extraction:
    page = RenderedPage(url=URL, final_url=URL, fetched_at="2026-11-20T09:00:00+00:00", status=200, text=TEXT)
    fields: dict[str, Any] = {
        "step_id": "explicit_title/u1/0",
        "key": "k",
        "url": URL,
        "extractor": "structural",
        "page": page,
        "page_class": "product",
        "facts": FACTS,
    }
    return Extraction(**{**fields, **more})


def subject(checklist: tuple[ChecklistItem, ...], **more: Any) -> JudgedProduct:
    made = extraction(**more)
    return JudgedProduct(checklist=checklist, extraction=made)


def data(text: str) -> StructuredData:
    return StructuredData(source="json-ld", json=text)
