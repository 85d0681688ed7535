"""The page of a training run as one HTML file: drawings, pictures, style and script inside, nothing from anywhere else.

Everything is there without the script, which only tells the values where the pointer is.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from grounding.report.html.embed import embedded_json, source_hash, static_text
from grounding.training.page.content import ChartData, PageData, TrainingPage
from grounding.training.page.escape import text
from grounding.training.page.gather import gather_training
from grounding.training.page.sections import body

REPORT = "report.html"
_STATIC = Path(__file__).parent / "static"


def render_training(page: TrainingPage) -> str:
    """A page as HTML. Whatever is not of this package stands in it as escaped text, or as JSON."""
    script = "(() => {\n'use strict';\n" + _static("training.js") + "})();"
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
    known = {
        chart.id: ChartData(first=chart.first, last=chart.last, lines=chart.lines)
        for charts in (*((*stage.charts, *stage.more) for stage in page.stages), *(one.charts for one in page.folds))
        for chart in charts
    }
    parts = {
        "policy": policy,
        "title": text(page.title),
        "style": static_text("page.css") + _static("training.css"),
        "body": body(page),
        "data": embedded_json(PageData(charts=known)),
        "script": script,
    }
    # In one pass, so that nothing in a part is taken for a place.
    pieces = _static("training.html").split("@")
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def _static(name: str) -> str:
    return (_STATIC / name).read_text(encoding="utf-8")


def write_training_page(folder: Path) -> Path:
    """Write ``report.html`` into the folder of a training run, whether it is complete, partial, or died.

    Raises:
        UserError: the folder is not that of a training run, or its ``run.json`` is damaged.
        OSError: a file can't be read, or the page can't be written.
    """
    return write_page(gather_training(folder), folder)


def write_page(page: TrainingPage, folder: Path) -> Path:
    """Write a page that was gathered into its run's folder.

    Raises:
        OSError: it can't be written.
    """
    path = folder / REPORT
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        draft.write_text(render_training(page), encoding="utf-8", errors="replace")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def training_page(folder: Path) -> Path | None:
    """The page at the end of a run, or a warning on standard error: what is wrong with it may not cost a run."""
    try:
        return write_training_page(folder)
    except Exception as error:  # noqa: BLE001 - hours of training are stored and must be reported
        said = str(error) or type(error).__name__
        print(f"grounding: warning: no report.html was written: {said}", file=sys.stderr, flush=True)
        return None
