"""One curated product, its evidence and its verdicts as the page shows them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grounding.webagents.agenticshop.page.content import (
    MOST_TEXT,
    Found,
    ShownJudgement,
    ShownProduct,
    ShownSegment,
    ShownVerdict,
    TextPiece,
)
from grounding.webagents.agenticshop.page.facts import page_facts, shown_facts
from grounding.webagents.agenticshop.page.pictures import is_evidence_name
from grounding.webagents.agenticshop.page.quotes import PageText, found_in, pieces_with
from grounding.webagents.agenticshop.page.words import EVIDENCE, cut, failure_text, link_of, took_text
from grounding.webagents.agenticshop.records import (
    Curated,
    Extraction,
    ItemVerdict,
    Judgement,
    RenderedPage,
    Reported,
)

_LONGEST_URL = 2_000


def shown_product(
    name: str,
    curated: Curated,
    extraction: Extraction | None,
    judged: Sequence[tuple[int, Judgement]],
    *,
    errors: Sequence[str],
    pictures: Mapping[str, int],
    counted: bool,
) -> ShownProduct:
    """A product with everything that is known of it.

    Args:
        name: Its id.
        curated: How the agent named it.
        extraction: Its evidence, None where nobody looked.
        judged: What judges say, each with the judge's place among the page's.
        errors: What is wrong with it.
        pictures: The place of the small picture among the page's, by the name of the segment's file.
        counted: Whether it is one of those that are scored.
    """
    page = None if extraction is None else extraction.page
    text = "" if page is None else page.text
    pieces, found = _text(text, judged)
    more = len(text) - sum(len(piece.text) for piece in pieces)
    return ShownProduct(
        id=name,
        rank=curated.rank,
        url=cut(curated.url, _LONGEST_URL),
        link=link_of(curated.url),
        name=cut(curated.name, 300),
        reasoning=cut(curated.reasoning, MOST_TEXT),
        counted=counted,
        page_class="not fetched" if extraction is None or extraction.page_class is None else extraction.page_class,
        class_reason="" if extraction is None else cut(extraction.class_reason, MOST_TEXT),
        extractor="" if extraction is None else extraction.extractor,
        page=() if page is None else page_facts(page),
        facts=() if extraction is None or extraction.facts is None else shown_facts(extraction.facts),
        segments=() if page is None else _segments(page, pictures),
        text=pieces,
        text_more=more,
        raw="" if extraction is None else cut(extraction.raw, MOST_TEXT),
        failure="" if extraction is None else failure_text(extraction.failure),
        errors=tuple(errors),
        judgements=tuple(_judgement(judge, one, found, page) for judge, one in judged),
    )


def _text(text: str, judged: Sequence[tuple[int, Judgement]]) -> tuple[tuple[TextPiece, ...], dict[str, Found]]:
    """The pieces of a page's text that are shown, and where each quote stands in them."""
    quotes = dict.fromkeys(one.quote for _, said in judged for one in said.verdicts if one.quote)
    if not text:
        return (), {}
    searched = PageText(text) if quotes else None
    spans = {quote: span for quote in quotes if searched is not None and (span := searched.find(quote)) is not None}
    pieces = pieces_with(text, spans.values())
    return pieces, {quote: found_in(pieces, span) for quote, span in spans.items()}


def _segments(page: RenderedPage, pictures: Mapping[str, int]) -> tuple[ShownSegment, ...]:
    return tuple(
        ShownSegment(
            width=one.size.width,
            height=one.size.height,
            top_px=one.top_px,
            small=pictures.get(one.file),
            full=f"{EVIDENCE}/{one.file}" if is_evidence_name(one.file) else "",
        )
        for one in page.segments
    )


def _judgement(
    judge: int, judgement: Judgement, found: Mapping[str, Found], page: RenderedPage | None
) -> ShownJudgement:
    return ShownJudgement(
        judge=judge,
        verdicts=tuple(_verdict(one, found, page) for one in judgement.verdicts),
        reported="" if judgement.reported is None else _reported(judgement.reported),
        took=took_text(0.0, judgement.requests, judgement.call),
        failure=failure_text(judgement.failure),
    )


def _verdict(verdict: ItemVerdict, found: Mapping[str, Found], page: RenderedPage | None) -> ShownVerdict:
    place = verdict.place
    there = place is not None and page is not None and 0 <= place.segment < len(page.segments)
    return ShownVerdict(
        item=verdict.item,
        satisfied=verdict.satisfied,
        reasoning=cut(verdict.reasoning, MOST_TEXT),
        quote=cut(verdict.quote, MOST_TEXT),
        found=found.get(verdict.quote),
        segment=place.segment if place is not None and there else None,
        box=place.box if place is not None and there else None,
        flags=verdict.flags,
    )


def _reported(reported: Reported) -> str:
    """What a judge itself says that its verdicts add up to."""
    parts = []
    if reported.satisfaction_percentage is not None:
        parts.append(f"{reported.satisfaction_percentage:g} % satisfied")
    for count, word in ((reported.satisfied_items, "satisfied"), (reported.not_satisfied_items, "not satisfied")):
        if count is not None:
            parts.append(f"{count:g} {word}")
    if reported.total_items is not None:
        parts.append(f"of {reported.total_items} items")
    for said, word in ((reported.accessible, "accessible"), (reported.is_product_page, "a product page")):
        if said is not None:
            parts.append(word if said else f"not {word}")
    parts += [f"{name} {count}" for name, count in reported.dimensions.items()]
    return cut("; ".join([*parts, reported.reason] if reported.reason else parts), MOST_TEXT)
