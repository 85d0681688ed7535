"""Small things in words: cut texts, safe links, what something took, why there is nothing."""

from __future__ import annotations

from urllib.parse import urlsplit

from grounding.money import dollars
from grounding.records import Call, Failure
from grounding.webagents.agenticshop.page.content import MOST_TEXT

EVIDENCE = "evidence"
"""The folder of evidence, as seen from the page."""

_LONGEST_LINK = 2_000


def cut(text: str, most: int) -> str:
    """A text of at most so many characters, and how many were left out."""
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most:,} characters more)"


def link_of(url: str) -> str:
    """An address that a person may open with a click: http or https, with a host; "" for all others.

    >>> link_of("https://shop.test/a"), link_of("javascript:alert(1)"), link_of("shop.test")
    ('https://shop.test/a', '', '')
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    fit = parts.scheme in ("http", "https") and parts.netloc and len(url) <= _LONGEST_LINK and url.isprintable()
    return url if fit else ""


def took_text(seconds: float, requests: int, call: Call | None) -> str:
    """Time, requests, tokens and money in words; "" where nothing is known of them."""
    time_s = seconds or (0.0 if call is None else call.seconds)
    parts = [f"{time_s:.1f} s"] if time_s else []
    if requests:
        parts.append(f"{requests} request{'' if requests == 1 else 's'}")
    if call is not None and call.usage is not None:
        parts.append(f"{call.usage.input_tokens:,} tokens in, {call.usage.output_tokens:,} out")
    if call is not None and call.cost_usd is not None:
        parts.append(dollars(call.cost_usd))
    return " · ".join(parts)


def failure_text(failure: Failure | None) -> str:
    """A failure in words, "" where there is none."""
    return "" if failure is None else cut(f"{failure.kind}: {failure.message}", MOST_TEXT)
