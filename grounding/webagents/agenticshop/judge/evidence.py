"""What a model judge is shown of a product, in words and pictures, for each of the paper's three conditions (table 3).

All that a page or an agent wrote stands inside a fence, the URL included. What is too long is cut, and the cut is said.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from grounding.records import Record
from grounding.webagents.agenticshop.judge.base import JudgedProduct
from grounding.webagents.agenticshop.judge.conditions import money_words
from grounding.webagents.agenticshop.judge.fence import bounded, fence_for
from grounding.webagents.agenticshop.records import Condition, Money, ProductFacts, RenderedPage, Segment

VERSION = 1
"""Goes up when the same product is shown otherwise: part of a judge's identity."""

MAX_URL_CHARS = 2_000
MAX_FACTS_CHARS = 20_000
MAX_DATA_CHARS = 16_000
MAX_TEXT_CHARS = 40_000
MAX_PICTURES = 8
MAX_REVIEWS = 40


class ShownEvidence(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a judge is shown: the fenced words, and the pictures in their order.

    ``words`` are the pieces without their fence, in which quotes are looked for. ``pictures_all`` is how many pictures
    there are, of which the first are shown.
    """

    fenced: str
    words: tuple[str, ...]
    pictures: tuple[Segment, ...]
    pictures_all: int


def shown_evidence(subject: JudgedProduct, condition: Condition, *, max_pictures: int = MAX_PICTURES) -> ShownEvidence:
    """The evidence of a product as a judge is shown it.

    Args:
        subject: The product.
        condition: ``full`` shows address, facts, data, text and pictures, ``no-info`` address and pictures,
            ``url-only`` the address.
        max_pictures: So many pictures are shown, from the top of the page.
    """
    page = subject.extraction.page
    pieces = [("ADDRESS", bounded(_address(subject, condition), MAX_URL_CHARS))]
    segments: tuple[Segment, ...] = ()
    if page is not None and condition != "url-only":
        segments = page.segments
    if page is not None and condition == "full":
        pieces += [(name, text) for name, text in _information(subject, page) if text]
    fence = fence_for(*(text for _, text in pieces))
    return ShownEvidence(
        fenced="\n\n".join(fence.around(name, text) for name, text in pieces),
        words=tuple(text for _, text in pieces),
        pictures=segments[:max_pictures],
        pictures_all=len(segments),
    )


def _address(subject: JudgedProduct, condition: Condition) -> str:
    page = subject.extraction.page
    lines = [one_line(subject.url)]
    if page is not None and condition == "full":
        if page.final_url and page.final_url != subject.url:
            lines.append(f"leads to: {one_line(page.final_url)}")
        if page.fetched_at:
            lines.append(f"seen on: {one_line(page.fetched_at[:10])}")
    return "\n".join(lines)


def _information(subject: JudgedProduct, page: RenderedPage) -> Iterator[tuple[str, str]]:
    extraction = subject.extraction
    facts = "" if extraction.facts is None else "\n".join(fact_lines(extraction.facts))
    yield "FACTS", bounded(facts, MAX_FACTS_CHARS)
    data = "\n".join(f"{block.source}: {readable_json(block.json)}" for block in page.data)
    yield "DATA", bounded(data, MAX_DATA_CHARS)
    title = f"{one_line(page.title)}\n" if page.title else ""
    text = bounded(f"{title}{page.text}", MAX_TEXT_CHARS)
    yield "TEXT", f"{text}\n[the page's text was cut off when it was kept]" if page.text_cut else text


def fact_lines(facts: ProductFacts) -> Iterator[str]:
    """What is known of a product, one fact a line; what is unknown has no line."""
    yield from _named("title", facts.title)
    yield from _named("brand", facts.brand)
    yield from _named("seller", facts.seller)
    yield from _named("categories", " > ".join(facts.categories))
    yield from _named("price", _money(facts.price))
    yield from _named("list price", _money(facts.list_price))
    yield from _named(
        "shipping", "free" if facts.shipping is not None and not facts.shipping.amount else _money(facts.shipping)
    )
    yield from _named("price and shipping together", _money(facts.total))
    yield from _named("shipping terms", facts.shipping_text)
    yield from _named("delivery", facts.delivery_text)
    yield from _named("returns", facts.returns_text)
    yield from _named("warranty", facts.warranty_text)
    if facts.availability != "unknown":
        yield f"availability: {'in stock' if facts.availability == 'in_stock' else 'sold out'}"
    if facts.rating is not None:
        yield f"rating: {facts.rating:g} out of 5"
    if facts.rating_count is not None:
        yield f"ratings or reviews: {facts.rating_count}"
    if facts.picture_count is not None:
        yield f"pictures: {facts.picture_count}"
    yield from _named("description", facts.description)
    for feature in facts.features:
        yield from _named("feature", feature)
    for line in facts.attributes:
        yield f"attribute: {one_line(line.name)}: {one_line(line.value)}"
    for form in facts.variants:
        price = f", {_money(form.price)}" if form.price is not None else ""
        state = {"in_stock": ", in stock", "sold_out": ", sold out", "unknown": ""}[form.availability]
        yield f"form: {one_line(form.name)}{price}{state}"
    for review in facts.reviews[:MAX_REVIEWS]:
        stars = f"{review.rating:g} out of 5: " if review.rating is not None else ""
        yield f"review: {stars}{one_line(f'{review.title} {review.text}')}"
    if len(facts.reviews) > MAX_REVIEWS:
        yield f"[{len(facts.reviews) - MAX_REVIEWS} more reviews are not shown]"


def _named(name: str, value: str) -> Iterator[str]:
    if value:
        yield f"{name}: {one_line(value)}"


def one_line(text: str) -> str:
    """A text as one line, so that nobody's words can look like a line of ours."""
    return " ".join(text.split())


def readable_json(text: str) -> str:
    """JSON with its letters instead of their escapes, as a model will quote it; other text as it is."""
    try:
        return msgspec.json.encode(msgspec.json.decode(text)).decode()
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return one_line(text)


def _money(amount: Money | None) -> str:
    return "" if amount is None else money_words(amount.amount, amount.currency)
