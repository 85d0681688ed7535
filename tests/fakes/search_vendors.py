"""A fake of the vendors' models with a search tool: it really searches a list of pages, counts, and writes a bill.

One server plays all vendors, each under its own path and with its own shapes, refusals and headers::

    pages = [Page("http://kettle.mall.test/p/1", "Copper kettle", "a kettle of copper, 1.7 l")]
    with SearchVendors(pages) as vendors:
        vendors.base_url("anthropic")                   # http://127.0.0.1:PORT/anthropic/v1
        vendors.faults.extend(["429:0", "cut"])         # what befalls the next two requests
        vendors.invented = 3                            # every third product has an address that no search brought
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from aiohttp import web

from fakes.chat_server import ChatServer, Received
from fakes.search_vendor_shapes import SHAPES, Answered, Asked, Json, Lookup, Page, Shape, problem

_WORD = re.compile(r"[a-z0-9]+")
_STOP = {"the", "a", "an", "for", "and", "or", "of", "to", "in", "with", "i", "is", "want", "need", "looking", "some"}


@dataclass(frozen=True)
class Charge:
    """One line of the bill."""

    vendor: str
    model: str
    input_tokens: int
    output_tokens: int
    searches: int
    usd: float


class SearchVendors(ChatServer):
    """All vendors on one loopback port.

    ``invented`` is how often an address is made up (0: never). ``faults`` befall the next requests, one
    each: a status with its seconds to wait, cut, drop, refusal, pause, words, none, failed or long.
    """

    def __init__(self, pages: Sequence[Page], *, invented: int = 0) -> None:
        super().__init__()
        self.pages = tuple(pages)
        self.invented = invented
        self.faults: deque[str] = deque()
        self.charges: list[Charge] = []
        self._named = 0
        self._lock = threading.Lock()

    def base_url(self, vendor: str) -> str:  # type: ignore[override]
        """The address of a vendor's interface."""
        return f"http://127.0.0.1:{self.port}{SHAPES[vendor].base_path}"

    @property
    def asked(self) -> list[Received]:
        """The requests for an answer, refused ones too."""
        return [received for received in self.requests if received.method == "POST"]

    @property
    def bill_usd(self) -> float:
        """All that was charged."""
        return sum(charge.usd for charge in self.charges)

    async def _respond(self, request: web.Request, content: bytes) -> web.StreamResponse:
        for shape in SHAPES.values():
            if request.method == "GET" and request.path == f"{shape.base_path}/models" and shape.lists_models:
                refused = shape.unwelcome(request.headers)
                return refused or web.json_response(shape.list_models())
            if request.method == "POST" and request.path in shape.paths():
                return await self._answer(shape, request, content)
        return web.Response(status=404, text="<html><body>Not Found</body></html>", content_type="text/html")

    async def _answer(self, shape: Shape, request: web.Request, content: bytes) -> web.StreamResponse:
        kind, _, value = (self.faults.popleft() if self.faults else "").partition(":")
        if kind == "drop":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if kind.isdecimal():
            return problem(shape.vendor, int(kind), f"fault {kind}", wait=value)
        refused = shape.unwelcome(request.headers)
        if refused is not None:
            return refused
        asked = shape.understand(request.path, json.loads(content))
        if isinstance(asked, web.Response):
            return asked
        await asyncio.sleep(0)
        reply = shape.reply(asked, self._work(asked, kind), kind)
        self._charge(shape, asked, reply)
        whole = json.dumps(reply).encode()
        return web.Response(body=whole[: len(whole) // 2] if kind == "cut" else whole, content_type="application/json")

    def _work(self, asked: Asked, fault: str) -> Answered:
        """Search, choose three pages, write."""
        lookups = tuple(Lookup(query, tuple(self.search(query))) for query in queries(asked.prompt))
        best = Counter({page: 0 for lookup in lookups for page in lookup.pages})
        for lookup in lookups:
            for place, page in enumerate(lookup.pages):
                best[page] += len(lookup.pages) - place
        chosen = [page for page, _ in best.most_common(3)]
        products = [self._product(page, asked.prompt) for page in chosen]
        said = {"search_results": [] if fault == "none" else products}
        text = json.dumps(said)
        if fault == "words":
            text = "I would rather tell you about the weather."
        elif not asked.schema:
            text = f"Here is what I found for you.\n\n```json\n{text}\n```\n"
        return Answered(lookups=lookups, text=text, cited=tuple(chosen[:2]))

    def _product(self, page: Page, prompt: str) -> Json:
        with self._lock:
            self._named += 1
            made_up = self.invented and self._named % self.invented == 0
        parts = urlsplit(page.url)
        url = f"{parts.scheme}://{parts.netloc}/made-up/{self._named}" if made_up else page.url
        why = f"It fits: {', '.join(sorted(_words(prompt) & _words(page.text))[:4])}."
        return {"product_name": page.title, "product_url": url, "reasoning": why}

    def search(self, query: str, most: int = 8) -> list[Page]:
        """The pages that share most words with a query, best first; none without a word in common."""
        wanted = _words(query)
        scored = [(len(wanted & _words(page.title)) * 3 + len(wanted & _words(page.text)), page) for page in self.pages]
        ranked = sorted((one for one in scored if one[0]), key=lambda one: (-one[0], one[1].url))
        return [page for _, page in ranked[:most]]

    def _charge(self, shape: Shape, asked: Asked, reply: Json) -> None:
        usage = shape.billed(asked, reply)
        usd = (usage.input_tokens * asked.model.input_usd + usage.output_tokens * asked.model.output_usd) / 1e6
        usd += usage.fees * asked.model.fee_usd
        charge = Charge(shape.vendor, asked.model.name, usage.input_tokens, usage.output_tokens, usage.fees, usd)
        with self._lock:
            self.charges.append(charge)


def queries(prompt: str) -> list[str]:
    """What a model would type: the words that the user says, and the kind of product."""
    said = re.search(r'The user says: "([^"]{1,300})"', prompt)
    kind = re.search(r"looking for ([^.]{1,100})\. ", prompt)
    situation = re.search(r"situation is: ([^.]{1,200})\.", prompt)
    found = [match[1] for match in (said, kind) if match] or [match[1] for match in (situation,) if match]
    return found or [prompt[:80]]


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.lower()) if word not in _STOP and len(word) > 1}
