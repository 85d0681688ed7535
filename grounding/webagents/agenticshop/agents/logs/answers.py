"""Which products an agent's last words name. Pure functions.

In this order: JSON in the release's form, as a prompt may have asked for; addresses in the words, as links of Markdown
or bare; and where there are none, the last page that the agent looked at and whose address looks like a product's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from grounding.records import Failure
from grounding.webagents.agenticshop.agents.base import MAX_PRODUCTS
from grounding.webagents.agenticshop.agents.search.reading import read_products
from grounding.webagents.agenticshop.records import Curated

MAX_TEXT_CHARS = 200_000

_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\(\s*<?(https?://[^\s<>]{1,2000}?)>?(?:\s+\"[^\"\n]{0,200}\")?\s*\)")
_BARE = re.compile(r"https?://[^\s<>\"'`\[\]{}|\\^]{3,2000}", re.IGNORECASE)
_TAIL = ".,;:!?*_~\u2026\u3002"
_LIST_MARK = re.compile(r"^\s*(?:[-*\u2022]|\d{1,3}[.)])\s*")
_PRODUCT_PATH = re.compile(
    r"/(?:dp|gp/product|gp/aw/d|p|ip|pd|pdp|prd|itm|item|items|product|products|produkt|produkte|listing|sku|buy|shop/p)"
    r"/[^/?#]+|/shop/[^/?#]+/[^/?#]+$|/[^/?#]+/[^/?#.-]+(?:-[^/?#.-]+)+\.html?$|/[^/?#]+-(?:p|i|pid|sku)?-?\d{4,}(?:\.html?)?$|/[^/?#]+\.p(?:hp)?\d*$|/\d{5,}(?:\.html?|\.p)?$",
    re.IGNORECASE,
)
_SEARCH_PATH = re.compile(
    r"/(?:s|search|results?|category|categories|collections?|browse|c|b|cart|checkout|help|login|signin|account)(?:/|$)",
    re.IGNORECASE,
)


def named_products(text: str) -> tuple[Curated, ...]:
    """The products that a text names, in its order; none where it holds neither JSON nor an address."""
    text = text[:MAX_TEXT_CHARS]
    found = read_products(text)
    if not isinstance(found, Failure):
        return found
    products: dict[str, Curated] = {}
    for line in text.splitlines():
        for url, name in _addresses(line):
            if url not in products and len(products) < MAX_PRODUCTS:
                reasoning = " ".join(_LIST_MARK.sub("", line).split())
                products[url] = Curated(rank=len(products), url=url, name=name, reasoning=reasoning)
    pages = [one for one in products.values() if not _is_front_page(one.url)] or list(products.values())
    return tuple(
        Curated(rank=rank, url=one.url, name=one.name, reasoning=one.reasoning) for rank, one in enumerate(pages)
    )


def last_product_page(urls: Iterable[str]) -> tuple[Curated, ...]:
    """The last address that looks like a product's page, as the only product; none where no address does."""
    for url in reversed(list(urls)):
        if looks_like_product(url):
            return (Curated(rank=0, url=url),)
    return ()


def chosen_products(text: str, urls: Sequence[str]) -> tuple[tuple[Curated, ...], str]:
    """The products of an agent's last words, else the last product page that it saw; and which of the two it was.

    Args:
        text: The last words; "" where the log has none.
        urls: The addresses of the pages that it looked at, in order; "" where an address is not known.
    """
    if named := named_products(text):
        return named, "answered"
    visited = last_product_page(urls)
    if visited:
        return (
            visited,
            "no address in the answer: the last product page" if text else "no answer: the last product page",
        )
    return (), "no address in the answer" if text else "no answer"


def looks_like_product(url: str) -> bool:
    """Whether an address looks like that of one product's page; a guess from its path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return False
    return bool(_PRODUCT_PATH.search(parts.path)) and not _SEARCH_PATH.search(parts.path)


def _addresses(line: str) -> list[tuple[str, str]]:
    """The addresses of a line with what each is called."""
    found = [(match.start(), match[2].rstrip(_TAIL), " ".join(match[1].split())) for match in _LINK.finditer(line)]
    bare = _LINK.sub(lambda match: " " * len(match[0]), line)
    for match in _BARE.finditer(bare):
        url = _trimmed(match[0])
        before = _LIST_MARK.sub("", bare[: match.start()])
        found.append((match.start(), url, " ".join(before.split()).strip("*:-\u2013\u2014( ")[:300]))
    return [(url, name) for _, url, name in sorted(found)]


def _trimmed(url: str) -> str:
    """An address without the marks that end the sentence or the brackets around it."""
    url = url.rstrip(_TAIL)
    while url.endswith(")") and url.count(")") > url.count("("):
        url = url[:-1].rstrip(_TAIL)
    return url


def _is_front_page(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.path in ("", "/") and not parts.query
