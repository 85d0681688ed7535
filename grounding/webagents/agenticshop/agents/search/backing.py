"""Which products of a search-augmented model rest on a page that its search brought. Pure functions.

A model can write an address that no search ever brought. Here it is told apart, never corrected.
"""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import parse_qsl, urlencode, urlsplit

from grounding.webagents.agenticshop.agents.search.trace import CITE
from grounding.webagents.agenticshop.records import Curation, TraceStep

Backing = Literal["cited", "found", "site", "none"]
"""``cited``: the text cites the page itself. ``found``: a search brought it, or the model opened it. ``site``: only
another page of its site, or a redirect of which only the site is known. ``none``: nothing of all that."""

REDIRECTS = ("vertexaisearch.cloud.google.com",)
"""Hosts through which a vendor leads to its sources; where to is known only to who follows."""

_SITE = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+", re.ASCII)


def backing(curation: Curation) -> tuple[Backing, ...]:
    """How each product of a curation is backed, in order."""
    cited: set[str] = set()
    found: set[str] = set()
    sites: set[str] = set()
    for step in curation.trace:
        urls = [*step.cited_urls, *([step.url] if step.url else [])]
        same = {comparable(url) for url in urls}
        (cited if step.action == CITE else found).update(same)
        sites |= {site_of(url) for url in urls if site_of(url) not in REDIRECTS}
        sites |= _named_sites(step)
    sites.discard("")

    def of(url: str) -> Backing:
        if comparable(url) in cited:
            return "cited"
        if comparable(url) in found:
            return "found"
        return "site" if site_of(url) in sites else "none"

    return tuple(of(product.url) for product in curation.products)


def comparable(url: str) -> str:
    """An address without what does not lead elsewhere: letter case of the host, fragment, tracking, last slash."""
    try:
        parts = urlsplit(url.strip())
        port = f":{parts.port}" if parts.port is not None else ""
    except ValueError:
        return url.strip()
    kept = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name[:4] != "utm_"]
    query = f"?{urlencode(kept)}" if kept else ""
    return f"{parts.scheme.lower()}://{(parts.hostname or '').lower()}{port}{parts.path.rstrip('/')}{query}"


def site_of(url: str) -> str:
    """The host of an address, without ``www.``; "" where it has none."""
    try:
        return (urlsplit(url.strip()).hostname or "").lower().removeprefix("www.")
    except ValueError:
        return ""


def _named_sites(step: TraceStep) -> set[str]:
    """Sites behind redirects: there, a vendor's title of a page is the site's name, which the step's words hold."""
    if not any(site_of(url) in REDIRECTS for url in step.cited_urls):
        return set()
    lines = [line.strip().lower() for line in step.observation.splitlines()]
    return {line.removeprefix("www.") for line in lines if _SITE.fullmatch(line)}
