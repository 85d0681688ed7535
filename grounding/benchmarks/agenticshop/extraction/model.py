"""The extractor with a chat model: text, data and pictures of a kept page to typed facts.

Structure is asked first: what is surely no product's page is not sent, and what surely is one stays one. A reply that
is not of the form is ``unparsed``, never a guess: a price in words is no number. Quotes are looked for in the page's
own text and data, and what is not there says so in its source.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from grounding.benchmarks.asking import Opened
from grounding.benchmarks.calls import Wording, fill, read_wording
from grounding.errors import UserError
from grounding.llm.wire import Message, TextPart
from grounding.records import Failure, Record

from ..asking import ask, fence_mark, folded, largest_sizes, picture_part, reply_objects, stands_in
from ..records import Extraction, FactSource, PageClass, ProductFacts, RenderedPage, Segment
from ..web.evidence import EvidenceFolder, load_html
from .structural import VERSION, extract_page

MAX_PAGE_CHARS, MAX_DATA_CHARS, MAX_TEXT_CHARS, MAX_ENTRIES = 40_000, 20_000, 5_000, 200
MAX_PICTURES = 5  # Segments that are shown, from the top of the page (the release cuts a page into one to five parts).
NOT_FOUND = "not in the page's text or data: "
"""Begins the quote of a fact that nothing on the page bears out; it may still be in a picture."""


class ExtractionPrompts(Wording, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The release's wording has no words for pictures and the form, but the schema of its reply, as JSON text."""

    system: str
    head: str
    text: str
    metadata: str
    pictures: str = ""
    task: str
    output: str = ""
    schema_name: str = ""
    schema: str = ""


def question(prompts: ExtractionPrompts, page: RenderedPage, *, pictures: int) -> str:
    text, kept = page.text[:MAX_PAGE_CHARS], list[str]()
    for line in (f"{block.source}: {block.json}" for block in page.data):
        kept += [line] if sum(map(len, kept)) + len(line) <= MAX_DATA_CHARS else []
    metadata = "\n".join(kept)
    mark = fence_mark(text, metadata)
    parts = [fill(prompts.head, url=(page.final_url or page.url)[:2_000])]
    parts += [fill(prompts.text, text=text, mark=mark)] if text else []
    parts += [fill(prompts.metadata, metadata=metadata, mark=mark)] if metadata else []
    parts += [prompts.pictures] if pictures else []
    return "\n\n".join(part.strip("\n") for part in (*parts, prompts.task, prompts.output))


class ModelExtractor:
    def __init__(self, model: Opened) -> None:
        self._opened, self._prompts = model, read_wording("agenticshop", "extraction", ExtractionPrompts)
        self.card, self.name = model.card, model.card.name
        self.max_concurrency = model.model.max_concurrency
        self.check, self.aclose = model.model.check, model.model.aclose
        asked = f"{model.model.identity}|{self._prompts.label}"
        self.identity = f"model:2|{asked}|pictures={MAX_PICTURES}|structural:{VERSION}"

    async def extract(self, page: RenderedPage, evidence: EvidenceFolder) -> Extraction:
        segments = page.segments[:MAX_PICTURES]
        try:
            classed = await asyncio.to_thread(lambda: extract_page(page, load_html(page, evidence)))
            if classed.sure and classed.page_class != "product":
                return classed
            sizes = largest_sizes(segments, self.card.image)
        except (UserError, OSError, ValueError) as error:
            return Extraction(failure=Failure(kind="error", message=f"{page.url}: {error}"))

        read = partial(read_reply, page=page, classed=classed)
        answer = await ask(self._opened, lambda: self._messages(page, segments, evidence), sizes, read)
        found: Extraction = answer.found
        if answer.failure is not None:
            found = msgspec.structs.replace(classed, facts=None) if answer.failure.kind == "unparsed" else Extraction()
        return msgspec.structs.replace(found, raw=answer.text, call=answer.call, failure=answer.failure)

    def _messages(self, page: RenderedPage, segments: Sequence[Segment], evidence: EvidenceFolder) -> list[Message]:
        words = TextPart(text=question(self._prompts, page, pictures=len(segments)))
        try:
            shown = [picture_part(one, evidence, self.card.image) for one in segments]
        except UserError as error:
            raise ValueError(str(error)) from error
        system = TextPart(text=self._prompts.system.strip())
        return [Message(role="system", parts=(system,)), Message(role="user", parts=(words, *shown))]


class _Quote(Record, frozen=True):
    field: str
    quote: str


class _Facts(ProductFacts, frozen=True):
    rating: Annotated[float, Meta(ge=0, le=5)] | None = None
    rating_count: Annotated[int, Meta(ge=0, le=10**9)] | None = None
    quotes: tuple[_Quote, ...] = ()

    def __post_init__(self) -> None:
        for one in (self.price, self.list_price, self.shipping, *(each.price for each in self.variants)):
            if one is not None and not (0 <= one.amount <= 1e8 and re.fullmatch("([A-Z]{3})?", one.currency)):
                raise ValueError(f"expected an amount and a code of three letters, got {one.amount:g} {one.currency!r}")
        if any(not 0 <= (one.rating or 0) <= 5 for one in self.reviews):
            raise ValueError("expected ratings of reviews out of five")


class _Reply(Record, frozen=True):
    page_class: PageClass
    class_reason: str = ""
    facts: _Facts | None = None


def read_reply(text: str, page: RenderedPage, classed: Extraction) -> Extraction | str:
    """What a model said of a page: its facts, and the class where structure is not sure; or why it can't be read."""
    why = "the reply holds no JSON object"
    for value in reply_objects(text):
        try:
            said = msgspec.convert(_bounded(value), _Reply)
        except (msgspec.ValidationError, RecursionError) as error:
            why = f"the reply's JSON is not of the form that was asked for: {error}"
            continue
        reason = f"structure: {classed.class_reason}; the model: {(said.class_reason or said.page_class)[:300]}"
        decided = classed if classed.sure else Extraction(page_class=said.page_class, class_reason=reason)
        if decided.page_class != "product":
            return decided
        if said.page_class != "product" or said.facts is None:
            why = f"the reply calls it {said.page_class} and tells no facts ({said.class_reason[:300]})"
            break
        sources = [_source(one, page) for one in said.facts.quotes if one.quote]
        told = msgspec.to_builtins(said.facts) | {"picture_count": None, "sources": msgspec.to_builtins(sources)}
        return msgspec.structs.replace(decided, facts=msgspec.convert(told, ProductFacts))
    return why


def _bounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _bounded(one) for name, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_bounded(one) for one in value[:MAX_ENTRIES]]
    return " ".join(value.split())[:MAX_TEXT_CHARS] if isinstance(value, str) else value


def _source(said: _Quote, page: RenderedPage) -> FactSource:
    """A quote as a source, which says where it is not on the page."""
    quote, texts = folded(said.quote), (page.title, page.text, *(one.json for one in page.data))
    there = "" if quote and any(stands_in([quote], folded(text)) for text in texts) else NOT_FOUND
    return FactSource(field=said.field[:40], source="model", quote=there + said.quote[:240])
