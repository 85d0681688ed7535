"""The page as one HTML file: its own style and script inside, nothing from anywhere else but pictures beside it."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from grounding.places import cache_dir
from grounding.report.html.content import Page, RunPage
from grounding.report.html.embed import embedded_json, source_hash, static_text
from grounding.report.html.gather import gather, screenshots
from grounding.report.html.pictures import FILES, make_thumbnails, thumbnail_name
from grounding.report.html.plots import draw_diagrams
from grounding.report.html.sweeps import draw_curves, sweep_curves
from grounding.report.html.triage import CHOICES
from grounding.runfolder import RunFolder
from grounding.scorebook import Scored, weigh
from grounding.scoring.scored import join

REPORT = "report.html"
_SCRIPTS = ("dom.js", "state.js", "picture.js", "summary.js", "gallery.js", "detail.js", "triage.js", "main.js")


def render(page: Page) -> str:
    """A page as HTML. Everything that is not of this package stands in it as JSON, which no browser runs."""
    script = "(() => {\n'use strict';\n" + "\n".join(static_text(name) for name in _SCRIPTS) + "})();"
    # The script stands between two line ends, which belong to what the browser hashes.
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{source_hash(chr(10) + script + chr(10))}'",
            "style-src 'unsafe-inline'",
            "img-src 'self' file: data:",
            "media-src file:",
            f"connect-src {chr(39)}self{chr(39)}" if page.token else "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    parts = {
        "policy": policy,
        "title": html.escape(page.title),
        "style": static_text("page.css"),
        "data": embedded_json(page),
        "script": script,
    }
    # In one pass, so that nothing in a part is taken for a place.
    found = []
    for number, piece in enumerate(static_text("page.html").split("@")):
        found.append(parts[piece] if number % 2 else piece)
    return "".join(found)


def page_over(runs: Sequence[RunPage], token: str = "") -> Page:
    """One page over some runs, which says so where their steps are not the same."""
    shown = list(runs)
    if len({run.data for run in runs}) > 1:
        odd = "the runs are over different data: steps of one name need not be the same"
        shown[0] = msgspec.structs.replace(runs[0], warnings=(*runs[0].warnings, odd))
    title = " and ".join(dict.fromkeys(run.name for run in runs))
    return Page(title=title, runs=tuple(shown), labels=CHOICES, token=token)


def write_report(scored: Scored) -> Path:
    """Write ``report.html`` and its pictures into the folder of a run that was just scored.

    Raises:
        UserError: a file of the run is damaged.
        OSError: the page can't be written.
    """
    return write_page([scored], scored.folder / REPORT)


def write_page(runs: Sequence[Scored], path: Path) -> Path:
    """Write a page over one or several runs; its pictures go into ``report_files`` beside it.

    Raises:
        UserError: a file of a run is damaged.
        OSError: the page can't be written.
    """
    found = []
    for scored in runs:
        sessions = RunFolder(scored.folder).read_sessions()
        shots = screenshots(sessions)
        cache = cache_dir()
        small = make_thumbnails(shots, path.parent / FILES, None if cache is None else cache / "thumbnails")
        addresses = {
            shot.sha256: (
                f"{FILES}/{thumbnail_name(shot.sha256)}" if shot.sha256 in small.made else "",
                Path(shot.path).resolve().as_uri(),
            )
            for shot in shots
        }
        tasks = [task for session in join(sessions, scored.verdicts) for task in session.tasks]
        found.append(
            gather(
                scored.folder,
                scored=scored,
                addresses=addresses,
                diagrams=(
                    *draw_diagrams(tasks, independent=scored.summary.independent),
                    *draw_curves(sweep_curves(scored.folder)),
                ),
                extra_warnings=_few(small.problems),
                recordings=True,
            )
        )
    page = page_over(found)
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        draft.write_text(render(page), encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def weigh_path(path: Path) -> Scored:
    """A run's scores from its stored answers; nothing is written.

    Raises:
        UserError: there is no run in the folder, or it is damaged.
    """
    return weigh(RunFolder(path))


def _few(problems: Sequence[str], most: int = 3) -> tuple[str, ...]:
    more = (f"{len(problems) - most} more screenshots have no picture",) if len(problems) > most else ()
    return (*problems[:most], *more)
