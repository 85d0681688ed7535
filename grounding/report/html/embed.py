"""Text into HTML, so that nothing that a model or a data set says can be anything but text."""

from __future__ import annotations

import base64
import hashlib
import html
from pathlib import Path

import msgspec

_ESCAPED = (
    (b"&", b"\\u0026"),
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


def embedded_json(content: object) -> str:
    r"""Records as JSON that can stand in a ``<script type="application/json">``: no tag can begin or end in it.

    In JSON these characters stand only inside of strings, where an escape means the same.

    >>> from grounding.report.html.content import Fact
    >>> embedded_json(Fact(name="reply", text="</script><b>"))
    '{"name":"reply","text":"\\u003c/script\\u003e\\u003cb\\u003e"}'
    """
    text = msgspec.json.encode(content)
    for character, escaped in _ESCAPED:
        text = text.replace(character, escaped)
    return text.decode()


def page_html(body: str, *, title: str, style: str, script: str, data: str, sources: str = "", **more: str) -> str:
    """A page of its own style and script. What is not of this package stands in it as JSON, which no browser runs.

    ``data`` is from :func:`embedded_json`, ``title`` plain text, ``style`` what the page has beyond the style sheet of
    all pages, ``sources`` the policy's line of what may be loaded, ``more`` what stands in ``body`` at ``@name@``.
    """
    script = "\n(() => {\n'use strict';\n" + script + "})();\n"
    known = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = ["default-src 'none'", f"script-src 'sha256-{known}'", "style-src 'unsafe-inline'"]
    policy += [*([sources] if sources else []), "base-uri 'none'", "form-action 'none'"]
    parts = {**more, "policy": "; ".join(policy), "title": html.escape(title), "data": data, "script": script}
    parts["style"] = static_text("base.css") + style
    # In one pass over the package's own text, so that nothing in a part is taken for a place.
    pieces = static_text("frame.html").replace("@body@", body).split("@")
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def static_text(name: str) -> str:
    return (Path(__file__).parent / "static" / name).read_text(encoding="utf-8")
