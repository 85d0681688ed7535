"""A chat model that shops in a browser: it reads the outline and its own history, as a model would, and no more.

It searches every shop it is told of, opens the results that have a word of what is wanted, and finishes with the first
three pages that it opened so. It never sees the picture. What it answers depends on the request alone.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urljoin, urlsplit

Json = dict[str, Any]

WANTED = 3
_ELEMENT = re.compile(
    r"""^ *- '?(\w+)(?: ("(?:[^"\\]|\\.)*"))?[^\n]* \[ref=(\w+)\][^\n]*"""
    r"""(?:\n *- /url: "?([^\s"]+))?(?=((?:\n *- [^\n]*)?))""",
    re.MULTILINE,
)
_NAME = re.compile(r'"((?:[^"\\]|\\.)*)"')
_STEP = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)
_SMALL = {"a", "an", "for", "the", "looking", "need", "new", "some", "to", "of", "and", "with", "find", "want", "in"}


def browsing_model(body: Json) -> str:
    """The text of the reply to a request."""
    system, page = _texts(body)
    at = _line(page, r"^Step \d+\. You are at (.*)$")
    steps = [(int(number), done) for number, done in _STEP.findall(_part(page, "What you did so far:"))]
    chosen = _chosen(steps)
    shops = re.findall(r"^- [^:\n]+: (http://\S+)$", system, re.MULTILINE)
    if len(chosen) >= WANTED or "This is your last step" in page:
        return _finish(chosen or [at])
    elements = [
        (number, kind, json.loads(name) if name else _inside(after), link)
        for kind, name, number, link, after in _ELEMENT.findall(page)
    ]
    here = urlsplit(at).netloc
    last = steps[-1][1] if steps else ""
    if last.startswith("type "):
        for number, kind, name, path in elements:
            link = urljoin(at, path) if path else ""
            if kind == "link" and link and link not in chosen and _may_be(name, system):
                return _say("alternative_evaluation", f"{name} may do", "click", element=number)
    field = next((number for number, kind, _, _ in elements if kind in ("textbox", "searchbox")), None)
    since = next((place for place, (_, done) in enumerate(reversed(steps)) if done.startswith("goto ")), len(steps))
    lately = [done for _, done in steps[len(steps) - since :]]
    searches = sum(done.startswith("type ") for done in lately)
    if field is not None and here and searches <= sum(done.startswith("click ") for done in lately):
        return _say("information_seeking", "search here", "type", element=field, text=_wish(system), enter=True)
    consent = next(
        (number for number, kind, name, _ in elements if kind == "button" and "reject" in name.lower()), None
    )
    if consent is not None:
        return _say("information_seeking", "something is in the way", "click", element=consent)
    for shop in shops:
        if not any(f"goto {shop}" in done for _, done in steps):
            return _say("information_seeking", "the next shop", "goto", url=shop)
    return _finish(chosen or [at])


def _inside(line: str) -> str:
    """The name of what stands in an element that has none of its own."""
    named = _NAME.search(line)
    return named[1] if named else line.rpartition(": ")[2].strip()


def _chosen(steps: list[tuple[int, str]]) -> list[str]:
    """The pages that clicks led to."""
    led = [re.search(r"now at (http\S+)", done) for _, done in steps if done.startswith("click ")]
    return list(dict.fromkeys(found[1] for found in led if found))


def _wish(system: str) -> str:
    asked = _line(system, r"^- the user asks: (.*)$") or _line(system, r"^- product type: (.*)$")
    return " ".join(word for word in re.findall(r"[a-z]+", asked.lower()) if word not in _SMALL)


def _may_be(name: str, system: str) -> bool:
    """Whether a link may be a product that is wanted: it has two of the words, or ends with one of them."""
    words = re.findall(r"[a-z]+", name.lower())
    shared = [word for word in words if word.rstrip("s") in _words(_wish(system))]
    return "deal" not in words and len(words) > 1 and (len(shared) > 1 or shared[-1:] == words[-1:])


def _words(text: str) -> set[str]:
    return {word.rstrip("s") for word in re.findall(r"[a-z]+", text.lower())} - _SMALL - {""}


def _say(kind: str, thought: str, action: str, **more: Any) -> str:
    return json.dumps({"thought": thought, "kind": kind, "action": action, **more})


def _finish(urls: list[str]) -> str:
    products = [{"product_name": url.rsplit("/", 1)[-1], "product_url": url, "reasoning": "fits"} for url in urls]
    return _say("purchase_decision", "enough", "finish", products=products[:WANTED])


def _texts(body: Json) -> tuple[str, str]:
    """The rules, and the text beside the picture of the last page."""
    system = body["messages"][0]["content"]
    user = next(message["content"] for message in body["messages"][1:] if message["role"] == "user")
    assert any(part["type"] == "image_url" for part in user), "the page is shown in a picture"
    return system, next(part["text"] for part in user if part["type"] == "text")


def _part(page: str, heading: str) -> str:
    return page.partition(f"\n{heading}\n")[2].partition("\n\n")[0]


def _line(text: str, pattern: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1].strip() if found else ""
