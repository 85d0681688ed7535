"""A chat model that extracts: it really reads the fenced text of the page that it is asked about, and nothing else.

It knows a price, a rating and stock by their words, so what it says follows from the page, also where the page lies::

    with ChatServer(working_out(extraction_model)) as server:
        ...
"""

from __future__ import annotations

import json
import re
from typing import Any

from fakes.chat_server import Json, completion

_FENCED = re.compile(r"PAGE-DATA (?P<mark>\S+) BEGIN\n(?P<text>.*?)\nPAGE-DATA (?P=mark) END", re.DOTALL)
_PRICE = re.compile(r"(?P<sign>[$€£])\s?(?P<before>\d[\d,]*(?:\.\d\d)?)|(?P<after>\d[\d.]*(?:,\d\d)?)\s?€")
_CODES = {"$": "USD", "€": "EUR", "£": "GBP"}


def extraction_model(body: Json) -> Json:
    """The completion for a request about one page."""
    fenced = _FENCED.search(words_of(body))
    return completion(json.dumps(said_of(fenced["text"] if fenced else "")))


def words_of(body: Json) -> str:
    """The text of the last message, whether it came with pictures or not."""
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def said_of(text: str) -> dict[str, Any]:
    """What the model says of a page's text."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    price = _PRICE.search(text)
    if price is None:
        return {"page_class": "other", "class_reason": "no price", "facts": None}
    rating = re.search(r"(\d(?:\.\d)?)\s*(?:out of|/)\s*5", text)
    amount = price["before"].replace(",", "") if price["before"] else price["after"].replace(".", "").replace(",", ".")
    facts = {
        "title": max(lines[:20], key=len),
        "price": {"amount": float(amount), "currency": _CODES[price["sign"] or "€"]},
        "availability": "sold_out" if re.search("sold out", text, re.IGNORECASE) else "in_stock",
        "rating": float(rating[1]) if rating else None,
        "quotes": [{"field": "price", "quote": price[0]}],
    }
    return {"page_class": "product", "class_reason": "it has a price", "facts": facts}
