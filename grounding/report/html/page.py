"""The page of runs as one HTML file: its own style and script inside, nothing from anywhere but files beside it."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from grounding.atomic import atomic_write
from grounding.report.html.comparison import paired_tables
from grounding.report.html.content import (
    Fact,
    PageContent,
    RunPage,
    SummaryTable,
    embedded_json,
    page_html,
    static_text,
)
from grounding.report.html.gather import ClicksSource, ItemSource, PageAbout
from grounding.report.html.pictures import PackedSteps, small_pictures
from grounding.report.html.triage import CHOICES
from grounding.report.rows import RunRows
from grounding.run.scorebook import ScoredClicks

REPORT = "report.html"
_SCRIPTS = (
    *("dom.js", "state.js", "tall.js", "strips.js", "picture.js", "zoom.js", "maps.js", "summary.js", "gallery.js"),
    *("detail.js", "triage.js", "main.js"),
)


def render(page: PageContent) -> str:
    scripts = ("dom.js", "live.js", *_SCRIPTS[1:]) if page.token else _SCRIPTS
    connect = "'self'" if page.token else "'none'"
    return page_html(
        static_text("page.html"),
        title=page.title,
        style=static_text("page.css"),
        script="\n".join(static_text(name) for name in scripts),
        data=embedded_json(page),
        sources=f"img-src 'self' file: data:; media-src file:; connect-src {connect}",
    )


def page_over(runs: Sequence[RunPage], token: str = "", paired: tuple[SummaryTable, ...] = ()) -> PageContent:
    """One page over some runs, which says so where their steps are not the same."""
    shown = list(runs)
    if len({run.data for run in runs}) > 1:
        odd = "the runs are over different data: steps of one name need not be the same"
        shown[0] = msgspec.structs.replace(runs[0], warnings=(*runs[0].warnings, odd))
    title = " and ".join(dict.fromkeys(run.name for run in runs))
    return PageContent(title=title, runs=tuple(shown), labels=CHOICES, token=token, paired=paired)


def write_page(runs: Sequence[ScoredClicks], path: Path) -> Path:
    """Write a page over one or several runs of clicks; what belongs to it goes into ``report_files`` beside it. Raises
    UserError: a file of a run is damaged. Raises OSError: the page can't be written.
    """
    return _write([ClicksSource(scored) for scored in runs], path)


def write_item_page(run: RunRows, about: PageAbout, path: Path | None = None) -> Path:
    """The same of a run of any benchmark; None for ``report.html`` in its folder."""
    return _write([ItemSource(run, about)], path or run.folder / REPORT)


def _write(sources: Sequence[ClicksSource | ItemSource], path: Path) -> Path:
    runs = []
    for source in sources:
        shots = source.shots()
        addresses, made, problems = small_pictures(shots, path)
        steps = PackedSteps(addresses)
        draw = source.fill(steps)
        warnings = [*steps.notes, *problems[:3]]
        if len(problems) > 3:
            warnings.append(f"{len(problems) - 3} more screenshots have no picture")
        frame = source.frame(warnings=warnings)
        if late := len(shots) - made - len(problems):
            words = f"{made:,} of {len(shots):,} screenshots have a small copy beside this page"
            words += f"; the other {late:,} are shown from where they lie, and get one when the page is written again"
            frame = msgspec.structs.replace(frame, facts=(*frame.facts, Fact(name="pictures", text=words)))
        runs.append(msgspec.structs.replace(frame, diagrams=draw(), **steps.fields()))
    page = page_over(runs, paired=paired_tables([source.folder for source in sources]))
    atomic_write(path, render(page).encode(errors="replace"), shared=True)
    return path
