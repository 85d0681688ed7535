"""The data that a page carries for machines: JSON-LD, microdata and OpenGraph, out of its HTML and bounded.

Nothing is executed and nothing is fetched: contexts of JSON-LD stay names, and RDFa, which would need a processor that
follows them, is left out. A block that can't be read is dropped; the others stay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from grounding.webagents.agenticshop.records import StructuredData

MAX_HTML_CHARS = 8_000_000
"""More of a page is not looked at."""
MAX_BLOCKS = 60
"""Blocks of one kind that are kept."""
MAX_SCRIPT_CHARS = 500_000
"""A longer script of JSON-LD is dropped: cut JSON can't be read."""
MAX_BLOCK_CHARS = 200_000
"""Characters of JSON of one block; a longer one is dropped."""
MAX_TOTAL_CHARS = 1_000_000
"""Characters of JSON of all blocks of a page."""
MAX_MICRODATA_NODES = 3_000
"""Elements with ``itemprop``: a page with more is not read for microdata, whose cost grows with their nesting."""
MAX_TEXT_CHARS = 20_000
MAX_ITEMS = 500
MAX_DEPTH = 24

Source = Literal["json-ld", "microdata", "opengraph"]
_INTEGER = 2**63


def structured_data(html: str, url: str) -> tuple[StructuredData, ...]:
    """All blocks of a page: JSON-LD in the page's order, then microdata, then OpenGraph.

    Args:
        html: The document, as a browser holds it after its scripts.
        url: Where it is, for the addresses in it that are relative.
    """
    import lxml.etree
    import lxml.html

    if not html.strip():
        return ()
    parser = lxml.html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=True)
    try:
        document = lxml.html.document_fromstring(encoded(html[:MAX_HTML_CHARS]), parser=parser)
    except (lxml.etree.ParserError, ValueError):
        return ()
    blocks: list[StructuredData] = []
    left = MAX_TOTAL_CHARS
    of_kinds: tuple[tuple[Source, Iterator[Any]], ...] = (
        ("json-ld", _json_ld(document)),
        ("microdata", _microdata(document, url)),
        ("opengraph", _opengraph(document)),
    )
    for source, found in of_kinds:
        kept = 0
        for item in found:
            text = msgspec.json.encode(_bounded(item)).decode()
            if len(text) > min(left, MAX_BLOCK_CHARS):
                continue
            blocks.append(StructuredData(source=source, json=text))
            left -= len(text)
            kept += 1
            if kept >= MAX_BLOCKS:
                break
    return tuple(blocks)


def encoded(html: str) -> bytes:
    """A page as bytes that a parser takes: NUL and lone surrogates, which no document may hold, become U+FFFD."""
    return html.replace("\0", "\ufffd").encode("utf-8", "replace")


def _json_ld(document: Any) -> Iterator[Any]:
    from extruct.jsonld import JsonLdExtractor

    extractor = JsonLdExtractor()
    for script in document.iter("script"):
        kind = (script.get("type") or "").partition(";")[0].strip().lower()
        if kind != "application/ld+json" or len(script.text or "") > MAX_SCRIPT_CHARS:
            continue
        # The library asks for this very word, and a page may say it with a charset or in capitals.
        script.set("type", "application/ld+json")
        try:
            # One script at a time, so that a broken one takes no other with it.
            yield from extractor.extract_items(script)
        except (ValueError, RecursionError):
            continue


def _microdata(document: Any, url: str) -> Iterator[Any]:
    from extruct.w3cmicrodata import MicrodataExtractor

    if len(document.xpath(f"(//*[@itemprop])[position() <= {MAX_MICRODATA_NODES + 1}]")) > MAX_MICRODATA_NODES:
        return
    try:
        items = MicrodataExtractor().extract_items(document, url)
    except (ValueError, RecursionError, AssertionError):
        return
    # An element that only names a scope, without a type, says nothing that could be used.
    yield from (item for item in items if isinstance(item, dict) and item.get("type"))


def _opengraph(document: Any) -> Iterator[Any]:
    from extruct.opengraph import OpenGraphExtractor

    if document.find("head") is None:
        return
    for item in OpenGraphExtractor().extract_items(document):
        yield {"properties": [list(pair) for pair in item["properties"]]}


def _bounded(value: Any, depth: int = 0) -> Any:
    """A value as JSON takes it: not endless, not deep, no NaN, no number beyond 64 bits."""
    match value:
        case bool() | None:
            return value
        case str():
            return value[:MAX_TEXT_CHARS].encode("utf-8", "replace").decode()
        case int():
            return value if abs(value) < _INTEGER else str(value)[:40]
        case float():
            return value if math.isfinite(value) else None
        case list() | tuple() if depth < MAX_DEPTH:
            return [_bounded(one, depth + 1) for one in value[:MAX_ITEMS]]
        case dict() if depth < MAX_DEPTH:
            named = list(value.items())[:MAX_ITEMS]
            return {
                str(name)[:200].encode("utf-8", "replace").decode(): _bounded(one, depth + 1) for name, one in named
            }
    return None
