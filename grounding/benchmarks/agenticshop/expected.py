"""What a dry run counts in the place of pages that nobody has named or opened yet: a page of a usual size."""

from __future__ import annotations

import gzip
import hashlib
import io
from collections.abc import Collection, Mapping, Sequence
from tempfile import TemporaryDirectory

import msgspec

from grounding.benchmarks.agenticshop.judge.base import JudgedProduct
from grounding.benchmarks.agenticshop.records import (
    COUNTED_PRODUCTS,
    CuratedPage,
    CurationTask,
    Extraction,
    Money,
    ProductFacts,
    RenderedPage,
    Segment,
    product_id,
)
from grounding.benchmarks.agenticshop.web.evidence import EvidenceFolder
from grounding.cards.schema import SearchCard
from grounding.llm.estimates import ExtraCost, TokenRange
from grounding.records import Size

PAGE_CHARS = 10_000
EXTRACTED_CHARS = 2_000
PICTURES = 5
URL = "https://shop.example/product"
SIZE = Size(width=1280, height=720)
SAYS = (
    f"a page that is not open yet counts as {PAGE_CHARS:,} characters of text and {PICTURES} pictures of "
    f"{SIZE.width}x{SIZE.height}, and what is extracted of it as {EXTRACTED_CHARS:,} characters"
)
_GUESS = "a guess by the form of the reply, reasoning included"
EXTRACTED = TokenRange(low=200, expected=800, high=4_000, source=_GUESS)
FOUND = TokenRange(low=400, expected=1_500, high=8_000, source=_GUESS)
"""Tokens of the replies of an extractor, and of a model that searches the web."""

SEARCHES = (1, 4, 10)
SEARCH_TOKENS = (1_000, 4_000, 8_000)
"""How often such a model searches for an answer, and what each search adds to its input: low, expected, high."""


def searches_usd(card: SearchCard) -> ExtraCost:
    """What the searches of an answer cost: the vendor's fee, and the tokens that they add."""
    fee = 0.0 if card.fee is None else card.fee.usd
    price = 0.0 if card.price is None else card.price.input_usd / 1_000_000
    once = card.fee is not None and card.fee.per == "request"
    usd = [
        fee * (1 if once else times) + times * tokens * price
        for times, tokens in zip(SEARCHES, SEARCH_TOKENS, strict=True)
    ]
    each = "in its reply" if card.fee is None else f"{fee:g} US dollars"
    words = (
        f"counted with {SEARCHES[0]} to {SEARCHES[2]} searches an answer, {SEARCHES[1]} expected, which add "
        f"{SEARCH_TOKENS[0]:,} to {SEARCH_TOKENS[2]:,} tokens each, {SEARCH_TOKENS[1]:,} expected; the vendor's fee is "
        f"{each} for a {'request' if once else 'search'}; a guess, as is a reply's length"
    )
    return ExtraCost(low_usd=usd[0], expected_usd=usd[1], high_usd=usd[2], words=words)


def judged_tokens(items: float) -> TokenRange:
    """Tokens of a judge's reply about so many items: some words on each, the sums, and reasoning."""
    source = f"a guess by the form of the reply for {items:.0f} items, reasoning included"
    return TokenRange(low=30 * items + 50, expected=80 * items + 300, high=200 * items + 3_000, source=source)


class Expected:
    """Pages and products that are not known yet, with evidence of a usual size in a folder that goes with the object.

    ``named`` are the pages that are known, ``read`` the products of which pages are read, ``answered`` the tasks whose
    products are named.
    """

    def __init__(
        self,
        tasks: Mapping[str, CurationTask],
        named: Sequence[CuratedPage],
        read: Collection[str],
        answered: Collection[str],
    ) -> None:
        self._folder = TemporaryDirectory(prefix="grounding-expected-")
        self.evidence = EvidenceFolder(self._folder.name)
        self._page = _usual_page(self.evidence)
        ids = [product_id(name, rank) for name in tasks if name not in answered for rank in range(COUNTED_PRODUCTS)]
        self.pages = tuple(CuratedPage(product_id=one, url=URL) for one in ids)
        price, description = Money(amount=10.0, currency="USD"), self._page.text[:EXTRACTED_CHARS]
        facts = ProductFacts(title="Product", price=price, description=description)
        found = Extraction(step_id="", key="", url="", extractor="", page_class="product", facts=facts)
        self.products: dict[str, JudgedProduct] = {}
        for one in (*named, *self.pages):
            if one.product_id not in read:
                seen = msgspec.structs.replace(found, step_id=one.product_id, url=one.url, page=self.page(one.url))
                checklist = tasks[one.product_id.rpartition("/")[0]].checklist
                self.products[one.product_id] = JudgedProduct(checklist=checklist, extraction=seen)

    def page(self, url: str) -> RenderedPage:
        """The page that is expected at an address."""
        return msgspec.structs.replace(self._page, url=url)


def _usual_page(evidence: EvidenceFolder) -> RenderedPage:
    from PIL import Image

    text = ("word " * PAGE_CHARS)[:PAGE_CHARS]
    html = f"<html><body><h1>Product</h1><p>$10.00</p><button>Add to cart</button><p>{text}</p></body></html>".encode()
    buffer = io.BytesIO()
    Image.new("RGB", (SIZE.width, SIZE.height), "white").save(buffer, "PNG")
    picture = evidence.put(buffer.getvalue(), ".png")
    return RenderedPage(
        url=URL,
        status=200,
        title="Product",
        text=text,
        html_file=evidence.put(gzip.compress(html, mtime=0), ".html.gz"),
        html_sha256=hashlib.sha256(html).hexdigest(),
        segments=tuple(Segment(file=picture, size=SIZE, top_px=SIZE.height * place) for place in range(PICTURES)),
    )
