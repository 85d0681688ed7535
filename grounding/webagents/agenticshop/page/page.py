"""The page as one HTML file: its own style and script inside, nothing from anywhere else but pictures beside it.

The JSON of each task and each small picture are blocks of their own, which are read only when they are looked at.
"""

from __future__ import annotations

import html
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NotRequired, TypedDict, Unpack

import msgspec

from grounding.places import cache_dir
from grounding.report.html.content import Fact
from grounding.report.html.embed import embedded_json, source_hash, static_text
from grounding.webagents.agenticshop.page.content import CurationPage, SummaryTable
from grounding.webagents.agenticshop.page.gather import gather_curation
from grounding.webagents.agenticshop.page.pictures import BUDGET_BYTES, make_pictures, picture_order
from grounding.webagents.agenticshop.page.words import EVIDENCE
from grounding.webagents.agenticshop.records import Curation, CurationTask, Extraction, Judgement

REPORT = "report.html"
_STATIC = Path(__file__).parent / "static"
_PICTURE = re.compile(r"data:image/(webp|png|jpeg);base64,[A-Za-z0-9+/]+={0,2}")
_SCRIPTS = ("state.js", "evidence.js", "detail.js", "gallery.js", "labels.js", "labelling.js", "main.js")


def render_curation(page: CurationPage) -> str:
    """A page as HTML. Everything that is not of this package stands in it as JSON, which no browser runs.

    Raises:
        ValueError: one of its pictures is no data URL of a picture.
    """
    own = "\n".join((_STATIC / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    script = "(() => {\n'use strict';\n" + static_text("dom.js") + "\n" + own + "})();"
    policy = "; ".join(
        (
            "default-src 'none'",
            # The script stands between two line ends, which belong to what the browser hashes.
            f"script-src '{source_hash(chr(10) + script + chr(10))}'",
            "style-src 'unsafe-inline'",
            "img-src 'self' file: data:",
            "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    details = "\n".join(
        f'<script type="application/json" id="task-{number}">{embedded_json(one)}</script>'
        for number, one in enumerate(page.details)
    )
    pictures = "\n".join(
        f'<script type="text/plain" id="picture-{number}">{_picture(url)}</script>'
        for number, url in enumerate(page.pictures)
    )
    parts = {
        "policy": policy,
        "title": html.escape(page.title),
        "style": static_text("page.css") + (_STATIC / "curation.css").read_text(encoding="utf-8"),
        "data": embedded_json(msgspec.structs.replace(page, details=(), pictures=())),
        "details": f"{details}\n{pictures}",
        "script": script,
    }
    # In one pass, so that nothing in a part is taken for a place.
    pieces = (_STATIC / "curation.html").read_text(encoding="utf-8").split("@")
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def _picture(url: str) -> str:
    if _PICTURE.fullmatch(url) is None:
        raise ValueError(f"expected a picture as a data URL, got {url[:40]!r}")
    return url


class PageParts(TypedDict):
    """The arguments of `gather_curation` that a run has: all but the small pictures, which are made here."""

    title: str
    status: str
    run_id: str
    signature: str
    facts: Sequence[Fact]
    tables: Sequence[SummaryTable]
    tasks: Sequence[CurationTask]
    curations: Iterable[Curation]
    extractions: Sequence[Extraction]
    judgements: Sequence[Judgement]
    errors: NotRequired[Mapping[str, Sequence[str]]]


def write_curation_page(folder: Path, *, budget_bytes: int = BUDGET_BYTES, **parts: Unpack[PageParts]) -> Path:
    """Write ``report.html`` into the folder of a run, with small pictures made of its evidence.

    Args:
        folder: The run's folder; its evidence lies in ``evidence``.
        budget_bytes: What the small pictures may take; segments beyond it are shown from the folder of evidence.
        parts: See `gather_curation`.

    Raises:
        OSError: the page can't be written.
    """
    cache = cache_dir()
    made = make_pictures(
        picture_order(parts["extractions"], parts["judgements"]),
        lambda name: (folder / EVIDENCE / name).read_bytes(),
        budget_bytes=budget_bytes,
        cache=None if cache is None else cache / "segments",
    )
    if made.problems:
        few = "; ".join(made.problems[:3]) + (f"; {len(made.problems) - 3} more" if len(made.problems) > 3 else "")
        parts["facts"] = [*parts["facts"], Fact(name="no small picture", text=few)]
    page = gather_curation(**parts, pictures=made.urls)
    path = folder / REPORT
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        draft.write_text(render_curation(page), encoding="utf-8", errors="replace")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def curation_page(folder: Path, **parts: Unpack[PageParts]) -> Path | None:
    """The page at the end of a run, or a warning on standard error: what is wrong with it may not cost a run."""
    try:
        return write_curation_page(folder, **parts)
    except Exception as error:  # noqa: BLE001 - answers that were paid for are scored and stored: they must be shown
        said = str(error) or type(error).__name__
        print(f"grounding: warning: no report.html was written: {said}", file=sys.stderr, flush=True)
        return None
