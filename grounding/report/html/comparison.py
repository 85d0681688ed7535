"""A comparison of runs as a page: paired differences, tests, and every item that flipped, with a link to it."""

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

from grounding.atomic import atomic_write
from grounding.errors import UserError
from grounding.report.compare import ALL, ComparedRun, ComparisonResult, closing, compare_runs, lines_of, metric_cells
from grounding.report.html.content import SummaryTable, embedded_json, page_html, static_text

Link = Callable[[Path], str]  # Where a run's own page is; "" for nowhere.


def _rows(run: ComparedRun) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (each.label if each.group == ALL else f"{each.group}: {each.label}", *metric_cells(each))
        for each in run.metrics
    )


def paired_tables(folders: Sequence[Path]) -> tuple[SummaryTable, ...]:
    """Each run against the first, for a page over several; none of one run. Says why where they can't be compared."""
    if len(folders) < 2:
        return ()
    try:
        found = compare_runs(folders)
    except UserError as error:
        return (SummaryTable(title="no paired difference", heads=("",), rows=(), note=str(error)),)
    heads = ("metric", "run", "against", "difference, points", "p", "p (Holm)")
    return tuple(
        SummaryTable(
            title=f"{run.name} minus {found.baseline}",
            heads=heads,
            rows=_rows(run),
            note="; ".join(" ".join(each.split()) for each in lines_of(run, found)),
        )
        for run in found.runs
    )


def render_comparison(result: ComparisonResult, link: Link) -> str:
    title = f"{' and '.join(run.name for run in result.runs)} against {result.baseline}"
    runs = [
        {
            "name": run.name,
            "link": link(Path(run.folder)),
            "rows": _rows(run),
            "lines": lines_of(run, result),
            # Id, instruction, the baseline's outcome, the run's, and whether the run has won.
            "flips": [(f.step_id, f.instruction, f.baseline_outcome, f.outcome, f.is_won) for f in run.flips],
        }
        for run in result.runs
    ]
    page = {
        "title": title,
        "baseline": result.baseline,
        "baseline_link": link(Path(result.baseline_folder)),
        "item": result.item,
        "runs": runs,
        "notes": closing(result, flips=True),
    }
    return page_html(
        static_text("comparison.html"),
        title=title,
        style=static_text("comparison.css"),
        script="\n".join(static_text(name) for name in ("dom.js", "comparison.js")),
        data=embedded_json(page),
        sources="img-src data:",
    )


def write_comparison(result: ComparisonResult) -> Path:
    """Write the page beside the runs' folders; the same runs have the same page. Raises OSError: it can't be made."""
    folders = [Path(each).resolve() for each in (result.baseline_folder, *(run.folder for run in result.runs))]
    named = hashlib.sha256("\n".join(each.name for each in folders).encode()).hexdigest()[:10]
    path = folders[0].parent / f"compare_{named}.html"

    def link(run: Path) -> str:
        report = run.resolve() / "report.html"
        return quote(os.path.relpath(report, path.parent)) if report.exists() else ""

    atomic_write(path, render_comparison(result, link).encode(), shared=True)
    return path
