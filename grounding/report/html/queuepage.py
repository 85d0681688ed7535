"""The page over several runs as one HTML file: its own style and script inside, nothing from anywhere else."""

from __future__ import annotations

import html
import os
from pathlib import Path
from urllib.parse import quote

from grounding.report.html.embed import embedded_json, source_hash, static_text
from grounding.report.html.queuecontent import QueuePage
from grounding.report.html.queuegather import QueueWatch

_SCRIPTS = ("dom.js", "queuewords.js", "queuetable.js", "queue.js")


def render_queue(page: QueuePage) -> str:
    """A page as HTML. Everything that is not of this package stands in it as JSON, which no browser runs."""
    script = "(() => {\n'use strict';\n" + "\n".join(static_text(name) for name in _SCRIPTS) + "})();"
    # The script stands between two line ends, which belong to what the browser hashes.
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{source_hash(chr(10) + script + chr(10))}'",
            "style-src 'unsafe-inline'",
            "img-src data:",
            "connect-src 'self'" if page.is_live else "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    parts = {
        "policy": policy,
        "title": html.escape(page.title),
        "style": static_text("queue.css"),
        "data": embedded_json(page),
        "script": script,
    }
    # In one pass, so that nothing in a part is taken for a place.
    pieces = static_text("queue.html").split("@")
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def write_queue_page(folder: Path, path: Path) -> Path:
    """Write a page over all runs of a folder as they stand; it links to the pages that lie in the runs' folders.

    Raises:
        UserError: there are no runs, or the queue is damaged.
        OSError: the page can't be written.
    """

    def link(_: int, run: Path) -> str:
        report = run / "report.html"
        return quote(os.path.relpath(report, path.parent).replace(os.sep, "/")) if report.exists() else ""

    page = QueueWatch(folder).page(link=link, is_live=False)
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        draft.write_text(render_queue(page), encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path
