"""The page at the end of a run: it is for people to look at, and nothing that is wrong with it may cost a run."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from grounding.errors import UserError
from grounding.run.scorebook import ScoredClicks


def with_report(scored: ScoredClicks) -> ScoredClicks:
    # Drawing is only loaded by runs that draw.
    from grounding.report.html.page import REPORT, write_page

    page = written_or_warned(lambda: write_page([scored], scored.folder / REPORT))
    return msgspec.structs.replace(scored, report=page)


def write_runs_page(folder: Path, runs: Sequence[Path]) -> Path | None:
    """The page over the runs of a command, in its own folder, and beside them that with their differences. ``runs`` are
    the folders of those that were scored, first the one that the others are compared with.
    """
    from grounding.report.compare import compare_runs
    from grounding.report.html.comparison import write_comparison
    from grounding.report.html.live import write_overview

    def write() -> Path:
        try:
            compared = write_comparison(compare_runs(runs)) if len(runs) > 1 else None
        except UserError:
            compared = None  # They are over other data: each has its own figures on the page.
        return write_overview(folder, folder / "report.html", compared)

    return written_or_warned(write)


def written_or_warned(write: Callable[[], Path]) -> Path | None:
    """The page that was written; None with a warning on standard error where it could not be."""
    try:
        return write()
    except Exception as error:  # noqa: BLE001 - answers that were paid for are scored and stored: they must be shown
        said = str(error) or type(error).__name__
        print(f"grounding: warning: no report.html was written: {said}", file=sys.stderr, flush=True)
        return None
