"""The page as one HTML file: its own style and script inside, nothing from anywhere else but pictures beside it."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from grounding.places import cache_dir
from grounding.records import Screenshot
from grounding.report.html.chunks import StepFiles, StepWriter, drop_all
from grounding.report.html.content import Page, RunPage
from grounding.report.html.embed import embedded_json, source_hash, static_text
from grounding.report.html.gather import frame_of, gather, screenshots, version_of
from grounding.report.html.pictures import FILES, Thumbnails, make_thumbnails, thumbnail_name
from grounding.report.html.plots import draw_diagrams, draw_measured
from grounding.report.html.size import lie_beside
from grounding.report.html.steplines import StepLines
from grounding.report.html.streamed import address_of, stream
from grounding.report.html.sweeps import draw_curves, sweep_curves
from grounding.report.html.triage import CHOICES
from grounding.runfolder import RunFolder
from grounding.scorebook import Scored, weigh
from grounding.scoring.scored import join

REPORT = "report.html"
_SHARED = ("picture.js", "summary.js", "gallery.js", "detail.js", "triage.js", "main.js")
_SCRIPTS = ("dom.js", "state.js", "tall.js", "embedded.js", "strips.js", *_SHARED)
_SCRIPTS_BESIDE = ("dom.js", "state.js", "tall.js", "beside.js", "hunt.js", "manystrips.js", *_SHARED)
"""The scripts of a page that holds its steps, and of one whose steps lie beside it."""

MOST_SMALL_PICTURES = 2_000
"""Screenshots of a large run that have a small picture; some 50 MB, and a minute or two where none is in the cache."""


def render(page: Page) -> str:
    """A page as HTML. Everything that is not of this package stands in it as JSON, which no browser runs."""
    beside = any(run.beside is not None for run in page.runs)
    scripts = _SCRIPTS_BESIDE if beside else _SCRIPTS
    script = "(() => {\n'use strict';\n" + "\n".join(static_text(name) for name in scripts) + "})();"
    # 'strict-dynamic': only what this very script loads may run besides it, wherever the page was opened from.
    loading = " 'strict-dynamic'" if beside else ""
    # The script stands between two line ends, which belong to what the browser hashes.
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{source_hash(chr(10) + script + chr(10))}'{loading}",
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
        "style": static_text("page.css") + (static_text("beside.css") if beside else ""),
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

    The steps of large runs (:mod:`grounding.report.html.size`) go there, too, and are loaded when they are looked at.

    Raises:
        UserError: a file of a run is damaged.
        OSError: the page can't be written.
    """
    if lie_beside([scored.folder for scored in runs]):
        files = StepFiles(path, path.parent / FILES)
        with ExitStack() as undone:
            undone.callback(files.drop)
            _replace(path, page_over([_large(one, path, files.run(at)) for at, one in enumerate(runs)]))
            undone.pop_all()
        files.drop_older()
        return path
    _replace(path, page_over([_small(scored, path) for scored in runs]))
    drop_all(path, path.parent / FILES)
    return path


def _replace(path: Path, page: Page) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        draft.write_text(render(page), encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _small(scored: Scored, path: Path) -> RunPage:
    """A run whose steps stand in the page."""
    sessions = RunFolder(scored.folder).read_sessions()
    shots = screenshots(sessions)
    small = _pictures(shots, path)
    tasks = [task for session in join(sessions, scored.verdicts) for task in session.tasks]
    return gather(
        scored.folder,
        scored=scored,
        addresses={
            shot.sha256: (_thumb(shot) if shot.sha256 in small.made else "", Path(shot.path).resolve().as_uri())
            for shot in shots
        },
        diagrams=(
            *draw_diagrams(tasks, independent=scored.summary.independent),
            *draw_curves(sweep_curves(scored.folder)),
        ),
        extra_warnings=_few(small.problems),
        recordings=True,
    )


def _large(scored: Scored, path: Path, writer: StepWriter) -> RunPage:
    """A run whose steps lie beside the page."""
    version = version_of(scored.folder)
    steps = StepLines(scored.folder / "steps.jsonl", MOST_SMALL_PICTURES)
    small = _pictures(steps.shots, path)
    thumbs = {shot.sha256: _thumb(shot) for shot in steps.shots if shot.sha256 in small.made}
    found = stream(scored, steps, writer, lambda shot: (thumbs.get(shot.sha256, ""), address_of(shot.path)))
    beyond = steps.shot_count - len(steps.shots)
    left_out = (
        f"only the first {len(steps.shots):,} of {steps.shot_count:,} screenshots have a small picture in the list; "
        "a chosen step shows its screenshot itself",
    )
    return msgspec.structs.replace(
        frame_of(
            scored.folder,
            scored,
            version=version,
            diagrams=(
                *draw_measured(found.measured, independent=scored.summary.independent),
                *draw_curves(sweep_curves(scored.folder)),
            ),
            extra_warnings=(*_few(small.problems), *(left_out if beyond else ())),
        ),
        beside=found.beside,
    )


def _pictures(shots: Sequence[Screenshot], path: Path) -> Thumbnails:
    cache = cache_dir()
    return make_thumbnails(shots, path.parent / FILES, None if cache is None else cache / "thumbnails")


def _thumb(shot: Screenshot) -> str:
    return f"{FILES}/{thumbnail_name(shot.sha256)}"


def weigh_path(path: Path) -> Scored:
    """A run's scores from its stored answers; nothing is written.

    Raises:
        UserError: there is no run in the folder, or it is damaged.
    """
    return weigh(RunFolder(path))


def _few(problems: Sequence[str], most: int = 3) -> tuple[str, ...]:
    more = (f"{len(problems) - most} more screenshots have no picture",) if len(problems) > most else ()
    return (*problems[:most], *more)
