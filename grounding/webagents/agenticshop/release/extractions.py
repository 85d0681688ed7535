"""The release's ``extraction_result.json``, read and written.

::

    {"source_url": "...", "available_product_info": {"description": "..."},
     "reviews": {"available": true, "details": "..."}}

The release keeps no page: whether it could be had, its address after redirects, its status, its document, prices and
ratings as numbers are unknown. What a model wrote of it stands as the description and as the one text about reviews;
both together are the page's text, so that a product can be judged from it again. An empty description is what the
release writes when an extraction took too long: there are no facts then, and no page.
"""

from __future__ import annotations

import json
from typing import Any

from grounding.records import Failure
from grounding.webagents.agenticshop.records import (
    CustomerReview,
    Extraction,
    FactSource,
    Money,
    ProductFacts,
    RenderedPage,
    Segment,
)
from grounding.webagents.agenticshop.release.files import text_of

EXTRACTOR = "release"
NOT_KEPT = "the release keeps no page"
_SOURCE = (FactSource(field="description", source="model"),)


def read_extraction(step_id: str, decoded: object, key: str = "", segments: tuple[Segment, ...] = ()) -> Extraction:
    """One extraction from a decoded file; a failure of the kind ``unparsed`` where it is none.

    Args:
        step_id: The product's id.
        decoded: The content of the file.
        key: Goes into the record as it comes.
        segments: Pictures of the page, where they were kept.
    """
    if not isinstance(decoded, dict) or not isinstance(decoded.get("source_url"), str):
        failure = Failure(kind="unparsed", message="expected an object with source_url and available_product_info")
        return Extraction(step_id=step_id, key=key, url="", extractor=EXTRACTOR, failure=failure)
    url = decoded["source_url"]
    description = _description(decoded)
    reviews = _reviews(decoded)
    if not description and not reviews and not segments:
        return Extraction(step_id=step_id, key=key, url=url, extractor=EXTRACTOR, class_reason=NOT_KEPT)
    facts = None
    if description or reviews:
        facts = ProductFacts(
            description=description,
            reviews=(CustomerReview(text=reviews),) if reviews else (),
            sources=_SOURCE if description else (),
        )
    text = "\n\n".join(part for part in (description, reviews) if part)
    return Extraction(
        step_id=step_id,
        key=key,
        url=url,
        extractor=EXTRACTOR,
        page=RenderedPage(url=url, text=text, segments=segments),
        class_reason=NOT_KEPT,
        facts=facts,
    )


def _description(decoded: dict[str, Any]) -> str:
    info = decoded.get("available_product_info")
    if isinstance(info, dict) and set(info) == {"description"}:
        return text_of(info["description"])
    return text_of(info) if info else ""


def _reviews(decoded: dict[str, Any]) -> str:
    reviews = decoded.get("reviews")
    if not isinstance(reviews, dict):
        return text_of(reviews) if reviews else ""
    return text_of(reviews.get("details"))


def extraction_json(extraction: Extraction) -> dict[str, Any]:
    """An extraction as the release writes it: the facts told as a description, the reviews as one text.

    What the release has no place for is lost: where facts were found, the class of the page, the page itself.
    """
    facts = extraction.facts
    if facts is None:
        return _result(extraction.url, "", None)
    if extraction.extractor == EXTRACTOR:
        return _result(extraction.url, facts.description, facts.reviews[0].text if facts.reviews else None)
    return _result(extraction.url, described(facts), reviewed(facts))


def _result(url: str, description: str, reviews: str | None) -> dict[str, Any]:
    return {
        "source_url": url,
        "available_product_info": {"description": description},
        "reviews": {"available": reviews is not None, "details": reviews},
    }


def described(facts: ProductFacts) -> str:
    """All that is known of a product but its reviews, a line for each fact; unknown facts have none."""
    lines = [
        ("Title", facts.title),
        ("Brand", facts.brand),
        ("Seller", facts.seller),
        ("Categories", " > ".join(facts.categories)),
        ("Price", _money(facts.price)),
        ("List price", _money(facts.list_price)),
        ("Shipping cost", _money(facts.shipping)),
        ("Shipping", facts.shipping_text),
        ("Delivery", facts.delivery_text),
        ("Returns", facts.returns_text),
        ("Warranty", facts.warranty_text),
        ("Availability", "" if facts.availability == "unknown" else facts.availability.replace("_", " ")),
        ("Average rating out of 5", "" if facts.rating is None else f"{facts.rating:g}"),
        ("Number of ratings", "" if facts.rating_count is None else str(facts.rating_count)),
        ("Description", facts.description),
        *(("Feature", feature) for feature in facts.features),
        *((attribute.name, attribute.value) for attribute in facts.attributes),
    ]
    for variant in facts.variants:
        said = [variant.name, _money(variant.price), variant.availability.replace("_", " ")]
        lines.append(("Variant", ", ".join(part for part in said if part and part != "unknown")))
    if facts.picture_count is not None:
        lines.append(("Pictures", str(facts.picture_count)))
    return "\n".join(f"{name}: {value}" for name, value in lines if value)


def reviewed(facts: ProductFacts) -> str | None:
    """The reviews as compact JSON, as the release's extractor was asked for; None where nothing is known of any."""
    if facts.rating is None and facts.rating_count is None and not facts.reviews:
        return None
    summary: dict[str, Any] = {"average_rating": facts.rating, "rating_count": facts.rating_count}
    summary["reviews"] = [
        {name: value for name, value in (("title", one.title), ("rating", one.rating), ("text", one.text)) if value}
        for one in facts.reviews
    ]
    known = {name: value for name, value in summary.items() if value not in (None, [])}
    return json.dumps(known, ensure_ascii=False, separators=(",", ":"))


def _money(money: Money | None) -> str:
    if money is None:
        return ""
    return f"{money.amount:.2f} {money.currency}".strip()
