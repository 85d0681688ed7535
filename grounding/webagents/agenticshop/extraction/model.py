"""The extractor with a chat model: text, data and pictures of a kept page to typed facts.

Structure is asked first: what is surely no product's page is not sent, and what surely is one stays one. The model
decides the class only where structure can't tell.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from grounding.chat import NO_PICTURES
from grounding.errors import UserError
from grounding.pictures import picture_sizes, prepare_picture
from grounding.planners.outcomes import plan_outcome
from grounding.records import Failure, ImageSizes, Screenshot
from grounding.webagents.agenticshop.extraction.base import Extracted
from grounding.webagents.agenticshop.extraction.classify import Classed
from grounding.webagents.agenticshop.extraction.prompts import ExtractionPrompts, extraction_prompts, question
from grounding.webagents.agenticshop.extraction.reply import ReadReply, read_reply
from grounding.webagents.agenticshop.extraction.structural import VERSION, read_page
from grounding.webagents.agenticshop.records import RenderedPage, Segment
from grounding.webagents.asking import Opened
from grounding.wire import ImagePart, Message, TextPart

if TYPE_CHECKING:
    from grounding.webagents.agenticshop.web.evidence import EvidenceFolder

MAX_PICTURES = 5
"""Segments that are shown, from the top of the page (the release cuts a page into one to five parts)."""


class ModelExtractor:
    """Asks a chat model what a page says.

    Args:
        model: The model and its card, whose own prompt takes no part.
        prompts: The wording; the bundled one by default.
        pictures: How many segments are shown at most; 0 for a model that reads words alone.
    """

    def __init__(
        self, model: Opened, prompts: ExtractionPrompts | None = None, *, pictures: int = MAX_PICTURES
    ) -> None:
        self._opened = model
        self._prompts = prompts or extraction_prompts()
        self._pictures = pictures

    @property
    def name(self) -> str:
        """The card's name."""
        return self._opened.card.name

    @property
    def identity(self) -> str:
        """The model, what it is told and shown, and the rules that class pages before it."""
        model = self._opened.model.identity
        return f"model:1|{model}|{self._prompts.label}|pictures={self._pictures}|structural:{VERSION}"

    @property
    def max_concurrency(self) -> int:
        """As many as the endpoint takes."""
        return self._opened.model.max_concurrency

    async def extract(self, page: RenderedPage, evidence: EvidenceFolder) -> Extracted:
        """Read one page; see ``base.Extractor``."""
        try:
            classed = await asyncio.to_thread(_classed, page, evidence)
        except (UserError, OSError) as error:
            return Extracted(failure=Failure(kind="error", message=str(error)))
        if classed.sure and classed.page_class != "product":
            return Extracted(page_class=classed.page_class, class_reason=classed.reason)
        return await self._ask(page, evidence, classed)

    async def check(self) -> None:
        """Fail early when the endpoint is not there."""
        await self._opened.model.check()

    async def aclose(self) -> None:
        """Close connections."""
        await self._opened.model.aclose()

    async def _ask(self, page: RenderedPage, evidence: EvidenceFolder, classed: Classed) -> Extracted:
        segments = page.segments[: self._pictures]
        rule = self._opened.card.image
        try:
            sizes = _largest([picture_sizes(one.size, rule) for one in segments])
        except ValueError as error:
            return Extracted(failure=Failure(kind="error", message=f"{page.url}: {error}"))
        asked = await self._opened.model.send(lambda: self._messages(page, segments, evidence), sizes)
        if asked.completion is None:
            failure = asked.failure or Failure(kind="error", message="no reply")
            return Extracted(failure=failure, call=asked.call)
        said = plan_outcome(self._opened.card, asked.completion)
        read = said.failure or read_reply(said.text or "", page)
        if isinstance(read, Failure) and asked.completion.finish_reason == "length":
            read = Failure(kind="unparsed", message=f"the reply was cut off (finish reason: length); {read.message}")
        raw = asked.completion.text
        if isinstance(read, Failure):
            return Extracted(
                page_class=classed.page_class, class_reason=classed.reason, raw=raw, call=asked.call, failure=read
            )
        return msgspec.structs.replace(_decided(classed, read), raw=raw, call=asked.call)

    def _messages(
        self, page: RenderedPage, segments: Sequence[Segment], evidence: EvidenceFolder
    ) -> tuple[Message, ...]:
        words = question(self._prompts, page, pictures=len(segments))
        shown = [self._picture(one, evidence) for one in segments]
        return (
            Message(role="system", parts=(TextPart(text=self._prompts.system.strip()),)),
            Message(role="user", parts=(TextPart(text=words), *shown)),
        )

    def _picture(self, segment: Segment, evidence: EvidenceFolder) -> ImagePart:
        try:
            evidence.get(segment.file)
        except UserError as error:
            raise ValueError(str(error)) from error
        shot = Screenshot(
            path=str(evidence.path / segment.file), size=segment.size, sha256=segment.file.partition(".")[0]
        )
        return ImagePart(url_json=prepare_picture(shot, self._opened.card.image).url_json)


def _classed(page: RenderedPage, evidence: EvidenceFolder) -> Classed:
    from grounding.webagents.agenticshop.web.evidence import load_html

    reading = read_page(page, load_html(page, evidence))
    return reading if isinstance(reading, Classed) else reading.classed


def _decided(classed: Classed, read: ReadReply) -> Extracted:
    """The class: structure's where it is sure, else the model's; facts only of what is then a product's page."""
    if not classed.sure:
        reason = f"structure: {classed.reason}; the model: {read.reason or read.page_class}"
        return Extracted(page_class=read.page_class, class_reason=reason, facts=read.facts)
    if read.facts is None:
        message = f"the model calls it {read.page_class} ({read.reason}), and its build is that of a product's page"
        return Extracted(
            page_class=classed.page_class,
            class_reason=classed.reason,
            failure=Failure(kind="unparsed", message=message),
        )
    return Extracted(page_class=classed.page_class, class_reason=classed.reason, facts=read.facts)


def _largest(sizes: Sequence[ImageSizes]) -> ImageSizes:
    return max(sizes, key=lambda one: one.model.width * one.model.height, default=NO_PICTURES)
