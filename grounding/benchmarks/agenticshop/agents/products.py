"""The products that a text or a JSON of any shape names, and the readers of such JSON. Pure.

What a model wrote as an address is kept as it stands, right or wrong.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

import msgspec

from grounding.benchmarks.agenticshop.agents.base import MAX_PRODUCTS
from grounding.benchmarks.agenticshop.records import Curated
from grounding.benchmarks.calls import json_values
from grounding.records import Failure


def decoded(content: bytes | str) -> Any:
    """What a whole JSON says; None for anything else."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def at(value: Any, *names: str) -> Any:
    """What stands under names within names; None where there is nothing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text(value: Any, *names: str) -> str:
    """The text there, "" for anything else."""
    found = at(value, *names)
    return found if isinstance(found, str) else ""


def count(value: Any, *names: str) -> int:
    """The number there, 0 for anything else."""
    found = at(value, *names)
    return int(found) if isinstance(found, int | float) and not isinstance(found, bool) else 0


def each(value: Any, *names: str) -> list[dict[str, Any]]:
    """The objects of the list there."""
    found = at(value, *names)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


# --- products ---------------------------------------------------------------------------------------------------------

MAX_TEXT_CHARS = 200_000
_CITATION = re.compile("\ue200[^\ue201]{0,200}\ue201")
"""What OpenAI leaves in the text of a reply with a schema, between characters of private use."""

_NAMES = ("search_results", "products", "results")
_ADDRESS = re.compile(
    r"\[([^\[\]\n]{1,300})\]\(\s*<?(https?://[^\s<>()]{3,2000})[^)\n]{0,200}\)"
    r"|(https?://[^\s<>\"'`\[\]{}|\\^]{3,2000})",
    re.IGNORECASE,
)
_LIST_MARK = re.compile(r"^\s*(?:[-*\u2022]|\d{1,3}[.)])\s*")
_TAIL = ".,;:!?*_~\u2026\u3002"


def read_products(said: str) -> tuple[Curated, ...] | Failure:
    """The products of the last JSON in a reply that names any, in its order; else why there are none."""
    values = json_values(said)
    found = next((products for value in reversed(values) if (products := products_of(value))), ())
    if found:
        return found
    why = "the JSON of the reply names no product" if values else "the reply holds no JSON"
    return Failure(kind="unparsed", message=f"{why}: {said.strip()[:120]!r}")


def products_of(value: Any) -> tuple[Curated, ...]:
    """The products of a JSON in the release's form, or in one much like it."""
    if isinstance(value, dict):
        value = next((value[name] for name in _NAMES if isinstance(value.get(name), list)), [value])
    named = [(one, url) for one in each(value) if (url := text(one, "product_url").strip())]
    return tuple(
        Curated(rank=rank, url=url, name=_words(one, "product_name"), reasoning=_words(one, "reasoning"))
        for rank, (one, url) in enumerate(named[:MAX_PRODUCTS])
    )


def _words(one: dict[str, Any], name: str) -> str:
    return " ".join(_CITATION.sub("", text(one, name)).split())


def named_products(said: str) -> tuple[Curated, ...]:
    """The products that a text names, in its order: JSON in the release's form, else addresses in the words.

    An address is called what its link of Markdown says, else what stands before it on its line.
    """
    said = said[:MAX_TEXT_CHARS]
    read = read_products(said)
    if not isinstance(read, Failure):
        return read
    found: dict[str, tuple[str, str]] = {}
    for line in said.splitlines():
        end, whole = 0, " ".join(_LIST_MARK.sub("", line).split())
        for match in _ADDRESS.finditer(line):
            url = (match[2] or match[3]).rstrip(_TAIL)
            url = url.rstrip(")" + _TAIL) if "(" not in url else url
            before = _LIST_MARK.sub("", line[end : match.start()])
            name = match[1] or before.strip().strip("*:-\u2013\u2014( ")
            end = match.end()
            if _path(url) is not None:
                found.setdefault(url, (" ".join(name.split())[:300], whole))
    # A shop's first page is a product only where nothing else is named.
    pages = [url for url in found if _path(url)] or list(found)
    return tuple(
        Curated(rank=rank, url=url, name=found[url][0], reasoning=found[url][1])
        for rank, url in enumerate(pages[:MAX_PRODUCTS])
    )


def _path(url: str) -> str | None:
    """What an address has behind its host; None where it names none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return parts.path.strip("/") + parts.query if parts.netloc else None
