"""The release's own requests: an extractor and a judge that send what its programs send, byte for byte.

Both ask over OpenAI's Responses API with its tool for web search, low effort and a schema for the reply (extractor.py
and evaluator.py of the release, see ``source`` in the files of prompts). What such a model looks up on the web while it
answers can't be had again: its figures are the release's protocol, not a repeatable one.
"""

import asyncio
import base64
import io
import json
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from grounding.benchmarks.asking import Opened
from grounding.benchmarks.calls import read_wording
from grounding.cards import Json, PlannerCard
from grounding.errors import UserError
from grounding.llm import Spent
from grounding.llm.budget import Budget
from grounding.llm.chat import ChatOptions, open_chat
from grounding.llm.vendors import ResponsesWire
from grounding.llm.wire import ImagePart, Message, TextPart
from grounding.records import Failure, ImageSizes, Size
from grounding.run.display import Progress

from .agents.search import searches
from .asking import OFFICIAL, ask
from .extraction.model import ExtractionPrompts
from .extraction.structural import extract_page
from .judge.model import reply_form, reply_object
from .records import Extraction, RenderedPage, Segment
from .release import read_extraction
from .web.evidence import EvidenceFolder, load_html

SEARCH_USD = 0.01  # What one web search costs beside the tokens: 10 US dollars per 1,000 (OpenAI's pricing page).
MAX_PARTS = 5
_VIEWPORT = Size(width=1280, height=720)
PICTURE_SIZES = ImageSizes(original=_VIEWPORT, sent=_VIEWPORT, model=_VIEWPORT)
_DROPPED = ["script", "style", "noscript", "header", "footer", "nav"]


class ReleasedWire(ResponsesWire):
    """OpenAI's ``POST /responses`` as the release's programs speak it, with ``openai.OpenAI().responses.parse``."""

    def encode(
        self, model: str, messages: Sequence[Message], parameters: dict[str, Json], *, tools: Sequence[Any] = ()
    ) -> bytes:
        """``tools`` is the form of the reply. Each picture is a message of its own."""
        said: list[dict[str, Any]] = []
        for message in messages:
            for part in message.parts:
                shown: dict[str, Any] = {"type": "input_text", "text": getattr(part, "text", "")}
                if isinstance(part, ImagePart):
                    shown = {"type": "input_image", "image_url": part.url_json}
                said.append({"role": message.role, "content": shown["text"] if message.role == "system" else [shown]})
        (form,) = tools
        body = {"model": model, "input": said, "reasoning": {"effort": "low"}, "text": {"format": form}}
        return msgspec.json.encode(body | parameters | {"tools": [{"type": "web_search"}]})

    def spent(self, body: bytes) -> Spent:
        """Tokens, and the fee of each search."""
        found = super().spent(body)
        if found.usage is None:
            return found
        made = searches("openai", msgspec.json.decode(body, type=dict[str, Any]))
        return replace(found, fee_usd=made * SEARCH_USD)


def open_released(card: PlannerCard, chat: ChatOptions, *, flag: str, budget: Budget, progress: Progress) -> Opened:
    """A card's model without any of its parameters; raises a UserError where address or key is missing."""
    wire = ReleasedWire(card.endpoint.headers)
    opened = open_chat(card, chat, flag=flag, budget=budget, on_retry=progress.retried, wire=wire)
    return Opened(model=opened.model, card=card)


