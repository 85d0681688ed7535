"""The page as one HTML file: its own style and script inside, nothing from anywhere else."""

from __future__ import annotations

import html
import os
import sys
from pathlib import Path

from grounding.report.html.embed import embedded_json, source_hash, static_text
from grounding.webagents.personalwab.page.content import ShopPage
from grounding.webagents.personalwab.page.gather import gather_shop
from grounding.webagents.personalwab.scorebook import ShopScored

REPORT = "report.html"
_STATIC = Path(__file__).parent / "static"


def render_shop(page: ShopPage) -> str:
    """A page as HTML. Everything that is not of this package stands in it as JSON, which no browser runs."""
    own = (_STATIC / "shop.js").read_text(encoding="utf-8")
    script = "(() => {\n'use strict';\n" + static_text("dom.js") + "\n" + own + "})();"
    policy = "; ".join(
        (
            "default-src 'none'",
            # The script stands between two line ends, which belong to what the browser hashes.
            f"script-src '{source_hash(chr(10) + script + chr(10))}'",
            "style-src 'unsafe-inline'",
            "img-src data:",
            "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    parts = {
        "policy": policy,
        "title": html.escape(page.title),
        "style": static_text("page.css") + (_STATIC / "shop.css").read_text(encoding="utf-8"),
        "data": embedded_json(page),
        "script": script,
    }
    # In one pass, so that nothing in a part is taken for a place.
    pieces = (_STATIC / "shop.html").read_text(encoding="utf-8").split("@")
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def write_shop_page(scored: ShopScored) -> Path:
    """Write ``report.html`` into the folder of a run that was just scored.

    Raises:
        UserError: a file of the run is damaged.
        OSError: the page can't be written.
    """
    path = scored.folder / REPORT
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        draft.write_text(render_shop(gather_shop(scored)), encoding="utf-8", errors="replace")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def shop_page(scored: ShopScored) -> Path | None:
    """The page at the end of a run, or a warning on standard error: what is wrong with it may not cost a run."""
    try:
        return write_shop_page(scored)
    except Exception as error:  # noqa: BLE001 - answers that were paid for are scored and stored: they must be shown
        said = str(error) or type(error).__name__
        print(f"grounding: warning: no report.html was written: {said}", file=sys.stderr, flush=True)
        return None