class ReleasedExtractor:
    """The release's extractor: address, text, data and up to five pictures of any link to two texts."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._prompt = read_wording("agenticshop", "extraction-release", ExtractionPrompts)
        self.card = opened.card
        self.name = f"{opened.card.name}@{OFFICIAL}"
        self.max_concurrency = opened.model.max_concurrency
        self.check, self.aclose = opened.model.check, opened.model.aclose
        self.identity = f"extractor released {self._prompt.label} {opened.model.identity}"

    async def extract(self, page: RenderedPage, evidence: EvidenceFolder) -> Extraction:
        """Asked also where no page came, as the release does."""
        wanted = "available_product_info"

        def question() -> tuple[tuple[Message, ...], Extraction]:
            html = load_html(page, evidence)
            text = extraction_text(self._prompt, page.url, html)
            pictures = released_pictures(page.segments, evidence)
            return extraction_messages(self._prompt, text, pictures), extract_page(page, html)

        def read(text: str) -> dict[str, Any] | str:
            return reply_object(text, wanted) or "the reply is not of the release's form"

        try:
            messages, classed = await asyncio.to_thread(question)
        except (UserError, OSError) as error:
            return Extraction(failure=Failure(kind="error", message=str(error)))
        form = reply_form(self._prompt)
        answer = await ask(self._opened, lambda: messages, PICTURE_SIZES, read, tools=(form,))
        found = replace(classed, facts=None, raw=answer.text, call=answer.call, failure=answer.failure)
        if answer.failure is None:
            told = read_extraction("", {"source_url": page.url, **answer.found})
            found = replace(found, facts=told.facts, raw=told.raw)
        return found


def extraction_messages(prompt: ExtractionPrompts, text: str, pictures: Sequence[str]) -> tuple[Message, ...]:
    shown = (ImagePart(url_json=msgspec.Raw(msgspec.json.encode(url))) for url in pictures)
    system = Message(role="system", parts=(TextPart(text=prompt.system),))
    return system, Message(role="user", parts=(TextPart(text=text), *shown))


def extraction_text(prompt: ExtractionPrompts, url: str, html: str) -> str:
    """The words about an address and the document after scripts, "" where there is none."""
    parts = [prompt.head.replace("<URL>", url)]
    text, data = (page_text(html), page_data(html, url)) if html.strip() else ("", {})
    if text:
        parts.append(prompt.text.replace("<TEXT>", text))
    if data:
        parts.append(prompt.metadata.replace("<METADATA>", json.dumps(data, ensure_ascii=False, indent=2)))
    return "\n\n".join([*parts, prompt.task])


def page_text(html: str) -> str:
    """A document's words as the release reads them, by its own library: each text on lines of its own, none blank."""
    from bs4 import BeautifulSoup

    page = BeautifulSoup(html, "html.parser")
    for one in page(_DROPPED):
        one.decompose()
    return "\n".join(line for line in page.get_text("\n", strip=True).splitlines() if line.strip())


def page_data(html: str, url: str) -> dict[str, Any]:
    import extruct

    try:
        found = extruct.extract(html, base_url=url, syntaxes=["json-ld", "microdata", "opengraph"])
    except Exception:  # noqa: BLE001 - the release passes over whatever the library raises on a strange page
        return {}
    return {name: value for name, value in found.items() if value}


def released_pictures(segments: Sequence[Segment], evidence: EvidenceFolder) -> list[str]:
    """A page's picture cut as the release cuts it, as data URLs: the first viewport, then equal parts, five at most."""
    if not segments:
        return []
    from PIL import Image

    height = max(one.top_px + one.size.height for one in segments)
    whole = Image.new("RGB", (segments[0].size.width, height))
    for one in reversed(segments):
        with Image.open(io.BytesIO(evidence.get(one.file))) as picture:
            whole.paste(picture.convert("RGB"), (0, one.top_px))
    found = []
    for top, bottom in part_bounds(height):
        buffer = io.BytesIO()
        whole.crop((0, top, whole.width, bottom)).save(buffer, "PNG")
        found.append(f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}")
    return found


def part_bounds(height: int) -> list[tuple[int, int]]:
    """Where the release cuts a page of a height, in pixels from the top.

    >>> part_bounds(700), part_bounds(2160)
    ([(0, 700)], [(0, 720), (720, 1200), (1200, 1680), (1680, 2160)])
    """
    viewport = _VIEWPORT.height
    if height <= viewport:
        return [(0, height)]
    rest = min(int(height / viewport) + 1, MAX_PARTS) - 1
    each = (height - viewport) // rest
    tops = [viewport + place * each for place in range(rest)]
    return [(0, viewport), *zip(tops, [*tops[1:], height], strict=True)]
